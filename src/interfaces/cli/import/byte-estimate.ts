/** Estimates the bytes of a transcript that an item takes, so that progress can be measured in bytes. */
import type { TranscriptItem } from '../../../application/importers/transcript.js'

/** Length of the content of an item; 0 for an item that is not a message. */
function contentBytes(item: TranscriptItem): number {
  if (item.kind !== 'message') return 0
  const { content, toolCalls } = item.body
  const text = typeof content === 'string' ? content.length : JSON.stringify(content).length
  return text + (toolCalls === undefined ? 0 : JSON.stringify(toolCalls).length)
}

export class ByteEstimate {
  private fileContent = 0
  private fileBytes = 0
  private finishedContent = 0
  private finishedBytes = 0

  /** Returns the estimated bytes of the item. The sum over all items of a file is at most the size of the file. */
  add(item: TranscriptItem, fileSize: number): number {
    const content = contentBytes(item)
    // Every file has metadata too. Finished files show its share.
    const bytesPerContent = this.finishedContent === 0 ? 1 : this.finishedBytes / this.finishedContent
    const bytes = Math.min(content * bytesPerContent, fileSize - this.fileBytes)
    this.fileContent += content
    this.fileBytes += bytes
    return bytes
  }

  /** Ends a file of this size. */
  finish(fileSize: number): void {
    if (this.fileContent > 0) {
      this.finishedContent += this.fileContent
      this.finishedBytes += fileSize
    }
    this.fileContent = 0
    this.fileBytes = 0
  }
}
