/**
 * Upcasts stored data to the current version, one step for each version. Recorded events are permanent, so steps are
 * never changed or removed. Each step is in the file of its event.
 */

import { isRecord } from '../../lib/is-record.js'

/** Takes the data as stored by one version, and returns it in the form of the next. */
export type Upcast = (data: Record<string, unknown>) => Record<string, unknown>

/** The steps of one event, by the version that each starts from. */
export type Upcasters = Readonly<Record<number, Upcast>>

/**
 * The step to a version that only adds optional data. The new version number makes an older program report that it is
 * too old, instead of misreading the data.
 */
export const saysNoMore: Upcast = (data) => data

/** The step to a version that renames a field. */
export const renamed =
  (from: string, to: string): Upcast =>
  ({ [from]: value, ...rest }) =>
    value === undefined ? rest : { ...rest, [to]: value }

/** Applies steps one after the other. */
export const inOrder =
  (...steps: readonly Upcast[]): Upcast =>
  (data) =>
    steps.reduce((lifted, step) => step(lifted), data)

/** Applies a step to a field that holds an object. */
export const within =
  (field: string, step: Upcast): Upcast =>
  (data) =>
    isRecord(data[field]) ? { ...data, [field]: step(data[field]) } : data

/**
 * Upcasts stored data to the current version.
 * @returns the data, or undefined if a step is missing (a version from the future, or one that never existed)
 */
export function upcast(
  steps: Upcasters,
  data: Record<string, unknown>,
  from: number,
  to: number,
): Record<string, unknown> | undefined {
  if (from > to) return undefined
  let lifted = data
  for (let version = from; version < to; version += 1) {
    const step = steps[version]
    if (step === undefined) return undefined
    lifted = step(lifted)
  }
  return lifted
}
