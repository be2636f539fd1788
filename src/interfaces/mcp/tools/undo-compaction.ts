import { z } from 'zod'
import type { EventData } from '../../../domain/events/index.js'
import { operation, findRecordedEvent, operationIdReused } from '../operations.js'
import { undo } from '../../../schema/calls/history.js'
import { RECORDS, toolOfConversation } from '../tool.js'

const NAME = 'undo_compaction'

const count = z.number().int()
const output = z.object({
  conversationId: z.string(),
  revision: z.string(),
  cycles: z.array(count).describe('The undone cycles, newest first'),
  messagesRestored: count,
  tokensBefore: count,
  tokensAfter: count,
})

const describeUndo = (cycle: number | undefined): string => `${NAME} from cycle ${String(cycle)}`

/** The result of an undo, from its event. */
const undoResult = ({ undone, restored, tokensBefore, tokensAfter }: EventData<'CycleUndone'>) => ({
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
      'Restores the messages of the compaction cycles from `cycle` to the last one to the context. Later messages stay and nothing is lost. Returns an error if the context would become too large.',
    annotations: RECORDS,
    calls: [undo],
    input: {
      cycle: z
        .number()
        .int()
        .min(1)
        .max(1_000_000_000)
        .describe('The first cycle to undo, from 1; later cycles are undone as well'),
      ...operation,
    },
    output,
  },
  ({ cycle, operationId }, { ledger, actorOptions: asking, operations, conversationId }) =>
    operations.once({
      conversationId,
      operationId,
      description: describeUndo(cycle),
      // A later cycle may have the number of an undone one: a second run would undo it too.
      async findRecorded() {
        const event = await findRecordedEvent(ledger, conversationId, operationId, 'CycleUndone')
        if (event === undefined) return undefined
        const first = event.data.undone.at(-1)?.cycle
        if (first !== cycle) throw operationIdReused(operationId, describeUndo(first))
        return { conversationId, revision: event.revision.toString(), ...undoResult(event.data) }
      },
      async run() {
        const { revision, cycles, messagesRestored, tokensBefore, tokensAfter } = await ledger.editions.undo(
          conversationId,
          {
            cycle,
            correlationId: operationId,
            ...asking,
          },
        )
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
