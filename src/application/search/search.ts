/**
 * Searches the messages and batches of a conversation, or of all conversations of a scope.
 *
 * The result is one ranked list. Search always uses full text. If there is an embedding model with vectors, it also
 * searches by meaning and fuses the two lists by relative scores. If the model fails or vectors are missing, the result
 * is that of full text only; search does not fail.
 */
import { either as E } from 'fp-ts'
import { placeBatches, rankBatches, type BatchInCorpus } from './place-batches.js'
import { namesIn, rank, weightedTerms } from './rank.js'
import { queryTerms } from '../../domain/text/terms.js'
import type { Role } from '../../domain/values/message.js'
import { thrownSentence } from '../../domain/values/thrown.js'
import type {
  ArchiveIndex,
  ArchiveReads,
  BatchCandidate,
  BatchRef,
  MessageRef,
  RevisionedCorpus,
  Within,
} from '../../ports/archive-index.js'
import type { EmbeddingFailure, EmbeddingModel } from '../../ports/embedding-model.js'
import { withinTime } from '../../lib/within-time.js'

export interface SearchPorts {
  readonly index: ArchiveIndex
  readonly embedding?: EmbeddingModel
  /**
   * Time limit for the query's vector, in milliseconds. Default 5,000: an agent waits for the result, and full text works
   * without the vector.
   */
  readonly questionTimeoutMs?: number
}

export interface SearchOptions {
  /** One conversation, one scope (`null`: the conversations that name none), or everything. */
  readonly within: Within
  /** Default 10. */
  readonly limit?: number
  /** Default 'all'. */
  readonly include?: 'messages' | 'batches' | 'all'
}

/** A message or a batch that a search found. */
export interface SearchHit {
  /** The conversation that contains it. */
  readonly conversationId: string
  /** The batch itself, or the one in which a message was archived; null for a live message. */
  readonly batchId: string | null
  /** A message, or the summary of a batch. */
  readonly kind: 'message' | 'batch'
  /** The author of a message; absent for a batch. */
  readonly role?: Role
  /** The message, or all messages that the batch covers, oldest first. */
  readonly messageIds: readonly string[]
  /** Revision of the first message that it covers. */
  readonly firstRevision: number
  /** Revision of the last one. */
  readonly lastRevision: number
  /** Time of its first message, ISO 8601. */
  readonly startTime: string
  /** Time of its last message, ISO 8601. */
  readonly endTime: string
  /** Descending within a result. Scores of different results cannot be compared. */
  readonly score: number
  /** The matching text. */
  readonly text: string
}

type Ranked = { readonly score: number } & (
  | ({ readonly kind: 'message' } & MessageRef)
  | ({ readonly kind: 'batch' } & BatchRef)
)

const DEFAULT_LIMIT = 10
/** Default time limit for the query's vector. */
const QUESTION_MS = 5_000
/** Number of nearest messages that are considered. */
const NEAREST = 50
/** Score of the nearest message, compared with 1 for the best match by full text. */
const MEANING_WEIGHT = 0.25
/** Number of additional hits that are ranked, since some may be missing when they are read. */
const SPARE = 200

/** The result of a search. */
export interface FoundMessages {
  /** Best first. */
  readonly hits: readonly SearchHit[]
  /** Present if the embedding model failed, so that only full text was used. */
  readonly failure?: EmbeddingFailure
}

/** The best hits for a query, best first. */
export async function search(
  { index, embedding, questionTimeoutMs = QUESTION_MS }: SearchPorts,
  query: string,
  options: SearchOptions,
): Promise<FoundMessages> {
  const { within, limit = DEFAULT_LIMIT, include = 'all' } = options
  if (limit <= 0) return { hits: [] }
  const vectors =
    embedding === undefined || include === 'batches' || query.trim() === ''
      ? undefined
      : await vectorsInTime(embedding, query, questionTimeoutMs)
  const vector = vectors === undefined || E.isLeft(vectors) ? undefined : vectors.right[0]
  const hits = await index.read(async (reads) => {
    const byText = await foundByText(reads, query, options)
    const byMeaning =
      embedding === undefined || vector === undefined
        ? []
        : await foundByMeaning(reads, embedding.model, vector, within)
    return await hitsOf(reads, byMeaning.length === 0 ? byText : fused(byText, byMeaning), limit)
  })
  return { hits, ...(vectors !== undefined && E.isLeft(vectors) ? { failure: vectors.left } : {}) }
}

/** The query's vector, or the failure if the model does not return it in time. */
async function vectorsInTime(
  embedding: EmbeddingModel,
  query: string,
  ms: number,
): Promise<E.Either<EmbeddingFailure, readonly (readonly number[])[]>> {
  try {
    return await withinTime((signal) => embedding.embed([query], signal)(), ms)
  } catch (error) {
    return E.left({ kind: 'EmbeddingFailed', detail: thrownSentence(error) })
  }
}

async function foundByText(
  reads: ArchiveReads,
  query: string,
  { within, include = 'all', limit = DEFAULT_LIMIT }: SearchOptions,
): Promise<readonly Ranked[]> {
  const terms = queryTerms(query)
  if (terms.length === 0) return include === 'batches' ? [] : await foundAsPhrase(reads, within, query, limit)
  const { corpus, batches, conversationIdAt } = await gathered(reads, within, terms, include)
  const ranked = rank(query, terms, corpus, { most: limit + SPARE })
  const weighted = weightedTerms(terms, namesIn(corpus))
  const inCorpus = batches.map((batch) => inCorpusOf(batch, corpus, conversationIdAt))
  const entries =
    include === 'batches'
      ? rankBatches(weighted, inCorpus, corpus)
      : batches.length === 0
        ? ranked.order.map((at) => ({ kind: 'message' as const, at, score: ranked.scores[at] ?? 0 }))
        : placeBatches(ranked, weighted, inCorpus, corpus)
  return entries.flatMap(({ kind, at, score }): Ranked[] => {
    if (kind === 'message')
      return [{ kind, score, conversationId: conversationIdAt(at), revision: corpus.revisions[at] ?? 0 }]
    const batch = batches[at]
    return batch === undefined ? [] : [{ kind, score, conversationId: batch.conversationId, batchId: batch.batchId }]
  })
}

interface Gathered {
  readonly corpus: RevisionedCorpus
  readonly batches: readonly BatchCandidate[]
  readonly conversationIdAt: (at: number) => string
}

async function gathered(
  reads: ArchiveReads,
  within: Within,
  terms: readonly string[],
  include: 'messages' | 'batches' | 'all',
): Promise<Gathered> {
  if ('conversationId' in within) {
    const { conversationId } = within
    const corpus = await reads.conversation(conversationId)
    const batches = include === 'messages' ? [] : await reads.batches(conversationId)
    return { corpus, batches, conversationIdAt: () => conversationId }
  }
  const { messages, batches } = await reads.candidates(within, terms)
  return {
    corpus: messages,
    batches: include === 'messages' ? [] : batches,
    conversationIdAt: (at) => messages.conversationIds[at] ?? '',
  }
}

/**
 * A batch with the range of its messages in the corpus. The range may include a pinned message that is not part of the
 * batch; ranking tolerates that.
 */
function inCorpusOf(
  batch: BatchCandidate,
  corpus: RevisionedCorpus,
  conversationIdAt: (at: number) => string,
): BatchInCorpus {
  const before = (at: number, revision: number): boolean => {
    const conversationId = conversationIdAt(at)
    return (
      conversationId < batch.conversationId ||
      (conversationId === batch.conversationId && (corpus.revisions[at] ?? 0) < revision)
    )
  }
  return {
    length: batch.length,
    count: batch.count,
    from: partition(corpus.size, (at) => before(at, batch.firstRevision)),
    to: partition(corpus.size, (at) => before(at, batch.lastRevision + 1)),
  }
}

/** Binary search: the first index for which `isBefore` is false. */
function partition(size: number, isBefore: (at: number) => boolean): number {
  let low = 0
  let high = size
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

async function foundAsPhrase(
  reads: ArchiveReads,
  within: Within,
  query: string,
  limit: number,
): Promise<readonly Ranked[]> {
  const text = query.trim()
  if (text === '') return []
  const refs = await reads.phrase(within, text, Math.max(limit, NEAREST))
  return refs.map((ref, index) => ({ kind: 'message', ...ref, score: 1 / (1 + index) }))
}

async function foundByMeaning(
  reads: ArchiveReads,
  model: string,
  vector: readonly number[],
  within: Within,
): Promise<readonly Ranked[]> {
  const near = (await reads.nearest(within, model, vector, NEAREST)) ?? []
  return near.map(({ similarity, ...ref }) => ({ kind: 'message', ...ref, score: similarity }))
}

const keyOf = (found: Ranked): string =>
  JSON.stringify([found.kind, found.conversationId, found.kind === 'message' ? found.revision : found.batchId])

/**
 * Merges two lists by relative score fusion. Scores of different kinds cannot be added, but scores relative to the best
 * of their kind can. Similarity has less weight: an answer usually repeats a word of its question, and most of the fifty
 * nearest messages answer nothing (see the figures in docs/decisions/0004).
 */
function fused(byText: readonly Ranked[], byMeaning: readonly Ranked[]): readonly Ranked[] {
  const all = new Map<string, Ranked>()
  const best = byText[0]?.score ?? 1
  for (const found of byText) all.set(keyOf(found), { ...found, score: found.score / best })
  const nearest = byMeaning[0]?.score ?? 0
  const span = nearest - (byMeaning.at(-1)?.score ?? 0)
  for (const found of byMeaning) {
    const key = keyOf(found)
    const share = span === 0 ? 1 : 1 - (nearest - found.score) / span
    all.set(key, { ...found, score: (all.get(key)?.score ?? 0) + MEANING_WEIGHT * share })
  }
  return [...all.values()].toSorted((a, b) => b.score - a.score)
}

/** Reads the hits from the top of the list until there are `limit`, since some may be missing. */
async function hitsOf(reads: ArchiveReads, found: readonly Ranked[], limit: number): Promise<readonly SearchHit[]> {
  const hits: SearchHit[] = []
  for (let from = 0; from < found.length && hits.length < limit; from += limit) {
    hits.push(...(await open(reads, found.slice(from, from + limit))))
  }
  return hits.slice(0, limit)
}

async function open(reads: ArchiveReads, found: readonly Ranked[]): Promise<readonly SearchHit[]> {
  const messages = await reads.messages(found.filter((each) => each.kind === 'message'))
  const batches = await reads.batchRows(found.filter((each) => each.kind === 'batch'))
  const opened = new Map<string, Omit<SearchHit, 'score'>>()
  for (const { conversationId, revision, messageId, role, createdAt, text, batchId } of messages) {
    const span = {
      firstRevision: revision,
      lastRevision: revision,
      startTime: createdAt,
      endTime: createdAt,
    }
    opened.set(keyOf({ kind: 'message', conversationId, revision, score: 0 }), {
      kind: 'message',
      role,
      conversationId,
      batchId,
      messageIds: [messageId],
      ...span,
      text,
    })
  }
  for (const { firstRevision, lastRevision, ...batch } of batches) {
    opened.set(keyOf({ kind: 'batch', conversationId: batch.conversationId, batchId: batch.batchId, score: 0 }), {
      kind: 'batch',
      ...batch,
      firstRevision: firstRevision,
      lastRevision: lastRevision,
    })
  }
  return found.flatMap((each) => {
    const hit = opened.get(keyOf(each))
    return hit === undefined ? [] : [{ ...hit, score: each.score }]
  })
}
