import { z } from 'zod'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const messagePinned = defineEvent({
  description: 'a message is excluded from compaction and shown word for word',
  version: 1,
  activity: 'update',
  withoutContent: ['messageId', 'revision'],
  texts: NO_TEXTS,
  schema: z.object({ messageId: id, revision }),
  describe: ({ messageId }) => `${printable(messageId)} is never compacted`,
  describeShortly: () => 'a message is never compacted from here on',
})
