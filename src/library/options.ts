/** Checks the options of a call. JavaScript callers may omit, misspell or mistype them. */
import { isLedgerError } from '../lib/ledger-error.js'
import { unknownName } from '../domain/text/known-names.js'
import { parsePrices, type PriceTable } from '../domain/reports/prices.js'
import { checkId } from '../domain/values/ids.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { parsePolicySettings, type PolicySettings } from '../domain/values/policy.js'
import { isRegisteredEstimator, registeredEstimators } from '../application/recording/estimators.js'
import type { ActorOptions } from './ledger-options.js'
import { problem, valueOf } from './problem.js'

type KeyOf<T> = T extends unknown ? keyof T : never
/** Every option of a call by its name, so that the compiler asks for one that was added. */
export type Names<T> = Readonly<Record<KeyOf<T>, true>>

/** The option that all calls have which record something. */
export const ACTOR: Names<ActorOptions> = { actor: true }

/** What is said of an option that is wrong. */
export const bad = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

/** What a list needs to begin after a conversation. */
export const AFTER_NEEDS = "goes with sort: 'id'"

/**
 * The options of a call. One that there is not is an error that names the one which may have been meant, since nothing
 * would come of it.
 */
export function optionsGiven<T extends object>(call: string, given: T | undefined, names: Names<T>): Partial<T> {
  if (
    given !== undefined &&
    (typeof given !== 'object' || given === null || readFrom('options', () => Array.isArray(given)))
  )
    throw bad('options', 'must be an object')
  if (given === undefined) return {}
  // Each option is read once: a getter may return another value the second time.
  const { wrong, read } = readFrom('options', () => ({
    wrong: unknownName(given, Object.keys(names), `option of ${call}`),
    read: { ...given },
  }))
  if (wrong !== undefined) throw bad(wrong.field, wrong.detail)
  return read
}

/** Reads from an object of the caller; a getter may throw anything. */
export function readFrom<T>(field: string, look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (isLedgerError(error)) throw error
    throw bad(field, `cannot be read: ${thrownSentence(error)}`)
  }
}

/**
 * Checks a listener. Errors that it throws end the call. If it is async, its promise is not awaited, and a rejection
 * is reported as a problem because it would otherwise end the process.
 */
export function listenerGiven<Heard extends readonly unknown[]>(
  field: string,
  listener: ((...heard: Heard) => unknown) | undefined,
  onProblem: (problem: unknown) => void,
): ((...heard: Heard) => void) | undefined {
  if (listener === undefined) return undefined
  if (typeof listener !== 'function') throw bad(field, 'must be a function')
  return (...heard) => {
    void Promise.resolve(listener(...heard)).catch(onProblem)
  }
}

/** The settings of a policy, checked; throws where one is wrong. */
export const settingsOf = (policy: PolicySettings | undefined): PolicySettings | undefined =>
  policy === undefined
    ? undefined
    : valueOf(
        readFrom('policy', () => parsePolicySettings(policy)),
        problem,
      )

/** A price table, checked; throws where it is wrong. */
export const pricesOf = (prices: PriceTable | undefined): PriceTable =>
  prices === undefined
    ? {}
    : valueOf(
        readFrom('prices', () => parsePrices(prices)),
        ({ field, detail }) => bad(field === '' ? 'prices' : `prices.${field}`, detail),
      )

/** The name of an estimator, checked; throws where none of that name is registered. */
export function estimatorOf(name: string | undefined): string | undefined {
  if (name !== undefined && typeof name !== 'string') throw bad('estimator', 'must be a text')
  if (name !== undefined && !isRegisteredEstimator(name))
    throw bad(
      'estimator',
      `"${name}" is not registered (${registeredEstimators().join(', ')}): registerEstimator comes first`,
    )
  return name
}

/** Checks a name that is recorded: an actor, a correlation id, a scope. */
export const nameOf = (field: string, given: unknown): string =>
  valueOf(checkId(field, given), ({ detail }) => bad(field, detail))

/** Checks ids of conversations, or `all`. A plain string would otherwise be read letter by letter. */
export const conversationsGiven = (
  field: string,
  given: readonly string[] | 'all' | undefined,
): readonly string[] | 'all' => namedOrAll(field, given, 'ids', 'conversations')

/** Names of some things, or all of these. */
export function namedOrAll(
  field: string,
  given: readonly string[] | 'all' | undefined,
  names: string,
  things: string,
): readonly string[] | 'all' {
  if (given === 'all') return given
  if (given === undefined) throw bad(field, `is missing: a list of ${names}, or "all"`)
  if (!Array.isArray(given)) throw bad(field, `must be a list of ${names}, or "all"`)
  if (given.length === 0) throw bad(field, `is empty: name ${things}, or "all"`)
  // A list with holes passes them over, and a hole is no name.
  return Array.from(given, (id: unknown, at) => nameGiven(`${field}[${String(at)}]`, id))
}

/** Checks a text: a name or the beginning of one. */
export function textGiven(field: string, given: unknown): string {
  if (typeof given !== 'string') throw bad(field, given === undefined ? 'is missing' : 'must be a text')
  if (given === '') throw bad(field, 'is empty')
  return given
}

/** A text that is recorded, such as a reason. */
export function recordedTextGiven(field: string, given: unknown): string {
  if (typeof given !== 'string' || given.trim() === '') throw bad(field, 'is missing: it is recorded')
  if (!given.isWellFormed()) throw bad(field, 'has a lone surrogate')
  return given
}

/** A name that a database is asked for, which neither it nor UTF-8 refuses. */
export function nameGiven(field: string, given: unknown): string {
  const name = textGiven(field, given)
  if (name.includes('\0')) throw bad(field, 'has a NUL character')
  if (!name.isWellFormed()) throw bad(field, 'has a lone surrogate')
  return name
}

/** Checks an abort signal. An invalid one would fail in the middle of the work. */
export function signalGiven(signal: unknown): void {
  if (signal !== undefined && !(typeof signal === 'object' && signal !== null && 'aborted' in signal))
    throw bad('signal', 'must be an AbortSignal')
}

/** Checks a whole number, `least` or more. */
export function wholeNumberGiven(field: string, given: number | undefined, least: 0 | 1): void {
  if (given === undefined || (Number.isSafeInteger(given) && given >= least)) return
  throw bad(field, least === 0 ? 'must be a whole number, 0 or more' : 'must be a whole number above 0')
}
