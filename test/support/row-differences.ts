/** What differs between rows and facts, as far as the rows have come; and a check of rows for tests that have none. */
import type { RecordedEvent } from '../../src/domain/events/index.js'
import type { RowCheck } from '../../src/ports/row-check.js'
import type { Database } from '../../src/ports/sql.js'
import { hasCheckpoints } from '../../projections/engine/checkpoints.js'
import { createRowCheck } from '../../projections/engine/compare.js'
import type { Projection } from '../../projections/engine/projection.js'

/** One sentence for each row that differs. Events after a projection's checkpoint are not counted as missing. */
export async function rowDifferences(
  db: Database,
  projections: readonly Projection[],
  conversationId: string,
  events: readonly RecordedEvent[],
): Promise<string[]> {
  const found: string[] = []
  for (const projection of projections) {
    if (!(await hasCheckpoints(db))) continue
    const [live] = await db.query<{ position: string }>(
      `select position from projection_checkpoints where name = $1 and state = 'live'`,
      [projection.name],
    )
    const appliedEvents = events.filter((event) => event.position <= Number(live?.position ?? -1))
    if (appliedEvents.length === 0) continue
    const check = createRowCheck({
      db,
      projections: [projection],
      everyConversation: false,
      async *eventsFrom(_id, seen) {
        yield* appliedEvents.filter((event) => event.revision > seen(event.stream))
      },
      catchUp: () => Promise.resolve(),
    })
    check.begin(conversationId)
    for (const event of appliedEvents) check.take(event)
    check.end(true)
    found.push(...(await check.finish()).map(({ detail }) => detail))
  }
  return found
}

/** Compares nothing. */
export const noRows: RowCheck = {
  begin: () => undefined,
  take: () => false,
  end: () => false,
  compare: () => Promise.resolve([]),
  finish: () => Promise.resolve([]),
}
