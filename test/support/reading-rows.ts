/**
 * Readers that query the read models without pause, and the states that they may see at each revision of a
 * conversation: the one before or the one after, never a mix.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import { decodeEvent } from '../../src/application/recording/read-event.js'
import type { Log } from '../../src/application/recording/load-conversation.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import type { Database, Sql } from '../../src/ports/sql.js'
import { archiveIndex } from '../../projections/read-models/archive-index/projection.js'
import { clipArchive } from '../../projections/read-models/clip-archive/projection.js'
import { editionsProjection } from '../../projections/read-models/editions/projection.js'
import { createFold } from '../../projections/engine/fold.js'
import { liveMessages } from '../../projections/read-models/live-messages/projection.js'
import { changesOf, type Cell } from '../../projections/engine/projection.js'
import { PROJECTED_PREFIXES, subjectOf } from '../../projections/engine/streams.js'

/** What a reader sees of a conversation in the read models, each with its own word for it. */
export interface Seen {
  readonly revision: string
  readonly live: string
  readonly active: string
  readonly view: string
  readonly edition: string | null
}

const PARTS = [
  `(select revision::text from conversations where conversation_id = $1) as revision`,
  `(select coalesce(string_agg(message_id, ' ' order by revision), '') from live_messages where conversation_id = $1) as live`,
  `(select coalesce(string_agg(batch_id, ' ' order by batch_id), '') from archive_batch_states where active and conversation_id = $1) as active`,
  `(select coalesce(max(batch_ids), '') from clip_archive_views where conversation_id = $1) as view`,
  `(select max(edition_id) from editions_in_force where conversation_id = $1) as edition`,
]

export type Read = (db: Database, conversationId: string) => Promise<Seen | undefined>

export async function inOneStatement(sql: Sql, conversationId: string): Promise<Seen | undefined> {
  return (await sql.query<Seen>(`select ${PARTS.join(', ')}`, [conversationId]))[0]
}

/** By a question each, as a program asks them: of one moment, hence the isolation level. */
export async function inOneTransaction(db: Database, conversationId: string): Promise<Seen | undefined> {
  return await db.transaction(async (sql) => {
    await sql.script('set transaction isolation level repeatable read')
    let rowsRead: Partial<Seen> = {}
    for (const part of PARTS)
      rowsRead = { ...rowsRead, ...(await sql.query<Partial<Seen>>(`select ${part}`, [conversationId]))[0] }
    const { revision, live = '', active = '', view = '', edition = null } = rowsRead
    return revision === undefined ? undefined : { revision, live, active, view, edition }
  })
}

export interface Reader {
  /** Stops the reader. Returns the distinct states that it saw of each conversation, and the number of reads. */
  stop(): Promise<{ readonly rowsRead: ReadonlyMap<string, readonly Seen[]>; readonly reads: number }>
}

/**
 * Reads one conversation after another until it is stopped.
 * @param restMs pause between two reads, since other tasks share at most two processors
 */
export function startReading(db: Database, conversationIds: readonly string[], read: Read, restMs = 0): Reader {
  const over = new AbortController()
  const rowsById = new Map(conversationIds.map((id) => [id, new Map<string, Seen>()]))
  let reads = 0
  const reading = (async () => {
    while (!over.signal.aborted) {
      const id = conversationIds[reads % conversationIds.length] ?? ''
      const now = await read(db, id)
      reads += 1
      if (now !== undefined && now.revision !== null) rowsById.get(id)?.set(JSON.stringify(now), now)
      await (restMs === 0 ? setImmediate() : setTimeout(restMs))
    }
  })()
  return {
    async stop() {
      over.abort()
      await reading
      return { rowsRead: new Map([...rowsById].map(([id, each]) => [id, [...each.values()]])), reads }
    },
  }
}

const text = (cell: Cell | undefined): string | null => (typeof cell === 'string' ? cell : null)

/**
 * The states that a reader may see at each of these revisions of a conversation. The events of the conversation and of
 * its editions are passed in the order of the log.
 */
export function expectedSeen(
  events: readonly RecordedEvent[],
  conversationId: string,
  revisions: ReadonlySet<string>,
): ReadonlyMap<string, Seen> {
  const projections = [liveMessages, archiveIndex, clipArchive, editionsProjection]
  const fold = createFold(projections.flatMap(({ tables }) => tables))
  const expected = new Map<string, Seen>()
  for (const event of events) {
    for (const projection of projections) fold.apply(changesOf(projection, event))
    if (event.stream !== conversationStream(conversationId) || !revisions.has(event.revision.toString())) continue
    const live = fold.rows('live_messages').toSorted((a, b) => Number(a['revision']) - Number(b['revision']))
    expected.set(event.revision.toString(), {
      revision: event.revision.toString(),
      live: live.map((row) => String(row['message_id'])).join(' '),
      active: fold
        .rows('archive_batch_states')
        .flatMap((row) => (row['active'] === true ? [String(row['batch_id'])] : []))
        .toSorted()
        .join(' '),
      view: text(fold.rows('clip_archive_views')[0]?.['batch_ids']) ?? '',
      edition: text(fold.rows('editions_in_force')[0]?.['edition_id']),
    })
  }
  return expected
}

/** The facts of every conversation with those of its editions, in the order of the log. */
export async function eventsOfConversations({
  store,
  bodies,
}: Log): Promise<ReadonlyMap<string, readonly RecordedEvent[]>> {
  const events = new Map<string, RecordedEvent[]>()
  for await (const stored of store.readAll({ prefix: PROJECTED_PREFIXES })) {
    const id = subjectOf(stored.stream)?.conversationId
    if (id === undefined) continue
    const ownEvents = events.get(id) ?? []
    ownEvents.push(await decodeEvent(stored, { bodies }))
    events.set(id, ownEvents)
  }
  return events
}
