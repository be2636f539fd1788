/**
 * The application over a store in memory, without an entry point: a test clock, a summarizer that counts its calls and
 * fails on request, and a store that crashes, hides its outcome, or lets another writer go first. `restart` is the same
 * store after the process was killed.
 */
import { either as E } from 'fp-ts'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { createAppendMessages, type AppendedMessages } from '../../src/application/recording/append-messages.js'
import {
  createCompact,
  type Compact,
  type CompactionRun,
  type CompactMode,
} from '../../src/application/compaction/compact.js'
import { createCompress, type Compressed } from '../../src/application/compaction/compress.js'
import { decodeEvent } from '../../src/application/recording/read-event.js'
import {
  createConversations,
  type CommandFailure,
  type Conversations,
} from '../../src/application/recording/handle-command.js'
import type { Log } from '../../src/application/recording/load-conversation.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import { contextOf, type Context } from '../../src/domain/compaction/context.js'
import { evolve } from '../../src/domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../src/domain/conversation/conversation.js'
import type { EventType, RecordedEvent } from '../../src/domain/events/index.js'
import { hashOf, sha256, uuidOf } from '../../src/domain/values/hash.js'
import { conversationStream, editionStream } from '../../src/domain/values/ids.js'
import type { MessageInput, NewMessage } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import type { Claims } from '../../src/ports/claims.js'
import type { Clock } from '../../src/ports/clock.js'
import type { AppendFailure, Appended, EventStore, EventToAppend, StoredEvent } from '../../src/ports/event-store.js'
import type { TokenBudget } from '../../src/ports/token-budget.js'
import type {
  PreparedSummary,
  Summarizer,
  SummarizerFailure,
  SummarizerFailureKind,
  Summary,
  SummaryJob,
} from '../../src/ports/summarizer.js'
import { dataOfProblem, problem } from '../../src/library/problem.js'
import { guarded } from '../../src/application/summarizers/guarded.js'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import { findEstimator } from '../../src/application/recording/estimators.js'

/** A clock that advances by a second at each reading, with counted ids. */
export function createTestClock(name = 'clock'): Clock {
  let readings = 0
  let ids = 0
  return { now: () => new Date(Date.UTC(2026, 0, 1) + 1_000 * readings++), newId: () => uuidOf(name, String(ids++)) }
}

/** The current time, for callers that pass instants later than the test's clock. */
export const NO_INSTANT_TO_COME = new Date(Date.UTC(2200, 0, 1))

// --- The summarizer ---

/** What a call comes to: a text of its own, a failure by its kind, or something thrown. Undefined: the usual text. */
export type Answer =
  | { readonly text: string }
  | { readonly failure: SummarizerFailureKind }
  | { readonly throws: unknown }
  | undefined

export interface ScriptedSummarizer extends Summarizer {
  /** Every request that was made, in order. */
  readonly calls: PreparedSummary[]
  /** Says what the next calls come to. */
  answer: (prepared: PreparedSummary, call: number) => Answer | Promise<Answer>
}

export interface ScriptOptions {
  readonly model?: string
  readonly windowTokens?: number
  /** Fills the summary up to what it may have. */
  readonly verbose?: boolean
}

const PROMPT_TEXT = 'Summarize {messages}'

const idsOf = (job: SummaryJob): string[] =>
  job.kind === 'chunk' ? job.messages.map((message) => message.messageId) : job.summaries.map((summary) => summary.text)

/** The usual text: short, the same for the same job, and within its limit. */
export function usualSummary(job: SummaryJob, verbose = false): string {
  const text = `${job.kind} ${sha256(JSON.stringify(idsOf(job))).slice(0, 8)} of ${String(idsOf(job).length)}`
  if (!verbose) return text.slice(0, job.maxSummaryTokens * 4)
  return text.padEnd(job.maxSummaryTokens * 4, ' and so on').slice(0, job.maxSummaryTokens * 4)
}

const failed = (failure: SummarizerFailureKind): SummarizerFailure => ({
  kind: 'SummarizerFailed',
  failure,
  detail: `scripted: ${failure}`,
})

/** A summarizer that answers from a script and keeps count. */
export function createScriptedSummarizer({
  model = 'scripted-1',
  windowTokens = 128_000,
  verbose = false,
}: ScriptOptions = {}): ScriptedSummarizer {
  const events = { strategy: 'scripted', provider: 'scripted', model }
  const scripted: ScriptedSummarizer = {
    ...events,
    windowTokens,
    calls: [],
    answer: () => undefined,
    prepare(job) {
      const parameters = { temperature: job.temperature, maxSummaryTokens: job.maxSummaryTokens }
      const request =
        job.kind === 'chunk'
          ? { messages: idsOf(job), existingSummary: job.existingSummary }
          : { summaries: idsOf(job) }
      return {
        job,
        ...events,
        parameters,
        prompt: { name: 'scripted', sha256: sha256(PROMPT_TEXT), text: PROMPT_TEXT },
        formatterVersion: 1,
        request,
        requestHash: hashOf({ ...events, parameters, request }),
      }
    },
    summarize: async (prepared) => {
      scripted.calls.push(prepared)
      const answer = await scripted.answer(prepared, scripted.calls.length)
      if (answer !== undefined && 'throws' in answer) throw answer.throws
      if (answer !== undefined && 'failure' in answer) return failed(answer.failure)
      const summary: Summary = {
        text: answer === undefined ? usualSummary(prepared.job, verbose) : answer.text,
        durationMs: 1,
        usage: { promptTokens: 10, completionTokens: 5 },
      }
      return summary
    },
  }
  return scripted
}

// --- The store ---

/** The error that kills the process in a test. Only the test may catch it. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

/**
 * What happens at an append: the process dies before or after it is written, or its outcome stays unknown, written or
 * not.
 */
export type Fault = 'crash-before' | 'crash-after' | 'unknown-before' | 'unknown-after'

export interface TroubledStore extends EventStore {
  /** What happens at the next appends to conversations, in order; undefined is nothing. */
  readonly faults: (Fault | undefined)[]
  /** Runs before an append to a conversation reaches the store; one that is set is taken away before it runs. */
  beforeAppend: (() => Promise<void>) | undefined
  /** The events of each append that was written, in order. */
  readonly appends: { readonly stream: string; readonly types: readonly string[]; readonly last: number }[]
  /** Events that were read, by any way of reading. */
  reads: number
}

const MOST_APPENDS = 10_000

const unknown: E.Either<AppendFailure, Appended> = E.left({ kind: 'StoreUnavailable', detail: 'scripted' })

/** A store that behaves badly on demand, and counts what is read. */
export function createTroubledStore(store: EventStore): TroubledStore {
  const write = async (
    stream: string,
    expected: Parameters<EventStore['append']>[1],
    events: readonly EventToAppend[],
  ): Promise<E.Either<AppendFailure, Appended>> => {
    const result = await store.append(stream, expected, events)()
    // An endless history would kill the process and print no seed.
    if (troubled.appends.length > MOST_APPENDS)
      throw new Error(`${String(MOST_APPENDS)} appends in one test: something goes round in circles`)
    if (E.isRight(result) && !result.right.repeated)
      troubled.appends.push({ stream, types: events.map((event) => event.type), last: result.right.revision })
    return result
  }
  const counted = <T>(events: T[]): T[] => {
    troubled.reads += events.length
    return events
  }
  async function* counting(events: AsyncIterable<StoredEvent>): AsyncGenerator<StoredEvent> {
    for await (const event of events) {
      troubled.reads += 1
      yield event
    }
  }
  const troubled: TroubledStore = {
    ...store,
    faults: [],
    beforeAppend: undefined,
    appends: [],
    reads: 0,
    append: (stream, expected, events) => async () => {
      if (!stream.startsWith(conversationStream(''))) return write(stream, expected, events)
      const before = troubled.beforeAppend
      troubled.beforeAppend = undefined
      await before?.()
      const fault = troubled.faults.shift()
      if (fault === 'crash-before') throw new Crash('before the append')
      if (fault === 'unknown-before') return unknown
      const result = await write(stream, expected, events)
      if (fault === 'crash-after') throw new Crash('after the append')
      return fault === 'unknown-after' ? unknown : result
    },
    readStream: (stream, options) => counting(store.readStream(stream, options)),
    readRevisions: async (stream, revisions) => counted(await store.readRevisions(stream, revisions)),
    recognizes: store.recognizes,
    eventAt: (position) => store.eventAt(position),
    findByIds: async (stream, ids) => counted(await store.findByIds(stream, ids)),
  }
  return troubled
}

// --- One process over that store ---

export interface HarnessOptions {
  readonly policy?: PolicySettings
  readonly summarizer?: ScriptedSummarizer
  readonly store?: TroubledStore
  readonly log?: Log
  readonly claims?: Claims
  readonly clock?: Clock
  readonly budget?: TokenBudget
}

export const CONVERSATION = 'c1'

export interface Harness {
  readonly store: TroubledStore
  readonly log: Log
  readonly claims: Claims
  readonly clock: Clock
  readonly summarizer: ScriptedSummarizer
  readonly conversations: Conversations
  /** The problems that `compress` reported. */
  readonly problems: unknown[]
  /** Another process over the same store: nothing in memory is shared, and what a dead one claimed is free. */
  restart(options?: Pick<HarnessOptions, 'summarizer' | 'claims' | 'budget'>): Harness
  append(
    messages: MessageInput | readonly MessageInput[],
    conversationId?: string,
  ): Promise<E.Either<CommandFailure, AppendedMessages>>
  /** Like `append`; a refusal fails the test. */
  appended(messages: MessageInput | readonly MessageInput[], conversationId?: string): Promise<AppendedMessages>
  compact(mode?: CompactMode, conversationId?: string): Promise<CompactionRun>
  /** The use case itself. */
  readonly run: Compact
  compress<Message extends MessageInput>(
    history: readonly Message[],
    conversationId?: string,
  ): Promise<Compressed<Message>>
  pin(messageId: string, pinned?: boolean): Promise<E.Either<CommandFailure, unknown>>
  context(conversationId?: string): Promise<Context>
  /** Every fact of a conversation, straight from the store. */
  events(conversationId?: string): Promise<RecordedEvent[]>
  /** Every fact of an edition of it. */
  editionEvents(editionId: string, conversationId?: string): Promise<RecordedEvent[]>
  eventsOf<Type extends EventType>(type: Type, conversationId?: string): Promise<RecordedEvent<Type>[]>
  /** The state by folding every fact from the first. */
  folded(conversationId?: string): Promise<Conversation>
}

export const messageOf = (input: MessageInput): NewMessage => {
  const parsed = parseMessage(input)
  if (E.isLeft(parsed)) throw new Error(`${parsed.left.field} ${parsed.left.detail}`)
  return parsed.right
}

/** The context. Throws if there is none. */
export function contextIn(state: Conversation): Context {
  const context = contextOf(state)
  if (E.isLeft(context)) throw new Error('the leading messages do not fit')
  return context.right
}

const asList = (messages: MessageInput | readonly MessageInput[]): readonly MessageInput[] =>
  'role' in messages ? [messages] : messages

/** The use cases, wired as the entry point wires them. */
export function createHarness(options: HarnessOptions = {}): Harness {
  const { policy, summarizer = createScriptedSummarizer(), clock = createTestClock() } = options
  const store = options.store ?? createTroubledStore(createMemoryEventStore())
  const log: Log = { store, bodies: options.log?.bodies ?? createMemoryBodyStore() }
  const claims = options.claims ?? createMemoryClaims(clock)
  const conversations = createConversations({ log, clock })
  const problems: unknown[] = []
  const actor = 'test'
  const provenance = () => {
    const correlationId = clock.newId()
    return { actor, correlationId, causationId: correlationId }
  }
  const appendMessages = createAppendMessages({ conversations, clock, summarizerWindowTokens: summarizer.windowTokens })
  const compact = createCompact({
    conversations,
    summarizer: guarded(summarizer),
    fallback: createExtractiveSummarizer(),
    persona: '',
    claims,
    clock,
    registerPrompt: createRegisterPrompt(log, clock),
    actor,
    budget: options.budget,
  })
  const append = (messages: readonly NewMessage[], conversationId: string) =>
    appendMessages({ conversationId, messages, settings: policy, scope: undefined, provenance: provenance() })

  const compress = createCompress({
    log,
    conversations,
    configure: () => ({
      type: 'Configure',
      settings: policy,
      scope: undefined,
      summarizerWindowTokens: summarizer.windowTokens,
    }),
    now: () => clock.now(),
    open: provenance,
    onRecorded: () => undefined,
    compact: (conversationId) => compact(conversationId, 'due'),
    onProblem: (heard) => {
      problems.push(heard)
    },
    describe: dataOfProblem,
    errorOf: problem,
  })

  async function eventsIn(stream: string): Promise<RecordedEvent[]> {
    const reads = store.reads
    const events: RecordedEvent[] = []
    for await (const stored of store.readStream(stream)) events.push(await decodeEvent(stored, log))
    store.reads = reads
    return events
  }

  const harness: Harness = {
    store,
    log,
    claims,
    clock,
    summarizer,
    conversations,
    problems,
    restart: (again = {}) =>
      createHarness({ ...(policy === undefined ? {} : { policy }), summarizer, store, log, clock, ...again }),
    append: (messages, conversationId = CONVERSATION) => append(asList(messages).map(messageOf), conversationId),
    async appended(messages, conversationId = CONVERSATION) {
      const appended = await harness.append(messages, conversationId)
      if (E.isLeft(appended)) throw new Error(`the append was refused: ${JSON.stringify(appended.left)}`)
      return appended.right
    },
    compact: (mode = 'due', conversationId = CONVERSATION) => compact(conversationId, mode),
    run: compact,
    compress: (history, conversationId = CONVERSATION) => compress(history, conversationId),
    pin: (messageId, pinned = true) =>
      conversations.handle(CONVERSATION, [{ type: pinned ? 'PinMessage' : 'UnpinMessage', messageId }], provenance()),
    context: async (conversationId = CONVERSATION) => contextIn(await conversations.load(conversationId)),
    events: (conversationId = CONVERSATION) => eventsIn(conversationStream(conversationId)),
    editionEvents: (editionId, conversationId = CONVERSATION) => eventsIn(editionStream(editionId, conversationId)),
    async eventsOf<Type extends EventType>(type: Type, conversationId = CONVERSATION) {
      return (await harness.events(conversationId)).filter((event): event is RecordedEvent<Type> => event.type === type)
    },
    folded: async (conversationId = CONVERSATION) =>
      (await harness.events(conversationId)).reduce(evolve, initialState(conversationId, findEstimator)),
  }
  return harness
}
