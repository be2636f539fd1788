/** The options of a proxy with their defaults, and the state that its requests share. */
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import type { Ledger } from '../../library/ledger.js'

/** Options of the proxy. */
export interface ProxyOptions {
  /** The ledger that records the conversations. */
  readonly ledger: Ledger
  /** The API's base URL, with or without its version: `https://api.openai.com/v1`. */
  readonly upstream: string | URL
  /** `observe` (default) changes nothing; `compact` sends the ledger's context upstream. */
  readonly mode?: 'observe' | 'compact'
  /** If the ledger cannot record: `open` (default) passes the request on unrecorded, `closed` rejects it. */
  readonly fail?: 'open' | 'closed'
  /**
   * In the mode `observe`: after a compaction by the client's program, adds a note with the recorded content that the
   * context lost to the requests. It is not recorded as a message: answers to such requests have the attribute
   * `recallNote`. Requests then wait for the ledger.
   */
  readonly recall?: boolean
  /** Rules with which each note of `recall` begins. */
  readonly rules?: readonly string[]
  /** In the mode `compact`: offers `memory_read` to the model, and runs its calls in the proxy. */
  readonly offerMemory?: boolean
  /** Settings of the conversations. They take precedence over those computed from the requests. */
  readonly policy?: PolicySettings
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Called with errors of the ledger. The proxy ignores errors that it throws. */
  readonly onProblem?: (problem: unknown) => void
  /** A request with more bytes, sent or decoded, is passed on unrecorded. Default 64 MiB. */
  readonly maxBodyBytes?: number
  /** How long a request waits for the ledger before the ledger counts as unavailable. Default 5,000 ms. */
  readonly ledgerTimeoutMs?: number
  /**
   * While observing: the maximum time that the head of an answer waits for the state of the recording. After it the header
   * is `recording`, as for a request of more than 1 MiB, which is recorded after its answer. Default 0, since a model is
   * slower than a ledger.
   */
  readonly headWaitMs?: number
}

const MAX_BODY_BYTES = 64 * 1024 * 1024
const LEDGER_TIMEOUT_MS = 5_000
const HEAD_WAIT_MS = 0

export class ProxyState {
  readonly maxBodyBytes: number
  readonly ledgerTimeoutMs: number
  readonly headWaitMs: number
  readonly failsClosed: boolean
  /** Requests after a compaction by the client's program get a note of recall. */
  readonly addsNotes: boolean
  /** A request is recorded while it is upstream: it does not wait for the ledger. */
  readonly recordsInBackground: boolean
  /** The last request could not be recorded: the answer to the next one waits for the state of its recording. */
  isLedgerDown = false
  /** Answers that are being sent or recorded. */
  private readonly pending = new Set<Promise<unknown>>()

  constructor(readonly options: ProxyOptions) {
    const { mode = 'observe', fail = 'open', recall = false } = options
    this.maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES
    this.ledgerTimeoutMs = options.ledgerTimeoutMs ?? LEDGER_TIMEOUT_MS
    this.headWaitMs = options.headWaitMs ?? HEAD_WAIT_MS
    this.failsClosed = fail === 'closed'
    this.addsNotes = recall && mode === 'observe'
    this.recordsInBackground = mode === 'observe' && fail === 'open' && !this.addsNotes
  }

  readonly reportProblem = (problem: unknown): void => {
    try {
      this.options.onProblem?.(problem)
    } catch {
      // An error of the listener must not break a request.
    }
  }

  /** Makes `settled` wait for this work. */
  trackPending(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work.catch(this.reportProblem).finally(() => this.pending.delete(tracked))
    this.pending.add(tracked)
  }

  /** Resolves when all answers so far are recorded. */
  async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending)
  }
}

/** Waits for work of the ledger, at most for this time. */
export async function within<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  if (milliseconds <= 0) return await Promise.race([work, Promise.resolve(undefined)])
  let timer: NodeJS.Timeout | undefined
  try {
    return await Promise.race([
      work,
      new Promise<undefined>((resolve) => {
        timer = setTimeout(() => {
          resolve(undefined)
        }, milliseconds)
      }),
    ])
  } finally {
    clearTimeout(timer)
  }
}
