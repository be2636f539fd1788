/** Content blocks, tool calls and results of the Agent Client Protocol, as bodies of messages. */
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import type { ContentPart, MessageBody } from '../../domain/values/message.js'
import { contentOf, exitCodeIn, inside, jsonText, listIn, pathOfUri, type Fields } from './bodies.js'
import { textPart, toContentPart } from './content-part.js'
import { functionCall, type NewMessage } from './message-items.js'
import type { SourceLocation } from './transcript.js'

/** Names for the kinds of tools that an agent does not name. */
const NAMES: Readonly<Partial<Record<string, string>>> = {
  read: 'read_file',
  edit: 'edit_file',
  delete: 'delete_file',
  move: 'move_file',
  search: 'search_files',
  execute: 'execute_command',
  fetch: 'web_fetch',
  think: 'think',
}
const NAME = /^[A-Za-z][\w-]*$/u

/** A block as a part of a message. */
function partOf(block: unknown): ContentPart {
  const type = inside(block, 'type')
  const text = textIn(inside(block, 'text'))
  if (type === 'text' && text !== undefined) return textPart(text)
  if (type === 'resource_link') return textPart(`@${pathOfUri(textIn(inside(block, 'uri')) ?? '')}`)
  return toContentPart(block)
}

/** Whether the block has the text of a file that the editor attached. */
const isAttached = (block: unknown): boolean =>
  inside(block, 'type') === 'resource' && textIn(inside(block, 'resource', 'text')) !== undefined

const attachedPart = (block: unknown): ContentPart =>
  textPart(
    [pathOfUri(textIn(inside(block, 'resource', 'uri')) ?? ''), textIn(inside(block, 'resource', 'text')) ?? ''].join(
      '\n',
    ),
  )

/** A prompt as messages: the words of the user, and the texts of files that the editor attached. */
export function promptMessages(blocks: readonly unknown[]): readonly NewMessage[] {
  const parts = blocks.filter((block) => !isAttached(block)).map(partOf)
  const attached = blocks.filter(isAttached).map(attachedPart)
  return [
    ...(parts.length === 0 ? [] : [{ body: { role: 'user' as const, content: contentOf(parts) } }]),
    ...(attached.length === 0
      ? []
      : [{ body: { role: 'user' as const, content: contentOf(attached) }, byProgram: true as const }]),
  ]
}

/** The texts of blocks, one after the other. */
export const textOfBlocks = (blocks: unknown): string =>
  listIn(blocks)
    .map((block) => textIn(inside(block, 'text')) ?? '')
    .join('')

const textOf = (block: unknown): string | undefined => {
  const text = inside(block, 'text')
  return inside(block, 'type') === 'text' && typeof text === 'string' ? text : undefined
}

/** Adds a streamed block to those of its message. */
export function addBlock(blocks: unknown[], block: unknown): void {
  const [before, text] = [textOf(blocks.at(-1)), textOf(block)]
  if (text === '') return
  if (before === undefined || text === undefined) blocks.push(block)
  else blocks[blocks.length - 1] = { type: 'text', text: before + text }
}

/** The answer of an agent, or its thoughts, from streamed blocks; undefined if it is empty. */
export function answerOf(blocks: readonly unknown[], isThought: boolean): MessageBody | undefined {
  if (blocks.length === 0) return undefined
  const content = isThought ? [{ type: 'thinking', thinking: textOfBlocks(blocks) }] : contentOf(blocks.map(partOf))
  return { role: 'assistant', content }
}

/** The time and place of a record. */
export interface AcpMoment {
  readonly at: string | undefined
  readonly where: SourceLocation
}

/** A terminal that the editor ran for an agent. */
export interface AcpTerminal {
  readonly command: string
  readonly output: string
  readonly exitCode: number | undefined
}

/** A tool call with all its updates. */
export interface AcpCall {
  readonly id: string
  /** The fields of the first update. */
  readonly first: Fields
  /** The newest value of each field. */
  fields: Fields
  /** The name of the option with which the user declined it. */
  declined?: string
  isEmitted: boolean
  hasResult: boolean
}

/** The name of the tool: from the agent, or, if it does not say, from the kind of the tool. */
function nameOf({ first, fields }: AcpCall): string {
  const name = textIn(inside(fields, '_meta', 'claudeCode', 'toolName')) ?? textIn(fields['name'])
  if (name !== undefined) return name
  const title = textIn(first['title']) ?? ''
  // A title is a name before the arguments are known.
  if (isRecord(first['rawInput']) && NAME.test(title)) return title
  return NAMES[textIn(fields['kind']) ?? ''] ?? 'tool'
}

const diffsOf = ({ fields }: AcpCall): readonly Fields[] =>
  listIn(fields['content']).flatMap((each) => (isRecord(each) && each['type'] === 'diff' ? [each] : []))

/** The arguments: those of the agent, or, if it sends none, what the call shows. */
function inputOf(call: AcpCall, terminals: readonly AcpTerminal[]): unknown {
  const { fields } = call
  const { rawInput, title, locations } = fields
  if (isRecord(rawInput) ? Object.keys(rawInput).length > 0 : rawInput !== undefined && rawInput !== null)
    return rawInput
  const diffs = diffsOf(call).map(({ path, oldText, newText }) => ({ path, oldText: oldText ?? '', newText }))
  const [first] = diffs
  if (first !== undefined) return diffs.length === 1 ? first : { path: first.path, changes: diffs }
  const [terminal] = terminals
  if (terminal !== undefined) return { command: terminal.command }
  if (fields['kind'] === 'execute') return { command: title }
  const [place] = listIn(locations)
  const path = inside(place, 'path')
  return path === undefined ? { title } : { path }
}

/** The message with the call. */
export const callMessage = (call: AcpCall, terminals: readonly AcpTerminal[]): NewMessage => ({
  body: {
    role: 'assistant',
    content: null,
    toolCalls: [functionCall(call.id, nameOf(call), inputOf(call, terminals))],
  },
})

/** What the model received, as far as the agent says it; otherwise what the editor showed. */
function outputOf(call: AcpCall, terminals: readonly AcpTerminal[]): MessageBody['content'] {
  const { rawOutput, content } = call.fields
  const raw = textIn(rawOutput) ?? textIn(inside(rawOutput, 'output')) ?? textIn(inside(rawOutput, 'error'))
  if (raw !== undefined) return raw
  const parts = listIn(content).flatMap((each) =>
    isRecord(each) && each['type'] === 'content' && each['content'] !== undefined ? [partOf(each['content'])] : [],
  )
  const contents = [...parts, ...terminals.map(({ output }) => textPart(output))]
  if (contents.length > 0) return contentOf(contents)
  if (call.declined !== undefined) return `The user doesn't want to proceed with this tool use (${call.declined}).`
  return rawOutput === undefined || rawOutput === null ? '' : jsonText(rawOutput)
}

/** The message with the result of the call. */
export function resultMessage(call: AcpCall, terminals: readonly AcpTerminal[]): NewMessage {
  const { rawOutput, status } = call.fields
  const exitCode =
    exitCodeIn(
      inside(rawOutput, 'metadata', 'exit') ?? inside(rawOutput, 'exit_code') ?? inside(rawOutput, 'exitCode'),
    ) ?? terminals.at(-1)?.exitCode
  return {
    body: { role: 'tool', content: outputOf(call, terminals), toolCallId: call.id },
    ...(status === 'failed' || call.declined !== undefined ? { isError: true } : {}),
    exitCode,
  }
}

/** A plan as the call that set it. Agents send their plan in place of the call of their tool. */
export const planMessages = (id: string, entries: readonly unknown[]): readonly NewMessage[] => [
  {
    body: {
      role: 'assistant',
      content: null,
      toolCalls: [
        functionCall(id, 'update_plan', {
          plan: entries.map((entry) => ({ step: inside(entry, 'content'), status: inside(entry, 'status') })),
        }),
      ],
    },
  },
  { body: { role: 'tool', content: 'Plan updated', toolCallId: id } },
]
