/**
 * Makes the vectors that are missing, behind whoever searches: in the order of the log, some at a time, from a
 * checkpoint of its own beside the rows.
 *
 * One filler works for a model at a time, over all processes: it holds a claim, so that nobody pays twice. What it has
 * bought stays whatever happens. A model that fails is told of and tried again later, later each time. A text that the
 * model refuses, where it takes others, is told of and left out.
 */
import { Mutex } from 'async-mutex'
import { either as E } from 'fp-ts'
import { CONVERSATION_PREFIX, conversationOf } from '../../../src/domain/values/ids.js'
import type { Claims } from '../../../src/ports/claims.js'
import { backoffMs } from '../../../src/ports/backoff.js'
import { sleep } from '../../../src/ports/clock.js'
import type { EmbeddingFailure, EmbeddingModel } from '../../../src/ports/embedding-model.js'
import type { EventPlace, EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { hasCheckpoints, leastPosition, liveOf, readGenerations } from '../../engine/checkpoints.js'
import { archiveIndex } from './projection.js'
import { asText, createVectorIndex, createVectorTable } from './vectors.js'

/** Embedding models read some 8,000 tokens; what a message is about stands in its beginning. */
const MAX_EMBEDDED_LENGTH = 8_000
const TEXTS_A_REQUEST = 64
const EVENTS_A_PAGE = 256
/** Beyond so many messages nobody who searches needs to know how many have no vector. */
const MISSING_COUNTED = 1_000
const CLAIM_MS = 60_000
const BACKOFF = { firstMs: 1_000, mostMs: 300_000 }
const GRACE_MS = 2_000
const WAIT_FOR_OTHER_MS = 250

/** Messages that have no vector yet. */
export interface MissingVectors {
  /** Texts without a vector so far. */
  readonly missing: number
  /** True where there are more than were counted. */
  readonly isAtLeast: boolean
}

/** How far the filling is. */
export interface FillProgress {
  /** Texts that got a vector in this run. */
  readonly embedded: number
  /** The place of the log that it has come to, and the one that the rows show. */
  readonly position: bigint
  /** The place that the rows show, which it goes up to. */
  readonly upTo: bigint
}

/** How to fill what has no vector yet. */
export interface FillOptions {
  /** Ends after so many texts, or a few more. Default: when none is missing. */
  readonly limit?: number
  /** Ends it behind the request that is under way; what is filled stays. */
  readonly signal?: AbortSignal
  /** Hears how far it is. */
  readonly onProgress?: (progress: FillProgress) => void
}

/** What a filling came to. */
export interface Filled extends MissingVectors {
  /** Texts that got a vector. */
  readonly embedded: number
}

export interface VectorFiller {
  /** There may be messages without a vector: sees to them, behind. */
  wake(): void
  /** Sees to them now; the failure where the model fails. Waits while another process does. */
  make(options?: FillOptions): Promise<E.Either<EmbeddingFailure, Filled>>
  /**
   * How many messages are without a vector, in all or in one conversation, and why they were not made where the model
   * failed last.
   */
  missing(conversationId?: string): Promise<MissingVectors & { readonly failure?: EmbeddingFailure }>
  /**
   * Ends what is under way, for whomever; what was asked of the model may come back within two seconds, and is given up
   * then.
   */
  stop(): Promise<void>
}

export interface VectorFillerOptions {
  readonly db: Database
  readonly store: EventStore
  readonly embedding: EmbeddingModel
  readonly claims: Claims
  /** Who holds the claim; unlike that of any other filler. */
  readonly owner: string
  readonly onProblem: (problem: unknown) => void
}

interface Progress {
  readonly position: bigint
  readonly upTo: bigint
  /** Where conversations without all of their rows stopped: their messages are passed over until they have them. */
  readonly stops: readonly bigint[]
}

interface Wanted {
  readonly textHash: string
  readonly text: string
}

export function createVectorFiller({
  db,
  store,
  embedding,
  claims,
  owner,
  onProblem,
}: VectorFillerOptions): VectorFiller {
  const { model } = embedding
  const stopping = new AbortController()
  const giveUp = new AbortController()
  let running: Promise<void> | undefined
  let again = false
  let failure: EmbeddingFailure | undefined
  let failures = 0
  let notBefore = 0
  /** One filling of this process at a time. */
  const filling = new Mutex()
  let ready: Promise<boolean> | undefined
  /** Lengths of vectors that have their index. */
  const indexed = new Set<number>()

  /**
   * How far the vectors are, and how far the rows. Made from another log, or of rows of another version, they are
   * looked through again; and from where a conversation had stopped whose rows are complete by now.
   */
  async function progress(): Promise<Progress> {
    const live = (await hasCheckpoints(db))
      ? liveOf(await readGenerations(db, [archiveIndex.name]), archiveIndex.name)
      : undefined
    if (live === undefined) return { position: -1n, upTo: -1n, stops: [] }
    const upTo = leastPosition(live.checkpoints)
    const stops = live.stopped.map((stop) => stop.position)
    const [row] = await db.query<{ position: string; eventId: string; stoppedAt: string | null }>(
      'select position, event_id as "eventId", stopped_at as "stoppedAt" from archive_vector_progress where model = $1 and version = $2',
      [model, archiveIndex.version],
    )
    if (row === undefined) return { position: -1n, upTo, stops }
    const position = BigInt(row.position)
    const isOurs = position <= upTo && (await store.eventAt(position))?.id === row.eventId
    if (!isOurs) return { position: -1n, upTo, stops }
    const stoppedAt = row.stoppedAt === null ? undefined : BigInt(row.stoppedAt)
    const isMended = stoppedAt !== undefined && !stops.includes(stoppedAt)
    return { position: isMended ? stoppedAt - 1n : position, upTo, stops }
  }

  /** The next events of conversations whose rows are there. */
  async function next({ position, upTo }: Pick<Progress, 'position' | 'upTo'>, limit: number): Promise<EventPlace[]> {
    const places: EventPlace[] = []
    if (position >= upTo) return places
    for await (const place of store.readPlaces({ after: position, prefix: CONVERSATION_PREFIX, limit })) {
      if (place.position > upTo) break
      places.push(place)
    }
    return places
  }

  const messagesIn = (places: readonly EventPlace[]): readonly EventPlace[] =>
    places.filter(({ type }) => type === 'MessageAppended')

  async function wantedOf(places: readonly EventPlace[]): Promise<Wanted[]> {
    const messages = messagesIn(places)
    return await db.query<Wanted & { place: string }>(
      `select distinct on (m.text_hash) m.text_hash as "textHash", left(m.text, ${String(MAX_EMBEDDED_LENGTH)}) as text
       from unnest($2::text[], $3::int8[]) as asked(conversation_id, revision)
       join archive_messages m on m.conversation_id = asked.conversation_id and m.revision = asked.revision
       where m.text <> '' and not exists (select from archive_vectors v where v.model = $1 and v.text_hash = m.text_hash)`,
      [model, messages.map(({ stream }) => conversationOf(stream) ?? ''), messages.map(({ revision }) => revision)],
    )
  }

  async function keep(
    wanted: readonly Wanted[],
    vectors: readonly (readonly number[])[],
  ): Promise<EmbeddingFailure | undefined> {
    const dimensions = vectors[0]?.length ?? 0
    if (
      vectors.length !== wanted.length ||
      dimensions === 0 ||
      vectors.some((vector) => vector.length !== dimensions || !vector.every(Number.isFinite))
    ) {
      return {
        kind: 'EmbeddingFailed',
        detail: `${model} gave ${String(vectors.length)} vectors for ${String(wanted.length)} texts, or vectors of different lengths, or no numbers`,
      }
    }
    await db.query(
      `insert into archive_vectors (model, text_hash, dimensions, embedding)
       select $1, text_hash, $2::int4, embedding::vector from unnest($3::text[], $4::text[]) as u(text_hash, embedding) on conflict do nothing`,
      [model, dimensions, wanted.map(({ textHash }) => textHash), vectors.map(asText)],
    )
    if (!indexed.has(dimensions)) await createVectorIndex(db, dimensions)
    indexed.add(dimensions)
    return undefined
  }

  /**
   * Buys vectors and keeps them. Where a request fails and the model takes others, the texts are halved down to the one
   * that it refuses.
   */
  async function buy(wanted: readonly Wanted[], signal: AbortSignal): Promise<EmbeddingFailure | undefined> {
    const vectors = await embedding.embed(
      wanted.map(({ text }) => text),
      signal,
    )()
    if (E.isRight(vectors)) return await keep(wanted, vectors.right)
    if (signal.aborted || E.isLeft(await embedding.embed(['ready?'], signal)())) return vectors.left
    const [only] = wanted
    if (wanted.length === 1 && only !== undefined) {
      // A text of a script that the model counts in more tokens than we do is no longer too long by its half.
      if (only.text.length > 1_000)
        return await buy([{ ...only, text: only.text.slice(0, only.text.length / 2).toWellFormed() }], signal)
      onProblem({
        ...vectors.left,
        detail: `a message has no vector, because ${model} refuses its text: ${vectors.left.detail}`,
      })
      return undefined
    }
    const middle = Math.ceil(wanted.length / 2)
    return (await buy(wanted.slice(0, middle), signal)) ?? (await buy(wanted.slice(middle), signal))
  }

  /** Fills until nothing is missing, or as many as were asked for; 'held' where another process does so. */
  async function filled(
    { limit = Infinity, signal, onProgress }: FillOptions,
    aborted: AbortSignal,
  ): Promise<'held' | E.Either<EmbeddingFailure, number>> {
    if (!(await (ready ??= createVectorTable(db)))) return E.right(0)
    const claim = await claims.take(`vectors ${model}`, owner, CLAIM_MS)
    if (claim === undefined) return 'held'
    let embedded = 0
    const isEnough = (): boolean => signal?.aborted === true || stopping.signal.aborted || embedded >= limit
    try {
      while (!isEnough()) {
        const at = await progress()
        onProgress?.({ embedded, position: at.position, upTo: at.upTo })
        const places = await next(at, EVENTS_A_PAGE)
        const end = places.at(-1)
        if (end === undefined) break
        const wanted = await wantedOf(places)
        for (let from = 0; from < wanted.length; from += TEXTS_A_REQUEST) {
          if (isEnough() || !(await claim.extend())) return E.right(embedded)
          const some = wanted.slice(from, from + Math.min(TEXTS_A_REQUEST, limit - embedded))
          const failed = await buy(some, aborted)
          if (failed !== undefined) return E.left(failed)
          embedded += some.length
          if (some.length < TEXTS_A_REQUEST && from + some.length < wanted.length) return E.right(embedded)
          onProgress?.({ embedded, position: at.position, upTo: at.upTo })
        }
        await db.query(
          `insert into archive_vector_progress (model, version, position, event_id, stopped_at) values ($1, $2, $3, $4, $5)
           on conflict (model) do update set version = excluded.version, position = excluded.position, event_id = excluded.event_id, stopped_at = excluded.stopped_at`,
          [model, archiveIndex.version, end.position, end.id, firstOf(at.stops, end.position)],
        )
      }
      return E.right(embedded)
    } finally {
      await claim.release()
    }
  }

  async function behind(): Promise<void> {
    try {
      while (again && !stopping.signal.aborted) {
        again = false
        const done = await filling.runExclusive(() => filled({}, giveUp.signal))
        if (done === 'held' || E.isRight(done)) {
          failure = undefined
          failures = 0
          continue
        }
        if (stopping.signal.aborted) return
        failure = done.left
        failures += 1
        notBefore = performance.now() + backoffMs(failures, BACKOFF)
        onProblem(done.left)
        return
      }
    } catch (error) {
      onProblem(error)
    } finally {
      // In one step with the look at `again`: who wakes it in between would be forgotten.
      running = undefined
    }
  }

  async function missing(conversationId?: string): Promise<MissingVectors> {
    if (!(await (ready ??= createVectorTable(db)))) return { missing: 0, isAtLeast: false }
    const places = messagesIn(await next(await progress(), MISSING_COUNTED + 1))
    const count = places.filter(
      ({ stream }) => conversationId === undefined || conversationOf(stream) === conversationId,
    ).length
    return { missing: Math.min(count, MISSING_COUNTED), isAtLeast: places.length > MISSING_COUNTED }
  }

  return {
    wake() {
      if (stopping.signal.aborted || performance.now() < notBefore) return
      again = true
      running ??= behind()
    },
    async make(options = {}) {
      for (;;) {
        const aborted = AbortSignal.any([giveUp.signal, ...(options.signal === undefined ? [] : [options.signal])])
        const done = await filling.runExclusive(() => filled(options, aborted))
        if (done === 'held') {
          await sleep(WAIT_FOR_OTHER_MS, options.signal ?? stopping.signal)
          if (options.signal?.aborted !== true && !stopping.signal.aborted) continue
          return E.right({ embedded: 0, ...(await missing()) })
        }
        return E.isLeft(done) ? done : E.right({ embedded: done.right, ...(await missing()) })
      }
    },
    async missing(conversationId) {
      return { ...(await missing(conversationId)), ...(failure === undefined ? {} : { failure }) }
    },
    async stop() {
      stopping.abort()
      const ended = new AbortController()
      const done = Promise.all([running, filling.waitForUnlock()]).finally(() => {
        ended.abort()
      })
      await Promise.race([done, sleep(GRACE_MS, ended.signal)])
      giveUp.abort()
      await done
    },
  }
}

/** The first of these places that lies at or before another one; null where none does. */
function firstOf(places: readonly bigint[], before: bigint): bigint | null {
  let first: bigint | null = null
  for (const place of places) if (place <= before && (first === null || place < first)) first = place
  return first
}
