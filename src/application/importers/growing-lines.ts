/**
 * Reads a growing file of lines from the position where the last read ended. A file is continued if it has the same
 * inode, is not shorter than before, and its beginning and the bytes before the position are unchanged. Otherwise it
 * was rotated, truncated or rewritten, and a new reader must read it from the beginning.
 */
import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { byteLines, type ByteLine } from '../../lib/byte-lines.js'
import type { FileSignature } from '../../ports/imported-files.js'
import { recordsOfLine, type RecordOrDamage } from './records-of.js'

/** Number of bytes to compare at the beginning of the file, and before the position. */
const COMPARED_BYTES = 64 * 1024
const CHUNK_BYTES = 1024 * 1024
const LINE_FEED = Buffer.from('\n')

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(buffer, read, length - read, position + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return buffer.subarray(0, read)
}

/** The read position of a file. */
export class GrowingLines {
  private inode: string | undefined
  private read = 0
  private lines = 0
  /** The bytes read of the last line, if that line has no line feed yet. */
  private within: { readonly bytes: number; readonly records: number } | undefined
  private readonly hash: Hash = createHash('sha256')
  private head: Buffer = Buffer.alloc(0)
  private tail: Buffer = Buffer.alloc(0)
  private readTo: FileSignature | undefined

  /** @param path the path in the locations of records */
  constructor(private readonly path: string) {}

  /** Number of bytes read. */
  get bytes(): number {
    return this.read
  }

  /** The signature of the file at the last read; undefined if it changed during the read. */
  get signature(): FileSignature | undefined {
    return this.readTo
  }

  /** Whether this file still begins with the bytes that were read. */
  async isContinuation(file: FileHandle): Promise<boolean> {
    const { dev, ino, size } = await file.stat()
    if (this.inode !== `${String(dev)}:${String(ino)}` || size < this.read) return false
    const head = await bytesAt(file, 0, this.head.length)
    const tail = await bytesAt(file, this.read - this.tail.length, this.tail.length)
    return head.equals(this.head) && tail.equals(this.tail)
  }

  private take(bytes: Buffer): void {
    this.hash.update(bytes)
    this.read += bytes.length
    if (this.head.length < COMPARED_BYTES)
      this.head = Buffer.concat([this.head, bytes.subarray(0, COMPARED_BYTES - this.head.length)])
    this.tail = Buffer.concat(
      bytes.length >= COMPARED_BYTES ? [bytes.subarray(-COMPARED_BYTES)] : [this.tail, bytes],
    ).subarray(-COMPARED_BYTES)
  }

  /** The bytes after the position. Stops if the file is rewritten during the read: the rest belongs to another file. */
  private async *chunks(file: FileHandle, end: number): AsyncGenerator<Buffer> {
    for (let position = this.read; position < end;) {
      const chunk = await bytesAt(file, position, Math.min(CHUNK_BYTES, end - position))
      if (chunk.length === 0 || !(await this.isContinuation(file))) return
      position += chunk.length
      yield chunk
    }
  }

  /**
   * The records after the position, up to the current end of the file. An incomplete last line is reported as damage,
   * and read again when the file has grown.
   */
  async *records(file: FileHandle): AsyncGenerator<RecordOrDamage> {
    this.readTo = undefined
    const { dev, ino, size, mtimeMs } = await file.stat()
    this.inode = `${String(dev)}:${String(ino)}`
    let cut: Buffer = Buffer.alloc(0)
    if (size > this.read) {
      for await (const read of byteLines(this.chunks(file, size))) {
        const rest = yield* this.recordsOf(read)
        if (rest !== undefined) {
          cut = rest
          break
        }
      }
    }
    if (this.read + cut.length !== size) return
    const sha256 = this.hash.copy().update(cut).digest('hex')
    this.readTo = { bytes: size, modifiedAtMs: mtimeMs, sha256 }
  }

  /**
   * The records of a line, or of its rest. A line counts as read as far as the consumer has processed its records.
   * @returns the end of the line, if it is incomplete
   */
  private *recordsOf({ bytes, isEnded }: ByteLine): Generator<RecordOrDamage, Buffer | undefined> {
    const before = this.within
    const line = before === undefined ? this.lines + 1 : this.lines
    let read = 0
    let records = before?.records ?? 0
    for (const piece of recordsOfLine({ bytes, isEnded, where: { file: this.path, line }, before })) {
      const { record, end } = piece
      yield record
      if ('kind' in record && record.isCut) return bytes.subarray(read)
      if ('value' in record) records += 1
      this.take(bytes.subarray(read, end))
      read = end
      this.lines = line
      this.within = { bytes: (before?.bytes ?? 0) + read, records }
    }
    if (!isEnded) return read === bytes.length ? undefined : bytes.subarray(read)
    this.take(Buffer.concat([bytes.subarray(read), LINE_FEED]))
    this.lines = line
    this.within = undefined
    return undefined
  }
}
