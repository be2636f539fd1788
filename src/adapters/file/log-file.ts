/**
 * A log in one file: JSON Lines, compressed with gzip, with the complete log. docs/reference/log-file.md describes the format,
 * which every later version of this program reads.
 *
 * A file is written as a draft in the same folder and renamed when it is complete and on the disk, so the final name
 * never holds half a log. A file is read twice: first completely, to check it, and then again to use it.
 */
import { type LedgerError } from '../../lib/ledger-error.js'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { crc32, createGunzip, gzip } from 'node:zlib'
import { z } from 'zod'
import { claimOf } from '../../domain/events/codec.js'
import { sha256 } from '../../domain/values/hash.js'
import { createLogTally, type LogTally } from '../../domain/events/log-digest.js'
import type { StoredEvent } from '../../domain/events/stored-event.js'
import { byteLines } from '../../lib/byte-lines.js'
import {
  logCopyError,
  isLogCopyError,
  type FilledEntry,
  type LogEntry,
  type LogSource,
  type LogTarget,
} from '../../ports/log-copy.js'
import { FileDraft } from '../../ports/file-draft.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'

const FORMAT = 'context-ledger-log'
const VERSION = 1
const HEADER = JSON.stringify({ format: FORMAT, version: VERSION })
const EVENT_START = '{"event":'
const BODY_START = '{"body":'
const END_START = '{"end":'
const CRC_START = ',"crc32":"'
const CRC_END = '"}'
const CRC_DIGITS = 8
const AFTER_EVENT = CRC_START.length + CRC_DIGITS + CRC_END.length

// The fastest level; docs/reference/log-file.md compares it with others.
const GZIP_LEVEL = 1
const READ_BYTES = 256 * 1024
/** The longest line: a JavaScript string holds about 512 MiB. */
const MAX_LINE_BYTES = 500 * 1024 * 1024

const compress = promisify(gzip)

const headerSchema = z.object({ format: z.literal(FORMAT), version: z.number().int() })
const eventSchema = z.strictObject({
  stream: z.string(),
  revision: z.string().regex(/^(?:0|[1-9]\d*)$/u),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  metadata: z.string(),
})
const bodySchema = z.strictObject({ body: z.strictObject({ sha256: z.string(), text: z.string() }) })
const endSchema = z.strictObject({
  end: z.strictObject({
    streams: z.number(),
    events: z.number(),
    bodies: z.number(),
    bytes: z.number(),
    sha256: z.string(),
  }),
})

/** Opens a file with a log, compressed or not. */
export function openLogFile(path: string): LogSource {
  let checked: number | undefined
  return {
    name: path,
    async head() {
      if (checked === undefined) {
        let last = -1
        for await (const { event } of readEntries(path, path)) last = event.position
        checked = last
      }
      return checked
    },
    entries: (upTo) => until(upTo, readEntries(path, path)),
  }
}

async function* until(upTo: number, entries: AsyncIterable<LogEntry>): AsyncGenerator<LogEntry> {
  for await (const entry of entries) {
    if (entry.event.position > upTo) return
    yield entry
  }
}

/**
 * Creates a file for a log. Rejects an existing file unless `overwrite` is set; an existing file stays until the new one
 * is complete.
 */
export async function createLogFile(path: string, options: { readonly overwrite?: boolean } = {}): Promise<LogTarget> {
  const checkTarget = async (): Promise<void> => {
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && !found.isFile()) throw logCopyError('FileUnusable', `${path} is not a file`)
    if (found !== undefined && options.overwrite !== true)
      throw logCopyError('FileExists', `${path} already exists; --overwrite replaces it when the new file is complete`)
  }
  await checkTarget()
  const tally = createLogTally()
  const draft = await writing(path, () => FileDraft.open(path))
  let isStarted = false
  let isEnded = false
  const put = async (text: string): Promise<void> => {
    const packed = await compress(text, { level: GZIP_LEVEL })
    await writing(path, () => draft.file.appendFile(packed))
  }
  const header = (): string => {
    const text = isStarted ? '' : `${HEADER}\n`
    isStarted = true
    return text
  }
  return {
    name: path,
    head: () => Promise.resolve(tally.events - 1),
    entries: (upTo) => (upTo < 0 && !isEnded ? noEntries() : until(upTo, readEntries(draft.path, path))),
    async write(entries) {
      await put(`${header()}${entries.map((entry) => linesOf(entry, tally)).join('')}`)
    },
    async end() {
      await put(`${header()}${JSON.stringify({ end: tally.totals() })}\n`)
      await writing(path, () => draft.finish())
      isEnded = true
    },
    async publish() {
      await checkTarget()
      await writing(path, () => draft.replace())
    },
    abandon: () => draft.discard(),
  }
}

async function* noEntries(): AsyncGenerator<LogEntry> {
  // A copy into a file always starts over, so a file that is being written has no entries to continue from.
}

/** The lines of an entry; adds the entry to the tally. */
function linesOf({ event, text, body }: FilledEntry, tally: LogTally): string {
  tally.event(event, text)
  const line = `${EVENT_START}${text}${CRC_START}${crcOf(text)}${CRC_END}\n`
  if (body === undefined) return line
  tally.body(body.text)
  return `${JSON.stringify({ body })}\n${line}`
}

const crcOf = (text: string | Buffer): string => crc32(text).toString(16).padStart(CRC_DIGITS, '0')

/** Runs work on the file at `path`; errors of the system become `LedgerError`s. */
async function writing<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw logCopyError(
        'DiskFull',
        `${path} cannot be written: the disk is full; the incomplete file was removed`,
        error,
      )
    throw logCopyError(
      'FileUnusable',
      `${path} cannot be written: ${code === 'ENOENT' ? 'its folder does not exist' : sentenceOf(error)}`,
      error,
    )
  }
}

/** Yields the entries of a file, each checked; throws if the file is damaged, at the latest after the last entry. */
async function* readEntries(path: string, name: string): AsyncGenerator<LogEntry> {
  const reader = new LineReader(name)
  for await (const line of endedLines(
    bytesOf(path, name, () => reader.line),
    name,
    () => reader.line,
  )) {
    const entry = reader.take(line)
    if (entry !== undefined) yield entry
  }
  reader.close()
}

/** Parses and checks a file line by line. */
class LineReader {
  /** Number of lines read. */
  line = 0
  private readonly tally = createLogTally()
  private readonly bodies = new Set<string>()
  private body: { readonly sha256: string; readonly text: string } | undefined
  private ended = false

  constructor(private readonly name: string) {}

  /** Reads the next line; returns the entry that it completes, if any. */
  take(line: Buffer): LogEntry | undefined {
    this.line += 1
    if (this.line === 1) this.header(line)
    else if (this.ended) throw this.damaged('follows the end of the log')
    else if (startsWith(line, EVENT_START)) return this.event(line)
    else if (startsWith(line, BODY_START)) this.readBody(line)
    else if (startsWith(line, END_START)) this.end(line)
    else throw this.damaged('is not a line of a log')
    return undefined
  }

  close(): void {
    if (this.line === 0) throw logCopyError('NoLogFile', `${this.name} is empty`)
    if (!this.ended) throw cutOff(this.name, this.line)
  }

  private header(line: Buffer): void {
    const parsed = headerSchema.safeParse(this.json(line.subarray(0, 1_000)))
    if (!parsed.success) throw noLogFile(this.name)
    if (parsed.data.version > VERSION)
      throw logCopyError(
        'NoLogFile',
        `${this.name} was written by a later version of this program (format version ${String(parsed.data.version)}; this program supports ${String(VERSION)})`,
      )
    if (line.toString('utf8') !== HEADER) throw this.damaged('is not a header of this format')
  }

  private event(line: Buffer): LogEntry {
    const inner = line.subarray(EVENT_START.length, line.length - AFTER_EVENT)
    if (line.toString('latin1', line.length - AFTER_EVENT) !== `${CRC_START}${crcOf(inner)}${CRC_END}`)
      throw this.damaged('was changed: its checksum differs')
    const parsed = eventSchema.safeParse(this.json(inner))
    if (!parsed.success) throw this.damaged('is not a valid event')
    const event: StoredEvent = {
      ...parsed.data,
      revision: Number(parsed.data.revision),
      position: this.tally.events,
    }
    this.tally.event(event, inner.toString('utf8'))
    const { body } = this
    this.body = undefined
    const claim = claimOf(event)
    if (body !== undefined && claim !== body.sha256) throw this.damaged('does not name the body before it')
    if (claim !== undefined && !this.bodies.has(claim))
      throw this.damaged(`names the body ${claim}, which is missing before it`)
    return { event, ...(body === undefined ? {} : { body: () => Promise.resolve(body) }) }
  }

  private readBody(line: Buffer): void {
    const parsed = bodySchema.safeParse(this.json(line))
    if (!parsed.success) throw this.damaged('is not a valid body')
    const { body } = parsed.data
    if (sha256(body.text) !== body.sha256) throw this.damaged('was changed: the hash of the body differs')
    if (this.body !== undefined || this.bodies.has(body.sha256)) throw this.damaged('has a body that no event needs')
    this.bodies.add(body.sha256)
    this.body = body
    this.tally.body(body.text)
  }

  private end(line: Buffer): void {
    const parsed = endSchema.safeParse(this.json(line))
    if (!parsed.success) throw this.damaged('is not a valid end of a log')
    if (this.body !== undefined) throw this.damaged('ends the log, but the event of the last body is missing')
    const found = this.tally.totals()
    for (const field of ['streams', 'events', 'bodies', 'bytes', 'sha256'] as const) {
      if (found[field] !== parsed.data.end[field])
        throw this.damaged(
          `records ${field} ${String(parsed.data.end[field])}, but the file has ${String(found[field])}`,
        )
    }
    this.ended = true
  }

  private json(text: Buffer): unknown {
    try {
      return JSON.parse(text.toString('utf8'))
    } catch {
      throw this.line === 1 ? noLogFile(this.name) : this.damaged('is not JSON')
    }
  }

  private damaged(problem: string): LedgerError {
    return logCopyError(
      'DamagedFile',
      `${this.name}: line ${String(this.line)} ${problem}; nothing was copied from this file`,
    )
  }
}

const noLogFile = (name: string): LedgerError =>
  logCopyError('NoLogFile', `${name} is not a log file: its first line is not {"format":"${FORMAT}",…}`)
const cutOff = (name: string, line: number): LedgerError =>
  logCopyError(
    'DamagedFile',
    `${name} is cut off after line ${String(line)}: the end of the log is missing; nothing was copied from this file`,
  )
const startsWith = (line: Buffer, text: string): boolean => line.toString('latin1', 0, text.length) === text

/** The bytes of a file, decompressed if its first bytes are those of gzip; the name of the file does not matter. */
async function* bytesOf(path: string, name: string, linesSoFar: () => number): AsyncGenerator<Buffer> {
  const packed = await isGzip(path, name)
  const raw = createReadStream(path, { highWaterMark: READ_BYTES })
  const gunzip = packed ? createGunzip({ chunkSize: READ_BYTES }) : undefined
  if (gunzip !== undefined) {
    raw.on('error', (error) => gunzip.destroy(error))
    raw.pipe(gunzip)
  }
  const out = gunzip ?? raw
  try {
    for await (const chunk of out) if (Buffer.isBuffer(chunk)) yield chunk
  } catch (error) {
    const code = codeOf(error)
    if (code === 'Z_BUF_ERROR') throw cutOff(name, linesSoFar())
    if (code?.startsWith('Z_') === true)
      throw logCopyError(
        'DamagedFile',
        `${name}: after line ${String(linesSoFar())} the compressed data is damaged (${sentenceOf(error)}); nothing was copied from this file`,
        error,
      )
    if (isLogCopyError(error)) throw error
    throw logCopyError('FileUnusable', `${name} cannot be read: ${sentenceOf(error)}`, error)
  } finally {
    raw.destroy()
    out.destroy()
  }
}

async function isGzip(path: string, name: string): Promise<boolean> {
  try {
    const file = await open(path, 'r')
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
      return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
    } finally {
      await file.close()
    }
  } catch (error) {
    throw logCopyError(
      'FileUnusable',
      codeOf(error) === 'ENOENT' ? `${name} does not exist` : `${name} cannot be read: ${sentenceOf(error)}`,
      error,
    )
  }
}

/** Yields the lines of a log. A last line without a line feed means that the file was cut off. */
async function* endedLines(
  chunks: AsyncIterable<Buffer>,
  name: string,
  linesSoFar: () => number,
): AsyncGenerator<Buffer> {
  const lines = byteLines(chunks, (waiting) => {
    if (linesSoFar() === 0 && waiting > READ_BYTES) throw noLogFile(name)
    if (waiting > MAX_LINE_BYTES)
      throw logCopyError('DamagedFile', `${name}: line ${String(linesSoFar() + 1)} is too long`)
  })
  for await (const { bytes, isEnded } of lines) {
    if (!isEnded) throw linesSoFar() === 0 ? noLogFile(name) : cutOff(name, linesSoFar())
    yield bytes
  }
}
