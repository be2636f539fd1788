/**
 * How long the tests run. `npm test` asks everything once and each law of a few histories, so that whoever changes
 * something hears of it within minutes. `npm run test:all` runs the whole: files named `*.long.test.ts`, tests that are
 * `longTest`, and each law at its full length. CI, which runs `npm test` beside it, runs of these only the files that ask
 * more than `npm test` did (`CONTEXT_LEDGER_TEST_ALL=rest`).
 */
import { describe, expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'

const asked = process.env['CONTEXT_LEDGER_TEST_ALL'] ?? ''
export const isLong = asked !== ''
/** `npm run test:all`, which leaves nothing out. */
export const isWhole = isLong && asked !== 'rest'

/** What asks more of a server, or of more histories, in every one of its tests. */
const MORE = /runsOf|isLong|isWhole|contracts\/event-store|testServer/u
const path = expect.getState().testPath ?? ''
// Where a file asks no more than its long tests do, CI has asked the others by `npm test`. What is left out here is told
// apart by count-reporter.mjs.
const areAloneLeft =
  asked === 'rest' && path !== '' && !path.endsWith('.long.test.ts') && !MORE.test(readFileSync(path, 'utf8'))

const longOnes = areAloneLeft ? { test: test.only, describe: describe.only } : { test, describe }
export const longTest: typeof test.skip = isLong ? longOnes.test : test.skip
export const longDescribe: typeof describe.skip = isLong ? longOnes.describe : describe.skip

/**
 * A tenth of the histories is enough to notice what breaks at once, and never fewer than three. CI asks a sixth of them
 * where a law stands beside what asks for a server, and `npm run test:all` asks all.
 */
export const runsOf = (all: number): number => {
  const part = asked === 'rest' ? 6 : 10
  return isWhole ? all : Math.min(all, Math.max(3, Math.round(all / part)))
}

/** How often a long test does the same: `npm run test:all` does it all the times, CI as often as `some`. */
export const repeated = (all: number, some: number): number => (isWhole ? all : some)
