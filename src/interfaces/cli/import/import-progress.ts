/** Messages and bytes of an import so far, for its progress bar and its rate. */
import type { TranscriptItem } from '../../../application/importers/transcript.js'
import { count, many } from '../output.js'
import { startProgress, type Progress } from '../progress.js'
import { ByteEstimate } from './byte-estimate.js'

export class ImportProgress {
  /** Messages read so far. */
  messages = 0
  private readonly startedAt = performance.now()
  private readonly byteEstimate = new ByteEstimate()
  /** Bytes of the files before the current one. */
  private finishedBytes = 0
  private bytes = 0
  private bar: Progress | undefined

  /** @param totalBytes 0 if they are not known */
  constructor(private readonly totalBytes: number) {}

  async start(title: string): Promise<void> {
    this.bar = await startProgress(title, this.totalBytes)
  }

  stop(): void {
    this.bar?.stop()
  }

  /** Counts an item of a transcript of this size. */
  addItem(item: TranscriptItem, fileBytes: number): void {
    this.add(this.byteEstimate.add(item, fileBytes), item.kind === 'message')
  }

  add(bytes: number, isMessage: boolean): void {
    if (isMessage) this.messages += 1
    this.bytes += bytes
    this.bar?.update(Math.min(this.bytes, this.totalBytes), `${many(this.messages, 'message')}, ${this.rate()}`)
  }

  finishFile(bytes: number): void {
    this.byteEstimate.finish(bytes)
    this.finishedBytes += bytes
    this.bytes = this.finishedBytes
  }

  /** Seconds since the import began. */
  seconds(): number {
    return (performance.now() - this.startedAt) / 1000
  }

  rate(): string {
    return `${count(Math.round(this.messages / Math.max(0.001, this.seconds())))} messages/s`
  }
}
