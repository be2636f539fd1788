import { z } from 'zod'
import { contentSchema, openRecordSchema, roleSchema, toolCallSchema } from '../values/message.js'
import { defineEvent } from './event-definition.js'
import { count, id, revision, span, time } from './fields.js'
import { toldUsageSchema, whereSchema } from './source.js'

/** One entry of the context that the program made. */
const contextEntrySchema = z.discriminatedUnion('kind', [
  /** A message that stays; with a content, where the model is given that one in its place. */
  z.object({ kind: z.literal('message'), messageId: id, content: contentSchema.optional() }),
  /** A text that the program put there: the summary, or something beside it. */
  z.object({
    kind: z.literal('inserted'),
    body: z.object({
      role: roleSchema,
      content: contentSchema,
      name: z.string().optional(),
      toolCalls: z.array(toolCallSchema).readonly().optional(),
      toolCallId: z.string().optional(),
      extra: openRecordSchema.optional(),
    }),
    isSummary: z.literal(true).optional(),
  }),
  /** A message that stays, and that the transcript does not hold. */
  z.object({ kind: z.literal('missing'), sourceId: id }),
])
export type ObservedEntry = z.infer<typeof contextEntrySchema>

export const compactionObserved = defineEvent({
  says: 'another program compacted: which messages its context covers from here on, which stayed, which are unknown, and the summary that it put in their place, as far as its transcript tells',
  version: 1,
  schema: z.object({
    /** What the batch of it names as its chunk. */
    chunkId: id,
    program: id,
    programVersion: z.string().optional(),
    /** The program's own id of the compaction. */
    sourceId: id,
    trigger: z.enum(['auto', 'manual', 'overflow', 'unknown']),
    at: time.optional(),
    summary: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('text'), text: z.string() }),
      /** In a form that only its provider reads. */
      z.object({ kind: z.literal('opaque') }),
      /** Nothing stands for what left. */
      z.object({ kind: z.literal('none') }),
    ]),
    /** What left; absent where nothing did that the transcript holds. */
    covered: z
      .object({ messageIds: z.array(id).min(1), ...span, firstRevision: revision, lastRevision: revision })
      .optional(),
    /** Of those that left: the transcript does not tell whether the model was still given them. */
    unknown: z.array(id),
    /** The transcript begins behind the conversation's start, so that messages left which it does not hold. */
    coversMissing: z.literal(true).optional(),
    /** The context right behind it, in its order. */
    context: z.array(contextEntrySchema),
    /** What the program tells of it. */
    told: z.object({
      tokensBefore: count.optional(),
      tokensAfter: count.optional(),
      durationMs: z.number().nonnegative().optional(),
      model: z.string().optional(),
      usage: toldUsageSchema.optional(),
    }),
    where: whereSchema,
  }),
})
