/**
 * What the facts of a conversation add up to: messages, cycles, what summaries took, what compaction saved, and what
 * failed. A fold over the stream, so it knows what was pruned long ago and what was undone; beside the sums it keeps
 * the state that any load of the conversation makes, so that what stands is what every other answer says, and a context
 * that was sent has the tokens that it had.
 */
import { summaryOf } from '../conversation/batch.js'
import { contextTokens } from '../compaction/context.js'
import { Fold } from '../conversation/evolve.js'
import { initialState } from '../conversation/conversation.js'
import {
  originTypes,
  type EventData,
  type RecordedEvent,
  type SummarizerRecord,
  type ReplacementType,
} from '../events/index.js'
import { isWithoutModel, type TokenUsage } from './prices.js'
import { defaultEstimator, type FindEstimator } from '../values/tokens.js'

/** What one model, or one strategy without a model, made. */
export interface ModelUse extends TokenUsage {
  /** Who runs the model. */
  readonly provider: string
  /** Its name. */
  readonly model: string
  /** Summaries that were bought, or made without a model. */
  readonly summaries: number
  /**
   * Of these, summaries whose usage was not reported: their tokens are our estimate of what was sent and answered, the
   * prompt's own text left out.
   */
  readonly estimated: number
  /** Time that its answers took together, in milliseconds. */
  readonly durationMs: number
}

export interface Tally {
  readonly conversations: number
  readonly messages: number
  /** Tokens of messages that the assistant did not write, and of those that it did. */
  readonly tokensIn: number
  readonly tokensOut: number
  /** What stands now: the cycles that made it, the messages that it covers, and the active batches. */
  readonly cycles: number
  readonly messagesCompressed: number
  readonly batches: number
  /**
   * All that was ever made, and paid for where a model was asked: what was undone or replaced since, and what editions
   * have, included.
   */
  readonly made: { readonly cycles: number; readonly batches: number; readonly resummarizations: number }
  /** Cycles that were undone, editions that were adopted, and adoptions that were reverted. */
  readonly undone: number
  readonly adopted: number
  readonly reverted: number
  /**
   * What the contexts that are handed out lost at all cycles together; what an undone cycle or another edition brought
   * back is taken off.
   */
  readonly tokensSaved: number
  /** Messages of the assistant; each answered a context. */
  readonly answers: number
  /** Tokens of these contexts together, and what they would have had if nothing had ever been compacted. */
  readonly tokensSent: number
  readonly tokensSentUncompacted: number
  /** Summaries of the extractive strategy in place of a summarizer that failed, at the hard limit. */
  readonly standIns: number
  /** Summaries that were taken over as they were recorded, and cost nothing. */
  readonly reused: number
  readonly failures: Readonly<Record<string, number>>
  readonly couldNotHelp: Readonly<Record<string, number>>
  readonly summarizingMs: number
  readonly models: readonly ModelUse[]
}

/** The tally of nothing. */
export const EMPTY_TALLY: Tally = {
  conversations: 0,
  messages: 0,
  tokensIn: 0,
  tokensOut: 0,
  cycles: 0,
  messagesCompressed: 0,
  batches: 0,
  made: { cycles: 0, batches: 0, resummarizations: 0 },
  undone: 0,
  adopted: 0,
  reverted: 0,
  tokensSaved: 0,
  answers: 0,
  tokensSent: 0,
  tokensSentUncompacted: 0,
  standIns: 0,
  reused: 0,
  failures: {},
  couldNotHelp: {},
  summarizingMs: 0,
  models: [],
}

function addCounts(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const sums = new Map(Object.entries(a))
  for (const [kind, count] of Object.entries(b)) sums.set(kind, (sums.get(kind) ?? 0) + count)
  return Object.fromEntries(sums)
}

function addModels(a: readonly ModelUse[], b: readonly ModelUse[]): readonly ModelUse[] {
  if (b.length === 0) return a
  const models = new Map(a.map((use) => [JSON.stringify([use.provider, use.model]), use]))
  for (const use of b) {
    const key = JSON.stringify([use.provider, use.model])
    const before = models.get(key)
    models.set(
      key,
      before === undefined
        ? use
        : {
            ...before,
            summaries: before.summaries + use.summaries,
            estimated: before.estimated + use.estimated,
            promptTokens: before.promptTokens + use.promptTokens,
            completionTokens: before.completionTokens + use.completionTokens,
            durationMs: before.durationMs + use.durationMs,
          },
    )
  }
  return [...models.values()]
}

/** Two tallies together. */
export function addTallies(a: Tally, b: Partial<Tally>): Tally {
  return {
    conversations: a.conversations + (b.conversations ?? 0),
    messages: a.messages + (b.messages ?? 0),
    tokensIn: a.tokensIn + (b.tokensIn ?? 0),
    tokensOut: a.tokensOut + (b.tokensOut ?? 0),
    cycles: a.cycles + (b.cycles ?? 0),
    messagesCompressed: a.messagesCompressed + (b.messagesCompressed ?? 0),
    batches: a.batches + (b.batches ?? 0),
    made:
      b.made === undefined
        ? a.made
        : {
            cycles: a.made.cycles + b.made.cycles,
            batches: a.made.batches + b.made.batches,
            resummarizations: a.made.resummarizations + b.made.resummarizations,
          },
    undone: a.undone + (b.undone ?? 0),
    adopted: a.adopted + (b.adopted ?? 0),
    reverted: a.reverted + (b.reverted ?? 0),
    tokensSaved: a.tokensSaved + (b.tokensSaved ?? 0),
    answers: a.answers + (b.answers ?? 0),
    tokensSent: a.tokensSent + (b.tokensSent ?? 0),
    tokensSentUncompacted: a.tokensSentUncompacted + (b.tokensSentUncompacted ?? 0),
    standIns: a.standIns + (b.standIns ?? 0),
    reused: a.reused + (b.reused ?? 0),
    failures: b.failures === undefined ? a.failures : addCounts(a.failures, b.failures),
    couldNotHelp: b.couldNotHelp === undefined ? a.couldNotHelp : addCounts(a.couldNotHelp, b.couldNotHelp),
    summarizingMs: a.summarizingMs + (b.summarizingMs ?? 0),
    models: b.models === undefined ? a.models : addModels(a.models, b.models),
  }
}

// A summary that was bought elsewhere, and is recorded again where it is used.
const isReused = ({ reused }: SummarizerRecord): boolean => reused === true

/** Whether nobody reported what a summary took, though a model was asked for it. */
export const isUnreported = (summarizer: SummarizerRecord): boolean =>
  summarizer.usage === undefined && !isWithoutModel(summarizer) && !isReused(summarizer)

/** What a summary cost. @param estimate what it may have taken, used where nobody reported it */
function purchase(summarizer: SummarizerRecord, estimate: () => TokenUsage): Partial<Tally> {
  if (isReused(summarizer)) return { reused: 1 }
  const { provider, model, durationMs, standIn } = summarizer
  const usage = summarizer.usage ?? (isWithoutModel(summarizer) ? { promptTokens: 0, completionTokens: 0 } : estimate())
  const use: ModelUse = {
    provider,
    model,
    summaries: 1,
    estimated: isUnreported(summarizer) ? 1 : 0,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    durationMs,
  }
  return { models: [use], summarizingMs: durationMs, standIns: standIn === true ? 1 : 0 }
}

const NOTHING_MADE = EMPTY_TALLY.made

/** Adds up one conversation, fact by fact, from the first. */
export class TallyFold {
  private sums: Tally = { ...EMPTY_TALLY, conversations: 1 }
  private readonly fold: Fold
  /** Tokens of all messages. */
  private allTokens = 0
  /** Tokens of the batches that may still become part of another, by their ids. */
  private readonly batchTokens = new Map<string, number>()

  constructor(conversationId: string, findEstimator: FindEstimator) {
    this.fold = new Fold(initialState(conversationId, findEstimator))
  }

  get tally(): Tally {
    const { cycles, messagesCompressed, batches } = this.fold.state
    return { ...this.sums, cycles, messagesCompressed, batches: batches.length }
  }

  private add(some: Partial<Tally>): void {
    this.sums = addTallies(this.sums, some)
  }

  private message({ role, tokens }: EventData<'MessageAppended'>): void {
    const answer = (): Partial<Tally> => ({
      tokensOut: tokens,
      answers: 1,
      tokensSent: contextTokens(this.fold.state),
      tokensSentUncompacted: this.allTokens,
    })
    this.add({ messages: 1, ...(role === 'assistant' ? answer() : { tokensIn: tokens }) })
    this.allTokens += tokens
  }

  /** Other batches and another window were put into force. */
  private putIntoForce({ batches }: EventData<ReplacementType>): void {
    this.batchTokens.clear()
    for (const { batchId, tokens } of batches) this.batchTokens.set(batchId, tokens)
  }

  private resummarized(data: EventData<'BatchesResummarized'>): void {
    const promptTokens = data.sourceBatchIds.reduce((sum, id) => sum + (this.batchTokens.get(id) ?? 0), 0)
    for (const id of data.sourceBatchIds) this.batchTokens.delete(id)
    this.batchTokens.set(data.batchId, data.tokens)
    this.add({
      made: { ...NOTHING_MADE, resummarizations: 1 },
      ...purchase(data.summarizer, () => ({ promptTokens, completionTokens: defaultEstimator.text(summaryOf(data)) })),
    })
  }

  /**
   * Takes the next fact of the conversation's own stream.
   * @param chunkTokens tokens of the messages of a chunk whose usage nobody reported
   */
  take(event: RecordedEvent, chunkTokens = 0): void {
    // The fact counts all that is in force. An agent never gets more than fits, and what its contexts lost is what is
    // saved.
    const closes = originTypes.some((type) => type === event.type)
    const tokensBefore = closes ? contextTokens(this.fold.state) : 0
    if (event.type === 'MessageAppended') this.message(event.data)
    else if (event.type === 'EditionAdopted' || event.type === 'EditionReverted' || event.type === 'CycleUndone') {
      this.putIntoForce(event.data)
      this.add(
        event.type === 'CycleUndone'
          ? { undone: event.data.undone.length }
          : event.type === 'EditionAdopted'
            ? { adopted: 1 }
            : { reverted: 1 },
      )
    }
    this.fold.take(event)
    if (closes) this.add({ tokensSaved: tokensBefore - contextTokens(this.fold.state) })
    this.takeMade(event, chunkTokens)
  }

  /**
   * Takes what a fact says of what was made and of failures alone: all that counts of a stream beside the
   * conversation's own.
   */
  takeMade(event: RecordedEvent, chunkTokens = 0): void {
    if (event.type === 'ChunkSummarized' || event.type === 'SummarySetAside') {
      const { summarizer, summary } = event.data
      this.add(
        purchase(summarizer, () => ({ promptTokens: chunkTokens, completionTokens: defaultEstimator.text(summary) })),
      )
    } else if (event.type === 'BatchArchived') {
      this.batchTokens.set(event.data.batchId, event.data.tokens)
      this.add({ made: { ...NOTHING_MADE, batches: 1 } })
    } else if (event.type === 'BatchesResummarized') this.resummarized(event.data)
    else if (event.type === 'MessagesPruned') this.add({ made: { ...NOTHING_MADE, cycles: 1 } })
    else if (event.type === 'CompactionFailed') this.add({ failures: { [event.data.failure]: 1 } })
    else if (event.type === 'CompactionCouldNotHelp') this.add({ couldNotHelp: { [event.data.reason]: 1 } })
  }
}
