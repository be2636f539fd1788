/**
 * Old stored shapes to today's, one step a version. Recorded events are for ever, so a step that was written once
 * stays. It stands in the file of its event.
 */

/** Takes the data as one version stored it, and returns it as the next version would have. */
type Upcast = (data: Record<string, unknown>) => Record<string, unknown>

/** The steps of one event, by the version that each lifts from. */
export type Upcasters = Readonly<Record<number, Upcast>>

/**
 * The step to a version that may say more, and says the rest as before. It has a number of its own all the same: an
 * older program then says that it is too old, and does not misread what it cannot know.
 */
export const saysNoMore: Upcast = (data) => data

/**
 * Lifts stored data to the version that is written today.
 * @returns the data, or undefined where a step is missing (a version from the future, or one that was never written)
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
