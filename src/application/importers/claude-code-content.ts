/** Converts the content of Claude Code records to chat messages. Its blocks are those of the Anthropic API. */
import { z } from 'zod'
import { exactText } from '../../lib/json.js'
import { foreignMessage } from '../../domain/values/foreign-messages.js'
import { authorOfMessage } from '../../domain/text/authorship.js'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import type { Attachment, ClaudeRecord } from './claude-code-records.js'

const partSchema = z.looseObject({ type: z.string() })
const textBlockSchema = z.looseObject({ type: z.literal('text'), text: z.string() })
const filledSchema = z.string().min(1).optional().catch(undefined)
const callSchema = z.looseObject({
  type: z.string().regex(/^(?:server_|mcp_)?tool_use$/u),
  id: filledSchema,
  name: filledSchema,
  input: z.unknown().optional(),
})
const resultSchema = z.looseObject({
  type: z.string().regex(/^(?:\w+_)?tool_result$/u),
  tool_use_id: filledSchema,
  content: z.unknown().optional(),
  is_error: z.unknown().optional(),
})

const jsonText = (value: unknown): string => {
  try {
    return exactText(value) ?? ''
  } catch {
    return '[nested too deep to be written]'
  }
}

/** A block as a content part, unchanged if possible; otherwise its JSON as a text part. */
function partOf(block: unknown): ContentPart {
  const part = partSchema.safeParse(block)
  const isPart = part.success && !isTooDeep(block, MAX_LEVELS - 1) && foreignMessage({ content: [block] }) === undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as it came, with its keys in their order
  if (isPart) return block as ContentPart
  return { type: 'text', text: typeof block === 'string' ? block : jsonText(block) }
}

/** The text of a block that has no other fields with a value. */
function plainText(block: unknown): string | undefined {
  const parsed = textBlockSchema.safeParse(block)
  if (!parsed.success) return undefined
  const { type: _type, text, ...rest } = parsed.data
  return Object.values(rest).every((value) => value === null || value === undefined) ? text : undefined
}

/** Content parts, or a plain string if the only block is plain text. */
function contentOf(blocks: readonly unknown[]): string | readonly ContentPart[] {
  const parts = blocks.map((block): ContentPart => {
    const text = plainText(block)
    return text === undefined ? partOf(block) : { type: 'text', text }
  })
  if (parts.length === 0) return ''
  const only = parts.length === 1 ? plainText(parts[0]) : undefined
  return only ?? parts
}

function valueContent(value: unknown): string | readonly ContentPart[] {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return Array.isArray(value) ? contentOf(value) : jsonText(value)
}

/** The result of a tool call. */
export interface ToolResult {
  /** Undefined if the program does not name the call. */
  readonly callId: string | undefined
  readonly content: string | readonly ContentPart[]
  readonly isError: boolean
}

function resultOf(block: unknown): ToolResult | undefined {
  const result = resultSchema.safeParse(block).data
  return result === undefined
    ? undefined
    : { callId: result.tool_use_id, content: valueContent(result.content), isError: result.is_error === true }
}

/**
 * One message of an answer: a message of the model, or a result in the same record (a search that the provider ran).
 */
export type AnswerMessage =
  | { readonly kind: 'answer'; readonly body: MessageBody }
  | ({ readonly kind: 'result' } & ToolResult)

/**
 * The messages in one record of the model's answer. Undefined if the content has another form.
 * @param nameCall returns an id for a call without one, from the number of calls before it
 */
export function answerMessagesOf(
  content: unknown,
  nameCall: (index: number) => string,
): readonly AnswerMessage[] | undefined {
  if (typeof content === 'string') return [{ kind: 'answer', body: { role: 'assistant', content } }]
  if (!Array.isArray(content)) return undefined
  const messages: AnswerMessage[] = []
  let calls: ToolCall[] = []
  let blocks: unknown[] = []
  const ids = new Set<string>()
  const flush = (): void => {
    if (calls.length === 0 && blocks.length === 0) return
    messages.push({
      kind: 'answer',
      body: {
        role: 'assistant',
        content: blocks.length === 0 ? null : contentOf(blocks),
        ...(calls.length === 0 ? {} : { toolCalls: calls }),
      },
    })
    calls = []
    blocks = []
  }
  for (const block of content as readonly unknown[]) {
    const call = callSchema.safeParse(block).data
    const result = call === undefined ? resultOf(block) : undefined
    if (call !== undefined) {
      const id = call.id === undefined || ids.has(call.id) ? nameCall(ids.size) : call.id
      ids.add(id)
      const args = typeof call.input === 'string' ? call.input : jsonText(call.input ?? {})
      calls.push({ id, type: 'function', function: { name: call.name ?? 'unknown', arguments: args } })
    } else if (result !== undefined) {
      flush()
      messages.push({ kind: 'result', ...result })
    } else blocks.push(block)
  }
  flush()
  return messages.length === 0 ? [{ kind: 'answer', body: { role: 'assistant', content: '' } }] : messages
}

/** The content of a record with the role user: results of calls, and the rest. */
export interface UserContent {
  readonly results: readonly ToolResult[]
  readonly body: MessageBody | undefined
  /** The program generated all of `body`. */
  readonly isByProgram: boolean
}

/** The content of a record with the role user. Undefined if the content has another form. */
export function userContentOf(content: unknown): UserContent | undefined {
  if (typeof content !== 'string' && !Array.isArray(content)) return undefined
  const blocks: readonly unknown[] = typeof content === 'string' ? [content] : content
  const results: ToolResult[] = []
  const rest: unknown[] = []
  for (const block of blocks) {
    const result = resultOf(block)
    if (result === undefined) rest.push(block)
    else results.push(result)
  }
  const body: MessageBody | undefined =
    rest.length === 0 && results.length > 0
      ? undefined
      : { role: 'user', content: typeof content === 'string' ? content : contentOf(rest) }
  return { results, body, isByProgram: body !== undefined && authorOfMessage(body) !== 'user' }
}

const stringSchema = z.string().min(1)
const stringsSchema = z.array(z.string()).min(1)
const fileSchema = z.looseObject({ path: filledSchema, name: filledSchema, content: stringSchema })
const filesSchema = z.array(fileSchema).min(1)
const attachedSchema = z.looseObject({
  type: z.enum(['text', 'image', 'pdf']),
  file: z.looseObject({ content: z.string().optional() }),
})

const strings = (value: unknown, between: string): string | undefined =>
  stringsSchema.safeParse(value).data?.join(between)
const titled = (title: unknown, text: unknown): string | undefined => {
  const body = stringSchema.safeParse(text).data
  if (body === undefined) return undefined
  const head = stringSchema.safeParse(title).data
  return head === undefined ? body : `${head}\n\n${body}`
}
const files = (value: unknown): string | undefined =>
  filesSchema
    .safeParse(value)
    .data?.map(({ path, name, content }) => titled(path ?? name, content))
    .join('\n\n')

function attachedFile({ filename, content }: Attachment): MessageBody['content'] | undefined {
  const file = attachedSchema.safeParse(content).data
  if (file === undefined) return undefined
  if (file.type === 'text') return titled(filename, file.file.content)
  const name = stringSchema.safeParse(filename).data
  return [...(name === undefined ? [] : [{ type: 'text', text: name }]), partOf(content)]
}

/** The model receives a hook's output only for these events; the output of other hooks is only shown on the screen. */
const HOOKS_IN_CONTEXT = new Set<unknown>(['SessionStart', 'UserPromptSubmit'])

/**
 * The text that an attachment adds to the context, by its type. The types that are missing here (reminders of a task
 * list, changes of a mode) contain only the data from which the program makes a text, not the text.
 */
const ATTACHED: Readonly<Record<string, (attachment: Attachment) => MessageBody['content'] | undefined>> = {
  file: attachedFile,
  edited_text_file: ({ filename, snippet }) => titled(filename, snippet),
  nested_memory: ({ path, content }) => {
    const inner = fileSchema.safeParse(content).data
    return titled(path ?? inner?.path, inner?.content ?? content)
  },
  instructions: (attachment) => files(attachment['files']),
  relevant_memories: ({ memories }) => files(memories),
  invoked_skills: ({ skills }) => files(skills),
  skill_listing: ({ content }) => stringSchema.safeParse(content).data,
  plan_file_reference: ({ planFilePath, planContent }) => titled(planFilePath, planContent),
  hook_additional_context: ({ content }) => strings(content, '\n') ?? stringSchema.safeParse(content).data,
  hook_success: ({ hookEvent, content }) =>
    HOOKS_IN_CONTEXT.has(hookEvent) ? stringSchema.safeParse(content).data : undefined,
  mcp_instructions_delta: ({ addedBlocks }) => strings(addedBlocks, '\n\n'),
  agent_listing_delta: ({ addedLines }) => strings(addedLines, '\n'),
  deferred_tools_delta: ({ addedLines }) => strings(addedLines, '\n'),
}

const queuedSchema = z.looseObject({
  prompt: z.union([z.string(), z.array(z.unknown())]),
  commandMode: filledSchema,
  isMeta: z.unknown().optional(),
  origin: z.looseObject({ kind: filledSchema }).optional().catch(undefined),
})

const renderedSchema = z.array(z.looseObject({ content: z.union([z.string(), z.array(z.unknown())]) })).min(1)

/** The tag that the program removes from a text that it sends with the role system. */
const REMINDER = /^<system-reminder>\n?(?<text>[^]*?)\n?<\/system-reminder>\s*$/u

/** The message that the model received, if the program recorded it. */
function renderedBody(value: unknown, renderedRole: string | undefined): MessageBody | undefined {
  const role = renderedRole === 'system' ? 'system' : 'user'
  const attached = renderedSchema.safeParse(value).data ?? []
  const blocks = attached.flatMap(({ content }): readonly unknown[] =>
    typeof content === 'string'
      ? [{ type: 'text', text: role === 'system' ? (REMINDER.exec(content)?.groups?.['text'] ?? content) : content }]
      : content,
  )
  const content = contentOf(blocks)
  return content === '' ? undefined : { role, content }
}

/** The message of an attachment. */
export interface AttachmentContent {
  readonly body: MessageBody
  /** The user typed it while the model was working. */
  readonly isTyped: boolean
}

/** Undefined if an attachment adds nothing to the context, or if the record does not contain the text. */
export function attachmentContentOf({
  attachment,
  rendered,
  renderedRole,
}: Pick<ClaudeRecord, 'attachment' | 'rendered' | 'renderedRole'>): AttachmentContent | undefined {
  if (attachment === undefined) return undefined
  const queued = attachment.type === 'queued_command' ? queuedSchema.safeParse(attachment).data : undefined
  if (queued !== undefined) {
    const prompt = userContentOf(queued.prompt)
    if (prompt?.body === undefined) return undefined
    const isPrompt = (queued.commandMode ?? 'prompt') === 'prompt' && (queued.origin?.kind ?? 'human') === 'human'
    return { body: prompt.body, isTyped: isPrompt && queued.isMeta !== true && !prompt.isByProgram }
  }
  const body = renderedBody(rendered, renderedRole)
  if (body !== undefined) return { body, isTyped: false }
  const content = ATTACHED[attachment.type]?.(attachment)
  return content === undefined ? undefined : { body: { role: 'user', content }, isTyped: false }
}
