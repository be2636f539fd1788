import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { whereSchema } from './source.js'
import { wholeTexts } from './texts.js'

export const transcriptDamaged = defineEvent({
  description: 'a record of the transcript cannot be read; the records before and after it were imported',
  version: 1,
  texts: wholeTexts({ detail: 'text' }),
  schema: z.object({ detail: z.string(), where: whereSchema }),
})
