/**
 * Old stored shapes to today's, one step a version. Recorded events are for ever, so a step that was written once
 * stays.
 * An upcaster takes the data as it was stored under `fromVersion` and returns it as the next version would have stored
 * it.
 */
import type { EventType } from './index.js'

type Upcast = (data: Record<string, unknown>) => Record<string, unknown>
export type Upcasters = { readonly [Type in EventType]?: Readonly<Record<number, Upcast>> }

/**
 * The steps that exist: type → version it lifts from → step. A type that is not named is still at its first version.
 */
export const upcasters: Upcasters = {
  // Version 2 of these knows that messages are withdrawn: what may be absent is absent in version 1. It has a number of
  // its own because an older program
  // would take a withdrawn message for a live one.
  MessageAppended: { 1: (data) => data },
  MessagesPruned: { 1: (data) => data },
  EditionAdopted: { 1: (data) => data },
  EditionReverted: { 1: (data) => data },
  CycleUndone: { 1: (data) => data },
  CompactionFailed: {
    // Version 2 knows one trigger more, `ahead`. It has a number of its own so that an older program says that it is
    // too old, not that the log is broken.
    1: (data) => data,
  },
}

/**
 * Lifts stored data to the version that is written today.
 * @returns the data, or undefined where a step is missing (a version from the future, or one that was never written)
 */
export function upcast(
  type: EventType,
  data: Record<string, unknown>,
  from: number,
  to: number,
  steps: Upcasters = upcasters,
): Record<string, unknown> | undefined {
  if (from > to) return undefined
  let lifted = data
  for (let version = from; version < to; version += 1) {
    const step = steps[type]?.[version]
    if (step === undefined) return undefined
    lifted = step(lifted)
  }
  return lifted
}
