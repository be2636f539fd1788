import { z } from 'zod'
import type { EventData } from '../../domain/events/index.js'
import { operation, recordedFor, usedBefore } from '../operations.js'
import { RECORDS, toolOfConversation } from '../tool.js'

const NAME = 'undo_compaction'

const count = z.number().int()
const output = z.object({
  conversationId: z.string(),
  revision: z.string(),
  cycles: z.array(count).describe('The cycles that were undone, the last one first'),
  messagesRestored: count,
  tokensBefore: count,
  tokensAfter: count,
})

const whatOf = (cycle: number | undefined): string => `${NAME} from cycle ${String(cycle)}`

/** What undoing came to, by the fact that recorded it. */
const undoneOf = ({ undone, restored, tokensBefore, tokensAfter }: EventData<'CycleUndone'>) => ({
  cycles: undone.map(({ cycle }) => cycle),
  messagesRestored: restored.length,
  tokensBefore,
  tokensAfter,
})

export const undoCompaction = toolOfConversation(
  {
    name: NAME,
    title: 'Undo compactions',
    description:
      'Puts the messages of the compaction cycles from `cycle` to the last one back into the context. What came later stays, nothing is lost, and it is refused where the context would become too large.',
    annotations: RECORDS,
    input: {
      cycle: z
        .number()
        .int()
        .min(1)
        .max(1_000_000_000)
        .describe('The first cycle to undo, from 1; later ones go with it'),
      ...operation,
    },
    output,
  },
  ({ cycle, operationId }, { ledger, asking, operations, conversationId }) =>
    operations.once({
      conversationId,
      operationId,
      what: whatOf(cycle),
      // A later cycle may have the number of one that was undone: done again, it would be undone as well.
      async recorded() {
        const fact = await recordedFor(ledger, conversationId, operationId, 'CycleUndone')
        if (fact === undefined) return undefined
        const first = fact.data.undone.at(-1)?.cycle
        if (first !== cycle) throw usedBefore(operationId, whatOf(first))
        return { conversationId, revision: fact.revision.toString(), ...undoneOf(fact.data) }
      },
      async run() {
        const { revision, cycles, messagesRestored, tokensBefore, tokensAfter } = await ledger.undo(conversationId, {
          cycle,
          correlationId: operationId,
          ...asking,
        })
        return {
          conversationId,
          revision: revision.toString(),
          cycles: [...cycles],
          messagesRestored,
          tokensBefore,
          tokensAfter,
        }
      },
    }),
)
