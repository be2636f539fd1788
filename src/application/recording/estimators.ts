/**
 * The token estimators that this process knows. A stream records the name of its estimator, and code that loads the
 * stream passes `findEstimator` to the state: the domain has no list.
 */
import { either as E } from 'fp-ts'
import { LedgerError } from '../../lib/ledger-error.js'
import { checkId } from '../../domain/values/ids.js'
import { thrownSentence } from '../../domain/values/thrown.js'
import { builtInEstimators, MAX_TOKENS, type Estimator, type FindEstimator } from '../../domain/values/tokens.js'

/** An estimator failed: it threw, or returned something other than a whole number of tokens. */
const estimatorFailed = (estimator: string, detail: string, cause?: unknown): LedgerError =>
  new LedgerError('EstimatorFailed', `token estimator "${estimator}" ${detail}`, {
    details: { estimator },
    cause,
  })

/** A short description of any value. */
function inWords(value: unknown): string {
  return typeof value === 'number' || typeof value === 'bigint' || value === undefined || value === null
    ? String(value)
    : `a ${typeof value}`
}

/** Wraps an estimator with checks, because its numbers are recorded. */
function withChecks(estimator: Estimator): Estimator {
  const { name } = estimator
  function counted(what: string, count: () => unknown): number | undefined {
    let tokens: unknown
    try {
      tokens = count()
    } catch (error) {
      throw estimatorFailed(name, `threw: ${thrownSentence(error)}`, error)
    }
    if (
      tokens === undefined ||
      (typeof tokens === 'number' && Number.isInteger(tokens) && tokens >= 0 && tokens <= MAX_TOKENS)
    )
      return tokens
    throw estimatorFailed(
      name,
      `gave ${inWords(tokens)} for ${what}: it has to be a whole number from 0 to ${String(MAX_TOKENS)}`,
    )
  }
  return {
    name,
    text(text) {
      const tokens = counted(`a text of ${String(text.length)} characters`, () => estimator.text(text))
      if (tokens === undefined)
        throw estimatorFailed(
          name,
          `gave nothing for a text of ${String(text.length)} characters: it has to be a whole number from 0 to ${String(MAX_TOKENS)}`,
        )
      return tokens
    },
    ...(estimator.part === undefined
      ? {}
      : { part: (part, media) => counted(`a part of type ${part.type}`, () => estimator.part?.(part, media)) }),
  }
}

const estimators = new Map(
  builtInEstimators.map((estimator) => [estimator.name, { original: estimator, checked: estimator }]),
)

/**
 * Registers an estimator in this process by its name, so that a ledger can be opened with it
 * (`LedgerOptions.estimator`) and conversations that use it can be read. The same text must always have the same count:
 * a changed rule needs a new name.
 * @throws RangeError if another estimator has the name
 * @throws TypeError if it is not an estimator
 */
export function registerEstimator(estimator: Estimator): void {
  // Callers without TypeScript may pass any value.
  if (typeof estimator !== 'object' || estimator === null)
    throw new TypeError('estimator must be an object with a name and a function text')
  const name = checkId('estimator.name', estimator.name)
  if (E.isLeft(name)) throw new TypeError(`${name.left.field} ${name.left.detail}`)
  if (typeof estimator.text !== 'function') throw new TypeError('estimator.text must be a function')
  if (estimator.part !== undefined && typeof estimator.part !== 'function')
    throw new TypeError('estimator.part must be a function')
  const existing = estimators.get(name.right)
  if (existing !== undefined && existing.original !== estimator)
    throw new RangeError(`there is a token estimator "${name.right}" already: another rule needs a name of its own`)
  estimators.set(name.right, { original: estimator, checked: existing?.checked ?? withChecks(estimator) })
}

/** The names of all registered estimators. */
export const registeredEstimators = (): readonly string[] => [...estimators.keys()]

/** Whether an estimator with this name is registered. */
export const isRegisteredEstimator = (name: string): boolean => estimators.has(name)

/**
 * A conversation uses an estimator that this process does not know. Another one would not reproduce the recorded
 * numbers.
 */
const estimatorNotRegistered = (estimator: string): LedgerError =>
  new LedgerError(
    'EstimatorNotRegistered',
    `token estimator "${estimator}" is not registered: only a program that calls registerEstimator with it can continue this conversation`,
    { details: { estimator } },
  )

/** The estimator with this name. Throws if it is not registered. */
export const findEstimator: FindEstimator = (name) => {
  const estimator = estimators.get(name)
  if (estimator === undefined) throw estimatorNotRegistered(name)
  return estimator.checked
}
