/**
 * For all property tests.
 *
 * A history that does not end fails with its seed. The test's own limit of two minutes would print neither seed nor
 * history. The second limit ends the search for a shorter history, which would not end either. A property that reaches
 * this limit without a failure fails and reports it, since fewer histories than requested prove less. A property that
 * needs longer sets its own limit.
 *
 * The histories are the same in every run, so that a test that fails after a change fails because of it.
 * `CONTEXT_LEDGER_TEST_SEED=random` runs other histories, and a number repeats those of a failure, which prints its
 * seed. A history found in this way becomes an example of its property.
 */
import fc from 'fast-check'
import { repeated } from './length.js'

const SEED_OF_EVERY_RUN = 20_261_122

function seedOf(wanted: string | undefined): { seed?: number } {
  if (wanted === undefined || wanted === '') return { seed: SEED_OF_EVERY_RUN }
  if (wanted === 'random') return {}
  const seed = Number(wanted)
  if (!Number.isSafeInteger(seed))
    throw new Error(`CONTEXT_LEDGER_TEST_SEED is a whole number or "random", not "${wanted}".`)
  return { seed }
}

fc.configureGlobal({
  // For a property that does not say how many: `npm run test:all` tries all.
  numRuns: repeated(100, 25),
  timeout: 20_000,
  interruptAfterTimeLimit: 110_000,
  markInterruptAsFailure: true,
  ...seedOf(process.env['CONTEXT_LEDGER_TEST_SEED']),
})
