/**
 * Clocks and medians. The speed of a shared machine varies by half within minutes. Therefore, alternatives are measured
 * in turns (a, b, a, b …), and the median of the turns counts.
 */

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The percentile: the value that a share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => percentile(values, 0.5)

/**
 * Runs each of `works` once per round, and returns their results by name. The first round is a warm-up and is not
 * counted.
 */
export async function inTurns<Name extends string>(
  rounds: number,
  works: Readonly<Record<Name, (round: number) => Promise<readonly number[]>>>,
  warmUp = 1,
): Promise<Record<Name, number[]>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a record are its names, which `Object.keys` forgets
  const names = Object.keys(works) as Name[]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  const measured = Object.fromEntries(names.map((name): [Name, number[]] => [name, []])) as Record<Name, number[]>
  for (let round = 0; round < rounds + warmUp; round += 1) {
    for (const name of names) {
      const values = await works[name](round)
      if (round >= warmUp) measured[name].push(...values)
    }
  }
  return measured
}
