/**
 * The read model that search uses. `projections/read-models/archive-index/queries.ts` implements it on Postgres.
 *
 * Contract: all queries of one `read` see one snapshot, so that an adoption between two queries is not visible.
 * `conversation` returns every message of that snapshot, possibly with later ones, in the order of the conversation. Its
 * result can be cached and shared, so callers must not change it. `batches` does not contain batches that were merged
 * into a later one or replaced.
 */
import type { Role } from '../domain/values/message.js'

/**
 * Data for ranking, apart from the terms. Arrays are in the order of the conversation: index `i` of each is the same
 * message.
 */
export interface Corpus {
  readonly size: number
  /** Role and name. A different value is a different author. */
  readonly authors: readonly string[]
  /** Every distinct author. */
  readonly distinctAuthors: readonly string[]
  /** Milliseconds since 1970. */
  readonly times: ArrayLike<number>
  /** Total number of terms. */
  readonly lengths: ArrayLike<number>
  readonly meanLength: number
  /** 1 if the message directly follows the one before it in its conversation and has another author; else 0. */
  readonly replies: ArrayLike<number>
  /** Pairs of a message's index and the term's count in it, ordered by index; empty for an unknown term. */
  readonly postings: (term: string) => ArrayLike<number>
  /** The number of messages with a term, if `postings` does not contain them all. */
  readonly frequency?: (term: string) => number
  /** The number of messages for the frequencies, if it differs from `size`. */
  readonly total?: number
}

/** A corpus with the revision of each message. */
export interface RevisionedCorpus extends Corpus {
  /** Revision of the message at each index, ascending. A number suffices: no conversation has 2^53 events. */
  readonly revisions: ArrayLike<number>
}

/** A batch with the fields that ranking needs. */
export interface BatchCandidate {
  readonly conversationId: string
  readonly batchId: string
  readonly firstRevision: number
  readonly lastRevision: number
  readonly length: number
  /** How often a term is in it: 0, 1, or 2 for more. */
  readonly count: (term: string) => number
}

/** Messages of any conversation of a scope that contain one of the query's terms. */
export interface ScopeCandidates extends RevisionedCorpus {
  readonly conversationIds: readonly string[]
}

export interface MessageRow {
  readonly conversationId: string
  readonly revision: number
  readonly messageId: string
  readonly role: Role
  readonly createdAt: string
  readonly text: string
  /**
   * The active batch that was made from it; null if the message is live, or live again.
   */
  readonly batchId: string | null
}

export interface BatchRow {
  readonly conversationId: string
  readonly batchId: string
  /** All messages that it covers, also through its sources, oldest first. */
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

/** A message with the cosine similarity of its vector and the query's, from -1 to 1. */
export interface NearMessage extends MessageRef {
  readonly similarity: number
}

export interface BatchRef {
  readonly conversationId: string
  readonly batchId: string
}

/**
 * The conversations that are searched: one, all of a scope, or all. The scope `null` has the conversations without one.
 */
export type Within =
  | { readonly conversationId: string }
  | { readonly scope: string | null }
  | { readonly everywhere: true }

/** The queries. They run one after the other. */
export interface ArchiveReads {
  conversation(conversationId: string): Promise<RevisionedCorpus>
  /** The active batches; with an edition, those that would be active if the edition were adopted now. */
  batches(conversationId: string, editionId?: string): Promise<readonly BatchCandidate[]>
  /**
   * Messages and batches with the rarest of the terms. Their number is limited, whatever the size of the scope.
   */
  candidates(
    within: Within,
    terms: readonly string[],
  ): Promise<{ readonly messages: ScopeCandidates; readonly batches: readonly BatchCandidate[] }>
  /** Messages that contain exactly this text, newest first: for queries of function words only, which have no terms. */
  phrase(within: Within, text: string, limit: number): Promise<readonly MessageRef[]>
  /** In the order of `refs`. Missing messages are skipped. */
  messages(refs: readonly MessageRef[]): Promise<readonly MessageRow[]>
  batchRows(refs: readonly BatchRef[]): Promise<readonly BatchRow[]>
  /** The messages with the most similar vectors, most similar first; undefined if there are no vectors of this model. */
  nearest(
    within: Within,
    model: string,
    vector: readonly number[],
    limit: number,
  ): Promise<readonly NearMessage[] | undefined>
}

export interface ArchiveIndex {
  /**
   * Runs the queries of `work` on one snapshot. This occupies a connection, so `work` must not wait for anything else.
   */
  read<T>(work: (reads: ArchiveReads) => Promise<T>): Promise<T>
}
