/**
 * A file of lines that grows, read on from where it was read last. It goes on as long as it is the same inode, is not
 * shorter than it was, and begins and ends, up to that place, with the bytes that were read. Otherwise it was rotated,
 * truncated or written anew, and is read from its beginning by who knows nothing of it.
 */
import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { byteLines } from '../ports/byte-lines.js'
import type { FileSignature } from '../ports/imported-files.js'
import { recordOfLine, type RecordOrDamage } from './records-of.js'

/** Bytes at the beginning, and before the place, that have to be those that were read. */
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

/** How far a file was read. */
export class GrowingLines {
  private inode: string | undefined
  private read = 0
  private lines = 0
  /** The last line was taken, and no line feed has ended it so far. */
  private isWithin = false
  private readonly hash: Hash = createHash('sha256')
  private head: Buffer = Buffer.alloc(0)
  private tail: Buffer = Buffer.alloc(0)
  private readTo: FileSignature | undefined

  /** @param path of the file, as records name it */
  constructor(private readonly path: string) {}

  /** Bytes that were read. */
  get bytes(): number {
    return this.read
  }

  /** The file as it was when it was read last; undefined where it changed under the reader. */
  get signature(): FileSignature | undefined {
    return this.readTo
  }

  /** Whether this file begins with all that was read. */
  async goesOn(file: FileHandle): Promise<boolean> {
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

  /** The bytes behind the place. Where the file is written anew meanwhile, they end: what stands there is another's. */
  private async *chunks(file: FileHandle, end: number): AsyncGenerator<Buffer> {
    for (let position = this.read; position < end;) {
      const chunk = await bytesAt(file, position, Math.min(CHUNK_BYTES, end - position))
      if (chunk.length === 0 || !(await this.goesOn(file))) return
      position += chunk.length
      yield chunk
    }
  }

  /**
   * The records behind the place, up to the end that the file has now. A last line that is cut off is told, and read
   * again when there is more of it.
   */
  async *records(file: FileHandle): AsyncGenerator<RecordOrDamage> {
    this.readTo = undefined
    const { dev, ino, size, mtimeMs } = await file.stat()
    this.inode = `${String(dev)}:${String(ino)}`
    let cut: Buffer = Buffer.alloc(0)
    if (size > this.read) {
      for await (const { bytes, isEnded } of byteLines(this.chunks(file, size))) {
        const isRest = this.isWithin
        const line = isRest ? this.lines : this.lines + 1
        const record = recordOfLine(bytes, 'lines', { file: this.path, line }, isEnded)
        if (isRest && record !== undefined) {
          yield { kind: 'damage', detail: 'goes on behind its end', isCut: !isEnded, where: { file: this.path, line } }
        } else if (record !== undefined) yield record
        if (!isEnded && (record === undefined || 'kind' in record)) {
          cut = bytes
          break
        }
        // A line is taken once who asked for its record is done with it.
        this.take(bytes)
        if (isEnded) this.take(LINE_FEED)
        this.lines = line
        this.isWithin = !isEnded
      }
    }
    if (this.read + cut.length !== size) return
    const sha256 = this.hash.copy().update(cut).digest('hex')
    this.readTo = { bytes: size, changedMs: mtimeMs, sha256 }
  }
}
