import { z } from 'zod'
import {
  answersSchema,
  contentSchema,
  contentText,
  openRecordSchema,
  roleSchema,
  toolCallSchema,
  type Role,
} from '../values/message.js'
import { many } from '../text/count.js'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { short } from './lines.js'
import { count, id, time } from './fields.js'
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
  withoutContent: ['messageId', 'role', 'toolCallId', 'createdAt', 'tokens', 'pinned', 'answers', 'leads', 'givenId'],
  texts: messageTexts,
  schema: z.object({
    messageId: id,
    role: roleSchema,
    content: contentSchema,
    name: z.string().optional(),
    toolCalls: z.array(toolCallSchema).readonly().optional(),
    toolCallId: z.string().optional(),
    createdAt: time,
    tokens: count,
    pinned: z.boolean().optional(),
    attributes: openRecordSchema.optional(),
    extra: openRecordSchema.optional(),
    answers: answersSchema.optional(),
    /**
     * True if the message leads the conversation although it is not the first: an instruction that replaces a withdrawn
     * one.
     */
    leads: z.literal(true).optional(),
    /** The persons that the message is about, in an erasable ledger. */
    subjects: z.array(id).min(1).optional(),
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
    /** The host's id, if an earlier message has it: this message replaced that one and has its own id. */
    givenId: id.optional(),
  }),
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
