import { z } from 'zod'
import { contentSchema, contentText } from '../values/message.js'
import { short, sourceText } from './lines.js'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { id, revision, time } from './fields.js'
import { whereSchema } from './source.js'
import { editTexts } from './texts.js'

export const contributionEdited = defineEvent({
  description:
    'another program sends other content to its model instead of a message from here on: a result that was pruned, masked or shortened; the recorded message is unchanged',
  version: 1,
  activity: 'update',
  label: 'Message replaced by the program',
  withoutContent: ['messageId', 'revision', 'why', 'at'],
  texts: editTexts,
  schema: z.object({
    messageId: id,
    revision,
    /** Content that the program sends to the model instead; null if it sends nothing. */
    content: contentSchema,
    why: z.enum(['pruned', 'masked', 'shortened', 'replaced']),
    at: time.optional(),
    where: whereSchema,
  }),
  describe: ({ messageId, why, content, where }) =>
    `${printable(messageId)} ${why}: the model receives ${content === null ? 'nothing' : `"${short(contentText(content))}"`} instead (${sourceText(where)})`,
  describeShortly: ({ why, content }) =>
    `${why}: the model receives ${content === null ? 'nothing' : `“${short(contentText(content))}”`} instead of a message`,
})
