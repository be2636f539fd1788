import { contentText, hasText, messageFieldNames, messageSchema, roleSchema, type Role } from '../values/message.js'
import { many } from '../text/count.js'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { short } from './lines.js'
import { saysNoMore } from './upcast.js'
import { messageTexts } from './texts.js'

const DAY_OF_EVERY_MONTH = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/
const ROLES: ReadonlySet<unknown> = new Set(roleSchema.options)
const isRole = (role: unknown): role is Role => ROLES.has(role)

/**
 * Fast path for a message with text only. Most events are messages, and many have this form: 2.0 µs instead of 3.5 with
 * the schema.
 */
function plainMessage(data: Readonly<Record<string, unknown>>) {
  const { messageId, role, content, createdAt, tokens } = data
  const isPlain =
    Object.keys(data).length === 5 &&
    typeof messageId === 'string' &&
    messageId !== '' &&
    isRole(role) &&
    typeof content === 'string' &&
    typeof createdAt === 'string' &&
    DAY_OF_EVERY_MONTH.test(createdAt) &&
    typeof tokens === 'number' &&
    Number.isSafeInteger(tokens) &&
    tokens >= 0
  return isPlain ? { messageId, role, content, createdAt, tokens } : undefined
}

// Version 2: messages can be withdrawn. An older program would treat a withdrawn message as live.
export const messageAppended = defineEvent({
  description: 'a message was appended to the conversation',
  version: 2,
  triggers: true,
  activity: 'create',
  label: 'Message',
  withoutContent: messageFieldNames.filter((field) => !hasText(field)),
  texts: messageTexts,
  schema: messageSchema,
  usual: plainMessage,
  upcasters: { 1: saysNoMore },
  tokensFromOutside: ({ tokens }) => ({ tokens }),
  describe: ({ messageId, role, content, name, toolCalls = [], toolCallId, pinned, leads, answers, tokens }) => {
    const calls = toolCalls.map((call) => `→ ${call.function?.name ?? call.type}(${call.function?.arguments ?? ''})`)
    const parts = [
      `${printable(messageId)} ${role}`,
      ...(name === undefined ? [] : [` (${printable(name)})`]),
      ...(toolCallId === undefined ? [] : [` answers ${printable(toolCallId)}`]),
      ...(pinned === true ? [', pinned'] : []),
      ...(leads === true ? [', leads'] : []),
      ...(answers === undefined ? [] : [`, to the context of revision ${answers.revision}`]),
    ]
    const text = [contentText(content), ...calls].filter((part) => part !== '').join(' ')
    return `${parts.join('')}, ${many(tokens, 'token')}: ${short(text)}`
  },
})
