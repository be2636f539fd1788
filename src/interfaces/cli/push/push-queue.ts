/** The uploads that are not completely sent, oldest first. */
import type { ImportedConversation } from '../../../library/ledger.js'
import { pause } from '../pause.js'
import type { PushFolder } from './push-folder.js'
import { UploadFile, type UploadHead } from './upload-file.js'

/** An upload, and how much of it the service has. */
export interface QueuedUpload {
  readonly file: UploadFile
  /** Index of the next line to send. */
  next: number
  /** Messages in the lines before it. */
  sentMessages: number
  /** Its transcript may still grow, so its file stays. */
  isOpen: boolean
  /** Why the service does not take it; it is sent again when it grows, or by the next process. */
  refused: string | undefined
  /** Bytes of one request at most. */
  requestBytes: number
  /** Failures of this upload alone, and when it is tried again, by `performance.now()`. */
  failures: number
  notBefore: number
  /** Counts of recorded items, by conversation. */
  readonly recorded: Map<string, ImportedConversation>
}

/** Bytes of a request, unless the service loses the beginning of an upload. */
export const REQUEST_BYTES = 1024 ** 2

const queued = (file: UploadFile, isOpen: boolean): QueuedUpload => ({
  file,
  next: 0,
  sentMessages: 0,
  isOpen,
  refused: undefined,
  requestBytes: REQUEST_BYTES,
  failures: 0,
  notBefore: 0,
  recorded: new Map(),
})

const isSent = ({ file, next }: QueuedUpload): boolean => next >= file.lines

export class PushQueue {
  private uploads: QueuedUpload[] = []
  private lastNumber = 0
  /** True if something was added since the last wait. */
  private hasChanged = false
  private wake: () => void = () => undefined

  private constructor(private readonly folder: PushFolder) {}

  /** The queue of a directory, with what earlier processes did not send. */
  static async open(folder: PushFolder): Promise<PushQueue> {
    const queue = new PushQueue(folder)
    queue.uploads = (await folder.earlierUploads()).map((file) => queued(file, false))
    queue.lastNumber = queue.uploads.at(-1)?.file.number ?? 0
    return queue
  }

  /** Messages that the service does not have. */
  get messages(): number {
    return this.uploads.reduce((sum, { file, sentMessages }) => sum + file.messages - sentMessages, 0)
  }

  /** The uploads that the service does not take. */
  get refused(): readonly QueuedUpload[] {
    return this.uploads.filter(({ refused }) => refused !== undefined)
  }

  /** Adds a reading; undefined if it has no items. An unsent earlier reading that it continues is removed. */
  async add(head: UploadHead, items: AsyncIterable<object>, isOpen: boolean): Promise<QueuedUpload | undefined> {
    this.lastNumber += 1
    const file = await UploadFile.create(this.folder.uploads, this.lastNumber, head, items)
    if (file === undefined) return undefined
    const upload = queued(file, isOpen)
    for (const earlier of this.uploads)
      if (earlier.file.head.source === head.source && (await file.continues(earlier.file))) await this.remove(earlier)
    this.uploads.push(upload)
    this.changed()
    return upload
  }

  async append(upload: QueuedUpload, items: AsyncIterable<object>): Promise<void> {
    await upload.file.append(items)
    upload.refused = undefined
    this.changed()
  }

  private changed(): void {
    this.hasChanged = true
    this.wake()
  }

  /** The upload to send next. */
  next(): QueuedUpload | undefined {
    const now = performance.now()
    return this.uploads.find((each) => !isSent(each) && each.refused === undefined && each.notBefore <= now)
  }

  /** Whether an upload is still queued: a later reading may have replaced it. */
  has(upload: QueuedUpload): boolean {
    return this.uploads.includes(upload)
  }

  /** Whether an upload waits for its next try. */
  get waits(): boolean {
    return this.uploads.some((each) => !isSent(each) && each.refused === undefined)
  }

  /** Resolves when something is added, after the time, or when the signal is aborted. */
  async change(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.hasChanged) await pause(ms, signal, (wake) => (this.wake = wake))
    this.hasChanged = false
  }

  /** Notes how much of an upload the service has. */
  async sent(upload: QueuedUpload, next: number, sentMessages: number): Promise<void> {
    upload.next = next
    upload.sentMessages = sentMessages
    if (isSent(upload) && !upload.isOpen) await this.remove(upload)
  }

  /** The transcript of an upload does not grow any more, or is read from its start again. */
  async close(upload: QueuedUpload): Promise<void> {
    upload.isOpen = false
    if (isSent(upload)) await this.remove(upload)
  }

  private async remove(upload: QueuedUpload): Promise<void> {
    this.uploads = this.uploads.filter((each) => each !== upload)
    await upload.file.remove()
  }
}
