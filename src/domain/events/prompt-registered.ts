import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { hash, id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const promptRegistered = defineEvent({
  description: 'the text of a template or persona that was used, in the stream of its hash',
  version: 1,
  texts: NO_TEXTS,
  schema: z.object({ name: id, kind: z.enum(['template', 'persona']), sha256: hash, text: z.string() }),
  namesFromOutside: ({ name }) => ({ 'prompt.name': name }),
})
