import { z } from 'zod'
import { replacementLine } from './lines.js'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { carriedRenamed, originUpcasters, replacementWithShape } from './origin.js'
import { replacement } from './replacement.js'
import { saysNoMore } from './upcast.js'
import { replacementTexts } from './texts.js'

export const editionReverted = defineEvent({
  description:
    'an edition was reverted: the state that it had replaced is in force again, with all messages since then; a checkpoint event',
  version: 6,
  activity: 'update',
  withoutContent: ['editionId', 'restores', 'adoptedAt'],
  texts: replacementTexts,
  schema: z.object({
    /** The edition that is no longer in force. */
    editionId: id,
    /** The edition that is in force again; absent if the conversation's own batches are. */
    restores: id.optional(),
    /** The event that had adopted the edition. The batches before it are restored. */
    adoptedAt: revision,
    ...replacement,
  }),
  // Version 3: another program may make the context again. Version 4: the shape of contexts, and batches with eleven
  // sections. Version 5: other names of fields. Version 6: the working
  // state.
  upcasters: { ...originUpcasters, 2: saysNoMore, 3: replacementWithShape, 4: carriedRenamed, 5: saysNoMore },
  describe: (data) => {
    const active = data.restores === undefined ? "the conversation's own batches are" : `edition ${data.restores} is`
    return `edition ${data.editionId} is no longer active, ${active} active again: ${replacementLine(data)}`
  },
})
