/**
 * What search needs from its read model. `projections/read-models/archive-index/queries.ts` fills it from Postgres.
 *
 * Promises: a search asks several questions, and what one `read` answers is all of one moment: an adoption that comes
 * between two of them is not seen. `conversation` gives every message that the read model holds then, and maybe some
 * that came since, in the order of the conversation; what it returns may be kept and shared, so nobody changes it. A
 * batch that became part of a later one, or that other batches took the place of, is no longer among `batches`.
 */
import type { Corpus } from '../domain/text-search/rank.js'

/** A corpus whose places have revisions. */
export interface RevisionedCorpus extends Corpus {
  /** Revision of the message at each place, rising. A number: a conversation of 2^53 facts does not fit anywhere. */
  readonly revisions: ArrayLike<number>
}

/** A batch as ranking sees it. */
export interface BatchCandidate {
  readonly conversationId: string
  readonly batchId: string
  readonly firstRevision: number
  readonly lastRevision: number
  readonly length: number
  /** How often a term is in it: 0, 1, or 2 for more. */
  readonly count: (term: string) => number
}

/** A message of any conversation of a scope that has one of the asked terms. */
export interface ScopeCandidates extends RevisionedCorpus {
  readonly conversationIds: readonly string[]
}

export interface MessageRow {
  readonly conversationId: string
  readonly revision: number
  readonly messageId: string
  readonly createdAt: string
  readonly text: string
  /**
   * The batch in force that has it, of those that were made of messages; null while it is live, also where it is live
   * again.
   */
  readonly batchId: string | null
}

export interface BatchRow {
  readonly conversationId: string
  readonly batchId: string
  /** Of all messages that it covers, through its sources too, oldest first. */
  readonly messageIds: readonly string[]
  readonly firstRevision: number
  readonly lastRevision: number
  readonly startTime: string
  readonly endTime: string
  readonly text: string
}

/** Names a message within a scope. */
export interface MessageRef {
  readonly conversationId: string
  readonly revision: number
}

/** A message with how near its vector is to the question's: their cosine, from -1 to 1. */
export interface NearMessage extends MessageRef {
  readonly similarity: number
}

export interface BatchRef {
  readonly conversationId: string
  readonly batchId: string
}

/**
 * Where a search looks: one conversation, or all conversations of a scope. `null` is the scope of those that name none.
 */
export type Within =
  | { readonly conversationId: string }
  | { readonly scope: string | null }
  | { readonly everywhere: true }

/** The questions. They are answered one after the other. */
export interface ArchiveReads {
  conversation(conversationId: string): Promise<RevisionedCorpus>
  /** The batches in force; with an edition, those that would be if it were in force as it is recorded. */
  batches(conversationId: string, editionId?: string): Promise<readonly BatchCandidate[]>
  /**
   * Messages and batches with the rarest of the terms: as many as ranking can look at, whatever the size of the scope.
   */
  candidates(
    within: Within,
    terms: readonly string[],
  ): Promise<{ readonly messages: ScopeCandidates; readonly batches: readonly BatchCandidate[] }>
  /** Messages that hold this very text, newest first: for queries of nothing but function words, which are no terms. */
  phrase(within: Within, text: string, limit: number): Promise<readonly MessageRef[]>
  /** In the order asked; a message that is gone is left out. */
  messages(refs: readonly MessageRef[]): Promise<readonly MessageRow[]>
  batchRows(refs: readonly BatchRef[]): Promise<readonly BatchRow[]>
  /** Nearest by meaning, nearest first, where vectors of this model are there; undefined where none are. */
  nearest(
    within: Within,
    model: string,
    vector: readonly number[],
    limit: number,
  ): Promise<readonly NearMessage[] | undefined>
}

export interface ArchiveIndex {
  /**
   * Answers the questions of `work` as of one moment. A connection is kept for as long, so `work` waits for nothing
   * else.
   */
  read<T>(work: (reads: ArchiveReads) => Promise<T>): Promise<T>
}
