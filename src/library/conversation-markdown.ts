/** A conversation as Markdown, for people. */
import { answeredCalls, toolOfCall } from '../domain/conversation/call-groups.js'
import { contentText, isTextPart, type MessageBody, type ToolCall } from '../domain/values/message.js'
import type { RecordedMessage } from '../application/importers/atif-writer.js'

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

/** @param answered the call that the message answers */
function section(message: RecordedMessage, answered: ToolCall | undefined): string {
  const { role, toolCalls = [], createdAt } = message
  const name = answered === undefined ? undefined : toolOfCall(answered).name
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
  const answered = answeredCalls(messages)
  const head = [`# ${title ?? conversationId}`, ...(title === undefined ? [] : [conversationId])]
  return `${[...head, ...messages.map((message, at) => section(message, answered.get(at)?.call))].join('\n\n')}\n`
}
