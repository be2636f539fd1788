/**
 * Creates missing vectors in the background, in the order of the log, in pages, from its own checkpoint.
 *
 * A claim ensures that only one process works for a model at a time, so that no text is paid for twice. Vectors that
 * were bought are always stored. If the model fails, the filler reports it and retries with exponential backoff. If the
 * model refuses one text but accepts others, the filler reports that text and skips it.
 */
import { Mutex } from 'async-mutex'
import { either as E } from 'fp-ts'
import { CONVERSATION_PREFIX, conversationOf } from '../../../src/domain/values/ids.js'
import type { Claims } from '../../../src/ports/claims.js'
import { backoffMs } from '../../../src/lib/backoff.js'
import { sleep } from '../../../src/ports/clock.js'
import type { EmbeddingFailure, EmbeddingModel } from '../../../src/ports/embedding-model.js'
import type { EventPosition, EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { hasCheckpoints, leastPosition, liveOf, readGenerations } from '../../engine/checkpoints.js'
import { archiveIndex } from './projection.js'
import { asText, createVectorIndex, createVectorTable } from './vectors.js'

/** Embedding models read about 8,000 tokens, and the beginning of a message usually contains its subject. */
const MAX_EMBEDDED_LENGTH = 8_000
const TEXTS_A_REQUEST = 64
const EVENTS_A_PAGE = 256
/** Missing vectors are counted up to this number. */
const MAX_MISSING_COUNTED = 1_000
const CLAIM_MS = 60_000
const BACKOFF = { firstMs: 1_000, mostMs: 300_000 }
const GRACE_MS = 2_000
const WAIT_FOR_OTHER_MS = 250

/** Messages that have no vector yet. */
export interface MissingVectors {
  /** Number of texts without a vector. */
  readonly missing: number
  /** True if the count stopped at its limit, so that there may be more. */
  readonly isAtLeast: boolean
}

/** Progress of a run. */
export interface FillProgress {
  /** Texts that got a vector in this run. */
  readonly embedded: number
  /** Position of the log up to which all messages have vectors. */
  readonly position: number
  /** Position at which the run ends: the one that the rows have reached. */
  readonly upTo: number
}

/** Options of a run. */
interface FillOptions {
  /** Ends after about this number of texts. Default: when none is missing. */
  readonly limit?: number
  /** Ends the run after the current request. Stored vectors remain. */
  readonly signal?: AbortSignal
  /** Called with the progress. */
  readonly onProgress?: (progress: FillProgress) => void
}

/** The result of a run. */
export interface Filled extends MissingVectors {
  /** Texts that got a vector. */
  readonly embedded: number
}

export interface VectorFiller {
  /** Starts a run in the background if there may be missing vectors. */
  wake(): void
  /** Runs now, after a run of another process has ended. Returns the failure if the model fails. */
  make(options?: FillOptions): Promise<E.Either<EmbeddingFailure, Filled>>
  /** How many messages (of one conversation, if given) have no vector. `failure` is the last failure of the model. */
  missing(conversationId?: string): Promise<MissingVectors & { readonly failure?: EmbeddingFailure }>
  /** Ends all runs of this filler. A request that takes longer than two seconds is aborted. */
  stop(): Promise<void>
}

export interface VectorFillerOptions {
  readonly db: Database
  readonly store: EventStore
  readonly embedding: EmbeddingModel
  readonly claims: Claims
  /** Unique owner of the claim. */
  readonly owner: string
  readonly onProblem: (problem: unknown) => void
}

interface Progress {
  readonly position: number
  readonly upTo: number
  /** Positions at which conversations stopped. Their later messages are skipped until their rows are complete. */
  readonly stops: readonly number[]
}

interface TextToEmbed {
  readonly textHash: string
  readonly text: string
}

class BackgroundVectorFiller implements VectorFiller {
  private readonly stopping = new AbortController()
  /** Aborts the requests of the model. */
  private readonly cancel = new AbortController()
  private running: Promise<void> | undefined
  private wakeRequested = false
  private failure: EmbeddingFailure | undefined
  private failures = 0
  /** Time before which a failed model is not called. */
  private retryAt = 0
  /** One run in this process at a time. */
  private readonly filling = new Mutex()
  private ready: Promise<boolean> | undefined
  /** Lengths of vectors that have an index. */
  private readonly indexed = new Set<number>()

  constructor(private readonly options: VectorFillerOptions) {}

  private get model(): string {
    return this.options.embedding.model
  }

  wake(): void {
    if (this.stopping.signal.aborted || performance.now() < this.retryAt) return
    this.wakeRequested = true
    this.running ??= this.runInBackground()
  }

  async make(options: FillOptions = {}): Promise<E.Either<EmbeddingFailure, Filled>> {
    for (;;) {
      const signal = AbortSignal.any([this.cancel.signal, ...(options.signal === undefined ? [] : [options.signal])])
      const result = await this.filling.runExclusive(() => this.createVectors(options, signal))
      if (result === 'claimed') {
        await sleep(WAIT_FOR_OTHER_MS, options.signal ?? this.stopping.signal)
        if (options.signal?.aborted !== true && !this.stopping.signal.aborted) continue
        return E.right({ embedded: 0, ...(await this.countMissing()) })
      }
      return E.isLeft(result) ? result : E.right({ embedded: result.right, ...(await this.countMissing()) })
    }
  }

  async missing(conversationId?: string): Promise<MissingVectors & { readonly failure?: EmbeddingFailure }> {
    const counted = await this.countMissing(conversationId)
    return { ...counted, ...(this.failure === undefined ? {} : { failure: this.failure }) }
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    const graceEnded = new AbortController()
    const ended = Promise.all([this.running, this.filling.waitForUnlock()]).finally(() => {
      graceEnded.abort()
    })
    await Promise.race([ended, sleep(GRACE_MS, graceEnded.signal)])
    this.cancel.abort()
    await ended
  }

  private async isReady(): Promise<boolean> {
    this.ready ??= createVectorTable(this.options.db)
    return await this.ready
  }

  private async runInBackground(): Promise<void> {
    const { onProblem } = this.options
    try {
      while (this.wakeRequested && !this.stopping.signal.aborted) {
        this.wakeRequested = false
        const result = await this.filling.runExclusive(() => this.createVectors({}, this.cancel.signal))
        if (result === 'claimed' || E.isRight(result)) {
          this.failure = undefined
          this.failures = 0
          continue
        }
        if (this.stopping.signal.aborted) return
        this.failure = result.left
        this.failures += 1
        this.retryAt = performance.now() + backoffMs(this.failures, BACKOFF)
        onProblem(result.left)
        return
      }
    } catch (error) {
      onProblem(error)
    } finally {
      // No await between the check of `wakeRequested` and this: otherwise a wake in between would be lost.
      this.running = undefined
    }
  }

  /**
   * Creates vectors until none is missing or `limit` is reached. Returns the number of texts, or 'claimed' if another
   * process is working for this model.
   */
  private async createVectors(
    { limit = Infinity, signal, onProgress }: FillOptions,
    requestSignal: AbortSignal,
  ): Promise<'claimed' | E.Either<EmbeddingFailure, number>> {
    if (!(await this.isReady())) return E.right(0)
    const claim = await this.options.claims.take(`vectors ${this.model}`, this.options.owner, CLAIM_MS)
    if (claim === undefined) return 'claimed'
    let embedded = 0
    const isFinished = (): boolean => signal?.aborted === true || this.stopping.signal.aborted || embedded >= limit
    try {
      while (!isFinished()) {
        const { position, upTo, stops } = await this.progress()
        onProgress?.({ embedded, position, upTo })
        const events = await this.nextEvents({ position, upTo }, EVENTS_A_PAGE)
        const end = events.at(-1)
        if (end === undefined) break
        const texts = await this.textsWithoutVector(events)
        for (let from = 0; from < texts.length; from += TEXTS_A_REQUEST) {
          if (isFinished() || !(await claim.extend())) return E.right(embedded)
          const batch = texts.slice(from, from + Math.min(TEXTS_A_REQUEST, limit - embedded))
          const failure = await this.buy(batch, requestSignal)
          if (failure !== undefined) return E.left(failure)
          embedded += batch.length
          if (batch.length < TEXTS_A_REQUEST && from + batch.length < texts.length) return E.right(embedded)
          onProgress?.({ embedded, position, upTo })
        }
        await this.recordProgress(end, stops)
      }
      return E.right(embedded)
    } finally {
      await claim.release()
    }
  }

  /**
   * The positions of the vectors and of the rows. Starts again from the beginning if the vectors belong to another log or
   * to rows of another version, and from the stop of a conversation whose rows have been completed since.
   */
  private async progress(): Promise<Progress> {
    const { db, store } = this.options
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

  private async recordProgress(end: EventPosition, stops: readonly number[]): Promise<void> {
    await this.options.db.query(
      `insert into archive_vector_progress (model, version, position, event_id, stopped_at) values ($1, $2, $3, $4, $5)
       on conflict (model) do update set version = excluded.version, position = excluded.position, event_id = excluded.event_id, stopped_at = excluded.stopped_at`,
      [this.model, archiveIndex.version, end.position, end.id, firstOf(stops, end.position)],
    )
  }

  /** The next events of conversations up to the position of the rows. */
  private async nextEvents(
    { position, upTo }: Pick<Progress, 'position' | 'upTo'>,
    limit: number,
  ): Promise<EventPosition[]> {
    const events: EventPosition[] = []
    if (position >= upTo) return events
    for await (const event of this.options.store.readPositions({
      after: position,
      prefix: CONVERSATION_PREFIX,
      limit,
    })) {
      if (event.position > upTo) break
      events.push(event)
    }
    return events
  }

  private async textsWithoutVector(events: readonly EventPosition[]): Promise<TextToEmbed[]> {
    const messages = messagesIn(events)
    return await this.options.db.query<TextToEmbed>(
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

  private async countMissing(conversationId?: string): Promise<MissingVectors> {
    if (!(await this.isReady())) return { missing: 0, isAtLeast: false }
    const messages = messagesIn(await this.nextEvents(await this.progress(), MAX_MISSING_COUNTED + 1))
    const count = messages.filter(
      ({ stream }) => conversationId === undefined || conversationOf(stream) === conversationId,
    ).length
    return { missing: Math.min(count, MAX_MISSING_COUNTED), isAtLeast: messages.length > MAX_MISSING_COUNTED }
  }

  /**
   * Buys vectors and stores them. If a request fails although the model accepts another one, the texts are halved until
   * the refused one is found.
   */
  private async buy(texts: readonly TextToEmbed[], signal: AbortSignal): Promise<EmbeddingFailure | undefined> {
    const { embedding, onProblem } = this.options
    const vectors = await embedding.embed(
      texts.map(({ text }) => text),
      signal,
    )()
    if (E.isRight(vectors)) return await this.storeVectors(texts, vectors.right)
    if (signal.aborted || E.isLeft(await embedding.embed(['ready?'], signal)())) return vectors.left
    const [only] = texts
    if (texts.length === 1 && only !== undefined) {
      // The text may be too long, because the model needs more tokens for its script than assumed. Half of it may fit.
      if (only.text.length > 1_000)
        return await this.buy([{ ...only, text: only.text.slice(0, only.text.length / 2).toWellFormed() }], signal)
      onProblem({
        ...vectors.left,
        detail: `a message has no vector, because ${this.model} refuses its text: ${vectors.left.detail}`,
      })
      return undefined
    }
    const middle = Math.ceil(texts.length / 2)
    return (await this.buy(texts.slice(0, middle), signal)) ?? (await this.buy(texts.slice(middle), signal))
  }

  private async storeVectors(
    texts: readonly TextToEmbed[],
    vectors: readonly (readonly number[])[],
  ): Promise<EmbeddingFailure | undefined> {
    const { db } = this.options
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

export function createVectorFiller(options: VectorFillerOptions): VectorFiller {
  return new BackgroundVectorFiller(options)
}

const messagesIn = (events: readonly EventPosition[]): readonly EventPosition[] =>
  events.filter(({ type }) => type === 'MessageAppended')

/** The first position that is at most `upTo`; null if there is none. */
function firstOf(positions: readonly number[], upTo: number): number | null {
  let first: number | null = null
  for (const position of positions) if (position <= upTo && (first === null || position < first)) first = position
  return first
}
