/** Decides on changes of retention rules and holds. A change that changes nothing records nothing. */
import { either as E } from 'fp-ts'
import type { Event, EventData, RetentionReceipt } from '../events/index.js'
import { afterDuration, durationText } from '../values/duration.js'
import { rulesFor, type RetentionRules, type RetentionRun, type RetentionState } from './retention-state.js'

/** Changes of rules: absent keeps a rule, null removes it. Durations are in ISO 8601. */
export interface RuleChanges {
  readonly scope?: string | undefined
  readonly keepAtLeast?: string | null | undefined
  readonly eraseAfter?: string | null | undefined
  readonly reason: string
}

/** The target of a hold: one conversation, or all of a scope. */
export type HoldTarget = { readonly conversationId: string } | { readonly scope: string }

type BadInput = { readonly kind: 'BadInput'; readonly field: string; readonly detail: string }
/** There is no such hold, or it was released. */
export type NoSuchHold = { readonly kind: 'NoSuchHold'; readonly holdId: string }

/** A change of rules or holds is rejected. */
export type RetentionRejection = BadInput | NoSuchHold

/** Both durations from the same time: a rule that erases before the other allows it would never erase in time. */
const REFERENCE = Date.UTC(2001, 0, 1)
const isLonger = (a: string, b: string): boolean => afterDuration(REFERENCE, a) > afterDuration(REFERENCE, b)

function contradiction(rules: ReadonlyMap<string | undefined, RetentionRules>): BadInput | undefined {
  for (const scope of new Set([undefined, ...rules.keys()])) {
    const { keepAtLeast, eraseAfter } = rulesFor(rules, scope)
    if (keepAtLeast !== undefined && eraseAfter !== undefined && isLonger(keepAtLeast, eraseAfter))
      return {
        kind: 'BadInput',
        field: 'eraseAfter',
        detail: `is ${durationText(eraseAfter)} ${scope === undefined ? 'for all conversations' : `in scope "${scope}"`}, but messages there are kept at least ${durationText(keepAtLeast)}: set eraseAfter to at least that`,
      }
  }
  return undefined
}

/** Sets the rules of a scope. */
export function setRules(state: RetentionState, changes: RuleChanges): E.Either<BadInput, Event[]> {
  const { scope, reason } = changes
  const before = state.rules.get(scope)
  const changed = (rule: keyof RetentionRules): string | undefined =>
    changes[rule] === undefined ? before?.[rule] : (changes[rule] ?? undefined)
  const [keepAtLeast, eraseAfter] = [changed('keepAtLeast'), changed('eraseAfter')]
  if (keepAtLeast === before?.keepAtLeast && eraseAfter === before?.eraseAfter) return E.right([])
  const rules: RetentionRules = {
    ...(keepAtLeast === undefined ? {} : { keepAtLeast }),
    ...(eraseAfter === undefined ? {} : { eraseAfter }),
  }
  const problem = contradiction(new Map<string | undefined, RetentionRules>(state.rules).set(scope, rules))
  if (problem !== undefined) return E.left(problem)
  return E.right([{ type: 'RetentionRulesSet', data: { ...(scope === undefined ? {} : { scope }), ...rules, reason } }])
}

/** Places a hold. Several holds can apply to the same conversation: each ends by itself. */
export const placeHold = (
  _state: RetentionState,
  holdId: string,
  target: HoldTarget,
  reason: string,
): E.Either<never, Event[]> => E.right([{ type: 'RetentionHoldPlaced', data: { holdId, ...target, reason } }])

/** Releases a hold. */
export const releaseHold = (
  { holds }: RetentionState,
  holdId: string,
  reason: string,
): E.Either<NoSuchHold, Event[]> =>
  holds.some((hold) => hold.holdId === holdId)
    ? E.right([{ type: 'RetentionHoldReleased', data: { holdId, reason } }])
    : E.left({ kind: 'NoSuchHold', holdId })

type DueConversations = readonly EventData<'RetentionRunStarted'>['due'][number][]

/** Records the plan of a run. Nothing, if another run is not completed. */
export const startRun = ({ lastRun }: RetentionState, runId: string, due: DueConversations): E.Either<never, Event[]> =>
  E.right(isOpen(lastRun) || due.length === 0 ? [] : [{ type: 'RetentionRunStarted', data: { runId, due: [...due] } }])

/** Records the receipt of the run that is not completed. */
export const completeRun = (
  { lastRun }: RetentionState,
  runId: string,
  receipt: RetentionReceipt,
): E.Either<never, Event[]> =>
  E.right(
    isOpen(lastRun) && lastRun.runId === runId ? [{ type: 'RetentionRunCompleted', data: { runId, receipt } }] : [],
  )

/** Whether a run was started and is not completed. */
export const isOpen = (run: RetentionRun | undefined): run is RetentionRun =>
  run !== undefined && run.receipt === undefined
