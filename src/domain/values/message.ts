/**
 * A chat message: its fields, each stated once, and everything that derives from them. Unknown parts, calls and fields pass through
 * unchanged. `parse-message.ts` reads input.
 */
import { z } from 'zod'
import type { ChatMessage, MessageInput } from './chat-message.js'
import { hashOf } from './hash.js'

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
const openRecordSchema = passThrough(z.record(z.string(), z.unknown()))

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
const toolCallSchema = passThrough(looseCallSchema).transform((call): LooseCall & { type: string } => ({
  ...call,
  type: call.type ?? 'function',
}))
export type ToolCall = z.infer<typeof toolCallSchema>

export const contentSchema = z.union([z.string(), z.array(contentPartSchema).readonly(), z.null()])

/** Revision and hash of the context that an assistant message answers. */
const answersSchema = z.object({ revision: z.string().regex(/^\d+$/), hash: z.string().regex(/^[0-9a-f]{64}$/) })

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

/** The properties of a field of a message. */
interface MessageField {
  /** The schema of its values in events. */
  readonly recorded: z.ZodType
  /** Its name and values in input. Absent if only the ledger sets it. */
  readonly input?: { readonly name: string; readonly value: z.ZodType; readonly description: string }
  /** True if it is part of the body, which a context contains. */
  readonly isBody?: true
  /** True if messages that differ in it are different messages. */
  readonly isIdentity?: true
  /** True if a message that a host's list repeats has it from the earlier one. */
  readonly isRepeated?: true
  /** True if it is in the row of a live message, in the column `body`. */
  readonly isInRow?: true
  /**
   * What an erasable ledger seals: a `text`, which is a placeholder after an erasure; `calls`, which keep their ids and
   * names; an `optional` value, which is absent after it; or `hashes` of other texts too, which every reader may see. Absent
   * if the field has no text.
   */
  readonly sealed?: 'text' | 'calls' | 'optional' | 'hashes'
}

const nonEmpty = z.string().min(1)

/** All fields of a recorded message, in the order of their texts in events. */
export const messageFields = {
  messageId: {
    recorded: nonEmpty,
    input: { name: 'id', value: nonEmpty.optional(), description: 'A repeated id records nothing' },
  },
  role: {
    recorded: roleSchema,
    input: { name: 'role', value: roleSchema, description: 'Role of the author' },
    isBody: true,
    isIdentity: true,
    isInRow: true,
  },
  content: {
    recorded: contentSchema,
    input: { name: 'content', value: contentSchema.optional(), description: 'A text, a list of parts, or null' },
    isBody: true,
    isIdentity: true,
    isInRow: true,
    sealed: 'text',
  },
  name: {
    recorded: z.string().optional(),
    input: { name: 'name', value: nonEmpty.optional(), description: 'Name of the author' },
    isBody: true,
    isIdentity: true,
    isInRow: true,
    sealed: 'optional',
  },
  toolCalls: {
    recorded: z.array(toolCallSchema).readonly().optional(),
    input: {
      name: 'tool_calls',
      value: z.array(toolCallSchema).readonly().nullish(),
      description: 'Tool calls of an assistant message',
    },
    isBody: true,
    isIdentity: true,
    isInRow: true,
    sealed: 'calls',
  },
  toolCallId: {
    recorded: z.string().optional(),
    input: {
      name: 'tool_call_id',
      value: nonEmpty.optional(),
      description: 'Id of the call that a tool message answers',
    },
    isBody: true,
    isIdentity: true,
    isInRow: true,
  },
  createdAt: {
    recorded: z.iso.datetime(),
    input: {
      name: 'created_at',
      value: timeSchema.optional(),
      description: 'ISO 8601 with its zone, or milliseconds since 1970',
    },
    isRepeated: true,
  },
  tokens: { recorded: z.number().int().nonnegative() },
  pinned: {
    recorded: z.boolean().optional(),
    input: {
      name: 'pinned',
      value: z.boolean().optional(),
      description: 'Excludes the message from compaction and always shows it word for word',
    },
    isRepeated: true,
  },
  attributes: {
    recorded: openRecordSchema.optional(),
    input: {
      name: 'attributes',
      value: openRecordSchema.optional(),
      description: 'Any JSON data, never sent to a model',
    },
    isRepeated: true,
    isInRow: true,
    sealed: 'optional',
  },
  /** Fields of a provider, unchanged. In input they are fields of the message itself. */
  extra: {
    recorded: openRecordSchema.optional(),
    isBody: true,
    isRepeated: true,
    isInRow: true,
    sealed: 'optional',
  },
  answers: {
    recorded: answersSchema.optional(),
    input: {
      name: 'answers',
      value: answersSchema.optional(),
      description: 'Revision and hash of the context that the message answers',
    },
    isRepeated: true,
    isInRow: true,
    sealed: 'hashes',
  },
  /**
   * True if the message leads the conversation although it is not the first: an instruction that replaces a withdrawn
   * one.
   */
  leads: { recorded: z.literal(true).optional() },
  subjects: {
    recorded: z.array(nonEmpty).min(1).readonly().optional(),
    input: {
      name: 'subjects',
      value: subjectsSchema.optional(),
      description: 'Ids of the persons that the message is about, in an erasable ledger',
    },
    isRepeated: true,
    sealed: 'optional',
  },
  /** True if the texts were erased. A reader adds it if the key is destroyed. */
  erased: { recorded: z.literal(true).optional() },
  /** The host's id, if an earlier message has it: this message replaced that one and has its own id. */
  givenId: { recorded: nonEmpty.optional() },
} as const satisfies Readonly<Record<string, MessageField>>

type Fields = typeof messageFields
export type MessageFieldName = keyof Fields
type NamesWith<Property extends keyof MessageField> = {
  [Name in MessageFieldName]: Fields[Name] extends Record<Property, unknown> ? Name : never
}[MessageFieldName]

/** The names in input of the fields that identify a message. */
export type IdentityInput = Fields[NamesWith<'isIdentity'>]['input']['name']

/* oxlint-disable typescript/no-unsafe-type-assertion -- the keys of the list are the names of the fields */
/** The fields of which something is stated, in the order of the list. */
export const fieldsWith = <Property extends keyof MessageField>(property: Property): readonly NamesWith<Property>[] =>
  Object.entries<MessageField>(messageFields)
    .filter(([, field]) => field[property] !== undefined)
    .map(([field]) => field as NamesWith<Property>)

/** The schemas of some fields in events. */
export const recordedShape = <Name extends MessageFieldName>(
  names: readonly Name[],
): { readonly [Field in Name]: Fields[Field]['recorded'] } =>
  Object.fromEntries(names.map((field) => [field, messageFields[field].recorded])) as {
    readonly [Field in Name]: Fields[Field]['recorded']
  }

export const messageFieldNames = Object.keys(messageFields) as readonly MessageFieldName[]
/* oxlint-enable typescript/no-unsafe-type-assertion */

/** Whether a field has text of a person, a model, a tool or a file. */
export function hasText(name: MessageFieldName): boolean {
  const { sealed }: MessageField = messageFields[name]
  return sealed !== undefined && sealed !== 'hashes'
}

/** The schema of a message in an event. */
export const messageSchema = z.object(recordedShape(messageFieldNames))
/** A message as an event has it. */
export type RecordedMessage = Readonly<z.infer<typeof messageSchema>>

const bodyFields = fieldsWith('isBody')
/** The schema of a body in an event. */
export const bodySchema = z.object(recordedShape(bodyFields))
/** The content of a message, without its id and metadata. */
export interface MessageBody extends Readonly<z.infer<typeof bodySchema>> {}

/** A copy of some fields, in the given order. Undefined fields are absent. */
export function definedFields<Message extends object, Name extends keyof Message>(
  message: Message,
  names: readonly Name[],
): { [Field in Name]?: Exclude<Message[Field], undefined> } {
  const copy: { [Field in Name]?: Message[Field] } = {}
  for (const field of names) if (message[field] !== undefined) copy[field] = message[field]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without undefined values
  return copy as { [Field in Name]?: Exclude<Message[Field], undefined> }
}

/** Copies only the body, without undefined fields, as events record it. */
export const bodyOf = (message: MessageBody): MessageBody => ({
  role: message.role,
  content: message.content,
  ...definedFields(message, bodyFields),
})

/**
 * A parsed message that is not recorded yet. The default of an id is derived from the conversation and the position.
 * Subjects occur only in an erasable ledger.
 */
export interface NewMessage
  extends MessageBody, Partial<Omit<Pick<RecordedMessage, NamesWith<'input'>>, keyof MessageBody>> {}

const identityFields = fieldsWith('isIdentity')

/**
 * Hash that decides whether two messages are the same. It covers role, content, name, calls and call id, but not time,
 * tokens, attributes or unknown fields. Null content is like an empty text, and no calls like an empty list.
 */
export function messageHash(message: Pick<MessageBody, (typeof identityFields)[number]>): string {
  const identity: Record<string, unknown> = {}
  for (const field of identityFields) identity[field] = message[field]
  identity['content'] = message.content ?? ''
  if (message.toolCalls?.length === 0) identity['toolCalls'] = undefined
  return hashOf(identity)
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

/**
 * The name in the form that the API accepts: no white space, angle brackets, bars or slashes, at most 64 characters.
 * The log keeps the original.
 */
export const apiName = (name: string): string => name.replaceAll(/[\s<|\\/>]+/gu, '_').slice(0, 64)

const bodyInputs = bodyFields.flatMap((field) => {
  const { input }: MessageField = messageFields[field]
  return input === undefined ? [] : [[field, input.name] as const]
})

/**
 * A body as input: in the names of the OpenAI chat API. Unknown fields come first, then role, content, name, calls and
 * call id.
 */
export function inputOf(body: MessageBody): Omit<MessageInput, 'role'> & Pick<MessageBody, 'role'> {
  const input: Record<string, unknown> = { ...body.extra }
  for (const [field, inputName] of bodyInputs) if (body[field] !== undefined) input[inputName] = body[field]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names and values of the list of fields
  return input as unknown as ReturnType<typeof inputOf>
}

/**
 * A message for the OpenAI chat API. The result is a copy that the caller may change. Unknown parts, calls and fields
 * have their keys in the original order.
 */
export function toChatMessage(message: MessageBody): ChatMessage {
  const chat = inputOf(message)
  // Unknown parts and calls are returned as they were recorded, and the type does not describe them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.assign(chat, {
    content: typeof message.content === 'string' ? message.content : structuredClone(message.content),
    ...(message.name === undefined ? {} : { name: apiName(message.name) }),
    ...(message.toolCalls === undefined ? {} : { tool_calls: message.toolCalls.map((call) => structuredClone(call)) }),
  }) as ChatMessage
}
