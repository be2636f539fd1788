/**
 * Sends the queue to the service, request by request. If the service cannot be reached or is busy, it waits and tries
 * again. The service recognizes recorded items, so a request without an answer is simply repeated.
 */
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { backoffMs } from '../../../lib/backoff.js'
import type { TranscriptItem } from '../../../application/importers/transcript.js'
import type { ImportedConversation } from '../../../library/ledger.js'
import { sentenceOf } from '../../../ports/store-error.js'
import type { Immutable } from '../../../schema/answer.js'
import type { AnswerOf } from '../../../schema/index.js'
import { pause } from '../pause.js'
import { REQUEST_BYTES, type PushQueue, type QueuedUpload } from './push-queue.js'
import { UploadFile } from './upload-file.js'

/** One request. */
export interface PushRequest {
  readonly upload: string
  readonly offset: number
  readonly program: string
  readonly writtenAt: string
  readonly items: readonly TranscriptItem[]
}

/** The answer of the service. */
export type PushAnswer = Immutable<AnswerOf<'pushTranscript'>>

export interface SenderOptions {
  readonly queue: PushQueue
  /** Sends a request; throws a `LedgerError` if the service refuses it or cannot be reached. */
  readonly post: (request: PushRequest, signal: AbortSignal) => Promise<PushAnswer>
  /** The times between attempts. */
  readonly backoff?: { readonly firstMs: number; readonly mostMs: number }
  /** Called when the service cannot be used for a time, and when it can be used again. */
  readonly onWait: (reason: string, forMs: number) => void
  readonly onConnected: () => void
  /** Called when an upload was sent completely, so far. */
  readonly onSent: (upload: QueuedUpload) => Promise<void>
  readonly onRefused: (upload: QueuedUpload) => void
}

const BACKOFF = { firstMs: 500, mostMs: 60_000 }
const REQUEST_ITEMS = 500
/** The limit of the service. */
const MOST_REQUEST_ITEMS = 10_000
/** Requests are not larger than the default limit of a service, which is 16 MiB. */
const MOST_REQUEST_BYTES = 15 * 1024 ** 2
/** After this number of requests without progress, the service counts as unreachable for a time. */
const MOST_RESTARTS = 8
const IDLE_MS = 60_000

/** What a failure means: stop, wait and try again, try this upload later, or do not try it again. */
function verdictOf(error: unknown): 'stop' | 'wait' | 'later' | 'refused' {
  if (!isLedgerError(error)) return 'stop'
  const { status, kind } = error
  if (isLedgerError(error, 'NotAService', 'ServiceUnreachable', 'BodyCutOff')) return 'wait'
  if (status === 401 || status === 403 || kind === 'Usage') return 'stop'
  if (status === 500) return 'later'
  return status === 408 || status === 429 || status > 500 ? 'wait' : 'refused'
}

export class Sender {
  /** Failures of the service since its last answer. */
  private failures = 0
  private answeredAt = performance.now()
  private restarts = 0
  /** Items of the last request. */
  private requestItems = 0

  constructor(private readonly options: SenderOptions) {}

  /** Sends the queue, and everything that is added to it, until the signal aborts. Throws if the service refuses the key. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pauseMs = await this.step(signal)
      if (pauseMs === undefined) await this.options.queue.change(IDLE_MS, signal)
      else if (pauseMs > 0) await pause(pauseMs, signal)
    }
  }

  /**
   * Sends the queue. Throws if the service refuses the key.
   * @returns whether everything was sent or refused; false if the service did not take anything for this time
   */
  async drain(patienceMs: number, signal: AbortSignal): Promise<boolean> {
    this.answeredAt = performance.now()
    for (;;) {
      signal.throwIfAborted()
      const pauseMs = await this.step(signal)
      if (pauseMs === undefined && !this.options.queue.waits) return true
      if (performance.now() + (pauseMs ?? 0) - this.answeredAt > patienceMs) return false
      if (pauseMs === undefined) await pause(100, signal)
      else if (pauseMs > 0) await pause(pauseMs, signal)
    }
  }

  /** Sends one request. Returns how long to wait before the next one; undefined if there is nothing to send. */
  private async step(signal: AbortSignal): Promise<number | undefined> {
    const upload = this.options.queue.next()
    if (upload === undefined) return undefined
    try {
      await this.sendPart(upload, signal)
      if (this.failures > 0) this.options.onConnected()
      this.failures = 0
      this.answeredAt = performance.now()
      upload.failures = 0
      return 0
    } catch (error) {
      if (signal.aborted) return 0
      return this.failed(upload, error)
    }
  }

  private failed(upload: QueuedUpload, error: unknown): number {
    if (!this.options.queue.has(upload)) return 0
    const verdict = verdictOf(error)
    if (verdict === 'stop') throw error
    if (isLedgerError(error, 'BodyTooLarge', 'TooManyValues') && this.requestItems > 1) {
      upload.requestBytes = Math.floor(upload.requestBytes / 4)
      return 0
    }
    if (verdict === 'refused') {
      this.answeredAt = performance.now()
      upload.refused = sentenceOf(error)
      this.options.onRefused(upload)
      return 0
    }
    if (verdict === 'later') {
      // A failure of the service with this upload must not keep the others waiting.
      upload.failures += 1
      const laterMs = this.pauseAfter(upload.failures, error)
      upload.notBefore = performance.now() + laterMs
      this.options.onWait(sentenceOf(error), laterMs)
      return 0
    }
    this.failures += 1
    const pauseMs = this.pauseAfter(this.failures, error)
    this.options.onWait(sentenceOf(error), pauseMs)
    return pauseMs
  }

  /** With jitter, so that many machines do not come back at the same moment. */
  private pauseAfter(failures: number, error: unknown): number {
    const { firstMs, mostMs } = this.options.backoff ?? BACKOFF
    const requested = isLedgerError(error) ? Number(error.details['retryAfterSeconds'] ?? 0) * 1_000 : 0
    return Math.max(requested, backoffMs(failures, { firstMs, mostMs }) * (0.5 + Math.random() / 2))
  }

  private async sendPart(upload: QueuedUpload, signal: AbortSignal): Promise<void> {
    const { file, next } = upload
    const items = upload.requestBytes > REQUEST_BYTES ? MOST_REQUEST_ITEMS : REQUEST_ITEMS
    const lines = await file.read(next, { lines: items, bytes: upload.requestBytes })
    this.requestItems = lines.length
    const answer = await this.options.post(
      {
        upload: file.id,
        offset: next,
        program: file.head.program,
        writtenAt: file.head.writtenAt,
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as `Capture` wrote it
        items: lines.map((line) => JSON.parse(line.toString('utf8')) as TranscriptItem),
      },
      signal,
    )
    for (const each of answer.conversations) addRecorded(upload.recorded, each)
    if (answer.next === next + lines.length) {
      this.restarts = 0
      await this.options.queue.sent(upload, answer.next, upload.sentMessages + UploadFile.messagesIn(lines))
    } else await this.jump(upload, answer.next)
    if (upload.next >= file.lines) await this.options.onSent(upload)
  }

  /** The service has more of the upload than was known, or has lost it and begins again. */
  private async jump(upload: QueuedUpload, next: number): Promise<void> {
    const { file } = upload
    if (next < upload.next) {
      this.restarts += 1
      // Several processes may answer in turn. A larger request is taken by one of them.
      upload.requestBytes = Math.min(MOST_REQUEST_BYTES, upload.requestBytes * 4)
      if (this.restarts % MOST_RESTARTS === 0)
        throw new LedgerError('ServiceUnreachable', 'the service repeatedly lost the beginning of an upload')
    }
    const to = Math.min(next, file.lines)
    let messages = 0
    for (let line = 0; line < to;) {
      const lines = await file.read(line, { lines: Math.min(REQUEST_ITEMS, to - line), bytes: MOST_REQUEST_BYTES })
      if (lines.length === 0) break
      messages += UploadFile.messagesIn(lines)
      line += lines.length
    }
    await this.options.queue.sent(upload, to, messages)
  }
}

function addRecorded(recorded: Map<string, ImportedConversation>, each: PushAnswer['conversations'][number]): void {
  const before = recorded.get(each.conversationId)
  recorded.set(each.conversationId, {
    ...each,
    messages: each.messages + (before?.messages ?? 0),
    compactions: each.compactions + (before?.compactions ?? 0),
    withdrawn: each.withdrawn + (before?.withdrawn ?? 0),
    edits: each.edits + (before?.edits ?? 0),
    damaged: each.damaged + (before?.damaged ?? 0),
    known: each.known + (before?.known ?? 0),
  })
}
