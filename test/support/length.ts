/**
 * Which tests run.
 *
 * - `npm test` runs everything once, and each property test with a few histories, so that a developer gets a result
 *   within minutes.
 * - CI then runs what a fresh machine may lack (`CONTEXT_LEDGER_TEST_ALL=ci`): files named `*.ci.test.ts`, for a browser,
 *   the package registry and killed processes, and the suites of a Postgres server.
 * - `npm run test:all` runs everything: also files named `*.long.test.ts`, tests marked `longTest`, and each property
 *   test at its full length.
 */
import { describe, expect, test } from '@jest/globals'

const requested = process.env['CONTEXT_LEDGER_TEST_ALL'] ?? ''
/** `npm run test:all`, which leaves nothing out. */
export const isLong = requested !== '' && requested !== 'ci'

export const longTest: typeof test.skip = isLong ? test : test.skip
export const longDescribe: typeof describe.skip = isLong ? describe : describe.skip

const path = expect.getState().testPath ?? ''
// `npm test` has run the other tests of these files. count-reporter.mjs does not count them as skipped again.
const ofServer = requested === 'ci' && path !== '' && !path.endsWith('.ci.test.ts') ? describe.only : describe

/** Needs the Postgres server of `CONTEXT_LEDGER_TEST_POSTGRES` (postgres.ts). */
export const serverDescribe: typeof describe.skip =
  (process.env['CONTEXT_LEDGER_TEST_POSTGRES'] ?? '') === '' ? describe.skip : ofServer

/** A twentieth of the histories, but at least two, finds an obvious failure; of many histories, a thirty-second. */
const someOf = (all: number): number => Math.min(Math.max(2, Math.round(all / 20)), Math.max(3, Math.round(all / 32)))

/** How many of the generated histories `npm test` tries. `npm run test:all` tries all. */
export const runsOf = (all: number): number => (isLong ? all : Math.min(all, someOf(all)))

/**
 * `count` of the rows of a large table, at equal distances; another `round` starts elsewhere. `npm run test:all` tries all
 * rows.
 */
export function sampled<T>(rows: readonly T[], count: number, round = 0): readonly T[] {
  if (isLong || rows.length <= count) return rows
  const step = rows.length / count
  const start = ((round * 0.618) % 1) * step
  return rows.filter((_row, at) => Math.floor((at - start) / step) !== Math.floor((at - 1 - start) / step))
}

/**
 * The rows of a matrix: each value of each axis once, in step, or several times if another axis is longer. `npm run
 * test:all` tries every combination.
 */
export function combinations<T extends ReadonlyArray<readonly unknown[]>>(
  ...axes: T
): ReadonlyArray<{ -readonly [K in keyof T]: T[K][number] }> {
  const length = Math.max(...axes.map((axis) => axis.length))
  const rows = isLong
    ? axes.reduce<readonly unknown[][]>((all, axis) => all.flatMap((row) => axis.map((value) => [...row, value])), [[]])
    : Array.from({ length }, (_none, at) => axes.map((axis) => axis[at % axis.length]))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row has one value of each axis
  return rows as unknown as ReadonlyArray<{ -readonly [K in keyof T]: T[K][number] }>
}

/** How often a test of CI does the same: `npm run test:all` does it all the times, CI as often as `some`. */
export const repeated = (all: number, some: number): number => (isLong ? all : some)
