/**
 * The options of a call, as somebody gave them: in JavaScript they may be missing, misspelt, or something else
 * altogether.
 */
import { unknownName } from '../domain/text/known-names.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { parsePolicySettings, type PolicySettings } from '../domain/values/policy.js'
import { LedgerError, problem, valueOf } from './problem.js'

type KeyOf<T> = T extends unknown ? keyof T : never
/** Every option of a call by its name, so that the compiler asks for one that was added. */
export type Names<T> = Readonly<Record<KeyOf<T>, true>>

const bad = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

/**
 * The options of a call. One that there is not is an error that names the one which may have been meant, since nothing
 * would come of it.
 */
export function optionsGiven<T extends object>(call: string, given: T | undefined, names: Names<T>): Partial<T> {
  if (
    given !== undefined &&
    (typeof given !== 'object' || given === null || looked('options', () => Array.isArray(given)))
  )
    throw bad('options', 'must be an object')
  if (given === undefined) return {}
  // Each is read once: what an object of somebody's own says the second time does not matter.
  const { wrong, read } = looked('options', () => ({
    wrong: unknownName(given, Object.keys(names), `option of ${call}`),
    read: { ...given },
  }))
  if (wrong !== undefined) throw bad(wrong.field, wrong.detail)
  return read
}

/** What a look at an object of somebody's own finds; it may throw whatever it likes. */
export function looked<T>(field: string, look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (error instanceof LedgerError) throw error
    throw bad(field, `cannot be read: ${thrownSentence(error)}`)
  }
}

/**
 * A listener that somebody gave, checked. What it throws ends the call that it was given with. It may be async,
 * whatever its type says: nobody waits for it,
 * and what it rejects with is told as a problem, since it would end the process.
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
        looked('policy', () => parsePolicySettings(policy)),
        problem,
      )
