import { z } from 'zod'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id } from './fields.js'
import { NO_TEXTS } from './texts.js'

const erasureReceiptSchema = z.object({
  messages: count,
  /** Summaries of chunks, batches and late summaries. */
  summaries: count,
  editions: count,
  /** Names of the destroyed keys of the key vault. */
  keys: z.array(id),
  /** The key vault, for people. */
  vault: id,
  /** Rewritten read models. */
  rows: z.array(id),
  /** False if the database did not allow to remove old pages and write-ahead log: its operator must do that. */
  filesCleaned: z.boolean(),
  /** The legal basis that the request named. */
  legalBasis: id.optional(),
})
/** The result of an erasure, without personal data. */
export type ErasureReceipt = z.infer<typeof erasureReceiptSchema>

export const erasureCompleted = defineEvent({
  description: 'the keys of an erasure are destroyed, and its rows are written again; with a receipt',
  version: 1,
  activity: 'delete',
  withoutContent: ['erasureId', 'receipt'],
  texts: NO_TEXTS,
  schema: z.object({ erasureId: id, receipt: erasureReceiptSchema }),
  describe: ({ receipt: { messages, summaries, keys } }) =>
    `${many(messages, 'message')} and ${many(summaries, 'summary', 'summaries')} erased, ${many(keys.length, 'key')} destroyed`,
})
