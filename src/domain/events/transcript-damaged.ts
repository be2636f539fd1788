import { z } from 'zod'
import { sourceText } from './lines.js'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { whereSchema } from './source.js'
import { wholeTexts } from './texts.js'

export const transcriptDamaged = defineEvent({
  description:
    'a record of the transcript, or an answer that passed through the proxy, cannot be read; what came before and after it was recorded',
  version: 1,
  effect: 'none',
  activity: 'update',
  isFailure: true,
  label: 'Unreadable record',
  withoutContent: [],
  texts: wholeTexts({ detail: 'text' }),
  schema: z.object({ detail: z.string(), where: whereSchema }),
  describe: ({ where, detail }) => `${sourceText(where)}: ${printable(detail)}`,
})
