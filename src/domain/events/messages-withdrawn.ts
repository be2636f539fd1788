import { z } from 'zod'
import { spanOf } from './lines.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const messagesWithdrawn = defineEvent({
  description:
    'messages were withdrawn from the conversation: edited, removed, cut off or reordered; they stay in the log',
  version: 1,
  activity: 'delete',
  withoutContent: ['messages', 'why'],
  texts: NO_TEXTS,
  schema: z.object({
    /** Messages that were live before this event. They stay in the log; replacements are appended after it. */
    messages: z.array(z.object({ messageId: id, revision })).min(1),
    /** Repeated with other content, removed, cut off at the end, or repeated in another order. */
    why: z.enum(['edited', 'removed', 'rewound', 'reordered']),
  }),
  describe: ({ messages, why }) =>
    `${many(messages.length, 'message')} (${spanOf(messages.map(({ messageId }) => messageId))}) withdrawn: ${why}`,
  describeShortly: ({ messages, why }) => `${many(messages.length, 'message')} withdrawn: ${why}`,
})
