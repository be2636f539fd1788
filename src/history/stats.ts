/**
 * What conversations came to: messages, cycles, what summaries took and cost, what compaction saved, what failed.
 * Folded from the log, one fact at a time, so that nothing that was pruned is missing, and no more is held at a time
 * than the state of one conversation.
 */
import type { RecordedEvent } from '../domain/events/index.js'
import { conversationStream } from '../domain/values/ids.js'
import { costOf, totalOf, type Charge, type Cost, type PriceTable } from '../domain/reports/prices.js'
import { addTallies, EMPTY_TALLY, isUnreported, TallyFold, type ModelUse, type Tally } from '../domain/reports/tally.js'
import { editionStreams, streamsOf, type EditionStreams } from '../recording/conversation-streams.js'
import { decodeEvent, isOfType, UnreadableEventError } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { findEstimator, isRegisteredEstimator } from '../recording/estimators.js'
import { defaultEstimator, type FindEstimator } from '../domain/values/tokens.js'

// An estimator that nobody registered here counts as ours does: what it counted is recorded with each message.
const findCountable: FindEstimator = (name) => (isRegisteredEstimator(name) ? findEstimator(name) : defaultEstimator)

/**
 * What conversations came to: tokens by their estimators, usage as models reported it (estimated where they did not),
 * times in milliseconds.
 */
export interface Stats extends Omit<Tally, 'models'> {
  /** Each model that was asked, with what it cost. */
  readonly models: readonly (ModelUse & { readonly charge: Charge })[]
  /** What was bought altogether, one sum a currency. Models without a price are not in it. */
  readonly cost: readonly Cost[]
  /** Models that were asked and that the price table does not name. */
  readonly unpriced: readonly string[]
}

/** What one conversation came to. */
export interface ConversationStats extends Stats {
  /** The conversation. */
  readonly conversationId: string
}

/** A conversation that is in no sum, because one of its events cannot be read. */
export interface UncountedConversation {
  /** Its id. */
  readonly conversationId: string
  /** Which event cannot be read, and why. */
  readonly reason: string
}

/** What conversations came to together. */
export interface TotalStats extends Stats {
  /** Those that were to be counted and cannot be read. */
  readonly uncounted: readonly UncountedConversation[]
}

export interface StatsRequest {
  readonly conversationIds: AsyncIterable<string>
  /** Goes on without a conversation that cannot be read, and names it; otherwise that is an error. */
  readonly goesOn: boolean
  readonly prices: PriceTable
  /** Hears of each conversation as soon as it is counted. */
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
 * Tokens of a chunk's messages, read again: a chunk is short, and the tokens of all messages are not kept for the few
 * that nobody reported.
 */
async function tokensOfChunk(
  log: Log,
  conversationId: string,
  { data }: RecordedEvent<'ChunkSummarized'>,
): Promise<number> {
  const ids = new Set(data.messageIds)
  const limit = Number(data.lastRevision - data.firstRevision) + 1
  let tokens = 0
  for await (const stored of log.store.readStream(conversationStream(conversationId), {
    from: data.firstRevision,
    limit,
  })) {
    if (stored.type !== 'MessageAppended') continue
    const event = await decodeEvent(stored, log.bodies)
    if (isOfType(event, 'MessageAppended') && ids.has(event.data.messageId)) tokens += event.data.tokens
  }
  return tokens
}

async function tallyOf(log: Log, conversationId: string, editions: EditionStreams): Promise<Tally> {
  const fold = new TallyFold(conversationId, findCountable)
  const own = conversationStream(conversationId)
  for (const stream of streamsOf(conversationId, editions)) {
    for await (const stored of log.store.readStream(stream)) {
      const event = await decodeEvent(stored, log.bodies)
      const chunkTokens =
        isOfType(event, 'ChunkSummarized') && isUnreported(event.data.summarizer)
          ? await tokensOfChunk(log, conversationId, event)
          : 0
      if (stream === own) fold.take(event, chunkTokens)
      else fold.takeMade(event, chunkTokens)
    }
  }
  return fold.tally
}

/** Counts conversations one after the other, what their editions took included; gives what they come to together. */
export async function stats(
  log: Log,
  { conversationIds, goesOn, prices, onConversation }: StatsRequest,
): Promise<TotalStats> {
  const editions = await editionStreams(log)
  const uncounted: UncountedConversation[] = []
  let total = EMPTY_TALLY
  for await (const conversationId of conversationIds) {
    let tally: Tally
    try {
      tally = await tallyOf(log, conversationId, editions)
    } catch (error) {
      // What one conversation has stops no other one.
      if (!goesOn || !(error instanceof UnreadableEventError)) throw error
      uncounted.push({ conversationId, reason: error.message })
      continue
    }
    total = addTallies(total, tally)
    await onConversation?.({ conversationId, ...priced(tally, prices) })
  }
  return { ...priced(total, prices), uncounted }
}
