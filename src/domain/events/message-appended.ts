import { z } from 'zod'
import { answersSchema, contentSchema, openRecordSchema, roleSchema, toolCallSchema } from '../values/message.js'
import { defineEvent } from './event-definition.js'
import { count, id, time } from './fields.js'
import { saysNoMore } from './upcast.js'

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
  upcasters: { 1: saysNoMore },
})
