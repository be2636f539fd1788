/**
 * Creates missing vectors in the background, in the order of the log, in pages, from its own checkpoint.
 *
 * A claim ensures that only one process works for a model at a time, so that no text is paid for twice. Vectors that
 * were bought are always stored. If the model fails, the filler reports it and retries with exponential backoff. If the
 * model refuses one text but accepts others, the filler reports that text and skips it.
 */
import { Mutex } from 'async-mutex'
import { either as E } from 'fp-ts'
import type { Claims } from '../../../src/ports/claims.js'
import { backoffMs } from '../../../src/lib/backoff.js'
import { sleep } from '../../../src/ports/clock.js'
import type { EmbeddingFailure, EmbeddingModel } from '../../../src/ports/embedding-model.js'
import type { EventStore } from '../../../src/ports/event-store.js'
import type { Database } from '../../../src/ports/sql.js'
import { VectorRows, type MissingVectors, type TextToEmbed } from './vector-rows.js'

const TEXTS_A_REQUEST = 64
const EVENTS_A_PAGE = 256
const CLAIM_MS = 60_000
const BACKOFF = { firstMs: 1_000, mostMs: 300_000 }
const GRACE_MS = 2_000
const WAIT_FOR_OTHER_MS = 250

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
  private readonly rows: VectorRows

  constructor(private readonly options: VectorFillerOptions) {
    this.rows = new VectorRows(options.db, options.store, options.embedding.model)
  }

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
        return E.right({ embedded: 0, ...(await this.rows.countMissing()) })
      }
      return E.isLeft(result) ? result : E.right({ embedded: result.right, ...(await this.rows.countMissing()) })
    }
  }

  async missing(conversationId?: string): Promise<MissingVectors & { readonly failure?: EmbeddingFailure }> {
    const counted = await this.rows.countMissing(conversationId)
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
    if (!(await this.rows.isReady())) return E.right(0)
    const claim = await this.options.claims.take(`vectors ${this.model}`, this.options.owner, CLAIM_MS)
    if (claim === undefined) return 'claimed'
    let embedded = 0
    const isFinished = (): boolean => signal?.aborted === true || this.stopping.signal.aborted || embedded >= limit
    try {
      while (!isFinished()) {
        const { position, upTo, stops } = await this.rows.progress()
        onProgress?.({ embedded, position, upTo })
        const events = await this.rows.nextEvents({ position, upTo }, EVENTS_A_PAGE)
        const end = events.at(-1)
        if (end === undefined) break
        const texts = await this.rows.textsWithoutVector(events)
        for (let from = 0; from < texts.length; from += TEXTS_A_REQUEST) {
          if (isFinished() || !(await claim.extend())) return E.right(embedded)
          const batch = texts.slice(from, from + Math.min(TEXTS_A_REQUEST, limit - embedded))
          const failure = await this.buy(batch, requestSignal)
          if (failure !== undefined) return E.left(failure)
          embedded += batch.length
          if (batch.length < TEXTS_A_REQUEST && from + batch.length < texts.length) return E.right(embedded)
          onProgress?.({ embedded, position, upTo })
        }
        await this.rows.recordProgress(end, stops)
      }
      return E.right(embedded)
    } finally {
      await claim.release()
    }
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
    if (E.isRight(vectors)) return await this.rows.storeVectors(texts, vectors.right)
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
}

export function createVectorFiller(options: VectorFillerOptions): VectorFiller {
  return new BackgroundVectorFiller(options)
}
