import { z } from 'zod'
import { replacementLine } from './lines.js'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { carriedRenamed, originUpcasters, replacementWithShape } from './origin.js'
import { replacement } from './replacement.js'
import { replacementTexts } from './texts.js'
import { saysNoMore } from './upcast.js'

// Version 3: the shape of contexts, and batches with eleven sections. Version 4: other names of fields. Version 5: the working state.
export const editionAdopted = defineEvent({
  description: 'an edition was adopted: its batches, window and configuration are in force; a checkpoint event',
  version: 5,
  activity: 'update',
  withoutContent: ['editionId', 'editionRevision', 'conversationRevision'],
  texts: replacementTexts,
  schema: z.object({
    editionId: id,
    /** The edition's last event, and the last event of the conversation that it includes. */
    editionRevision: revision,
    conversationRevision: revision,
    ...replacement,
  }),
  upcasters: { ...originUpcasters, 2: replacementWithShape, 3: carriedRenamed, 4: saysNoMore },
  describe: (data) => `edition ${data.editionId} is active: ${replacementLine(data)}`,
})
