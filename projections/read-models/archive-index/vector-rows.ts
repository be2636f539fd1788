/** The vectors in the database: counts the messages without a vector, reads their texts, and stores new vectors. */
import { CONVERSATION_PREFIX, conversationOf } from '../../../src/domain/values/ids.js'
import type { EmbeddingFailure } from '../../../src/ports/embedding-model.js'
import type { EventPosition, EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { hasCheckpoints, leastPosition, liveOf, readGenerations } from '../../engine/checkpoints.js'
import { archiveIndex } from './projection.js'
import { asText, createVectorIndex, createVectorTable } from './vectors.js'

/** Embedding models read about 8,000 tokens, and the beginning of a message usually contains its subject. */
const MAX_EMBEDDED_LENGTH = 8_000
/** Missing vectors are counted up to this number. */
const MAX_MISSING_COUNTED = 1_000

/** Messages that have no vector yet. */
export interface MissingVectors {
  /** Number of texts without a vector. */
  readonly missing: number
  /** True if the count stopped at its limit, so that there may be more. */
  readonly isAtLeast: boolean
}

interface Progress {
  readonly position: number
  readonly upTo: number
  /** Positions at which conversations stopped. Their later messages are skipped until their rows are complete. */
  readonly stops: readonly number[]
}

export interface TextToEmbed {
  readonly textHash: string
  readonly text: string
}

/** The vectors of one model. */
export class VectorRows {
  private ready: Promise<boolean> | undefined
  /** Lengths of vectors that have an index. */
  private readonly indexed = new Set<number>()

  constructor(
    private readonly db: Database,
    private readonly store: EventStore,
    private readonly model: string,
  ) {}

  async isReady(): Promise<boolean> {
    this.ready ??= createVectorTable(this.db)
    return await this.ready
  }

  /**
   * The positions of the vectors and of the rows. Starts again from the beginning if the vectors belong to another log or
   * to rows of another version, and from the stop of a conversation whose rows have been completed since.
   */
  async progress(): Promise<Progress> {
    const { db, store } = this
    const live = (await hasCheckpoints(db))
      ? liveOf(await readGenerations(db, [archiveIndex.name]), archiveIndex.name)
      : undefined
    if (live === undefined) return { position: -1, upTo: -1, stops: [] }
    const upTo = leastPosition(live.checkpoints)
    const stops = live.stopped.map((stop) => stop.position)
    const [row] = await db.query<{ position: string; eventId: string; stoppedAt: string | null }>(
      'select position, event_id as "eventId", stopped_at as "stoppedAt" from archive_vector_progress where model = $1 and version = $2',
      [this.model, archiveIndex.version],
    )
    if (row === undefined) return { position: -1, upTo, stops }
    const position = Number(row.position)
    const isOfThisLog = position <= upTo && (await store.eventAt(position))?.id === row.eventId
    if (!isOfThisLog) return { position: -1, upTo, stops }
    const stoppedAt = row.stoppedAt === null ? undefined : Number(row.stoppedAt)
    const isRepaired = stoppedAt !== undefined && !stops.includes(stoppedAt)
    return { position: isRepaired ? stoppedAt - 1 : position, upTo, stops }
  }

  async recordProgress(end: EventPosition, stops: readonly number[]): Promise<void> {
    await this.db.query(
      `insert into archive_vector_progress (model, version, position, event_id, stopped_at) values ($1, $2, $3, $4, $5)
       on conflict (model) do update set version = excluded.version, position = excluded.position, event_id = excluded.event_id, stopped_at = excluded.stopped_at`,
      [this.model, archiveIndex.version, end.position, end.id, firstOf(stops, end.position)],
    )
  }

  /** The next events of conversations up to the position of the rows. */
  async nextEvents({ position, upTo }: Pick<Progress, 'position' | 'upTo'>, limit: number): Promise<EventPosition[]> {
    const events: EventPosition[] = []
    if (position >= upTo) return events
    for await (const event of this.store.readPositions({
      after: position,
      prefix: CONVERSATION_PREFIX,
      limit,
    })) {
      if (event.position > upTo) break
      events.push(event)
    }
    return events
  }

  async textsWithoutVector(events: readonly EventPosition[]): Promise<TextToEmbed[]> {
    const messages = messagesIn(events)
    return await this.db.query<TextToEmbed>(
      `select distinct on (m.text_hash) m.text_hash as "textHash", left(m.text, ${String(MAX_EMBEDDED_LENGTH)}) as text
       from unnest($2::text[], $3::int8[]) as wanted(conversation_id, revision)
       join archive_messages m on m.conversation_id = wanted.conversation_id and m.revision = wanted.revision
       where m.text <> '' and not exists (select from archive_vectors v where v.model = $1 and v.text_hash = m.text_hash)`,
      [
        this.model,
        messages.map(({ stream }) => conversationOf(stream) ?? ''),
        messages.map(({ revision }) => revision),
      ],
    )
  }

  async countMissing(conversationId?: string): Promise<MissingVectors> {
    if (!(await this.isReady())) return { missing: 0, isAtLeast: false }
    const messages = messagesIn(await this.nextEvents(await this.progress(), MAX_MISSING_COUNTED + 1))
    const count = messages.filter(
      ({ stream }) => conversationId === undefined || conversationOf(stream) === conversationId,
    ).length
    return { missing: Math.min(count, MAX_MISSING_COUNTED), isAtLeast: messages.length > MAX_MISSING_COUNTED }
  }

  async storeVectors(
    texts: readonly TextToEmbed[],
    vectors: readonly (readonly number[])[],
  ): Promise<EmbeddingFailure | undefined> {
    const { db } = this
    const dimensions = vectors[0]?.length ?? 0
    if (
      vectors.length !== texts.length ||
      dimensions === 0 ||
      vectors.some((vector) => vector.length !== dimensions || !vector.every(Number.isFinite))
    ) {
      return {
        kind: 'EmbeddingFailed',
        detail: `${this.model} returned ${String(vectors.length)} vectors for ${String(texts.length)} texts, or vectors of different lengths or without finite numbers`,
      }
    }
    // A text may have been erased since it was read.
    await db.query(
      `insert into archive_vectors (model, text_hash, dimensions, embedding)
       select $1, text_hash, $2::int4, embedding::vector from unnest($3::text[], $4::text[]) as u(text_hash, embedding)
       where exists (select from archive_messages m where m.text_hash = u.text_hash) on conflict do nothing`,
      [this.model, dimensions, texts.map(({ textHash }) => textHash), vectors.map(asText)],
    )
    if (!this.indexed.has(dimensions)) await createVectorIndex(db, dimensions)
    this.indexed.add(dimensions)
    return undefined
  }
}

const messagesIn = (events: readonly EventPosition[]): readonly EventPosition[] =>
  events.filter(({ type }) => type === 'MessageAppended')

/** The first position that is at most `upTo`; null if there is none. */
function firstOf(positions: readonly number[], upTo: number): number | null {
  let first: number | null = null
  for (const position of positions) if (position <= upTo && (first === null || position < first)) first = position
  return first
}
