/** Checks the options of a call. JavaScript callers may omit, misspell or mistype them. */
import { z } from 'zod'
import { aboutOption, type Call, type OptionShape, type OutputOf } from '../schema/call.js'
import * as values from '../schema/option-values.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { isLedgerError } from '../lib/ledger-error.js'
import { unknownName } from '../domain/text/known-names.js'
import { thrownSentence } from '../domain/values/thrown.js'
import type { PolicySettings } from '../domain/values/policy-settings.js'
import { problem } from './problem.js'

/** What is said of an option that is wrong. */
export const bad = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

/**
 * The options of a call, checked. An unknown one is an error that names the one which may have been meant, since it would
 * have no effect.
 */
export function optionsOf<Shape extends OptionShape>(
  call: Call<Shape>,
  given: unknown,
  {
    onProblem = () => undefined,
    within = '',
  }: { readonly onProblem?: (problem: unknown) => void; readonly within?: string } = {},
): OutputOf<Shape> {
  if (
    given !== undefined &&
    (typeof given !== 'object' || given === null || readFrom('options', () => Array.isArray(given)))
  )
    throw bad('options', 'must be an object')
  const shape: OptionShape = call.options()
  // Each option is read once: a getter may return another value the second time.
  const { wrong, read } = readFrom('options', () => ({
    wrong: unknownName(given ?? {}, Object.keys(shape), `option of ${call.name}`),
    read: new Map<string, unknown>(Object.entries(given ?? {})),
  }))
  if (wrong !== undefined) throw bad(wrong.field, wrong.detail)
  const options: Record<string, unknown> = {}
  for (const [field, schema] of Object.entries(shape)) {
    const value = read.get(field)
    if (value === undefined && schema instanceof z.ZodExactOptional) continue
    const parsed = readFrom(field, () => schema.safeParse(value))
    if (!parsed.success) throw wrongValue(`${within}${field}`, parsed.error.issues[0])
    options[field] = aboutOption(schema).kind === 'listener' ? guarded(parsed.data, onProblem) : parsed.data
  }
  // The fields were parsed by the schemas of the call.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const output = options as OutputOf<Shape>
  const inconsistent = call.check?.(output)
  if (inconsistent !== undefined) throw bad(inconsistent.field, inconsistent.detail)
  return output
}

/** A listener that reports the rejection of a promise that it returns. */
const guarded =
  (listener: unknown, onProblem: (problem: unknown) => void) =>
  (...heard: readonly unknown[]): void => {
    if (typeof listener === 'function') void Promise.resolve(listener(...heard)).catch(onProblem)
  }

/** The error for a value that its schema rejects. */
function wrongValue(field: string, issue: z.core.$ZodIssue | undefined): Error {
  const failure = issue?.code === 'custom' ? values.failureOf(issue) : undefined
  if (failure !== undefined) return problem(failure)
  const path = (issue?.path ?? []).map((step) => (typeof step === 'number' ? `[${String(step)}]` : `.${String(step)}`))
  return bad(`${field}${path.join('')}`, issueSentence(issue))
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

/** The settings of a policy, checked; throws where one is wrong. */
export const settingsOf = (policy: PolicySettings | undefined): PolicySettings | undefined =>
  policy === undefined ? undefined : valueGiven('policy', values.policySettings(), policy)

/** A value that is no option, checked as an option of this name would be. */
export function valueGiven<Output>(field: string, schema: z.ZodType<Output>, value: unknown): Output {
  const parsed = readFrom(field, () => schema.safeParse(value))
  if (!parsed.success) throw wrongValue(field, parsed.error.issues[0])
  return parsed.data
}

/** Checks a name that is recorded: an actor, a correlation id, a scope. */
export const nameOf = (field: string, given: unknown): string => valueGiven(field, values.recordedName(), given)

/** Checks ids of conversations, or `all`. */
export const conversationsGiven = (field: string, given: unknown): readonly string[] | 'all' =>
  valueGiven(field, values.namedOrAll('ids', 'conversations'), given)

/** Checks a text: a name or the beginning of one. */
export const textGiven = (field: string, given: unknown): string => valueGiven(field, values.text(), given)

/** A name that a database is asked for, which neither it nor UTF-8 refuses. */
export const nameGiven = (field: string, given: unknown): string => valueGiven(field, values.name(), given)

/** Checks a whole number, `least` or more. */
export function wholeNumberGiven(field: string, given: number | undefined, least: 0 | 1): void {
  if (given !== undefined) valueGiven(field, values.wholeNumber(least), given)
}
