/**
 * Search: where in a conversation, or in all conversations of a scope, was this said?
 *
 * One ranked list of messages and batches. Full text always; by meaning too where an embedding model is given and
 * vectors are there, the two fused by relative scores. A model that fails, or vectors that are missing, leave the full
 * text: search never fails for want of them.
 */
import { either as E } from 'fp-ts'
import { placeBatches, rankBatches, type BatchInCorpus } from '../domain/text-search/place-batches.js'
import { namesIn, rank, weightedTerms } from '../domain/text-search/rank.js'
import { queryTerms } from '../domain/text-search/terms.js'
import { thrownSentence } from '../domain/values/thrown.js'
import type {
  ArchiveIndex,
  ArchiveReads,
  BatchCandidate,
  BatchRef,
  MessageRef,
  RevisionedCorpus,
  Within,
} from '../ports/archive-index.js'
import type { EmbeddingFailure, EmbeddingModel } from '../ports/embedding-model.js'
import { withinTime } from '../ports/within-time.js'

export interface SearchPorts {
  readonly index: ArchiveIndex
  readonly embedding?: EmbeddingModel
  /**
   * How long the vector of the question may take, in milliseconds. Default 5,000: an agent waits for the answer, and
   * there are words to go by.
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
  /** Where it was found. */
  readonly conversationId: string
  /** The batch itself, or the one that a message was archived in; null for a message that is live. */
  readonly batchId: string | null
  /** A message, or the summary of a batch. */
  readonly kind: 'message' | 'batch'
  /** Of a batch all messages that it covers, oldest first. */
  readonly messageIds: readonly string[]
  /** Revision of the first message that it covers. */
  readonly firstRevision: bigint
  /** Revision of the last one. */
  readonly lastRevision: bigint
  /** When its first message was said, ISO 8601. */
  readonly startTime: string
  /** When its last message was said, ISO 8601. */
  readonly endTime: string
  /** Falls along the list; only to be compared within one answer. */
  readonly score: number
  /** The text that was found. */
  readonly text: string
}

type Ranked = { readonly score: number } & (
  | ({ readonly kind: 'message' } & MessageRef)
  | ({ readonly kind: 'batch' } & BatchRef)
)

const DEFAULT_LIMIT = 10
/** How long a search waits for the vector of its question. */
const QUESTION_MS = 5_000
/** How many of the nearest count, and what being the nearest of all adds to answering by words, best of which is 1. */
const NEAREST = 50
const MEANING_WEIGHT = 0.25
/** Places ranked beyond those asked for: some are gone when they are opened. */
const SPARE = 200

/** What a search found. */
export interface FoundMessages {
  /** Best first. */
  readonly hits: readonly SearchHit[]
  /** Why it went by full text alone, where the embedding model failed. */
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
  const asked =
    embedding === undefined || include === 'batches' || query.trim() === ''
      ? undefined
      : await vectorsInTime(embedding, query, questionTimeoutMs)
  const vector = asked === undefined || E.isLeft(asked) ? undefined : asked.right[0]
  const hits = await index.read(async (reads) => {
    const byText = await foundByText(reads, query, options)
    const byMeaning =
      embedding === undefined || vector === undefined
        ? []
        : await foundByMeaning(reads, embedding.model, vector, within)
    return await hitsOf(reads, byMeaning.length === 0 ? byText : fused(byText, byMeaning), limit)
  })
  return { hits, ...(asked !== undefined && E.isLeft(asked) ? { failure: asked.left } : {}) }
}

/** The question's vector, or why there is none in time: whatever the model does, there are words to go by. */
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
 * A batch with the places of the messages in its run. A pinned message in that run is not the batch's own, which
 * ranking may overlook.
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

/** The first place that does not lie before what is looked for. */
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
  return refs.map((ref, place) => ({ kind: 'message', ...ref, score: 1 / (1 + place) }))
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
 * Two lists as one, by relative score fusion: scores of different kinds cannot be added, but what each is worth beside
 * the best of its kind can. What is near counts less: an answer mostly repeats a word of its question, and of the fifty
 * messages that are nearest in any conversation most answer nothing (docs/decisions/0004 has the figures).
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

/** Opens what was found, from the top of the list, until there are enough: some are gone since they were ranked. */
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
  for (const { conversationId, revision, messageId, createdAt, text, batchId } of messages) {
    const span = {
      firstRevision: BigInt(revision),
      lastRevision: BigInt(revision),
      startTime: createdAt,
      endTime: createdAt,
    }
    opened.set(keyOf({ kind: 'message', conversationId, revision, score: 0 }), {
      kind: 'message',
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
      firstRevision: BigInt(firstRevision),
      lastRevision: BigInt(lastRevision),
    })
  }
  return found.flatMap((each) => {
    const hit = opened.get(keyOf(each))
    return hit === undefined ? [] : [{ ...hit, score: each.score }]
  })
}
