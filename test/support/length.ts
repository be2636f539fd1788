/**
 * How long the tests run. `npm test` asks everything once and each law of a few histories, so that whoever changes
 * something hears of it within minutes. `npm run test:all` runs the whole: files named `*.long.test.ts`, tests that are
 * `longTest`, and each law at its full length. CI, which runs `npm test` beside it, runs of these only the files that ask
 * more than `npm test` did (`CONTEXT_LEDGER_TEST_ALL=rest`).
 */
import { describe, test } from '@jest/globals'

export const isLong = (process.env['CONTEXT_LEDGER_TEST_ALL'] ?? '') !== ''

export const longTest: typeof test.skip = isLong ? test : test.skip
export const longDescribe: typeof describe.skip = isLong ? describe : describe.skip

/** A tenth of the histories is enough to notice what breaks at once, and never fewer than three. */
export const runsOf = (all: number): number => (isLong ? all : Math.min(all, Math.max(3, Math.round(all / 10))))
