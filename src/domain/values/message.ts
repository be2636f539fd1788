/**
 * A chat message in three forms: as recorded, as the OpenAI chat API takes it, and as input. Unknown parts, calls and
 * fields pass through unchanged.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import type { ChatMessage } from './chat-message.js'
import { foreignMessage } from './foreign-messages.js'
import { hashOf } from './hash.js'
import { issueSentence } from './issue-sentence.js'
import { nearest } from '../text/edit-distance.js'
import { respelt } from '../text/known-names.js'
import { countValues, MOST_MESSAGE_VALUES } from '../../lib/json.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { thrownSentence } from './thrown.js'

export type { ChatMessage, MessageInput } from './chat-message.js'

export const roleSchema = z.enum(['system', 'developer', 'user', 'assistant', 'tool'])
export type Role = z.infer<typeof roleSchema>

/**
 * Validates a value and returns the original. Cached prefixes and signatures depend on its bytes, but zod reorders keys
 * (those of the schema first) and drops `__proto__`.
 */
function passThrough<Schema extends z.ZodType>(schema: Schema): z.ZodType<z.output<Schema>, z.input<Schema>> {
  const validated = z.unknown().superRefine((value, context) => {
    for (const { message, path } of schema.safeParse(value).error?.issues ?? [])
      context.addIssue({ code: 'custom', message, path: [...path] })
  })
  const { $schema: _dialect, ...shape } = z.toJSONSchema(schema, { io: 'input' })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the refinement accepts only what the schema accepts
  return validated.meta(shape) as unknown as z.ZodType<z.output<Schema>, z.input<Schema>>
}

/** Unknown fields, unchanged. */
export const openRecordSchema = passThrough(z.record(z.string(), z.unknown()))

const contentPartSchema = passThrough(z.looseObject({ type: z.string() }))
/** A content part; only its `type` is required. */
export type ContentPart = z.infer<typeof contentPartSchema>

const looseCallSchema = z.looseObject({
  id: z.string().min(1),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }).optional(),
})
type LooseCall = z.output<typeof looseCallSchema>
/** A tool call. The form `function` can be shown, shortened and searched; other forms pass through. */
export const toolCallSchema = passThrough(looseCallSchema).transform((call): LooseCall & { type: string } => ({
  ...call,
  type: call.type ?? 'function',
}))
export type ToolCall = z.infer<typeof toolCallSchema>

export const contentSchema = z.union([z.string(), z.array(contentPartSchema).readonly(), z.null()])

/** Revision and hash of the context that an assistant message answers. */
export const answersSchema = z.object({ revision: z.string().regex(/^\d+$/), hash: z.string().regex(/^[0-9a-f]{64}$/) })

/** The content of a message, without its id and metadata. */
export interface MessageBody {
  readonly role: Role
  readonly content: string | readonly ContentPart[] | null
  readonly name?: string | undefined
  readonly toolCalls?: readonly ToolCall[] | undefined
  readonly toolCallId?: string | undefined
  readonly extra?: Readonly<Record<string, unknown>> | undefined
}

/** Copies only the body, without undefined fields, as events record it. */
export function bodyOf({ role, content, name, toolCalls, toolCallId, extra }: MessageBody): MessageBody {
  return {
    role,
    content,
    ...(name === undefined ? {} : { name }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(extra === undefined ? {} : { extra }),
  }
}

/** A parsed message that is not recorded yet. */
export interface NewMessage extends MessageBody {
  /** Default: derived from the conversation and the position. */
  readonly messageId?: string | undefined
  readonly createdAt?: string | undefined
  readonly pinned?: boolean | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly answers?: z.infer<typeof answersSchema> | undefined
  /** The persons that the message is about. Only in an erasable ledger. */
  readonly subjects?: readonly string[] | undefined
}

/**
 * Hash that decides whether two messages are the same. It covers role, content, name, calls and call id, but not time,
 * tokens, attributes or unknown fields.
 */
export function messageHash(message: MessageBody): string {
  const { role, content, name, toolCalls, toolCallId } = message
  return hashOf({
    role,
    content: content ?? '',
    name,
    toolCalls: toolCalls?.length === 0 ? undefined : toolCalls,
    toolCallId,
  })
}

/** Whether two messages have the same content. */
export function sameMessage(a: MessageBody, b: MessageBody): boolean {
  if (a === b) return true
  if (a.role !== b.role || (typeof a.content === 'string' && typeof b.content === 'string' && a.content !== b.content))
    return false
  return messageHash(a) === messageHash(b)
}

/** Whether a part has thoughts of the model. Programs and APIs name its type differently. */
export const isReasoning = ({ type }: ContentPart): boolean => /think|reason|thought/iu.test(type)

/** Whether a part is text, under any type name. */
export const isTextPart = (part: ContentPart): part is ContentPart & { readonly text: string } =>
  typeof part['text'] === 'string' && part.type.includes('text')

/** The text of a content, for people, prompts and search. Other parts are replaced with a short description. */
export function contentText(content: string | readonly ContentPart[] | null | undefined): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.map((part) => (isTextPart(part) ? part.text : `[${part.type}]`)).join('\n')
}

/** The texts of content, without images and other parts. */
export function textOnly(content: string | readonly ContentPart[] | null | undefined): string {
  if (typeof content !== 'object' || content === null) return content ?? ''
  return content.flatMap((part) => (isTextPart(part) ? [part.text] : [])).join('\n')
}

const isLeadingRole = (role: Role): boolean => role === 'system' || role === 'developer'
/**
 * System and developer messages are instructions. Instructions before the first other message lead the conversation and
 * are never compacted.
 */
export const isInstruction = (message: { readonly role: Role }): boolean => isLeadingRole(message.role)

const timeSchema = z
  .union([z.iso.datetime({ offset: true }), z.number().int().nonnegative(), z.date()])
  .transform((time) => new Date(time))
  // Microseconds mistaken for milliseconds give the year 55,840. ISO 8601 writes it with a sign, and no reader of the
  // log accepts that.
  .refine(
    (time) => /^\d{4}-/u.test(Number.isNaN(time.getTime()) ? '' : time.toISOString()),
    'is no time between the years 0 and 9999 (a number counts milliseconds)',
  )
  .transform((time) => time.toISOString())

/** Ids of persons, each once. */
const subjectsSchema = z
  .array(z.string().min(1).max(512))
  .min(1)
  .transform((subjects) => [...new Set(subjects)])

// Input messages of any origin: the OpenAI chat API, and JSON Lines files.
const inputSchema = z.looseObject({
  id: z.string().min(1).optional(),
  role: roleSchema,
  content: contentSchema.optional(),
  name: z.string().min(1).optional(),
  tool_calls: z.array(toolCallSchema).readonly().nullish(),
  tool_call_id: z.string().min(1).optional(),
  created_at: timeSchema.optional(),
  pinned: z.boolean().optional(),
  attributes: openRecordSchema.optional(),
  answers: answersSchema.optional(),
  subjects: subjectsSchema.optional(),
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
  const {
    id,
    role,
    content,
    name,
    tool_calls,
    tool_call_id,
    created_at,
    pinned,
    attributes,
    answers,
    subjects,
    kind,
    is_error,
    ...unknown
  } = parsed.data
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
  return E.right({
    ...(id === undefined ? {} : { messageId: id }),
    role,
    content: typeof content === 'string' ? content : (parts ?? null),
    ...(name === undefined ? {} : { name }),
    ...(calls === undefined || calls === null || calls.length === 0 ? {} : { toolCalls: calls }),
    ...(tool_call_id === undefined ? {} : { toolCallId: tool_call_id }),
    ...(created_at === undefined ? {} : { createdAt: created_at }),
    ...(pinned === true ? { pinned } : {}),
    ...(Object.keys(attributeData).length === 0 ? {} : { attributes: attributeData }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...(answers === undefined ? {} : { answers }),
    ...(subjects === undefined ? {} : { subjects }),
  })
}

/**
 * The name in the form that the API accepts: no white space, angle brackets, bars or slashes, at most 64 characters.
 * The log keeps the original.
 */
export const apiName = (name: string): string => name.replaceAll(/[\s<|\\/>]+/gu, '_').slice(0, 64)

/**
 * A message for the OpenAI chat API. The result is a copy that the caller may change. Unknown parts, calls and fields
 * have their keys in the original order. The fields of the message itself always have the same order: unknown fields,
 * role, content, name, calls, call id.
 */
export function toChatMessage(message: MessageBody): ChatMessage {
  const chat = {
    ...message.extra,
    role: message.role,
    content: typeof message.content === 'string' ? message.content : structuredClone(message.content),
    ...(message.name === undefined ? {} : { name: apiName(message.name) }),
    ...(message.toolCalls === undefined ? {} : { tool_calls: message.toolCalls.map((call) => structuredClone(call)) }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
  }
  // Unknown parts and calls are returned as they were recorded, and the type does not describe them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return chat as ChatMessage
}
