/** Decides whether the retention rules allow an erasure. */
import { either as E } from 'fp-ts'
import { afterDuration } from '../values/duration.js'
import { holdOn, rulesFor, scopeOfRule, type RetentionState } from './retention-state.js'

/** The part of an erasure in one conversation. */
export interface ErasureCandidate {
  readonly conversationId: string
  readonly scope: string | undefined
  /** Time of the youngest message that would be erased, ISO 8601; undefined if it erases none. */
  readonly youngestErased: string | undefined
  /** Time of the last message of the conversation, ISO 8601; undefined if it has none. */
  readonly lastMessageAt: string | undefined
}

/** A hold stops the erasure. */
export type OnHold = {
  readonly kind: 'OnHold'
  readonly conversationId: string
  readonly holdId: string
  readonly scope?: string
  readonly reason: string
}

/** A message is younger than `keepAtLeast`. */
export type TooYoung = {
  readonly kind: 'TooYoung'
  readonly conversationId: string
  readonly keepAtLeast: string
  /** The scope of the rule; absent if it is the rule of all conversations. */
  readonly scope?: string
  readonly youngest: string
  readonly allowedFrom: string
}

/** A run of retention erases only conversations that are older than `eraseAfter`. */
type NotDue = { readonly kind: 'NotDue'; readonly conversationId: string }

/** The retention rules do not allow an erasure. */
export type ErasureRefusal = OnHold | TooYoung | NotDue

const REFUSALS: ReadonlySet<string> = new Set<ErasureRefusal['kind']>(['OnHold', 'TooYoung', 'NotDue'])

export const isErasureRefusal = (failure: { readonly kind: string }): failure is ErasureRefusal =>
  REFUSALS.has(failure.kind)

/** When a rule allows or requires it, ISO 8601; undefined without a rule or a message. */
export const dateAfter = (time: string | undefined, duration: string | undefined): string | undefined =>
  time === undefined || duration === undefined
    ? undefined
    : new Date(afterDuration(Date.parse(time), duration)).toISOString()

function checkHolds(state: RetentionState, { conversationId, scope }: ErasureCandidate): E.Either<OnHold, void> {
  const hold = holdOn(state, conversationId, scope)
  return hold === undefined
    ? E.right(undefined)
    : E.left({
        kind: 'OnHold',
        conversationId,
        holdId: hold.holdId,
        ...(hold.scope === undefined ? {} : { scope: hold.scope }),
        reason: hold.reason,
      })
}

function oldEnough(state: RetentionState, candidate: ErasureCandidate, now: Date): E.Either<TooYoung, void> {
  const { conversationId, scope, youngestErased } = candidate
  const { keepAtLeast } = rulesFor(state.rules, scope)
  const allowedFrom = dateAfter(youngestErased, keepAtLeast)
  if (keepAtLeast === undefined || youngestErased === undefined || allowedFrom === undefined) return E.right(undefined)
  if (Date.parse(allowedFrom) <= now.getTime()) return E.right(undefined)
  const ofScope = scopeOfRule(state.rules, scope, 'keepAtLeast')
  return E.left({
    kind: 'TooYoung',
    conversationId,
    keepAtLeast,
    ...(ofScope === undefined ? {} : { scope: ofScope }),
    youngest: youngestErased,
    allowedFrom,
  })
}

/** Whether a requested erasure is allowed. A legal basis permits erasing young messages, but not in a conversation on hold. */
export function judgeErasure(
  state: RetentionState,
  candidate: ErasureCandidate,
  now: Date,
  legalBasis: string | undefined,
): E.Either<OnHold | TooYoung, void> {
  const hold = checkHolds(state, candidate)
  return E.isLeft(hold) || legalBasis !== undefined ? hold : oldEnough(state, candidate, now)
}

/** Whether a run of retention may erase a whole conversation now. */
export function judgeDue(
  state: RetentionState,
  candidate: ErasureCandidate,
  now: Date,
): E.Either<ErasureRefusal, void> {
  const allowed = judgeErasure(state, candidate, now, undefined)
  if (E.isLeft(allowed)) return allowed
  const dueFrom = dateAfter(candidate.lastMessageAt, rulesFor(state.rules, candidate.scope).eraseAfter)
  return dueFrom !== undefined && Date.parse(dueFrom) <= now.getTime()
    ? E.right(undefined)
    : E.left({ kind: 'NotDue', conversationId: candidate.conversationId })
}
