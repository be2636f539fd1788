import { z } from 'zod'
import {
  answersSchema,
  contentSchema,
  openRecordSchema,
  roleSchema,
  toolCallSchema,
  type Role,
} from '../values/message.js'
import { defineEvent } from './event-definition.js'
import { count, id, time } from './fields.js'
import { saysNoMore } from './upcast.js'

const DAY_OF_EVERY_MONTH = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/
const ROLES: ReadonlySet<unknown> = new Set(roleSchema.options)
const isRole = (role: unknown): role is Role => ROLES.has(role)

/**
 * A message that is a text and nothing else. Most events of a log are messages, and many of those are such: decoded
 * with a look they take 2.0 µs, and with the schema 3.5.
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

// Version 2 knows that messages are withdrawn. An older program would take a withdrawn message for a live one.
export const messageAppended = defineEvent({
  says: 'a message joined the conversation',
  version: 2,
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
     * True where it leads the conversation though other messages stand before it: an instruction in the place of one that
     * was withdrawn, or a first one.
     */
    leads: z.literal(true).optional(),
    /** The id that the host gave, where an earlier message has it: this one came in its place, under an id of its own. */
    givenId: id.optional(),
  }),
  usual: plainMessage,
  upcasters: { 1: saysNoMore },
})
