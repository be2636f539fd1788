import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'

export const editionDropped = defineEvent({
  says: 'an edition is given up; what it recorded stays',
  version: 1,
  schema: z.object({ editionId: id }),
})
