/** What the records of Claude Code say, as chat messages. Its blocks are those of the Anthropic API. */
import { z } from 'zod'
import { exactText } from '../domain/text/json.js'
import { foreignMessage } from '../domain/values/foreign-messages.js'
import type { ContentPart, MessageBody, ToolCall } from '../domain/values/message.js'
import { isTooDeep, MOST_LEVELS } from '../domain/values/nesting.js'
import type { Attachment } from './claude-code-records.js'

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

/** A part as it came; what a chat message cannot hold is kept as its JSON. */
function partOf(block: unknown): ContentPart {
  const part = partSchema.safeParse(block)
  const isPart =
    part.success && !isTooDeep(block, MOST_LEVELS - 1) && foreignMessage({ content: [block] }) === undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as it came, with its keys in their order
  if (isPart) return block as ContentPart
  return { type: 'text', text: typeof block === 'string' ? block : jsonText(block) }
}

/** The text of a block that says nothing else. */
function plainText(block: unknown): string | undefined {
  const parsed = textBlockSchema.safeParse(block)
  if (!parsed.success) return undefined
  const { type: _type, text, ...rest } = parsed.data
  return Object.values(rest).every((value) => value === null || value === undefined) ? text : undefined
}

/** Parts, and a plain string where one text is all that there is. */
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

/** A result of a call. */
export interface ResultSaid {
  /** Undefined where the program does not name its call. */
  readonly callId: string | undefined
  readonly content: string | readonly ContentPart[]
  readonly isError: boolean
}

function resultOf(block: unknown): ResultSaid | undefined {
  const result = resultSchema.safeParse(block).data
  return result === undefined
    ? undefined
    : { callId: result.tool_use_id, content: valueContent(result.content), isError: result.is_error === true }
}

/** One message of an answer: a message of the model, or a result that came with it, as of a search by the provider. */
export type AnswerSaid =
  | { readonly kind: 'answer'; readonly body: MessageBody }
  | ({ readonly kind: 'result' } & ResultSaid)

/**
 * What a line of the model's answer says. Undefined for a content that is none.
 * @param nameCall gives a call without an id one, by how many calls stand before it
 */
export function answerSaid(content: unknown, nameCall: (index: number) => string): readonly AnswerSaid[] | undefined {
  if (typeof content === 'string') return [{ kind: 'answer', body: { role: 'assistant', content } }]
  if (!Array.isArray(content)) return undefined
  const said: AnswerSaid[] = []
  let calls: ToolCall[] = []
  let blocks: unknown[] = []
  const ids = new Set<string>()
  const flush = (): void => {
    if (calls.length === 0 && blocks.length === 0) return
    said.push({
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
      said.push({ kind: 'result', ...result })
    } else blocks.push(block)
  }
  flush()
  return said.length === 0 ? [{ kind: 'answer', body: { role: 'assistant', content: '' } }] : said
}

/** What a record in the user's place says: the results of calls, and what is beside them. */
export interface UserSaid {
  readonly results: readonly ResultSaid[]
  readonly body: MessageBody | undefined
  /** All of `body` is a text that the program put there. */
  readonly isHarness: boolean
}

/** The tags in which the program wraps what it puts in the user's place. */
const HARNESS_TAGS = [
  'system-reminder',
  'local-command-caveat',
  'local-command-stdout',
  'local-command-stderr',
  'command-name',
  'command-message',
  'command-args',
  'task-notification',
  'bash-stdout',
  'bash-stderr',
  'ide_opened_file',
  'ide_selection',
  'user-prompt-submit-hook',
]
const WRAPPED = new RegExp(`^<(${HARNESS_TAGS.join('|')})(?: [^>]*)?>`, 'u')
const HARNESS_TEXTS = [
  /^\[Request interrupted by user[^\]]*\]$/u,
  /^Caveat: The messages below were generated by the user while running local commands/u,
  /^Stop hook feedback:/u,
]

/**
 * Whether the program said all of a text. Where a prompt stands behind what it glued in front, or the user gave a
 * command something to do, it is the user's.
 */
export function isHarnessText(text: string): boolean {
  let rest = text.trim()
  if (rest === '') return false
  if (HARNESS_TEXTS.some((pattern) => pattern.test(rest))) return true
  for (let tag = WRAPPED.exec(rest); tag !== null; tag = WRAPPED.exec(rest)) {
    const [opening, name = ''] = tag
    const end = rest.indexOf(`</${name}>`, opening.length)
    if (end === -1) return false
    if (name === 'command-args' && rest.slice(opening.length, end).trim() !== '') return false
    rest = rest.slice(end + name.length + '</>'.length).trim()
  }
  return rest === ''
}

/** What a record in the user's place says. Undefined for a content that is none. */
export function userSaid(content: unknown): UserSaid | undefined {
  if (typeof content === 'string')
    return { results: [], body: { role: 'user', content }, isHarness: isHarnessText(content) }
  if (!Array.isArray(content)) return undefined
  const blocks: readonly unknown[] = content
  const results: ResultSaid[] = []
  const rest: unknown[] = []
  for (const block of blocks) {
    const result = resultOf(block)
    if (result === undefined) rest.push(block)
    else results.push(result)
  }
  const texts = rest.map((block) => textBlockSchema.safeParse(block).data?.text)
  return {
    results,
    body: rest.length === 0 && results.length > 0 ? undefined : { role: 'user', content: contentOf(rest) },
    isHarness: texts.length > 0 && texts.every((text) => text !== undefined && isHarnessText(text)),
  }
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

/** What a hook printed reaches the model at these events; at others, only whoever looks at the screen. */
const HOOKS_HEARD = new Set<unknown>(['SessionStart', 'UserPromptSubmit'])

/**
 * The text that an attachment puts into the context, by its type. Those that are not here (reminders of a list of
 * tasks, changes of a mode) hold what the program makes a text of, and not the text.
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
    HOOKS_HEARD.has(hookEvent) ? stringSchema.safeParse(content).data : undefined,
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

/** What the model was shown, where the program tells it. */
function rendered(value: unknown): MessageBody['content'] | undefined {
  const shown = renderedSchema.safeParse(value).data ?? []
  const blocks = shown.flatMap(({ content }): readonly unknown[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  const content = contentOf(blocks)
  return content === '' ? undefined : content
}

/** What an attachment says in the user's place. */
export interface AttachmentSaid {
  readonly body: MessageBody
  /** The user typed it while the model was at work. */
  readonly isTyped: boolean
}

/** Undefined where an attachment puts nothing into the context, or the record does not hold what. */
export function attachmentSaid(attachment: Attachment, shown: unknown): AttachmentSaid | undefined {
  const queued = attachment.type === 'queued_command' ? queuedSchema.safeParse(attachment).data : undefined
  if (queued !== undefined) {
    const said = userSaid(queued.prompt)
    if (said?.body === undefined) return undefined
    const isPrompt = (queued.commandMode ?? 'prompt') === 'prompt' && (queued.origin?.kind ?? 'human') === 'human'
    return { body: said.body, isTyped: isPrompt && queued.isMeta !== true && !said.isHarness }
  }
  const content = rendered(shown) ?? ATTACHED[attachment.type]?.(attachment)
  return content === undefined ? undefined : { body: { role: 'user', content }, isTyped: false }
}
