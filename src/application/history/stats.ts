/**
 * Statistics of conversations: messages, cycles, the usage and cost of summaries, tokens saved, and failures. They are
 * folded from the log event by event, so they include pruned data, and only one conversation is in memory at a time. The
 * tally of each conversation is cached, so that counting all of them again reads only those that have grown.
 */
import type { RecordedEvent } from '../../domain/events/index.js'
import {
  CONVERSATION_PREFIX,
  conversationOf,
  conversationStream,
  EDITION_PREFIX,
  editionOf,
} from '../../domain/values/ids.js'
import { costOf, totalOf, type Charge, type Cost, type PriceTable } from '../../domain/reports/prices.js'
import {
  addTallies,
  EMPTY_TALLY,
  isUnreported,
  TallyFold,
  type ModelUse,
  type Tally,
} from '../../domain/reports/tally.js'
import { editionStreams, streamsOf, type EditionStreams } from '../recording/conversation-streams.js'
import { readAhead, type OpenedStream } from '../recording/read-ahead.js'
import { decodeEvent, isOfType, isUnreadableEvent } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { findEstimator, isRegisteredEstimator } from '../recording/estimators.js'
import { builtInEstimators, defaultEstimator, type FindEstimator } from '../../domain/values/tokens.js'
import type { StreamHead } from '../../ports/event-store.js'
import type { CountedTally, Tallies } from '../../ports/tallies.js'

// An estimator that is not registered here is replaced by the default: each message has its recorded count.
const findCountable: FindEstimator = (name) => (isRegisteredEstimator(name) ? findEstimator(name) : defaultEstimator)

/**
 * Statistics: tokens by the conversation's estimator, usage as reported by models (or estimated), times in
 * milliseconds.
 */
export interface Stats extends Omit<Tally, 'models'> {
  /** Each model that was called, with its cost. */
  readonly models: readonly (ModelUse & { readonly charge: Charge })[]
  /** The total cost, one sum per currency, without models that have no price. */
  readonly cost: readonly Cost[]
  /** Models that were called and have no price. */
  readonly unpriced: readonly string[]
}

/** The statistics of one conversation. */
export interface ConversationStats extends Stats {
  /** The conversation. */
  readonly conversationId: string
}

/** A conversation that is not in the totals because one of its events cannot be read. */
export interface UncountedConversation {
  /** Its id. */
  readonly conversationId: string
  /** The unreadable event and the error. */
  readonly reason: string
}

/** The totals of conversations. */
export interface TotalStats extends Stats {
  /** Conversations that cannot be read. */
  readonly uncounted: readonly UncountedConversation[]
}

export interface StatsRequest {
  /**
   * Undefined for all conversations: one that cannot be read is then skipped, and named in the result. Otherwise that is
   * an error.
   */
  readonly conversationId: string | undefined
  readonly prices: PriceTable
  /** Called with each conversation after it was counted. */
  readonly onConversation?: ((stats: ConversationStats) => void | Promise<void>) | undefined
  /** Used for all conversations, not for one. Without it, every event is read. */
  readonly cache?: TallyCache | undefined
}

interface TallyCache {
  readonly tallies: Tallies
  /** Called with the error if tallies cannot be cached. */
  readonly onProblem: (error: unknown) => void
}

function priced({ models, ...tally }: Tally, prices: PriceTable): Stats {
  const charged = models.map((use) => ({ ...use, charge: costOf(use, use, prices) }))
  const unpriced = charged.filter(({ charge }) => charge.kind === 'unpriced').map(({ model }) => model)
  return {
    ...tally,
    models: charged,
    cost: totalOf(charged.map(({ charge }) => charge)),
    unpriced: [...new Set(unpriced)],
  }
}

/**
 * Tokens of a chunk's messages, read again. A chunk is short, and only a few have no reported usage, so the tokens of
 * all messages are not kept in memory.
 */
async function tokensOfChunk(
  log: Log,
  conversationId: string,
  { data }: RecordedEvent<'ChunkSummarized'>,
): Promise<number> {
  const ids = new Set(data.messageIds)
  const limit = data.lastRevision - data.firstRevision + 1
  let tokens = 0
  for await (const stored of log.store.readStream(conversationStream(conversationId), {
    from: data.firstRevision,
    limit,
  })) {
    if (stored.type !== 'MessageAppended') continue
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'MessageAppended') && ids.has(event.data.messageId)) tokens += event.data.tokens
  }
  return tokens
}

function streamOf(log: Log, conversationId: string): OpenedStream {
  const stream = conversationStream(conversationId)
  return { stream, events: log.store.readStream(stream) }
}

/** The tally of a conversation, and whether every process counts the same. */
interface CountedConversation extends CountedTally {
  readonly isCacheable: boolean
}

/** @param own the conversation's own stream */
async function tallyOf(
  log: Log,
  conversationId: string,
  own: OpenedStream,
  editions: EditionStreams,
): Promise<CountedConversation> {
  let isCacheable = true
  const fold = new TallyFold(conversationId, (name) => {
    isCacheable &&= builtInEstimators.some((each) => each.name === name)
    return findCountable(name)
  })
  let events = 0
  for (const stream of streamsOf(conversationId, editions)) {
    for await (const stored of stream === own.stream ? own.events : log.store.readStream(stream)) {
      const event = await decodeEvent(stored, log)
      const chunkTokens =
        isOfType(event, 'ChunkSummarized') && isUnreported(event.data.summarizer)
          ? await tokensOfChunk(log, conversationId, event)
          : 0
      if (stream === own.stream) fold.take(event, chunkTokens)
      else fold.takeMade(event, chunkTokens)
      events += 1
    }
  }
  return { conversationId, events, tally: fold.tally, isCacheable }
}

/** Like `tallyOf`. A problem of one conversation does not stop the others. */
async function countOne(
  log: Log,
  own: OpenedStream,
  editions: EditionStreams,
): Promise<CountedConversation | UncountedConversation> {
  const conversationId = conversationOf(own.stream) ?? ''
  try {
    return await tallyOf(log, conversationId, own, editions)
  } catch (error) {
    if (!isUnreadableEvent(error)) throw error
    return { conversationId, reason: error.message }
  }
}

/** The streams with this prefix, each with the revision of its last event. */
async function* streamHeads({ store }: Log, prefix: string): AsyncIterable<StreamHead> {
  if (store.streamHeads === undefined)
    for await (const stream of store.streams(prefix)) yield { stream, revision: await store.streamRevision(stream) }
  else yield* store.streamHeads(prefix)
}

/** The number of events of each conversation and its editions, in the order of `streams`. */
async function countEvents(log: Log): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for await (const { stream, revision } of streamHeads(log, CONVERSATION_PREFIX))
    counts.set(conversationOf(stream) ?? '', revision + 1)
  for await (const { stream, revision } of streamHeads(log, EDITION_PREFIX)) {
    const conversationId = editionOf(stream)?.conversationId
    const events = conversationId === undefined ? undefined : counts.get(conversationId)
    if (conversationId !== undefined && events !== undefined) counts.set(conversationId, events + revision + 1)
  }
  return counts
}

/** Conversations of which tallies are read or written together. */
const TALLIES_A_PAGE = 500

/** Counts all conversations; those that have not grown since they were counted have their cached tally. */
class TallyReader {
  private readonly counted: CountedTally[] = []

  constructor(
    private readonly log: Log,
    private readonly editions: EditionStreams,
    private readonly cache: TallyCache | undefined,
  ) {}

  /** In the order of their ids' bytes. */
  async *all(): AsyncIterable<CountedTally | UncountedConversation> {
    const known = (await this.cache?.tallies.counted()) ?? new Map<string, number>()
    // Reading all streams together is faster than reading many of them one by one.
    const counts = known.size === 0 ? undefined : await countEvents(this.log)
    const grown = [...(counts ?? [])].filter(([conversationId, events]) => known.get(conversationId) !== events)
    yield* counts === undefined || grown.length > counts.size / 10
      ? this.fromLog()
      : this.fromCache(counts, new Set(grown.map(([conversationId]) => conversationId)))
    await this.flush()
  }

  private async *fromLog(): AsyncIterable<CountedTally | UncountedConversation> {
    for await (const opened of readAhead(this.log, CONVERSATION_PREFIX)) yield await this.count(opened)
  }

  private async *fromCache(
    counts: ReadonlyMap<string, number>,
    grown: ReadonlySet<string>,
  ): AsyncIterable<CountedTally | UncountedConversation> {
    const ids = [...counts.keys()]
    for (let at = 0; at < ids.length; at += TALLIES_A_PAGE) {
      const page = ids.slice(at, at + TALLIES_A_PAGE)
      const found = await this.cache?.tallies.find(page.filter((conversationId) => !grown.has(conversationId)))
      const byId = new Map(found?.map((tally) => [tally.conversationId, tally]))
      for (const conversationId of page)
        yield byId.get(conversationId) ?? (await this.count(streamOf(this.log, conversationId)))
    }
  }

  private async count(own: OpenedStream): Promise<CountedTally | UncountedConversation> {
    const counted = await countOne(this.log, own, this.editions)
    if ('reason' in counted) return counted
    if (counted.isCacheable && this.cache !== undefined) this.counted.push(counted)
    if (this.counted.length >= TALLIES_A_PAGE) await this.flush()
    return counted
  }

  private async flush(): Promise<void> {
    await this.cache?.tallies.remember(this.counted.splice(0)).catch(this.cache.onProblem)
  }
}

async function* countOnly(log: Log, conversationId: string, editions: EditionStreams): AsyncIterable<CountedTally> {
  yield await tallyOf(log, conversationId, streamOf(log, conversationId), editions)
}

/** Counts conversations one by one, including their editions, and returns the totals. */
export async function stats(
  log: Log,
  { conversationId: only, prices, onConversation, cache }: StatsRequest,
): Promise<TotalStats> {
  const editions = await editionStreams(log)
  const uncounted: UncountedConversation[] = []
  let total = EMPTY_TALLY
  for await (const counted of only === undefined
    ? new TallyReader(log, editions, cache).all()
    : countOnly(log, only, editions)) {
    if ('reason' in counted) {
      uncounted.push(counted)
      continue
    }
    const { conversationId, tally } = counted
    total = addTallies(total, tally)
    await onConversation?.({ conversationId, ...priced(tally, prices) })
  }
  return { ...priced(total, prices), uncounted }
}
