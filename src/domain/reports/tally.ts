/**
 * Sums up the events of a conversation: messages, cycles, summaries and their cost, tokens saved, and failures. It
 * folds the event stream, so it includes pruned and undone data. It also keeps the state that a normal load of the
 * conversation produces, so that the numbers for active data agree with all other answers and past contexts have their
 * original size.
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
import { isWithoutModel, type TokenSums, type TokenUsage } from './prices.js'
import { defaultEstimator, type FindEstimator } from '../values/tokens.js'

/** The usage of one model, or of one strategy without a model. */
export interface ModelUse extends TokenSums {
  /** The provider of the model. */
  readonly provider: string
  /** The name of the model. */
  readonly model: string
  /** Summaries that were paid for, or made without a model. */
  readonly summaries: number
  /**
   * Summaries whose usage was not reported. Their tokens are estimated from the input and the answer, without the text
   * of the prompt.
   */
  readonly estimated: number
  /** The prompt tokens that providers read from their caches. */
  readonly cachedTokens: number
  /** Total duration of the answers, in milliseconds. */
  readonly durationMs: number
}

export interface Tally {
  readonly conversations: number
  readonly messages: number
  /** Tokens of messages that the assistant did not write, and of those that it wrote. */
  readonly tokensIn: number
  readonly tokensOut: number
  /** The active state: its cycles, the messages that it covers, and the active batches. */
  readonly cycles: number
  readonly messagesCompressed: number
  readonly batches: number
  /** Compactions of other programs with an unknown summary: encrypted, or not in the transcript. */
  readonly unknownSummaries: number
  /** Records of transcripts, and answers that passed through the proxy, that could not be read. */
  readonly unreadable: number
  /** Everything that was ever made, including what was undone or replaced later and what editions contain. */
  readonly made: { readonly cycles: number; readonly batches: number; readonly resummarizations: number }
  /** Undone cycles, adopted editions, and reverted adoptions. */
  readonly undone: number
  readonly adopted: number
  readonly reverted: number
  /**
   * The tokens by which all cycles reduced the context, minus the tokens that undone cycles or other editions brought
   * back.
   */
  readonly tokensSaved: number
  /** Messages of the assistant; each answered a context. */
  readonly answers: number
  /** The total tokens of these contexts, and their total without any compaction. */
  readonly tokensSent: number
  readonly tokensSentUncompacted: number
  /** Fallback summaries of the extractive strategy, made at the hard limit after a summarizer had failed. */
  readonly fallbacks: number
  /** Summaries that were reused as recorded, at no cost. */
  readonly reused: number
  readonly failures: Readonly<Record<string, number>>
  readonly couldNotHelp: Readonly<Record<string, number>>
  readonly summarizingMs: number
  readonly models: readonly ModelUse[]
}

export const EMPTY_TALLY: Tally = {
  conversations: 0,
  messages: 0,
  tokensIn: 0,
  tokensOut: 0,
  cycles: 0,
  messagesCompressed: 0,
  batches: 0,
  unknownSummaries: 0,
  unreadable: 0,
  made: { cycles: 0, batches: 0, resummarizations: 0 },
  undone: 0,
  adopted: 0,
  reverted: 0,
  tokensSaved: 0,
  answers: 0,
  tokensSent: 0,
  tokensSentUncompacted: 0,
  fallbacks: 0,
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
            cachedTokens: before.cachedTokens + use.cachedTokens,
            durationMs: before.durationMs + use.durationMs,
          },
    )
  }
  return [...models.values()]
}

/** Adds two tallies. */
export function addTallies(a: Tally, b: Partial<Tally>): Tally {
  return {
    conversations: a.conversations + (b.conversations ?? 0),
    messages: a.messages + (b.messages ?? 0),
    tokensIn: a.tokensIn + (b.tokensIn ?? 0),
    tokensOut: a.tokensOut + (b.tokensOut ?? 0),
    cycles: a.cycles + (b.cycles ?? 0),
    messagesCompressed: a.messagesCompressed + (b.messagesCompressed ?? 0),
    batches: a.batches + (b.batches ?? 0),
    unknownSummaries: a.unknownSummaries + (b.unknownSummaries ?? 0),
    unreadable: a.unreadable + (b.unreadable ?? 0),
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
    fallbacks: a.fallbacks + (b.fallbacks ?? 0),
    reused: a.reused + (b.reused ?? 0),
    failures: b.failures === undefined ? a.failures : addCounts(a.failures, b.failures),
    couldNotHelp: b.couldNotHelp === undefined ? a.couldNotHelp : addCounts(a.couldNotHelp, b.couldNotHelp),
    summarizingMs: a.summarizingMs + (b.summarizingMs ?? 0),
    models: b.models === undefined ? a.models : addModels(a.models, b.models),
  }
}

// A summary that was paid for elsewhere and recorded again.
const isReused = ({ reused }: SummarizerRecord): boolean => reused === true

/** Whether a model was called for a summary but its usage was not reported. */
export const isUnreported = (summarizer: SummarizerRecord): boolean =>
  summarizer.usage === undefined && !isWithoutModel(summarizer) && !isReused(summarizer)

/** The usage of a model that one event reports. */
export interface ReportedUse extends TokenUsage {
  readonly provider: string
  readonly model: string
  readonly durationMs: number
}

const NO_USAGE = { promptTokens: 0, completionTokens: 0 }

/**
 * The usage for a summary; undefined if it was reused.
 * @param estimate the estimated usage, for a summary whose usage was not reported
 */
export function useOfSummary(summarizer: SummarizerRecord, estimate: () => TokenUsage): ReportedUse | undefined {
  if (isReused(summarizer)) return undefined
  const { provider, model, durationMs } = summarizer
  const usage = summarizer.usage ?? (isWithoutModel(summarizer) ? NO_USAGE : estimate())
  return { provider, model, durationMs, ...usage }
}

/** The usage of each rejected answer of a failed compaction, if it was reported. */
export function usesInVain({
  provider,
  model,
  rejectedAnswers = [],
}: EventData<'CompactionFailed'>): readonly ReportedUse[] {
  return rejectedAnswers.flatMap(({ usage, durationMs }) =>
    usage === undefined ? [] : [{ provider, model, durationMs, ...usage }],
  )
}

/** The usage of a review of rules, if it was reported. */
export const useOfReview = ({ reviewer }: EventData<'RulesReviewed'>): ReportedUse | undefined =>
  reviewer.usage === undefined
    ? undefined
    : {
        provider: reviewer.provider,
        model: reviewer.model,
        durationMs: reviewer.durationMs,
        ...reviewer.usage,
      }

/** The estimated completion tokens of a summary whose usage was not reported. */
export const estimatedCompletion = (summary: string): number => defaultEstimator.text(summary)

const modelUseOf = (use: ReportedUse, summaries: number, estimated: number): ModelUse => ({
  provider: use.provider,
  model: use.model,
  summaries,
  estimated,
  promptTokens: use.promptTokens,
  completionTokens: use.completionTokens,
  cachedTokens: use.cachedTokens ?? 0,
  durationMs: use.durationMs,
})

/** The cost of a summary; `estimate` as in `useOfSummary`. */
function purchase(summarizer: SummarizerRecord, estimate: () => TokenUsage): Partial<Tally> {
  const use = useOfSummary(summarizer, estimate)
  if (use === undefined) return { reused: 1 }
  return {
    models: [modelUseOf(use, 1, isUnreported(summarizer) ? 1 : 0)],
    summarizingMs: use.durationMs,
    fallbacks: summarizer.fallback === true ? 1 : 0,
  }
}

/** The cost of a failed compaction. */
function spentInVain(data: EventData<'CompactionFailed'>): Partial<Tally> {
  const uses = usesInVain(data)
  return {
    models: uses.map((use) => modelUseOf(use, 0, 0)),
    summarizingMs: uses.reduce((sum, { durationMs }) => sum + durationMs, 0),
  }
}

/** The cost of a review of rules. */
function reviewed(data: EventData<'RulesReviewed'>): Partial<Tally> {
  const use = useOfReview(data)
  return use === undefined ? {} : { models: [modelUseOf(use, 0, 0)] }
}

const NOTHING_MADE = EMPTY_TALLY.made

/** Sums up one conversation, event by event, from the first. */
export class TallyFold {
  private sums: Tally = { ...EMPTY_TALLY, conversations: 1 }
  private readonly fold: Fold
  /** Tokens of all messages. */
  private allTokens = 0
  /** Tokens of all batches that were recorded so far, by id. */
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

  /** Other batches and another window became active. */
  private applyReplacement({ batches }: EventData<ReplacementType>): void {
    for (const { batchId, tokens } of batches) this.batchTokens.set(batchId, tokens)
  }

  private resummarized(data: EventData<'BatchesResummarized'>): void {
    const promptTokens = data.sourceBatchIds.reduce((sum, id) => sum + (this.batchTokens.get(id) ?? 0), 0)
    this.batchTokens.set(data.batchId, data.tokens)
    this.add({
      made: { ...NOTHING_MADE, resummarizations: 1 },
      ...purchase(data.summarizer, () => ({ promptTokens, completionTokens: estimatedCompletion(summaryOf(data)) })),
    })
  }

  /**
   * Adds the next event of the conversation's own stream.
   * @param chunkTokens tokens of the messages of a chunk whose usage was not reported
   */
  take(event: RecordedEvent, chunkTokens = 0): void {
    // The event counts every active batch. The agent receives only what fits, so the saving is the difference of the
    // context tokens before and after.
    const closes = originTypes.some((type) => type === event.type)
    const tokensBefore = closes ? contextTokens(this.fold.state) : 0
    if (event.type === 'MessageAppended') this.message(event.data)
    else if (event.type === 'EditionAdopted' || event.type === 'EditionReverted' || event.type === 'CycleUndone') {
      this.applyReplacement(event.data)
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
   * Adds only the data about created summaries and about failures: all that counts in other streams than the
   * conversation's own.
   */
  takeMade(event: RecordedEvent, chunkTokens = 0): void {
    if (event.type === 'ChunkSummarized' || event.type === 'SummarySetAside') {
      const { summarizer, summary } = event.data
      this.add(
        purchase(summarizer, () => ({ promptTokens: chunkTokens, completionTokens: estimatedCompletion(summary) })),
      )
    } else if (event.type === 'BatchArchived') {
      this.batchTokens.set(event.data.batchId, event.data.tokens)
      this.add({ made: { ...NOTHING_MADE, batches: 1 } })
    } else if (event.type === 'BatchesResummarized') this.resummarized(event.data)
    else if (event.type === 'MessagesPruned') this.add({ made: { ...NOTHING_MADE, cycles: 1 } })
    else if (event.type === 'CompactionObserved' && event.data.summary.kind === 'opaque')
      this.add({ unknownSummaries: 1 })
    else if (event.type === 'TranscriptDamaged') this.add({ unreadable: 1 })
    else if (event.type === 'CompactionFailed')
      this.add({ failures: { [event.data.failure]: 1 }, ...spentInVain(event.data) })
    else if (event.type === 'RulesReviewed') this.add(reviewed(event.data))
    else if (event.type === 'CompactionCouldNotHelp') this.add({ couldNotHelp: { [event.data.reason]: 1 } })
  }
}
