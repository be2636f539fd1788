/** Reads messages of any origin as input: the OpenAI chat API, and JSON Lines files. */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { foreignMessage } from './foreign-messages.js'
import { issueSentence } from './issue-sentence.js'
import {
  definedFields,
  fieldsWith,
  messageFieldNames,
  messageFields,
  type MessageFieldName,
  type NewMessage,
} from './message.js'
import { nearest } from '../text/edit-distance.js'
import { respelt } from '../text/known-names.js'
import { countValues, MOST_MESSAGE_VALUES } from '../../lib/json.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { thrownSentence } from './thrown.js'

type InputShape = {
  [
    Name in ReturnType<typeof fieldsWith<'input'>>[number] as (typeof messageFields)[Name]['input']['name']
  ]: (typeof messageFields)[Name]['input']['value']
}
const inputSchema = z.looseObject({
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of the list of fields
  ...(Object.fromEntries(
    fieldsWith('input').map((field) => [messageFields[field].input.name, messageFields[field].input.value]),
  ) as InputShape),
  // Both are recorded in the attributes.
  kind: z.string().optional(),
  is_error: z.boolean().optional(),
})

export type BadMessage = { readonly kind: 'BadMessage'; readonly field: string; readonly detail: string }

/**
 * A deep copy of a value through JSON, which the caller cannot change later. Undefined if the value has no JSON form (a
 * cycle, a big integer).
 */
function asJson<Value>(value: Value): Value | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- values that JSON changes (a date, a NaN) occur only in fields of unknown type
    return JSON.parse(JSON.stringify(value)) as Value
  } catch {
    return undefined
  }
}

/**
 * The field with the most JSON values of a message that has too many of them; undefined for any other message. A cycle
 * has no number of values.
 */
export function tooManyValues(input: object): BadMessage | undefined {
  if (countValues(input, MOST_MESSAGE_VALUES) <= MOST_MESSAGE_VALUES || asJson(input) === undefined) return undefined
  const counts = Object.entries(input).map(([name, value]) => ({
    name,
    values: countValues(value, MOST_MESSAGE_VALUES),
  }))
  const largest = counts.reduce((most, each) => (each.values > most.values ? each : most), {
    name: 'message',
    values: 0,
  })
  const limit = String(MOST_MESSAGE_VALUES)
  return {
    kind: 'BadMessage',
    field: largest.name,
    detail: `has too many JSON values: a message has at most ${limit}, so send large data as a text`,
  }
}

/** The names of a message's fields. All others belong to a provider. */
export const MESSAGE_FIELDS: readonly string[] = Object.keys(inputSchema.shape)

/**
 * An unknown field that was probably meant as a known one: a different spelling (`toolCalls`), or a typing error in the
 * name of an absent field. All other unknown fields belong to a provider and are recorded: `context` is not a
 * misspelling if `content` is present.
 */
function misspelledField(input: object): BadMessage | undefined {
  const missing = MESSAGE_FIELDS.filter((name) => !(name in input) && name.length > 2)
  for (const field of Object.keys(input)) {
    if (MESSAGE_FIELDS.includes(field)) continue
    const near = respelt(field, MESSAGE_FIELDS) ?? (field.length > 3 ? nearest(field, missing) : undefined)
    if (near !== undefined)
      return { kind: 'BadMessage', field, detail: `is no field of a message: did you mean ${near}?` }
  }
  return undefined
}

/**
 * Parses an input message. Provider fields go to `extra`. Returns an error that names the field if a field is wrong or
 * the message belongs to another API.
 */
export function parseMessage(input: unknown): E.Either<BadMessage, NewMessage> {
  try {
    return readMessage(input)
  } catch (error) {
    // A getter of the caller's object may throw.
    return E.left({ kind: 'BadMessage', field: 'message', detail: `cannot be read: ${thrownSentence(error)}` })
  }
}

function readMessage(input: unknown): E.Either<BadMessage, NewMessage> {
  const large = typeof input === 'object' && input !== null ? tooManyValues(input) : undefined
  if (large !== undefined) return E.left(large)
  const foreign = foreignMessage(input)
  if (foreign !== undefined) return E.left({ kind: 'BadMessage', ...foreign })
  const wrong = typeof input === 'object' && input !== null ? misspelledField(input) : undefined
  if (wrong !== undefined) return E.left(wrong)
  const parsed = inputSchema.safeParse(input)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return E.left({
      kind: 'BadMessage',
      field: issue?.path.join('.') || 'message',
      detail: issueSentence(issue),
    })
  }
  const { data } = parsed
  const { role, content, tool_calls, tool_call_id, attributes, answers, kind, is_error } = data
  const unknown = Object.fromEntries(Object.entries(data).filter(([field]) => !MESSAGE_FIELDS.includes(field)))
  const bad = (field: string, detail: string): E.Either<BadMessage, NewMessage> =>
    E.left({ kind: 'BadMessage', field, detail })
  // Copy: later changes by the caller must not change the recorded message, and values without a JSON form are not
  // recorded.
  const plain = asJson({
    parts: typeof content === 'string' ? undefined : content,
    calls: tool_calls,
    extra: unknown,
    attributeData: {
      ...attributes,
      ...(kind === undefined ? {} : { kind }),
      ...(is_error === undefined ? {} : { isError: is_error }),
    },
  })
  if (plain === undefined) return bad('message', 'holds what JSON cannot say (a cycle, a big integer)')
  const { parts, calls, extra, attributeData } = plain
  for (const [field, value] of Object.entries({
    content: parts,
    tool_calls: calls,
    attributes: attributeData,
    ...extra,
  })) {
    if (isTooDeep(value)) return bad(field, `is nested deeper than ${String(MAX_LEVELS)} levels`)
  }
  if (role === 'tool' && tool_call_id === undefined)
    return bad('tool_call_id', 'is missing: a tool result names the call that it answers')
  if (role !== 'assistant' && tool_calls !== undefined && tool_calls !== null && tool_calls.length > 0)
    return bad('tool_calls', 'belong to an assistant message')
  if (role !== 'assistant' && answers !== undefined) return bad('answers', 'belongs to an assistant message')
  if (role !== 'tool' && tool_call_id !== undefined) return bad('tool_call_id', 'belongs to a tool message')
  if ((content === undefined || content === null) && role !== 'assistant') return bad('content', 'is missing')
  if ((content === undefined || content === null) && (tool_calls ?? []).length === 0 && Object.keys(extra).length === 0)
    return bad('content', 'is missing, and there is no tool call')
  const callIds = (tool_calls ?? []).map((call) => call.id)
  if (new Set(callIds).size !== callIds.length) return bad('tool_calls', 'use the same call id twice')
  const empty = (tool_calls ?? []).findIndex((call) => call.type === 'function' && call.function === undefined)
  if (empty !== -1)
    return bad(
      `tool_calls.${String(empty)}.function`,
      'is missing: a call of a function has its name and its arguments there',
    )
  const values: { readonly [Field in MessageFieldName]?: unknown } = {
    ...Object.fromEntries(
      fieldsWith('input').map((field) => [field, Reflect.get(data, messageFields[field].input.name)]),
    ),
    content: typeof content === 'string' ? content : (parts ?? null),
    toolCalls: calls?.length === 0 ? undefined : (calls ?? undefined),
    pinned: data.pinned === true ? true : undefined,
    attributes: Object.keys(attributeData).length === 0 ? undefined : attributeData,
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value is of the schema of its field
  return E.right(definedFields(values, messageFieldNames) as unknown as NewMessage)
}
