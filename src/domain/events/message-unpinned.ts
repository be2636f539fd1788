import { z } from 'zod'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const messageUnpinned = defineEvent({
  description: 'a pinned message may be compacted again',
  version: 1,
  triggers: true,
  activity: 'update',
  withoutContent: ['messageId', 'revision'],
  texts: NO_TEXTS,
  schema: z.object({ messageId: id, revision }),
  describe: ({ messageId }) => `${printable(messageId)} may be compacted again`,
  describeShortly: () => 'a message may be compacted again',
})
