/**
 * The history of a conversation for the slider. It is read once, with a snapshot of the state every few hundred events,
 * so any revision can be shown without a store call. It uses the same fold as the ledger. If the events exceed the memory
 * limit, only the course and the counts stay in memory, and contexts come from the ledger.
 */
import { contextIn, type ContextAsOf } from '../../../domain/compaction/context.js'
import { initialState, type Conversation } from '../../../domain/conversation/conversation.js'
import { Fold } from '../../../domain/conversation/evolve.js'
import { originTypes, type EventData, type RecordedEvent } from '../../../domain/events/index.js'
import { isOfType } from '../../../application/recording/read-event.js'
import { count } from '../../../domain/text/count.js'
import { hardLimit, softLimit } from '../../../domain/values/policy.js'
import { defaultEstimator, type FindEstimator } from '../../../domain/values/tokens.js'
import type { Ledger } from '../../../library/ledger.js'
import { problem, valueOf } from '../../../library/problem.js'
import { findEstimator, isRegisteredEstimator } from '../../../application/recording/estimators.js'
import { EVENTS_PER_PIECE, type Pause } from './foreground.js'
import { ALL_KINDS, EVENT_KINDS, type EventKind } from './event-kinds.js'

/** Kinds of marks on the course of a conversation. */
export type MarkKind = 'cycle' | 'failure' | 'could-not-help' | 'undo' | 'adoption' | 'revert'

/** A marked event: its revision and a short description. */
export interface Mark {
  readonly kind: MarkKind
  readonly revision: number
  /** When it happened: the time in the transcript for a compaction of another program, else when it was recorded. */
  readonly at: string
  readonly text: string
  /** Number of the cycle, for kind `cycle`. */
  readonly cycle?: number
}

/** The size of the context over time: one point per event, in columns of equal length. */
export interface Course {
  readonly revisions: readonly number[]
  /** Messages of a user so far. */
  readonly turns: readonly number[]
  /** Tokens of the context after the event. A shortened context counts at most the hard limit. */
  readonly tokens: readonly number[]
  /** Limits at that revision; null if unknown. */
  readonly soft: readonly (number | null)[]
  readonly hard: readonly (number | null)[]
  readonly marks: readonly Mark[]
}

/** Maximum number of events between two snapshots. */
const SNAPSHOT_INTERVAL = 512
/** Maximum characters of events in memory, for one conversation and for all. */
const LIMITS = { ofOne: 64_000_000, ofAll: 160_000_000 } as const

// Token counts of messages are recorded. An unregistered estimator is only needed for views, so the default replaces
// it.
const findCountable: FindEstimator = (name) => (isRegisteredEstimator(name) ? findEstimator(name) : defaultEstimator)

/** Why a compaction could not reduce the context enough. */
const NOT_REDUCED: Readonly<Record<EventData<'CompactionCouldNotHelp'>['reason'], string>> = {
  'recent-messages': 'most of it is leading, pinned or recent messages',
  'pinned-and-leading': 'the leading and pinned messages alone reach the limit',
  'too-little-to-fold': 'too few messages can be compacted',
  'open-calls': 'tool calls without a result block it',
  summaries: 'most of it is summaries',
}

/** The mark of an event on the plot; undefined for an unmarked event. */
function markOf(event: RecordedEvent): Pick<Mark, 'kind' | 'text' | 'cycle'> | undefined {
  if (isOfType(event, 'MessagesPruned')) {
    const { cycle, tokensBefore, tokensAfter, why } = event.data
    return {
      kind: 'cycle',
      cycle,
      text: `compaction ${String(cycle)} (${why.trigger === 'observed' ? 'by another program' : `${why.trigger} limit`}): ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
    }
  }
  if (isOfType(event, 'CompactionFailed'))
    return { kind: 'failure', text: `failed (${event.data.failure}), attempt ${String(event.data.attempt)}` }
  if (isOfType(event, 'CompactionCouldNotHelp'))
    return { kind: 'could-not-help', text: `could not reduce enough: ${NOT_REDUCED[event.data.reason]}` }
  if (isOfType(event, 'CycleUndone'))
    return { kind: 'undo', text: `undid compaction ${event.data.undone.map(({ cycle }) => String(cycle)).join(', ')}` }
  if (isOfType(event, 'EditionAdopted')) return { kind: 'adoption', text: `edition ${event.data.editionId} adopted` }
  if (isOfType(event, 'EditionReverted')) return { kind: 'revert', text: `edition ${event.data.editionId} reverted` }
  return undefined
}

const isOrigin = (event: RecordedEvent): boolean => originTypes.some((type) => type === event.type)

/** Approximate size of an event in characters. */
function sizeOf(event: RecordedEvent): number {
  if (event.type !== 'MessageAppended') return 400
  const { content, toolCalls } = event.data
  return (
    200 +
    (typeof content === 'string' ? content.length : JSON.stringify(content).length) +
    (toolCalls === undefined ? 0 : JSON.stringify(toolCalls).length)
  )
}

/** The events and snapshots of a conversation. New events can be added. */
export class History {
  readonly course: {
    readonly revisions: number[]
    readonly turns: number[]
    readonly tokens: number[]
    readonly soft: (number | null)[]
    readonly hard: (number | null)[]
    readonly marks: Mark[]
  } = { revisions: [], turns: [], tokens: [], soft: [], hard: [], marks: [] }
  /** Events by kind. */
  readonly kinds: Record<EventKind, number> = { messages: 0, tools: 0, compactions: 0, other: 0 }
  /** Characters of the events in memory. */
  size = 0
  private events: RecordedEvent[] | undefined = []
  private readonly snapshots: Conversation[] = []
  private readonly fold: Fold
  /** The time of the last compaction of another program, by its transcript. */
  private observedAt: string | undefined
  private readonly contexts = new Map<number, ContextAsOf>()

  constructor(
    readonly conversationId: string,
    private readonly maxSize: number = LIMITS.ofOne,
  ) {
    this.fold = new Fold(initialState(conversationId, findCountable))
  }

  /** Revision of the last event; -1 before the first. */
  get head(): number {
    return this.fold.state.revision
  }

  add(event: RecordedEvent): void {
    const state = this.fold.take(event)
    this.keep(event)
    const kind = ALL_KINDS.find((each) => EVENT_KINDS[each].has(event))
    if (kind !== undefined) this.kinds[kind] += 1
    const { configuration, observed } = state
    // The limits of an external program are unknown.
    const policy = observed === undefined ? configuration?.policy : undefined
    const hard = policy === undefined ? null : hardLimit(policy)
    this.course.revisions.push(event.revision)
    this.course.turns.push(
      (this.course.turns.at(-1) ?? 0) + (event.type === 'MessageAppended' && event.data.role === 'user' ? 1 : 0),
    )
    this.course.tokens.push(hard === null ? state.tokens : Math.min(state.tokens, hard))
    this.course.soft.push(policy === undefined ? null : softLimit(policy))
    this.course.hard.push(hard)
    if (event.type === 'CompactionObserved') this.observedAt = event.data.at
    const mark = markOf(event)
    if (mark !== undefined) {
      const isObserved = event.type === 'MessagesPruned' && event.data.why.trigger === 'observed'
      const at = (isObserved ? this.observedAt : undefined) ?? event.metadata.recordedAt
      this.course.marks.push({ ...mark, revision: event.revision, at })
    }
    const last = this.snapshots.at(-1)
    if (this.events === undefined) return
    if (last === undefined || isOrigin(event) || event.revision - last.revision >= SNAPSHOT_INTERVAL)
      // Copy the window, because the fold mutates it.
      this.snapshots.push({ ...state, window: [...state.window] })
  }

  /** Keeps an event for later views, unless the conversation is too large for memory. */
  private keep(event: RecordedEvent): void {
    if (this.events === undefined) return
    this.size += sizeOf(event)
    this.events.push(event)
    if (this.size <= this.maxSize) return
    this.size = 0
    this.events = undefined
    this.snapshots.length = 0
  }

  /** The event at a revision; undefined if the events are not in memory. */
  eventAt(revision: number): RecordedEvent | undefined {
    return this.events?.[revision]
  }

  /** The events after `from` up to `to`; undefined if they are not in memory. */
  eventsBetween(from: number, to: number): readonly RecordedEvent[] | undefined {
    return to > this.head ? undefined : this.events?.slice(from + 1, to + 1)
  }

  /** The state at a revision; undefined if it does not exist or the events are not in memory. */
  stateAt(revision: number): Conversation | undefined {
    const { events } = this
    if (events === undefined || revision < 0 || revision > this.head) return undefined
    const start = this.snapshots[lastAtOrBefore(this.snapshots, revision)]
    if (start === undefined) return undefined
    const fold = new Fold(start)
    for (let at = start.revision + 1; at <= revision; at += 1) {
      const event = events[at]
      if (event !== undefined) fold.take(event)
    }
    return fold.state
  }

  /**
   * The context at a revision, equal to that of the ledger; undefined like `stateAt`, or if the estimator is not registered
   * in this process. Throws if there is no context.
   */
  contextAt(revision: number): ContextAsOf | undefined {
    const known = this.contexts.get(revision)
    if (known !== undefined) return known
    const state = this.stateAt(revision)
    // The ledger reports why there is no context.
    if (state === undefined || !isRegisteredEstimator(state.configuration?.estimator ?? defaultEstimator.name))
      return undefined
    const context = valueOf(contextIn(state, undefined), problem)
    this.contexts.set(revision, context)
    for (const oldest of this.contexts.keys()) {
      if (this.contexts.size <= MAX_CONTEXTS) break
      this.contexts.delete(oldest)
    }
    return context
  }
}

const MAX_CONTEXTS = 8

/** Index of the last state at or before a revision. */
function lastAtOrBefore(states: readonly Conversation[], revision: number): number {
  let low = 0
  let high = states.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((states[middle]?.revision ?? 0) <= revision) low = middle
    else high = middle - 1
  }
  return low
}

/** A cache of histories. The least recently used one is evicted first. */
export interface Histories {
  /**
   * Reads the new events of a conversation; all events the first time.
   * @param pause awaited between pieces of the log, for reads in the background
   */
  read(conversationId: string, pause?: Pause): Promise<History>
  /** The cached history, if it is not being read. Does not wait. */
  ready(conversationId: string): History | undefined
}

/** Creates the cache; `limits` are in characters. */
export function createHistories(
  ledger: Pick<Ledger, 'log'>,
  limits: { readonly ofOne: number; readonly ofAll: number } = LIMITS,
): Histories {
  const cached = new Map<string, History>()
  const reading = new Map<string, Promise<History>>()

  async function readNew(conversationId: string, pause: Pause | undefined): Promise<History> {
    const history = cached.get(conversationId) ?? new History(conversationId, limits.ofOne)
    const from = history.head + 1
    let events = 0
    for await (const event of ledger.log(conversationId, { from })) {
      history.add(event)
      events += 1
      if (pause !== undefined && events % EVENTS_PER_PIECE === 0) await pause()
    }
    cached.delete(conversationId)
    cached.set(conversationId, history)
    let size = [...cached.values()].reduce((sum, each) => sum + each.size, 0)
    for (const [id, each] of cached) {
      if (size <= limits.ofAll || id === conversationId) break
      cached.delete(id)
      size -= each.size
    }
    return history
  }

  return {
    ready: (conversationId) => (reading.has(conversationId) ? undefined : cached.get(conversationId)),
    async read(conversationId, pause) {
      const pending = reading.get(conversationId)
      if (pending !== undefined) return await pending
      const work = readNew(conversationId, pause).finally(() => {
        reading.delete(conversationId)
      })
      reading.set(conversationId, work)
      return await work
    },
  }
}
