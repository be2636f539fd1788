/**
 * How long the tests run. `npm test` runs everything once, and each property test with a few histories, so that a
 * developer gets a result within minutes. `npm run test:all` runs everything: files named `*.long.test.ts`, tests
 * marked `longTest`, and each property test at its full length. CI runs `npm test` first, and then only the files that
 * test more than that (`CONTEXT_LEDGER_TEST_ALL=rest`).
 */
import { describe, expect, test } from '@jest/globals'

const requestedLength = process.env['CONTEXT_LEDGER_TEST_ALL'] ?? ''
export const isLong = requestedLength !== ''
/** `npm run test:all`, which leaves nothing out. */
export const isWhole = isLong && requestedLength !== 'rest'

const path = expect.getState().testPath ?? ''
// CI has run the other tests of these files by `npm test`. count-reporter.mjs does not count them as skipped again.
const onlyLongTests = requestedLength === 'rest' && path !== '' && !path.endsWith('.long.test.ts')

const longOnes = onlyLongTests ? { test: test.only, describe: describe.only } : { test, describe }
export const longTest: typeof test.skip = isLong ? longOnes.test : test.skip
/** For `npm run test:all` alone: a variation of what CI tests in another way. */
export const wholeTest: typeof test.skip = isWhole ? test : test.skip
export const wholeDescribe: typeof describe.skip = isWhole ? describe : describe.skip
export const longDescribe: typeof describe.skip = isLong ? longOnes.describe : describe.skip

/** Needs the Postgres server of `CONTEXT_LEDGER_TEST_POSTGRES` (postgres.ts). */
export const serverDescribe: typeof describe.skip =
  (process.env['CONTEXT_LEDGER_TEST_POSTGRES'] ?? '') === '' ? describe.skip : longOnes.describe

/** A tenth of the histories, but at least three, finds an obvious failure. `npm run test:all` runs all. */
export const runsOf = (all: number): number => (isWhole ? all : Math.min(all, Math.max(3, Math.round(all / 10))))

/** How often a long test does the same: `npm run test:all` does it all the times, CI as often as `some`. */
export const repeated = (all: number, some: number): number => (isWhole ? all : some)
