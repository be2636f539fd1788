import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { id } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const editionDropped = defineEvent({
  description: 'an edition was dropped; its events stay',
  version: 1,
  stream: 'edition',
  effect: 'none',
  activity: 'delete',
  withoutContent: ['editionId'],
  texts: NO_TEXTS,
  schema: z.object({ editionId: id }),
  describe: ({ editionId }) => `edition ${editionId} is dropped`,
})
