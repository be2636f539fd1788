import { z } from 'zod'
import { PLAIN_SPAN, spanOf } from './lines.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id, revision, span } from './fields.js'
import { sectionsSchema, withSections } from './sections.js'
import { batchTexts } from './texts.js'
import { saysNoMore } from './upcast.js'
import { workingStateSchema } from './working-state.js'

// Version 2: eleven sections. Version 3: the working state.
export const batchArchived = defineEvent({
  description: 'a summary was archived under its label',
  version: 3,
  activity: 'create',
  label: 'Summary stored',
  withoutContent: ['batchId', 'label', 'depth', 'messageIds', 'tokens', 'chunkId', ...PLAIN_SPAN],
  texts: batchTexts,
  schema: z.object({
    batchId: id,
    label: id,
    depth: z.literal(0),
    ...span,
    firstRevision: revision,
    lastRevision: revision,
    messageIds: z.array(id).min(1),
    /** Header line and summary, for people and tools that know the format. */
    content: id,
    sections: sectionsSchema.optional(),
    /** The working state after this batch; absent if nothing has changed it yet. */
    workingState: workingStateSchema.optional(),
    /** True if the texts were erased. A reader adds it if the key is destroyed. */
    erased: z.literal(true).optional(),
    tokens: count,
    chunkId: id,
  }),
  upcasters: { 1: withSections, 2: saysNoMore },
  tokensFromOutside: ({ tokens }) => ({ tokens }),
  describe: ({ batchId, messageCount, messageIds, startTime, endTime, tokens }) =>
    `${batchId} has ${many(messageCount, 'message')} (${spanOf(messageIds)}), ${startTime} to ${endTime}, ${many(tokens, 'token')}`,
  describeShortly: ({ messageCount, tokens }) => `of ${many(messageCount, 'message')}, ${many(tokens, 'token')}`,
})
