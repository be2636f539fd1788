/**
 * Converts messages of pi to chat messages: its own roles, its parts, and the templates for texts that pi generates.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { knownUsage } from './message-items.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, exitCodeIn, inside, jsonText, timeIn, type Fields } from './bodies.js'
import { argumentsOf, toContentPart, textPart, withDifferentCalls } from './content-part.js'
import type { Usage } from './transcript.js'

/** A message of pi. */
export interface PiMessage {
  readonly body: MessageBody
  readonly at: string | undefined
  readonly byProgram?: true
  readonly isError?: true
  readonly exitCode?: number | undefined
  readonly model?: string
  readonly usage?: Usage
}

const messageSchema = z.looseObject({ role: z.string() })
const callSchema = z.looseObject({ type: z.literal('toolCall'), id: z.string().min(1), name: z.string().min(1) })

const partOf = (part: unknown): ContentPart => (typeof part === 'string' ? textPart(part) : toContentPart(part))

const partsOf = (content: unknown): readonly ContentPart[] =>
  Array.isArray(content) ? content.map(partOf) : content === undefined || content === null ? [] : [partOf(content)]

/** The content of an entry or of an edit. */
export const contentIn = (content: unknown): string | readonly ContentPart[] => contentOf(partsOf(content))

function callOf(part: unknown): ToolCall | undefined {
  const parsed = callSchema.safeParse(part)
  if (!parsed.success || !isRecord(part)) return undefined
  const { type: _type, id: _id, name: _name, arguments: args, ...rest } = part
  return {
    ...rest,
    id: parsed.data.id,
    type: 'function',
    function: { name: parsed.data.name, arguments: argumentsOf(args) },
  }
}

/** The usage of an answer. pi counts cached tokens separately; here they are part of the input. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const [input, read, written] = [value['input'], value['cacheRead'], value['cacheWrite']].map(countIn)
  const cost = isRecord(value['cost']) ? countIn(value['cost']['total']) : undefined
  return knownUsage({
    inputTokens: input === undefined ? undefined : input + (read ?? 0) + (written ?? 0),
    outputTokens: countIn(value['output']),
    cacheReadTokens: read,
    cacheWriteTokens: written,
    reasoningTokens: countIn(value['reasoning']),
    cost,
  })
}

function fromAssistant(message: Fields): Omit<PiMessage, 'at'> {
  const content = message['content']
  const parts: readonly unknown[] = Array.isArray(content) ? content : partsOf(content)
  const calls = parts.map(callOf)
  const contentParts = parts.filter((_part, at) => calls[at] === undefined).map(partOf)
  const toolCalls = calls.filter((call) => call !== undefined)
  const model = textIn(message['model'])
  const usage = usageOf(message['usage'])
  return {
    body: withDifferentCalls({
      role: 'assistant',
      content: contentParts.length === 0 && toolCalls.length > 0 ? null : contentOf(contentParts),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    }),
    ...(model === undefined ? {} : { model }),
    ...(usage === undefined ? {} : { usage }),
  }
}

/** A system prompt, or a change to it: sections by name (null removes a section), and tools. */
function fromSystem(message: Fields): MessageBody {
  const sections = isRecord(message['sections']) ? Object.entries(message['sections']) : []
  const tools = (field: string, type: string): ContentPart[] =>
    Array.isArray(message[field]) && message[field].length > 0 ? [{ type, tools: message[field] }] : []
  return {
    role: 'system',
    content: contentOf([
      ...partsOf(message['content'] === '' ? undefined : message['content']),
      ...sections.map(([section, text]): ContentPart =>
        typeof text === 'string' ? { type: 'text', text, section } : { type: 'section_removed', section },
      ),
      ...tools('toolsAdded', 'tools_added'),
      ...tools('toolsRemoved', 'tools_removed'),
    ]),
  }
}

/** A shell command that the user ran, in the words in which pi reports it to the model. */
function commandText(message: Fields): string {
  const output = jsonText(message['output'] ?? '')
  const code = message['exitCode']
  const file = textIn(message['fullOutputPath'])
  return [
    `Ran \`${jsonText(message['command'] ?? '')}\`\n${output === '' ? '(no output)' : `\`\`\`\n${output}\n\`\`\``}`,
    ...(message['cancelled'] === true
      ? ['(command cancelled)']
      : typeof code === 'number' && code !== 0
        ? [`Command exited with code ${String(code)}`]
        : []),
    ...(message['truncated'] === true && file !== undefined ? [`[Output truncated. Full output: ${file}]`] : []),
  ].join('\n\n')
}

const programMessage = (content: MessageBody['content']): Omit<PiMessage, 'at'> => ({
  body: { role: 'user', content },
  byProgram: true,
})

/** A summary of compacted messages, in pi's template. */
export const compactionText = (summary: string): string =>
  `The conversation history before this point was compacted into the following summary:\n\n<summary>\n${summary}\n</summary>`

/** A summary of an abandoned branch, in pi's template. */
export const branchText = (summary: string): string =>
  `The following is a summary of a branch that this conversation came back from:\n\n<summary>\n${summary}</summary>`

/** A text that an extension inserted. */
export const customMessage = (content: unknown, at: string | undefined): PiMessage => ({
  ...programMessage(contentIn(content)),
  at,
})

function messageByRole(message: Fields, role: string): Omit<PiMessage, 'at'> | undefined {
  switch (role) {
    case 'user':
      return { body: { role, content: contentIn(message['content']) } }
    case 'assistant':
      return fromAssistant(message)
    case 'toolResult': {
      const toolCallId = textIn(message['toolCallId'])
      if (toolCallId === undefined) return undefined
      return {
        body: { role: 'tool', content: contentIn(message['content']), toolCallId },
        ...(message['isError'] === true ? { isError: true } : {}),
        exitCode: exitCodeIn(inside(message['details'], 'exitCode')),
      }
    }
    case 'system':
      return { body: fromSystem(message) }
    case 'bashExecution':
      // The user can exclude a command from the context.
      return message['excludeFromContext'] === true ? undefined : programMessage(commandText(message))
    case 'custom':
    case 'hookMessage':
      return programMessage(contentIn(message['content']))
    case 'branchSummary':
      return programMessage(branchText(jsonText(message['summary'] ?? '')))
    case 'compactionSummary':
      return programMessage(compactionText(jsonText(message['summary'] ?? '')))
    default:
      return undefined
  }
}

/** The chat message; undefined if the model does not receive it, its role is unknown, or a result names no call. */
export function messageIn(value: unknown): PiMessage | undefined {
  const parsed = messageSchema.safeParse(value)
  if (!parsed.success || !isRecord(value)) return undefined
  const message = messageByRole(value, parsed.data.role)
  return message === undefined ? undefined : { ...message, at: timeIn(value['timestamp']) }
}
