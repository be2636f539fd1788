import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { whereSchema } from './source.js'

export const transcriptDamaged = defineEvent({
  says: 'a record of the transcript cannot be read; what stands before and behind it was taken',
  version: 1,
  schema: z.object({ detail: z.string(), where: whereSchema }),
})
