import { z } from 'zod'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { hash, id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const promptRegistered = defineEvent({
  description: 'the text of a template or persona that was used, in the stream of its hash',
  version: 1,
  stream: 'prompt',
  opensStream: true,
  effect: 'none',
  activity: 'create',
  withoutContent: ['name', 'kind', 'sha256'],
  texts: NO_TEXTS,
  schema: z.object({ name: id, kind: z.enum(['template', 'persona']), sha256: hash, text: z.string() }),
  namesFromOutside: ({ name }) => ({ 'prompt.name': name }),
  describe: ({ kind, name, sha256 }) => `${kind} ${printable(name)}, ${sha256.slice(0, 12)}`,
})
