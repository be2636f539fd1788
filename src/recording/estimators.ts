/**
 * The estimators of tokens that this process knows. A stream records the name of its own, and whoever loads it hands
 * `findEstimator` to the state: the domain keeps no list.
 */
import { either as E } from 'fp-ts'
import { checkId } from '../domain/values/ids.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { builtInEstimators, MAX_TOKENS, type Estimator, type FindEstimator } from '../domain/values/tokens.js'

/** An estimator did not say how many tokens a text is: it threw, or what it gave is no whole number of tokens. */
export class EstimatorFailed extends Error {
  override readonly name = 'EstimatorFailed'
  constructor(
    readonly estimator: string,
    detail: string,
    options?: ErrorOptions,
  ) {
    super(`token estimator "${estimator}" ${detail}`, options)
  }
}

/** A value in a few words, whatever it is. */
function inWords(value: unknown): string {
  return typeof value === 'number' || typeof value === 'bigint' || value === undefined || value === null
    ? String(value)
    : `a ${typeof value}`
}

/** An estimator of anybody's, held to what it promises: its numbers are recorded, and everybody has to read them. */
function checked(estimator: Estimator): Estimator {
  const { name } = estimator
  function counted(what: string, count: () => unknown): number | undefined {
    let tokens: unknown
    try {
      tokens = count()
    } catch (error) {
      throw new EstimatorFailed(name, `threw: ${thrownSentence(error)}`, { cause: error })
    }
    if (
      tokens === undefined ||
      (typeof tokens === 'number' && Number.isInteger(tokens) && tokens >= 0 && tokens <= MAX_TOKENS)
    )
      return tokens
    throw new EstimatorFailed(
      name,
      `gave ${inWords(tokens)} for ${what}: it has to be a whole number from 0 to ${String(MAX_TOKENS)}`,
    )
  }
  return {
    name,
    text(text) {
      const tokens = counted(`a text of ${String(text.length)} characters`, () => estimator.text(text))
      if (tokens === undefined)
        throw new EstimatorFailed(
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
  builtInEstimators.map((estimator) => [estimator.name, { given: estimator, checked: estimator }]),
)

/**
 * Makes another estimator known in this process by its name, so that a ledger can be opened with it
 * (`LedgerOptions.estimator`) and conversations that count by it can be read. The same text has to cost the same for
 * ever: a changed rule gets a new name.
 *
 * Throws a `RangeError` where another estimator has the name, since it would count otherwise what is recorded by that
 * one; and a `TypeError` where it is no estimator.
 */
export function registerEstimator(estimator: Estimator): void {
  // Whoever does not use TypeScript may give anything.
  if (typeof estimator !== 'object' || estimator === null)
    throw new TypeError('estimator must be an object with a name and a function text')
  const name = checkId('estimator.name', estimator.name)
  if (E.isLeft(name)) throw new TypeError(`${name.left.field} ${name.left.detail}`)
  if (typeof estimator.text !== 'function') throw new TypeError('estimator.text must be a function')
  if (estimator.part !== undefined && typeof estimator.part !== 'function')
    throw new TypeError('estimator.part must be a function')
  const there = estimators.get(name.right)
  if (there !== undefined && there.given !== estimator)
    throw new RangeError(`there is a token estimator "${name.right}" already: another rule needs a name of its own`)
  estimators.set(name.right, { given: estimator, checked: there?.checked ?? checked(estimator) })
}

/** The names of all that are known here. */
export const registeredEstimators = (): readonly string[] => [...estimators.keys()]

/** Whether the estimator of this name is known here. */
export const isRegisteredEstimator = (name: string): boolean => estimators.has(name)

/**
 * A conversation counts by an estimator that this process does not know: numbers by another rule would not be the
 * recorded ones.
 */
export class EstimatorNotRegistered extends Error {
  override readonly name = 'EstimatorNotRegistered'
  constructor(readonly estimator: string) {
    super(
      `token estimator "${estimator}" is not registered: only a program that calls registerEstimator with it can go on with this conversation`,
    )
  }
}

/** The estimator of this name. Throws where it was never registered. */
export const findEstimator: FindEstimator = (name) => {
  const estimator = estimators.get(name)
  if (estimator === undefined) throw new EstimatorNotRegistered(name)
  return estimator.checked
}
