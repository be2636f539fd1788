/** A conversation as Markdown, for people. */
import { toolOfCall } from '../domain/conversation/call-groups.js'
import { contentText, isTextPart, type MessageBody, type ToolCall } from '../domain/values/message.js'
import type { RecordedMessage } from '../importers/atif-writer.js'

const TITLES: Readonly<Record<MessageBody['role'], string>> = {
  system: 'System',
  developer: 'Developer',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Result',
}

/** A block of code whose fence is longer than every run of backticks in it. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...(text.match(/`+/gu) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}

function callText(call: ToolCall): string {
  const { name, input } = toolOfCall(call)
  return `**${name}**\n\n${fenced(input, call.function === undefined ? '' : 'json')}`
}

function textOf({ role, content }: MessageBody): string {
  if (role === 'tool') return fenced(contentText(content))
  if (typeof content === 'string' || content === null) return content ?? ''
  return content.map((part) => (isTextPart(part) ? part.text : `_[${part.type}]_`)).join('\n\n')
}

function section(message: RecordedMessage, names: ReadonlyMap<string, string>): string {
  const { role, toolCallId = '', toolCalls = [], createdAt } = message
  const name = names.get(toolCallId)
  const parts = [textOf(message), ...toolCalls.map(callText)].filter((text) => text !== '')
  return [`## ${TITLES[role]}${name === undefined ? '' : ` of ${name}`}`, `_${createdAt}_`, ...parts].join('\n\n')
}

/** The messages of a conversation, with its title. */
interface TitledMessages {
  readonly messages: readonly RecordedMessage[]
  readonly title: string | undefined
}

/** The whole conversation. */
export function markdownOf(conversationId: string, { messages, title }: TitledMessages): string {
  const names = new Map(
    messages.flatMap(({ toolCalls = [] }) =>
      toolCalls.flatMap(({ id, function: named }) => (named === undefined ? [] : [[id, named.name] as const])),
    ),
  )
  const head = [`# ${title ?? conversationId}`, ...(title === undefined ? [] : [conversationId])]
  return `${[...head, ...messages.map((message) => section(message, names))].join('\n\n')}\n`
}
