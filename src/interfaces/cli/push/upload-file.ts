/**
 * The queue of a push: one file for each reading of a transcript, with one redacted item per line. It contains the
 * transcript from its beginning, so it can be sent again although the transcript does not exist any more.
 */
import { randomUUID } from 'node:crypto'
import { open, readFile, rm, type FileHandle } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { strictJson } from '../../../lib/json.js'
import { byteLines } from '../../../lib/byte-lines.js'
import { FileDraft, replaceFile } from '../../../ports/file-draft.js'

const headSchema = z.object({
  program: z.string(),
  /** Path of the transcript. */
  source: z.string(),
  /** When the transcript was last written, ISO 8601. */
  writtenAt: z.string(),
})
export type UploadHead = z.infer<typeof headSchema>

/** Bytes that are written at once. */
const CHUNK_BYTES = 1024 ** 2
const MESSAGE = Buffer.from('{"kind":"message"')
const LINES = '.jsonl'
const HEAD = '.json'

const isMessage = (line: Buffer): boolean => line.subarray(0, MESSAGE.length).equals(MESSAGE)

export class UploadFile {
  /** Number of complete lines. */
  lines = 0
  messages = 0
  private bytes = 0
  /** A line and its position, from which the next read continues. */
  private position = { line: 0, byte: 0 }

  private constructor(
    private readonly folder: string,
    readonly id: string,
    readonly head: UploadHead,
  ) {}

  private get path(): string {
    return join(this.folder, `${this.id}${LINES}`)
  }

  /**
   * Writes a new upload; undefined if there are no items. A process that ends meanwhile leaves no upload.
   * @param number the order of the uploads of a directory
   */
  static async create(
    folder: string,
    number: number,
    head: UploadHead,
    items: AsyncIterable<object>,
  ): Promise<UploadFile | undefined> {
    const id = `${String(number).padStart(12, '0')}-${randomUUID()}`
    const upload = new UploadFile(folder, id, head)
    // A reader of the directory does not take a draft for an upload.
    const draft = await FileDraft.open(upload.path)
    try {
      await upload.write(draft.file, items)
      if (upload.lines === 0) return undefined
      await replaceFile(join(folder, `${id}${HEAD}`), JSON.stringify(head))
      await draft.replace()
      return upload
    } finally {
      await draft.discard()
    }
  }

  /** The upload of an earlier process; undefined if it is not complete. */
  static async load(folder: string, id: string): Promise<UploadFile | undefined> {
    const text = await readFile(join(folder, `${id}${HEAD}`), 'utf8').catch(() => undefined)
    const head = text === undefined ? undefined : headSchema.safeParse(E.toUnion(strictJson(text))).data
    if (head === undefined) return undefined
    const upload = new UploadFile(folder, id, head)
    // A process that ended while it appended left a part of a line. Its transcript is read again.
    for await (const { bytes, isEnded } of byteLines(createReadStream(upload.path))) {
      if (!isEnded) continue
      upload.lines += 1
      upload.bytes += bytes.length + 1
      upload.messages += isMessage(bytes) ? 1 : 0
    }
    return upload
  }

  /** The order of the upload in its directory. */
  get number(): number {
    return Number(this.id.slice(0, 12))
  }

  /** The id of an upload, from the name of its file; undefined for other files. */
  static idOf(name: string): string | undefined {
    return name.endsWith(LINES) ? name.slice(0, -LINES.length) : undefined
  }

  /** Adds items. Returns when they are on the disk. */
  async append(items: AsyncIterable<object>): Promise<void> {
    const file = await open(this.path, 'r+')
    try {
      await this.write(file, items)
    } catch (error) {
      await file.truncate(this.bytes).catch(() => undefined)
      throw error
    } finally {
      await file.close()
    }
  }

  /** Writes lines after the others. They count when they are on the disk, because the sender reads meanwhile. */
  private async write(file: FileHandle, items: AsyncIterable<object>): Promise<void> {
    let [lines, messages] = [0, 0]
    let chunk: Buffer[] = []
    let waiting = 0
    let position = this.bytes
    const flush = async (): Promise<void> => {
      const bytes = Buffer.concat(chunk)
      for (let written = 0; written < bytes.length;)
        written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten
      position += bytes.length
      chunk = []
      waiting = 0
    }
    for await (const item of items) {
      const line = Buffer.from(`${JSON.stringify(item)}\n`)
      lines += 1
      messages += isMessage(line) ? 1 : 0
      chunk.push(line)
      waiting += line.length
      if (waiting >= CHUNK_BYTES) await flush()
    }
    await flush()
    await file.datasync()
    this.bytes = position
    this.lines += lines
    this.messages += messages
  }

  /** The lines from this one on, at least one, and at most as many as these limits allow. */
  async read(from: number, limits: { readonly lines: number; readonly bytes: number }): Promise<readonly Buffer[]> {
    let { line, byte } = from >= this.position.line ? this.position : { line: 0, byte: 0 }
    const found: Buffer[] = []
    let bytes = 0
    const end = this.bytes
    for await (const { bytes: text } of byteLines(createReadStream(this.path, { start: byte, end: end - 1 }))) {
      if (line >= from) {
        bytes += text.length
        if (found.length > 0 && (bytes > limits.bytes || found.length === limits.lines)) break
        found.push(text)
      }
      line += 1
      byte += text.length + 1
    }
    this.position = { line, byte }
    return found
  }

  /** The items of all complete lines. */
  async *items(): AsyncGenerator {
    for await (const { bytes, isEnded } of byteLines(createReadStream(this.path)))
      if (isEnded) yield JSON.parse(bytes.toString('utf8')) as unknown
  }

  /** Whether this upload begins with all lines of an earlier one. */
  async continues(earlier: UploadFile): Promise<boolean> {
    if (earlier.bytes > this.bytes) return false
    const read = (upload: UploadFile): AsyncIterator<Buffer> =>
      byChunks(createReadStream(upload.path, { end: earlier.bytes - 1, highWaterMark: CHUNK_BYTES }))
    const [ours, others] = [read(this), read(earlier)]
    for (;;) {
      const [our, other] = [await ours.next(), await others.next()]
      if (our.done === true || other.done === true) return our.done === other.done
      if (!our.value.equals(other.value)) return false
    }
  }

  /** Number of messages in these lines. */
  static messagesIn(lines: readonly Buffer[]): number {
    return lines.filter(isMessage).length
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true })
    await rm(join(this.folder, `${this.id}${HEAD}`), { force: true })
  }
}

/** Chunks of equal size, so that two files can be compared. */
async function* byChunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= CHUNK_BYTES) {
      yield rest.subarray(0, CHUNK_BYTES)
      rest = rest.subarray(CHUNK_BYTES)
    }
  }
  if (rest.length > 0) yield rest
}
