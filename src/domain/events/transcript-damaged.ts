import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { whereSchema } from './source.js'
import { wholeTexts } from './texts.js'

export const transcriptDamaged = defineEvent({
  description:
    'a record of the transcript, or an answer that passed through the proxy, cannot be read; what came before and after it was recorded',
  version: 1,
  texts: wholeTexts({ detail: 'text' }),
  schema: z.object({ detail: z.string(), where: whereSchema }),
})
