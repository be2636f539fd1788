/** The retention rules, holds and runs of a ledger, from the events of the stream `retention-rules`. */
import type { EventData, RecordedEvent } from '../events/index.js'

/** The rules of a scope, or of all conversations. Durations are in ISO 8601. */
export interface RetentionRules {
  /** No younger message is erased without a legal basis. */
  readonly keepAtLeast?: string | undefined
  /** A conversation is erased if its last message is older. */
  readonly eraseAfter?: string | undefined
}

/** Actor, time and reason of a change. */
interface Origin {
  readonly reason: string
  readonly actor: string
  readonly at: string
}

/** Rules with their scope; without one, they apply to all conversations. */
export interface RecordedRules extends RetentionRules, Origin {
  /** Absent for all conversations. */
  readonly scope?: string | undefined
}

/** A hold that is not released. */
export interface RetentionHold extends Origin {
  /** Id for the release. */
  readonly holdId: string
  /** The held conversation, if it is only one. */
  readonly conversationId?: string | undefined
  /** The held scope, if it is a whole one. */
  readonly scope?: string | undefined
}

/** A run with its plan; `receipt` is absent if it was interrupted or is running. */
export interface RetentionRun {
  /** Id of the run, in its events. */
  readonly runId: string
  /** Start, ISO 8601. */
  readonly startedAt: string
  /** The actor that started it. */
  readonly actor: string
  /** The plan: the conversations that were due at the start. */
  readonly due: readonly EventData<'RetentionRunStarted'>['due'][number][]
  /** End, ISO 8601. */
  readonly completedAt?: string
  /** The result. */
  readonly receipt?: EventData<'RetentionRunCompleted'>['receipt']
}

export interface RetentionState {
  readonly revision: number
  /** By scope; undefined for all conversations. */
  readonly rules: ReadonlyMap<string | undefined, RecordedRules>
  readonly holds: readonly RetentionHold[]
  readonly lastRun: RetentionRun | undefined
  /** Conversations that runs have erased. */
  readonly erased: ReadonlySet<string>
}

export const NO_RETENTION: RetentionState = {
  revision: -1,
  rules: new Map(),
  holds: [],
  lastRun: undefined,
  erased: new Set(),
}

const originOf = ({ metadata }: RecordedEvent, reason: string): Origin => ({
  reason,
  actor: metadata.actor,
  at: metadata.recordedAt,
})

const TYPES = [
  'RetentionRulesSet',
  'RetentionHoldPlaced',
  'RetentionHoldReleased',
  'RetentionRunStarted',
  'RetentionRunCompleted',
] as const
type RetentionEvent = RecordedEvent<(typeof TYPES)[number]>

export const isRetentionEvent = (event: RecordedEvent): event is RetentionEvent =>
  TYPES.some((type) => type === event.type)

/** The state after an event. Events of other types do not occur in the stream; `verify` reports them. */
export function evolveRetention(state: RetentionState, event: RecordedEvent): RetentionState {
  const next = { ...state, revision: event.revision }
  if (!isRetentionEvent(event)) return next
  switch (event.type) {
    case 'RetentionRulesSet': {
      const { scope, keepAtLeast, eraseAfter, reason } = event.data
      const rules = new Map(state.rules)
      if (keepAtLeast === undefined && eraseAfter === undefined) rules.delete(scope)
      else rules.set(scope, { ...event.data, ...originOf(event, reason) })
      return { ...next, rules }
    }
    case 'RetentionHoldPlaced':
      return { ...next, holds: [...state.holds, { ...event.data, ...originOf(event, event.data.reason) }] }
    case 'RetentionHoldReleased':
      return { ...next, holds: state.holds.filter(({ holdId }) => holdId !== event.data.holdId) }
    case 'RetentionRunStarted': {
      const { recordedAt, actor } = event.metadata
      return { ...next, lastRun: { ...event.data, startedAt: recordedAt, actor } }
    }
    case 'RetentionRunCompleted':
      return state.lastRun?.runId === event.data.runId
        ? {
            ...next,
            lastRun: { ...state.lastRun, completedAt: event.metadata.recordedAt, receipt: event.data.receipt },
            erased: new Set([
              ...state.erased,
              ...event.data.receipt.erased.map(({ conversationId }) => conversationId),
            ]),
          }
        : next
  }
}

/** The rules that apply to a scope. For each setting: the value of the scope, otherwise the value for all conversations. */
export function rulesFor(
  rules: ReadonlyMap<string | undefined, RetentionRules>,
  scope: string | undefined,
): RetentionRules {
  const all = rules.get(undefined)
  const ofScope = rules.get(scope)
  const keepAtLeast = ofScope?.keepAtLeast ?? all?.keepAtLeast
  const eraseAfter = ofScope?.eraseAfter ?? all?.eraseAfter
  return {
    ...(keepAtLeast === undefined ? {} : { keepAtLeast }),
    ...(eraseAfter === undefined ? {} : { eraseAfter }),
  }
}

/** The scope whose rule applies; undefined if it is the rule of all conversations. */
export const scopeOfRule = (
  rules: RetentionState['rules'],
  scope: string | undefined,
  rule: keyof RetentionRules,
): string | undefined => (rules.get(scope)?.[rule] === undefined ? undefined : scope)

/** The hold that applies to a conversation; undefined if there is none. */
export const holdOn = (
  { holds }: Pick<RetentionState, 'holds'>,
  conversationId: string,
  scope: string | undefined,
): RetentionHold | undefined =>
  holds.find((hold) => hold.conversationId === conversationId || (scope !== undefined && hold.scope === scope))
