import { z } from 'zod'
import { short, sourceText } from './lines.js'
import { defineEvent } from './event-definition.js'
import { whereSchema } from './source.js'
import { wholeTexts } from './texts.js'

export const conversationTitled = defineEvent({
  description: 'another program gave its conversation a title after the first records of the transcript, or changed it',
  version: 1,
  effect: 'none',
  activity: 'update',
  label: 'Title',
  withoutContent: [],
  texts: wholeTexts({ title: 'text' }),
  schema: z.object({ title: z.string().min(1), where: whereSchema }),
  describe: ({ title, where }) => `${short(title)} (${sourceText(where)})`,
  describeShortly: ({ title }) => short(title),
})
