/** Reads the records of a file by its layout, and the head by which an importer recognizes it. */
import { sentenceOf } from '../../ports/store-error.js'
import { open, readFile } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { exactJson } from '../../lib/json.js'
import { byteLines } from '../../lib/byte-lines.js'
import { jsonPieces } from '../../lib/json-pieces.js'
import { SQLITE } from './sqlite-header.js'
import type { DamageItem, Head, Layout, TranscriptRecord, SourceLocation } from './transcript.js'

/** A JSON file is read as a whole; a larger one is rejected. */
const LARGEST_JSON_BYTES = 400 * 1024 * 1024
/** A longer line is reported as damage. */
const LONGEST_LINE_BYTES = 256 * 1024 * 1024
const HEAD_BYTES = 4 * 1024 * 1024
const HEAD_RECORDS = 20
const HEAD_TEXT = 4096

export type RecordOrDamage = TranscriptRecord | DamageItem

const damage = (where: SourceLocation, detail: string, isCut = false): DamageItem => ({
  kind: 'damage',
  detail,
  isCut,
  where,
})

/** Decodes UTF-8; undefined if the bytes are not valid. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A record of a line, or damage, and the number of bytes of the line up to its end. */
interface ReadPiece {
  readonly record: RecordOrDamage
  readonly end: number
}

/** The line, or the rest of a line, in which records are searched. */
interface LineBytes {
  readonly bytes: Buffer
  readonly isEnded: boolean
  readonly where: SourceLocation
  /** Bytes of the line, and records in it, that were read before. */
  readonly before?: { readonly bytes: number; readonly records: number } | undefined
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** The JSON value of bytes; undefined if they are none. */
function valueIn(bytes: Buffer): { readonly value: unknown } | undefined {
  const text = textOf(bytes)
  if (text === undefined) return undefined
  try {
    return { value: exactJson(text) }
  } catch {
    return undefined
  }
}

/** The objects of a line that is not one JSON value. Text that was cut off before a record follows that record. */
function* piecesOfLine({ bytes, isEnded, where, before }: LineBytes): Generator<ReadPiece> {
  const offset = before?.bytes ?? 0
  let records = before?.records ?? 0
  let cut: DamageItem[] = []
  const hasMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  const text = `${' '.repeat(hasMark ? BYTE_ORDER_MARK.length : 0)}${bytes.subarray(hasMark ? BYTE_ORDER_MARK.length : 0).toString('latin1')}`
  for (const { isObject, from, to } of jsonPieces(text, isEnded)) {
    const piece = isObject ? valueIn(bytes.subarray(from, to)) : undefined
    if (piece === undefined) {
      const range = `byte ${String(offset + from + 1)} to byte ${String(offset + to)}`
      const isTail = !isEnded && to === bytes.length
      cut.push({ ...damage(where, `cannot be read from ${range}`, isTail), sharesLine: true })
      continue
    }
    records += 1
    yield { record: { ...piece, where: records === 1 ? where : { ...where, record: records } }, end: to }
    for (const each of cut) yield { record: each, end: to }
    cut = []
  }
  for (const each of cut) yield { record: each, end: bytes.length }
}

/** The records of a line; none for a blank line. */
export function* recordsOfLine(line: LineBytes): Generator<ReadPiece> {
  const { bytes, where, isEnded, before } = line
  const end = bytes.length
  if (end > LONGEST_LINE_BYTES) {
    yield { record: damage(where, `is longer than ${String(LONGEST_LINE_BYTES)} bytes`), end }
    return
  }
  const text = textOf(bytes)
  if (text?.trim() === '') return
  let problem = 'is no valid UTF-8'
  if (text !== undefined)
    try {
      const value = exactJson(text)
      yield { record: { value, where: before === undefined ? where : { ...where, record: before.records + 1 } }, end }
      return
    } catch (error) {
      problem = `is no JSON: ${sentenceOf(error)}`
    }
  const pieces = [...piecesOfLine(line)]
  const hasRecord = before !== undefined || pieces.some(({ record }) => 'value' in record)
  if (hasRecord) yield* pieces
  else yield { record: damage(where, problem, !isEnded), end }
}

/** A line of text. */
function lineOfText({ bytes, where, isEnded }: LineBytes): RecordOrDamage {
  const text = textOf(bytes)?.replace(/\r$/u, '')
  return text === undefined ? damage(where, 'is no valid UTF-8', !isEnded) : { value: text, where }
}

async function* ofLines(path: string, layout: Layout): AsyncGenerator<RecordOrDamage> {
  let line = 0
  for await (const read of byteLines(createReadStream(path))) {
    line += 1
    const bytes = { ...read, where: { file: path, line } }
    if (layout === 'text') yield lineOfText(bytes)
    else for (const { record } of recordsOfLine(bytes)) yield record
  }
}

async function* ofJson(path: string): AsyncGenerator<RecordOrDamage> {
  const where = { file: path }
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size > LARGEST_JSON_BYTES) {
      yield damage(
        where,
        `has ${String(size)} bytes, and a file of one JSON value may have ${String(LARGEST_JSON_BYTES)}`,
      )
      return
    }
  } finally {
    await file.close()
  }
  const text = textOf(await readFile(path))
  if (text === undefined) {
    yield damage(where, 'is no valid UTF-8')
    return
  }
  try {
    yield { value: exactJson(text), where }
  } catch (error) {
    yield damage(where, `is no JSON: ${sentenceOf(error)}`)
  }
}

/** The records of a complete text, as those of the file that will have it. */
export const recordsOfText = (text: string, file: string, layout: Layout): readonly RecordOrDamage[] =>
  layout === 'json'
    ? [{ value: exactJson(text), where: { file } }]
    : text
        .split('\n')
        .flatMap((each, index) =>
          [...recordsOfLine({ bytes: Buffer.from(each), isEnded: true, where: { file, line: index + 1 } })].map(
            ({ record }) => record,
          ),
        )

/** The records of a file, in order. Unreadable records are yielded as damage. */
export const recordsOf = (path: string, layout: Layout): AsyncIterable<RecordOrDamage> =>
  layout === 'json' ? ofJson(path) : ofLines(path, layout)

/** The head of a file. A file with one JSON value is parsed if it is at most 4 MB long. */
export async function headOf(path: string): Promise<Head> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const buffer = Buffer.alloc(Math.min(size, HEAD_BYTES))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    return headOfBytes(path, buffer.subarray(0, bytesRead))
  } finally {
    await file.close()
  }
}

function headOfBytes(path: string, bytes: Buffer): Head {
  const text = new TextDecoder().decode(bytes)
  return { path: path.replaceAll('\\', '/'), records: headRecords(bytes, text), text: text.slice(0, HEAD_TEXT) }
}

/** The head of a file with this text. */
export const headOfText = (path: string, text: string): Head =>
  headOfBytes(path, Buffer.from(text).subarray(0, HEAD_BYTES))

/** The first records. A line that is not JSON does not identify the program. */
function headRecords(bytes: Buffer, text: string): readonly unknown[] {
  if (text.startsWith(SQLITE)) return []
  try {
    return [JSON.parse(text)]
  } catch {
    const records: unknown[] = []
    for (let from = 0; from < bytes.length && records.length < HEAD_RECORDS;) {
      const feed = bytes.indexOf(10, from)
      const to = feed === -1 ? bytes.length : feed
      for (const { record } of recordsOfLine({
        bytes: bytes.subarray(from, to),
        isEnded: feed !== -1,
        where: { file: '' },
      }))
        if ('value' in record) records.push(record.value)
      from = to + 1
    }
    return records.slice(0, HEAD_RECORDS)
  }
}
