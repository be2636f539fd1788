/**
 * A conversation as the page goes through it: read once from its first fact to its last, so that the state at any
 * revision is a few steps from one that is kept, and a slider need not ask the store. The same fold as everywhere makes
 * it. A conversation that is too large to be held is read for its course alone, and its contexts come from the ledger.
 */
import { contextIn, type ContextAsOf } from '../../domain/compaction/context.js'
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import { Fold } from '../../domain/conversation/evolve.js'
import { originTypes, type RecordedEvent } from '../../domain/events/index.js'
import { isOfType } from '../../recording/read-event.js'
import { count } from '../../domain/text/count.js'
import { hardLimit, softLimit } from '../../domain/values/policy.js'
import { defaultEstimator, type FindEstimator } from '../../domain/values/tokens.js'
import type { Ledger } from '../../library/ledger.js'
import { problem, valueOf } from '../../library/problem.js'
import { findEstimator, isRegisteredEstimator } from '../../recording/estimators.js'

/** What stands out on the course of a conversation. */
export type MarkKind = 'cycle' | 'failure' | 'could-not-help' | 'undo' | 'adoption' | 'revert'

/** A fact that stands out: where it is recorded, and what it says in a few words. */
export interface Mark {
  readonly kind: MarkKind
  readonly revision: number
  readonly recordedAt: string
  readonly text: string
  /** Of a cycle: its number. */
  readonly cycle?: number
}

/** The course of a context: a point for each fact, in four columns of the same length. */
export interface Course {
  readonly revisions: readonly number[]
  /** Tokens of the context behind the fact. One that has to be shortened is at most as large as the hard limit. */
  readonly tokens: readonly number[]
  /** The limits that were in force then; 0 before there were any. */
  readonly soft: readonly number[]
  readonly hard: readonly number[]
  readonly marks: readonly Mark[]
}

/** A state is kept every so many facts at least. */
const KEPT_EVERY = 512
/** Characters of facts that are held of one conversation, and of all of them together. */
const MOST = { ofOne: 64_000_000, ofAll: 160_000_000 } as const

// What a message took is recorded with it, so an estimator that nobody registered here is asked for nothing but views.
const findCountable: FindEstimator = (name) => (isRegisteredEstimator(name) ? findEstimator(name) : defaultEstimator)

/** What an event says on the plot; undefined where it does not stand out. */
function markOf(event: RecordedEvent): Pick<Mark, 'kind' | 'text' | 'cycle'> | undefined {
  if (isOfType(event, 'MessagesPruned')) {
    const { cycle, tokensBefore, tokensAfter, why } = event.data
    return {
      kind: 'cycle',
      cycle,
      text: `cycle ${String(cycle)} (${why.trigger === 'observed' ? 'by another program' : `${why.trigger} limit`}): ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
    }
  }
  if (isOfType(event, 'CompactionFailed'))
    return { kind: 'failure', text: `failed (${event.data.failure}), attempt ${String(event.data.attempt)}` }
  if (isOfType(event, 'CompactionCouldNotHelp'))
    return { kind: 'could-not-help', text: `compaction could not help (${event.data.reason})` }
  if (isOfType(event, 'CycleUndone'))
    return { kind: 'undo', text: `undone: cycle ${event.data.undone.map(({ cycle }) => String(cycle)).join(', ')}` }
  if (isOfType(event, 'EditionAdopted')) return { kind: 'adoption', text: `edition ${event.data.editionId} adopted` }
  if (isOfType(event, 'EditionReverted')) return { kind: 'revert', text: `edition ${event.data.editionId} put back` }
  return undefined
}

const isOrigin = (event: RecordedEvent): boolean => originTypes.some((type) => type === event.type)

/** Characters that a fact takes, by its longest parts. */
function sizeOf(event: RecordedEvent): number {
  if (event.type !== 'MessageAppended') return 400
  const { content, toolCalls } = event.data
  return (
    200 +
    (typeof content === 'string' ? content.length : JSON.stringify(content).length) +
    (toolCalls === undefined ? 0 : JSON.stringify(toolCalls).length)
  )
}

/** A conversation that was read, and grows with what is recorded meanwhile. */
export class History {
  readonly course: {
    readonly revisions: number[]
    readonly tokens: number[]
    readonly soft: number[]
    readonly hard: number[]
    readonly marks: Mark[]
  } = { revisions: [], tokens: [], soft: [], hard: [], marks: [] }
  /** Characters that it holds. */
  size = 0
  private events: RecordedEvent[] | undefined = []
  private readonly kept: Conversation[] = []
  private readonly fold: Fold
  private readonly contexts = new Map<bigint, ContextAsOf>()

  constructor(
    readonly conversationId: string,
    private readonly most: number = MOST.ofOne,
  ) {
    this.fold = new Fold(initialState(conversationId, findCountable))
  }

  /** Revision of the last fact that was read; -1n before the first. */
  get head(): bigint {
    return this.fold.state.revision
  }

  take(event: RecordedEvent): void {
    const state = this.fold.take(event)
    this.size += sizeOf(event)
    if (this.size > this.most) this.events = undefined
    this.events?.push(event)
    const { configuration, observed } = state
    // Of a context that another program makes, the limits are nobody's that we know.
    const policy = observed === undefined ? configuration?.policy : undefined
    const hard = policy === undefined ? 0 : hardLimit(policy)
    this.course.revisions.push(Number(event.revision))
    this.course.tokens.push(policy === undefined ? state.tokens : Math.min(state.tokens, hard))
    this.course.soft.push(policy === undefined ? 0 : softLimit(policy))
    this.course.hard.push(hard)
    const mark = markOf(event)
    if (mark !== undefined)
      this.course.marks.push({ ...mark, revision: Number(event.revision), recordedAt: event.metadata.recordedAt })
    const last = this.kept.at(-1)
    if (last === undefined || isOrigin(event) || event.revision - last.revision >= KEPT_EVERY)
      // The window of a fold grows in place.
      this.kept.push({ ...state, window: [...state.window] })
  }

  /** The fact at a revision, where the facts are held. */
  eventAt(revision: bigint): RecordedEvent | undefined {
    return this.events?.[Number(revision)]
  }

  /** The facts behind `from`, up to `to`; undefined where they are not held. */
  eventsBetween(from: bigint, to: bigint): readonly RecordedEvent[] | undefined {
    return to > this.head ? undefined : this.events?.slice(Number(from + 1n), Number(to + 1n))
  }

  /** The state behind a fact; undefined where it is not there, or where the facts are not held. */
  stateAt(revision: bigint): Conversation | undefined {
    const { events } = this
    if (events === undefined || revision < 0n || revision > this.head) return undefined
    const start = this.kept[lastAtOrBefore(this.kept, revision)]
    if (start === undefined) return undefined
    const fold = new Fold(start)
    for (let at = Number(start.revision) + 1; at <= Number(revision); at += 1) {
      const event = events[at]
      if (event !== undefined) fold.take(event)
    }
    return fold.state
  }

  /** The context behind a fact, as the ledger gives it; undefined as for `stateAt`. Throws where there is no context. */
  contextAt(revision: bigint): ContextAsOf | undefined {
    const known = this.contexts.get(revision)
    if (known !== undefined) return known
    const state = this.stateAt(revision)
    // The ledger says why it gives none.
    if (state === undefined || !isRegisteredEstimator(state.configuration?.estimator ?? defaultEstimator.name))
      return undefined
    const context = valueOf(contextIn(state, undefined), problem)
    this.contexts.set(revision, context)
    for (const oldest of this.contexts.keys()) {
      if (this.contexts.size <= CONTEXTS_KEPT) break
      this.contexts.delete(oldest)
    }
    return context
  }
}

const CONTEXTS_KEPT = 8

/** The place of the last state at or before a revision. */
function lastAtOrBefore(states: readonly Conversation[], revision: bigint): number {
  let low = 0
  let high = states.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((states[middle]?.revision ?? 0n) <= revision) low = middle
    else high = middle - 1
  }
  return low
}

/** The conversations that were read, as many as may be held; the one that was asked for longest ago goes first. */
export interface Histories {
  /** Reads what is new in a conversation, all of it the first time. */
  read(conversationId: string): Promise<History>
  /** What was read so far to its end, without waiting for anything. */
  ready(conversationId: string): History | undefined
}

/** Builds the conversations that are held; `most` says how many characters may be. */
export function createHistories(
  ledger: Pick<Ledger, 'log'>,
  most: { readonly ofOne: number; readonly ofAll: number } = MOST,
): Histories {
  const held = new Map<string, History>()
  const reading = new Map<string, Promise<History>>()

  async function readOn(conversationId: string): Promise<History> {
    const history = held.get(conversationId) ?? new History(conversationId, most.ofOne)
    const from = history.head + 1n
    for await (const event of ledger.log(conversationId, { from })) history.take(event)
    held.delete(conversationId)
    held.set(conversationId, history)
    let size = [...held.values()].reduce((sum, each) => sum + each.size, 0)
    for (const [id, each] of held) {
      if (size <= most.ofAll || id === conversationId) break
      held.delete(id)
      size -= each.size
    }
    return history
  }

  return {
    ready: (conversationId) => (reading.has(conversationId) ? undefined : held.get(conversationId)),
    async read(conversationId) {
      const under = reading.get(conversationId)
      if (under !== undefined) return await under
      const work = readOn(conversationId).finally(() => {
        reading.delete(conversationId)
      })
      reading.set(conversationId, work)
      return await work
    },
  }
}
