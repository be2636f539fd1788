/**
 * For all property tests.
 *
 * A history that does not end fails with its seed, where the test's own limit of two minutes would tell neither seed
 * nor history. The second limit ends the search for a shorter one, which would not end either; a property that comes to
 * it by itself has failed, and says so, since fewer histories than were asked for prove less. One that is to run longer
 * says its own limit.
 *
 * The histories are the same ones at every run, so that a test that fails after a change fails because of it.
 * `CONTEXT_LEDGER_TEST_SEED=random` looks for others, and a number runs those of a failure again, which names its seed.
 * What is found so becomes an example of its property.
 */
import fc from 'fast-check'

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
  timeout: 20_000,
  interruptAfterTimeLimit: 110_000,
  markInterruptAsFailure: true,
  ...seedOf(process.env['CONTEXT_LEDGER_TEST_SEED']),
})
