import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'

export const editionDropped = defineEvent({
  description: 'an edition was dropped; its events stay',
  version: 1,
  schema: z.object({ editionId: id }),
})
