/** What an SDK's way in is told when it is made: an open ledger, the conversation, and who hears of problems. */
import { either as E } from 'fp-ts'
import { checkId } from '../domain/values/ids.js'
import type { Ledger } from '../library/ledger.js'
import { problem } from '../library/problem.js'
import { tellProblems, type TellProblem } from '../library/tell-problem.js'

/** The ledger that a conversation is kept in. */
export interface KeptIn {
  /** What `openLedger` gives. It stays yours to close. */
  readonly ledger: Ledger
  /**
   * Hears of what could not be recorded behind an answer. The model's answer is yours all the same. Left out, the first
   * problem is a warning of the process.
   */
  readonly onProblem?: (problem: unknown) => void
}

const wrong = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

/** The ledger that a conversation of a list is kept in. */
export interface ListKeptIn extends KeptIn {
  /**
   * Who keeps the conversation. `host` (default): a call's list is the whole of it; what it has no more is withdrawn.
   * `ledger`: a call's list is what is new, and the model is given what came before from the ledger.
   */
  readonly keptBy?: 'host' | 'ledger'
}

/** An id of a conversation, or the error that names what is wrong with it. */
export function conversationIdOf(value: unknown): string {
  if (typeof value !== 'string') throw wrong('conversationId', 'must be a text')
  const id = checkId('conversationId', value)
  if (E.isLeft(id)) throw problem(id.left)
  return value
}

/**
 * A value as JSON gives it back; an error that names the field where it has none.
 * @param replace what stands for a value that JSON has no word for
 */
export function asJsonOf(field: string, value: unknown, replace?: (key: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value, replace) ?? 'null') as unknown
  } catch {
    throw wrong(field, 'holds what JSON cannot say (a cycle, a big integer)')
  }
}

/** Checks the options of a way in, which may come from code without types. */
export function keptIn(what: string, options: KeptIn, known: readonly string[]): TellProblem {
  const given: unknown = options
  if (typeof given !== 'object' || given === null) throw wrong(what, 'takes an object of options')
  const unknown = Object.keys(given).find((key) => !known.includes(key))
  if (unknown !== undefined) throw wrong(unknown, `is no option of ${what}: it knows ${known.join(', ')}`)
  const { ledger, onProblem, keptBy }: { ledger?: unknown; onProblem?: unknown; keptBy?: unknown } = given
  if (typeof ledger !== 'object' || ledger === null || !('compress' in ledger))
    throw wrong('ledger', 'must be what openLedger gives')
  if (keptBy !== undefined && keptBy !== 'host' && keptBy !== 'ledger')
    throw wrong('keptBy', 'must be "host" or "ledger"')
  if (onProblem !== undefined && typeof onProblem !== 'function') throw wrong('onProblem', 'must be a function')
  return tellProblems(options.onProblem)
}
