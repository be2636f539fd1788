import { z } from 'zod'
import { replacementLine } from './lines.js'
import { defineEvent } from './event-definition.js'
import { count, revision } from './fields.js'
import { carriedRenamed, originUpcasters, replacementWithShape } from './origin.js'
import { replacement } from './replacement.js'
import { inOrder, renamed, saysNoMore } from './upcast.js'
import { replacementTexts } from './texts.js'

// Version 3: the shape of contexts, and batches with eleven sections. Version 4: other names of fields.
// Version 5: the working state.
export const cycleUndone = defineEvent({
  description:
    'the last cycles were undone: their messages are live again, and their batches are inactive; a checkpoint event',
  version: 5,
  activity: 'update',
  label: 'Compaction undone',
  withoutContent: ['undone', 'softLimitBackoffUntil'],
  texts: replacementTexts,
  schema: z.object({
    /** The undone cycles, and the events that had ended them. */
    undone: z.array(z.object({ cycle: count.min(1), revision })).min(1),
    /** The soft limit starts no cycle until the conversation has this many messages. */
    softLimitBackoffUntil: count,
    ...replacement,
  }),
  upcasters: {
    ...originUpcasters,
    2: replacementWithShape,
    3: inOrder(carriedRenamed, renamed('restsUntilMessages', 'softLimitBackoffUntil')),
    4: saysNoMore,
  },
  describe: (data) => {
    const cycles = `${data.undone.length === 1 ? 'cycle' : 'cycles'} ${data.undone.map(({ cycle }) => String(cycle)).join(', ')}`
    const { softLimitBackoffUntil: until } = data
    return `${cycles} undone: ${replacementLine(data)}${until === 0 ? '' : `; the soft limit starts no cycle before message ${String(until)}`}`
  },
})
