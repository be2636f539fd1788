/** Transcripts that another machine reads and sends. */
import { z } from 'zod'
import { bodySchema, contentSchema } from '../../domain/values/message.js'
import { count, optional, orUndefined, record } from '../answer.js'
import { MOST_LISTED, revision } from '../fields.js'
import { route } from '../route.js'

const id = z.string().min(1)
const time = z.string().optional()
const amount = z.number().optional()

const where = z.strictObject({ file: z.string(), line: z.int().optional(), path: z.string().optional() })
const usage = z.strictObject({
  inputTokens: amount,
  outputTokens: amount,
  cacheReadTokens: amount,
  cacheWriteTokens: amount,
  reasoningTokens: amount,
  cost: amount,
})
const body = z.strictObject({
  ...bodySchema.shape,
  // The body is passed on as it came.
  toolCalls: z
    .array(
      z.looseObject({
        id: z.string(),
        type: z.string(),
        function: z.looseObject({ name: z.string(), arguments: z.string() }).optional(),
      }),
    )
    .optional(),
})
const parent = z.strictObject({ sourceId: id, how: z.enum(['sub-agent', 'fork']), callId: z.string().optional() })
const entry = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('message'), sourceId: id }),
  z.strictObject({ kind: z.literal('inserted'), body, isSummary: z.literal(true).optional() }),
  z.strictObject({ kind: z.literal('missing'), sourceId: id }),
])
const summary = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text: z.string() }),
  z.strictObject({ kind: z.literal('opaque') }),
  z.strictObject({ kind: z.literal('none') }),
])

/** An item of a transcript, as importers make it (`importers/transcript.ts`). */
const item = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('conversation'),
      sourceId: id,
      programVersion: z.string().optional(),
      parent: parent.optional(),
      title: z.string().optional(),
      cwd: z.string().optional(),
      startedAt: time,
      where,
    }),
    z.strictObject({
      kind: z.literal('message'),
      sourceId: id,
      part: z.int().min(0),
      at: time,
      body,
      byProgram: z.literal(true).optional(),
      answerId: z.string().optional(),
      model: z.string().optional(),
      usage: usage.optional(),
      earlierUsage: z.strictObject({ answerId: z.string(), usage }).optional(),
      abortedTurn: z.strictObject({ messageId: id, reason: z.string().optional() }).optional(),
      isError: z.literal(true).optional(),
      exitCode: z.int().optional(),
      where,
    }),
    z.strictObject({
      kind: z.literal('compaction'),
      sourceId: id,
      at: time,
      trigger: z.enum(['auto', 'manual', 'overflow', 'unknown']),
      summary,
      context: z.array(entry),
      unknown: z.array(id).optional(),
      coversMissing: z.literal(true).optional(),
      tokensBefore: amount,
      tokensAfter: amount,
      durationMs: amount,
      model: z.string().optional(),
      usage: usage.optional(),
      madeBy: z.string().optional(),
      where,
    }),
    z.strictObject({ kind: z.literal('withdrawal'), sourceIds: z.array(id), at: time, where }),
    z.strictObject({
      kind: z.literal('edit'),
      sourceId: id,
      part: z.int().min(0),
      content: contentSchema,
      why: z.enum(['pruned', 'masked', 'shortened', 'replaced']),
      at: time,
      where,
    }),
    z.strictObject({ kind: z.literal('undo'), sourceIds: z.array(id), at: time, where }),
    z.strictObject({ kind: z.literal('damage'), detail: z.string(), isCut: z.boolean(), where }),
  ])
  .meta({ id: 'TranscriptItem' })

/** Counts of recorded items of a conversation. */
const recorded = record({
  conversationId: z.string(),
  sourceId: z.string(),
  file: z.string(),
  messages: count,
  compactions: count,
  withdrawn: count,
  edits: count,
  damaged: count,
  known: count,
  lost: optional(count),
  revision,
  position: orUndefined(revision),
}).meta({ id: 'PushedConversation' })

export const pushTranscript = route({
  method: 'post',
  path: '/v1/transcripts',
  summary:
    'Records items of another program’s transcript in their order, in the conversations that they name. Recorded items are recognized, so that a repeated request records nothing twice',
  roles: ['append'],
  reach: 'some',
  body: z
    .strictObject({
      upload: z
        .string()
        .regex(/^[\w-]{1,64}$/u)
        .meta({ description: 'Names one reading of a transcript; its items are sent in one or more requests' }),
      offset: z.int().min(0).meta({ description: 'Index of the first of these items in the upload' }),
      program: id.meta({ description: 'Program that wrote the transcript, as `import --from` names it' }),
      scope: id.optional().meta({ description: 'Tenant or owner of new conversations' }),
      writtenAt: z
        .string()
        .optional()
        .meta({ description: 'When the transcript was written: the time of messages without one' }),
      items: z.array(item).min(1).max(MOST_LISTED),
    })
    .meta({ id: 'Push' }),
  answer: record({
    next: count.meta({
      description: 'Index of the next item to send. 0 if the upload is not known here any more: send it from its start',
    }),
    conversations: z.array(recorded),
  }).meta({ id: 'Pushed' }),
})
