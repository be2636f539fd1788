/** Error messages of retention. */
import type { NoSuchHold } from '../../domain/retention/decide-retention.js'
import type { ErasureRefusal } from '../../domain/retention/judge-erasure.js'
import { durationText } from '../../domain/values/duration.js'
import type { Sentences } from '../../domain/values/failure-sentences.js'

/** Another process runs a retention run. */
export type RetentionBusy = { readonly kind: 'RetentionBusy'; readonly owner: string }
export type RetentionFailure = NoSuchHold | ErasureRefusal | RetentionBusy

const ofScope = (scope: string | undefined): string =>
  scope === undefined ? 'the rule of all conversations' : `the rule of scope "${scope}"`

/** A sentence for each kind of failure. */
export const retentionSentences: Sentences<RetentionFailure> = {
  OnHold: (failure) =>
    `conversation "${failure.conversationId}" is on hold${failure.scope === undefined ? '' : ` with scope "${failure.scope}"`} (${failure.reason}): \`retention release ${failure.holdId}\` ends the hold. Nothing was erased in it.`,
  TooYoung: (failure) =>
    `conversation "${failure.conversationId}": a message of ${failure.youngest} is kept at least ${durationText(failure.keepAtLeast)} by ${ofScope(failure.scope)}. It can be erased from ${failure.allowedFrom} on, or earlier with a legal basis (--legal-basis TEXT), which is recorded. Nothing was erased in it.`,
  NotDue: (failure) =>
    `conversation "${failure.conversationId}": no retention rule requires its erasure now. Nothing was erased in it.`,
  NoSuchHold: (failure) =>
    `there is no hold "${failure.holdId}", or it was released: \`retention status\` lists the holds`,
  RetentionBusy: (failure) => `${failure.owner} runs a retention run already: wait until it is completed`,
}
