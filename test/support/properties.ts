/**
 * For all property tests: a history that does not end fails with its seed, where the test's own limit of two minutes would tell neither seed nor
 * history. The second limit ends the search for a shorter one, which would not end either; a property that comes to it by itself has failed, and says
 * so, since fewer histories than were asked for prove less. One that is to run longer says its own limit.
 */
import fc from 'fast-check'

fc.configureGlobal({ timeout: 20_000, interruptAfterTimeLimit: 110_000, markInterruptAsFailure: true })
