/** Reads the records of a file by its layout, and the head by which an importer recognizes it. */
import { sentenceOf } from '../ports/store-error.js'
import { open, readFile } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { exactJson } from '../lib/json.js'
import { byteLines } from '../lib/byte-lines.js'
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

/** The record of a line; undefined for a blank line. */
export function recordOfLine(
  bytes: Uint8Array,
  layout: Layout,
  where: SourceLocation,
  isEnded: boolean,
): RecordOrDamage | undefined {
  if (bytes.length > LONGEST_LINE_BYTES) return damage(where, `is longer than ${String(LONGEST_LINE_BYTES)} bytes`)
  const text = textOf(bytes)?.replace(/\r$/u, '')
  if (text === undefined) return damage(where, 'is no valid UTF-8', !isEnded)
  if (layout === 'text') return { value: text, where }
  if (text.trim() === '') return undefined
  try {
    return { value: exactJson(text), where }
  } catch (error) {
    return damage(where, `is no JSON: ${sentenceOf(error)}`, !isEnded)
  }
}

async function* ofLines(path: string, layout: Layout): AsyncGenerator<RecordOrDamage> {
  let line = 0
  for await (const { bytes, isEnded } of byteLines(createReadStream(path))) {
    line += 1
    const record = recordOfLine(bytes, layout, { file: path, line }, isEnded)
    if (record !== undefined) yield record
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
    const text = buffer.subarray(0, bytesRead).toString('utf8')
    const records: unknown[] = []
    try {
      records.push(JSON.parse(text))
    } catch {
      for (const line of text.split('\n')) {
        if (records.length === HEAD_RECORDS) break
        try {
          records.push(JSON.parse(line))
        } catch {
          // A line that is not JSON does not identify the program.
        }
      }
    }
    return { path: path.replaceAll('\\', '/'), records, text: text.slice(0, HEAD_TEXT) }
  } finally {
    await file.close()
  }
}
