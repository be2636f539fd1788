/**
 * A chat message: its shape in our facts, the shape that the OpenAI chat API takes, and the way between them.
 * Parts, calls and fields that we do not know pass through as they came.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import type { ChatMessage } from './chat-message.js'
import { foreignMessage } from './foreign-messages.js'
import { hashOf } from './hash.js'
import { issueSentence } from './issue-sentence.js'
import { meant, respelt } from '../text/known-names.js'
import { isTooDeep, MOST_LEVELS } from './nesting.js'
import { thrownSentence } from './thrown.js'

export type { ChatMessage, MessageInput } from './chat-message.js'

export const roleSchema = z.enum(['system', 'developer', 'user', 'assistant', 'tool'])
export type Role = z.infer<typeof roleSchema>

/**
 * A value that a schema has looked at, as it came: cached prefixes and signatures hang on bytes, and what zod hands
 * back has its keys in another order (those of the schema first), and none that is called `__proto__`.
 */
function asItCame<Schema extends z.ZodType>(schema: Schema): z.ZodType<z.output<Schema>, z.input<Schema>> {
  const looked = z.unknown().superRefine((value, context) => {
    for (const { message, path } of schema.safeParse(value).error?.issues ?? [])
      context.addIssue({ code: 'custom', message, path: [...path] })
  })
  const { $schema: _dialect, ...shape } = z.toJSONSchema(schema, { io: 'input' })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what passes is what the schema lets pass
  return looked.meta(shape) as unknown as z.ZodType<z.output<Schema>, z.input<Schema>>
}

/** Fields that nobody knows, as they came. */
export const openRecordSchema = asItCame(z.record(z.string(), z.unknown()))

const contentPartSchema = asItCame(z.looseObject({ type: z.string() }))
/** A part of a content; `type` is all we ask of it. */
export type ContentPart = z.infer<typeof contentPartSchema>

const looseCallSchema = z.looseObject({
  id: z.string().min(1),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }).optional(),
})
type LooseCall = z.output<typeof looseCallSchema>
/** A call of a tool. `function` is the form that we can show, shorten and search; another form passes through. */
export const toolCallSchema = asItCame(looseCallSchema).transform((call): LooseCall & { type: string } => ({
  ...call,
  type: call.type ?? 'function',
}))
export type ToolCall = z.infer<typeof toolCallSchema>

export const contentSchema = z.union([z.string(), z.array(contentPartSchema).readonly(), z.null()])

/** Revision and hash of the context that an assistant's message answers. */
export const answersSchema = z.object({ revision: z.string().regex(/^\d+$/), hash: z.string().regex(/^[0-9a-f]{64}$/) })

/** What makes a message the message it is. */
export interface MessageBody {
  readonly role: Role
  readonly content: string | readonly ContentPart[] | null
  readonly name?: string | undefined
  readonly toolCalls?: readonly ToolCall[] | undefined
  readonly toolCallId?: string | undefined
  readonly extra?: Readonly<Record<string, unknown>> | undefined
}

/** The body of a message that carries more: what is undefined is left out, as events have it. */
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

/** A message that somebody wants appended: parsed, and not yet recorded. */
export interface NewMessage extends MessageBody {
  /** Without one it gets an id from its conversation and its place. */
  readonly messageId?: string | undefined
  readonly createdAt?: string | undefined
  readonly pinned?: boolean | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly answers?: z.infer<typeof answersSchema> | undefined
}

/**
 * The hash by which two messages are the same: role, content, name, calls and call id; not time, tokens, attributes or
 * unknown fields.
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

/** Whether two messages are the same one, said twice. */
export function sameMessage(a: MessageBody, b: MessageBody): boolean {
  if (a === b) return true
  if (a.role !== b.role || (typeof a.content === 'string' && typeof b.content === 'string' && a.content !== b.content))
    return false
  return messageHash(a) === messageHash(b)
}

/** Whether a part is a text, whatever its API calls it. */
export const isTextPart = (part: ContentPart): part is ContentPart & { readonly text: string } =>
  typeof part['text'] === 'string' && part.type.includes('text')

/** The text of a content, for people, prompts and search: parts that are no text are named, never pasted. */
export function contentText(content: string | readonly ContentPart[] | null | undefined): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.map((part) => (isTextPart(part) ? part.text : `[${part.type}]`)).join('\n')
}

const isLeadingRole = (role: Role): boolean => role === 'system' || role === 'developer'
/**
 * System and developer messages are instructions; those before the first other message lead the conversation and stay.
 */
export const isInstruction = (message: { readonly role: Role }): boolean => isLeadingRole(message.role)

const timeSchema = z
  .union([z.iso.datetime({ offset: true }), z.number().int().nonnegative(), z.date()])
  .transform((time) => new Date(time))
  // Microseconds taken for milliseconds give the year 55,840, which ISO 8601 writes with a sign and no reader of the
  // log takes.
  .refine(
    (time) => /^\d{4}-/u.test(Number.isNaN(time.getTime()) ? '' : time.toISOString()),
    'is no time between the years 0 and 9999 (a number counts milliseconds)',
  )
  .transform((time) => time.toISOString())

// The door for messages of any origin: the OpenAI chat API's own, and those of the JSON Lines files.
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
  kind: z.string().optional(),
  is_error: z.boolean().optional(),
})

export type BadMessage = { readonly kind: 'BadMessage'; readonly field: string; readonly detail: string }

/**
 * A value as JSON gives it back: what is recorded, and nothing that the caller can still change. Undefined where it has
 * no JSON (a cycle, a big integer).
 */
function asJson<Value>(value: Value): Value | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what JSON changes (a date, a NaN) stands in fields of unknown type
    return JSON.parse(JSON.stringify(value)) as Value
  } catch {
    return undefined
  }
}

const FIELDS = Object.keys(inputSchema.shape)

/**
 * A field that was meant to be one of ours: in another spelling (`toolCalls`), or a letter or two off one that is not
 * there. Every other field that we do not know is a provider's, and is kept: `context` beside a `content` is no
 * misspelt one.
 */
function misspelt(input: object): BadMessage | undefined {
  const missing = FIELDS.filter((name) => !(name in input) && name.length > 2)
  for (const field of Object.keys(input)) {
    if (FIELDS.includes(field)) continue
    const near = respelt(field, FIELDS) ?? (field.length > 3 ? meant(field, missing) : undefined)
    if (near !== undefined)
      return { kind: 'BadMessage', field, detail: `is no field of a message: did you mean ${near}?` }
  }
  return undefined
}

/**
 * Parses a message at the door. A provider's own field is kept in `extra`; a wrong one, and a message of another API,
 * is named.
 */
export function parseMessage(input: unknown): E.Either<BadMessage, NewMessage> {
  try {
    return readMessage(input)
  } catch (error) {
    // What an object of somebody's own throws when it is looked at.
    return E.left({ kind: 'BadMessage', field: 'message', detail: `cannot be read: ${thrownSentence(error)}` })
  }
}

function readMessage(input: unknown): E.Either<BadMessage, NewMessage> {
  const foreign = foreignMessage(input)
  if (foreign !== undefined) return E.left({ kind: 'BadMessage', ...foreign })
  const wrong = typeof input === 'object' && input !== null ? misspelt(input) : undefined
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
    kind,
    is_error,
    ...unknown
  } = parsed.data
  const bad = (field: string, detail: string): E.Either<BadMessage, NewMessage> =>
    E.left({ kind: 'BadMessage', field, detail })
  // What the caller does to its own objects later must not change what is recorded, and what JSON does not know is not
  // recorded.
  const plain = asJson({
    parts: typeof content === 'string' ? undefined : content,
    calls: tool_calls,
    extra: unknown,
    seen: {
      ...attributes,
      ...(kind === undefined ? {} : { kind }),
      ...(is_error === undefined ? {} : { isError: is_error }),
    },
  })
  if (plain === undefined) return bad('message', 'holds what JSON cannot say (a cycle, a big integer)')
  const { parts, calls, extra, seen } = plain
  for (const [field, value] of Object.entries({ content: parts, tool_calls: calls, attributes: seen, ...extra })) {
    if (isTooDeep(value)) return bad(field, `is nested deeper than ${String(MOST_LEVELS)} levels`)
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
    ...(Object.keys(seen).length === 0 ? {} : { attributes: seen }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...(answers === undefined ? {} : { answers }),
  })
}

/**
 * A name as the API gets it: it refuses white space, angle brackets, bars and slashes, and more than 64 characters; the
 * log keeps the name as it came.
 */
export const apiName = (name: string): string => name.replaceAll(/[\s<|\\/>]+/gu, '_').slice(0, 64)

/**
 * A message as the OpenAI chat API takes it; a copy, which whoever gets it may change. Parts, calls and fields that we
 * do not know have their keys in the order in which they came; the message's own order is the same for all: what we do
 * not know, then role, content, name, calls and call id.
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
  // Parts and calls that we do not know went in as they come out: whoever gave them knows that they are more than the
  // type says.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return chat as ChatMessage
}
