/** The options of the SDK adapters: an open ledger, the conversation, and a listener for problems. */
import { either as E } from 'fp-ts'
import { checkId } from '../../domain/values/ids.js'
import type { Ledger } from '../../library/ledger.js'
import { problem } from '../../library/problem.js'
import { problemReporter, type ReportProblem } from '../../library/report-problem.js'

/** Where a conversation is recorded. */
export interface RecordingOptions {
  /** The result of `openLedger`. The adapter does not close it. */
  readonly ledger: Ledger
  /**
   * Called if an answer could not be recorded. The call still returns the model's answer. Without a listener the first
   * problem is emitted as a process warning.
   */
  readonly onProblem?: (problem: unknown) => void
}

const badInput = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

/** Where a conversation is recorded, and the party that owns its message list. */
export interface ListRecordingOptions extends RecordingOptions {
  /**
   * The owner of the message list. `host` (default): the list of a call is the complete conversation, and messages that
   * it no longer contains are withdrawn. `ledger`: the list has the new messages, and the ledger adds the earlier ones.
   */
  readonly keptBy?: 'host' | 'ledger'
}

/** Returns a conversation id. Throws if it is not valid. */
export function checkConversationId(value: unknown): string {
  if (typeof value !== 'string') throw badInput('conversationId', 'must be a text')
  const id = checkId('conversationId', value)
  if (E.isLeft(id)) throw problem(id.left)
  return value
}

/**
 * A copy of a value as JSON. Throws an error that names the field if JSON cannot represent the value.
 * @param replace replaces values that JSON cannot represent
 */
export function toJson(field: string, value: unknown, replace?: (key: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value, replace) ?? 'null') as unknown
  } catch {
    throw badInput(field, 'contains a value that JSON cannot represent (a cycle, a big integer)')
  }
}

/** Checks options, which may come from untyped code. Returns the function that reports problems. */
export function checkOptions(adapter: string, options: RecordingOptions, known: readonly string[]): ReportProblem {
  const unchecked: unknown = options
  if (typeof unchecked !== 'object' || unchecked === null) throw badInput(adapter, 'takes an options object')
  const unknown = Object.keys(unchecked).find((key) => !known.includes(key))
  if (unknown !== undefined) throw badInput(unknown, `is not an option of ${adapter}. Options: ${known.join(', ')}`)
  const { ledger, onProblem, keptBy }: { ledger?: unknown; onProblem?: unknown; keptBy?: unknown } = unchecked
  if (typeof ledger !== 'object' || ledger === null || !('compress' in ledger))
    throw badInput('ledger', 'must be the result of openLedger')
  if (keptBy !== undefined && keptBy !== 'host' && keptBy !== 'ledger')
    throw badInput('keptBy', 'must be "host" or "ledger"')
  if (onProblem !== undefined && typeof onProblem !== 'function') throw badInput('onProblem', 'must be a function')
  return problemReporter(options.onProblem)
}
