/**
 * Statistics of conversations: messages, cycles, the usage and cost of summaries, tokens saved, and failures. They are
 * folded from the log event by event, so they include pruned data, and only one conversation is in memory at a time.
 */
import type { RecordedEvent } from '../../domain/events/index.js'
import { CONVERSATION_PREFIX, conversationOf, conversationStream } from '../../domain/values/ids.js'
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
import { defaultEstimator, type FindEstimator } from '../../domain/values/tokens.js'

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

/** @param own the conversation's own stream */
async function tallyOf(log: Log, conversationId: string, own: OpenedStream, editions: EditionStreams): Promise<Tally> {
  const fold = new TallyFold(conversationId, findCountable)
  for (const stream of streamsOf(conversationId, editions)) {
    for await (const stored of stream === own.stream ? own.events : log.store.readStream(stream)) {
      const event = await decodeEvent(stored, log)
      const chunkTokens =
        isOfType(event, 'ChunkSummarized') && isUnreported(event.data.summarizer)
          ? await tokensOfChunk(log, conversationId, event)
          : 0
      if (stream === own.stream) fold.take(event, chunkTokens)
      else fold.takeMade(event, chunkTokens)
    }
  }
  return fold.tally
}

/** Counts conversations one by one, including their editions, and returns the totals. */
export async function stats(
  log: Log,
  { conversationId: only, prices, onConversation }: StatsRequest,
): Promise<TotalStats> {
  const editions = await editionStreams(log)
  const uncounted: UncountedConversation[] = []
  let total = EMPTY_TALLY
  const conversations = only === undefined ? readAhead(log, CONVERSATION_PREFIX) : [streamOf(log, only)]
  for await (const own of conversations) {
    const conversationId = conversationOf(own.stream) ?? ''
    let tally: Tally
    try {
      tally = await tallyOf(log, conversationId, own, editions)
    } catch (error) {
      // A problem of one conversation does not stop the others.
      if (only !== undefined || !isUnreadableEvent(error)) throw error
      uncounted.push({ conversationId, reason: error.message })
      continue
    }
    total = addTallies(total, tally)
    await onConversation?.({ conversationId, ...priced(tally, prices) })
  }
  return { ...priced(total, prices), uncounted }
}
