import { z } from 'zod'
import { contentSchema, bodySchema } from '../values/message.js'
import { count as countText, many } from '../text/count.js'
import { printable } from '../text/printable.js'
import { short, sourceText } from './lines.js'
import { defineEvent } from './event-definition.js'
import { count, id, revision, span, time } from './fields.js'
import { reportedUsageSchema, whereSchema } from './source.js'
import { observedTexts } from './texts.js'

/** One entry of the context that the program made. */
const contextEntrySchema = z.discriminatedUnion('kind', [
  /** A message that stays; `content` if the program sends other content to its model instead. */
  z.object({ kind: z.literal('message'), messageId: id, content: contentSchema.optional() }),
  /** A text that the program inserted: the summary, or an addition to it. */
  z.object({
    kind: z.literal('inserted'),
    body: bodySchema,
    isSummary: z.literal(true).optional(),
  }),
  /** A message that stays but is not in the transcript. */
  z.object({ kind: z.literal('missing'), sourceId: id }),
])
export type ObservedEntry = z.infer<typeof contextEntrySchema>

export const compactionObserved = defineEvent({
  description:
    'another program compacted: the messages that the summary covers, those that stayed, those of unknown state, and the summary, as far as the transcript has them',
  version: 1,
  activity: 'create',
  label: 'Compaction by the program',
  withoutContent: ['chunkId', 'program', 'programVersion', 'sourceId', 'trigger', 'at', 'covered', 'told'],
  texts: observedTexts,
  schema: z.object({
    /** The chunk id of the batch that covers the messages. */
    chunkId: id,
    program: id,
    programVersion: z.string().optional(),
    /** The program's own id of the compaction. */
    sourceId: id,
    trigger: z.enum(['auto', 'manual', 'overflow', 'unknown']),
    at: time.optional(),
    summary: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('text'), text: z.string() }),
      /** A summary in a form that only its provider can read. */
      z.object({ kind: z.literal('opaque') }),
      /** The program removed the messages without a summary. */
      z.object({ kind: z.literal('none') }),
    ]),
    /** The removed messages; absent if the transcript contains none of them. */
    covered: z
      .object({ messageIds: z.array(id).min(1), ...span, firstRevision: revision, lastRevision: revision })
      .optional(),
    /** Removed messages of which the transcript does not show whether the program still sent them to the model. */
    unknown: z.array(id),
    /** The transcript starts after the beginning of the conversation, so removed messages are missing in it. */
    coversMissing: z.literal(true).optional(),
    /** The context right after the compaction, in order. */
    context: z.array(contextEntrySchema),
    /** Values that the program reports. */
    told: z.object({
      tokensBefore: count.optional(),
      tokensAfter: count.optional(),
      durationMs: z.number().nonnegative().optional(),
      model: z.string().optional(),
      usage: reportedUsageSchema.optional(),
      /** The extension that made the summary in place of the program: `context-ledger`; `extension` if it has no name. */
      madeBy: z.string().optional(),
    }),
    where: whereSchema,
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
  }),
  describe: ({ program, trigger, covered, unknown, context, summary, told, where }) => {
    const { tokensBefore: before, tokensAfter: after } = told
    const tokens =
      before === undefined
        ? ''
        : `, ${countText(before)}${after === undefined ? '' : ` → ${countText(after)}`} tokens (reported)`
    const removed = many(covered?.messageCount ?? 0, 'message')
    const unstated = unknown.length === 0 ? '' : ` (${countText(unknown.length)} of them not stated)`
    const text =
      summary.kind === 'text'
        ? short(summary.text)
        : summary.kind === 'opaque'
          ? 'a summary that is not readable'
          : 'no summary'
    const maker = told.madeBy === undefined ? '' : `, summary by ${printable(told.madeBy)}`
    return `${printable(program)} compacted (${trigger}${maker}): ${removed} removed${unstated}, ${countText(keptIn(context))} kept${tokens}: ${text} (${sourceText(where)})`
  },
  describeShortly: ({ covered, context, summary, told }) => {
    const tokens = told.tokensBefore === undefined ? '' : `, of ${countText(told.tokensBefore)} tokens`
    const text =
      summary.kind === 'text'
        ? `: ${short(summary.text)}`
        : summary.kind === 'opaque'
          ? '; its summary is not readable'
          : '; no summary'
    return `${many(covered?.messageCount ?? 0, 'message')} removed, ${countText(keptIn(context))} kept${tokens}${text}`
  },
})

const keptIn = (context: readonly { readonly kind: string }[]): number =>
  context.filter(({ kind }) => kind === 'message').length
