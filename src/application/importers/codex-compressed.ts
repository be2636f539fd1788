/**
 * Codex compresses rollouts that are a week old with zstd. Node.js reads zstd from 22.15 on; with an older version the
 * reader reports damage that says what to do. Damage is passed on as a record, because the interface accepts only
 * records.
 */
import { isRecord } from '../../lib/is-record.js'
import { sentenceOf } from '../../ports/store-error.js'
import { open } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { pipeline, type Duplex } from 'node:stream'
import * as zlib from 'node:zlib'
import { byteLines } from '../../lib/byte-lines.js'
import { recordsOf, recordsOfLine, type RecordOrDamage } from './records-of.js'
import type { DamageItem, TranscriptRecord } from './transcript.js'

const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
/** The magic bytes as they appear in a text that was decoded as UTF-8. */
const MAGIC_TEXT = MAGIC.toString('utf8')

/** Whether a file begins with the zstd magic bytes. */
export const beginsCompressed = (text: string): boolean => text.startsWith(MAGIC_TEXT)

const DAMAGE = Symbol('damage')

/** The damage that a record carries; undefined for an ordinary record. */
export function damageIn(value: unknown): Pick<DamageItem, 'detail' | 'isCut'> | undefined {
  const damage: unknown = isRecord(value) ? Reflect.get(value, DAMAGE) : undefined
  return isRecord(damage) && typeof damage['detail'] === 'string'
    ? { detail: damage['detail'], isCut: damage['isCut'] === true }
    : undefined
}

const damaged = (where: DamageItem['where'], detail: string, isCut: boolean): TranscriptRecord => ({
  value: { [DAMAGE]: { detail, isCut } },
  where,
})

const asRecord = (read: RecordOrDamage): TranscriptRecord =>
  'kind' in read ? damaged(read.where, read.detail, read.isCut) : read

/**
 * A zstd decompressor, if this version of Node.js has one. The project compiles against the types of Node 20, which
 * lack it.
 */
function zstd(): Duplex | undefined {
  const create: unknown = Reflect.get(zlib, 'createZstdDecompress')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the function of Node 22.15 takes nothing and makes a stream
  return typeof create === 'function' ? (create() as Duplex) : undefined
}

async function isCompressed(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)
    return bytesRead === MAGIC.length && buffer.equals(MAGIC)
  } finally {
    await file.close()
  }
}

async function* ofCompressed(path: string, decompressor: Duplex): AsyncGenerator<TranscriptRecord> {
  let line = 0
  // The loop below receives every error, so the callback has nothing to do.
  const lines = byteLines(pipeline(createReadStream(path), decompressor, () => undefined))
  try {
    for await (const read of lines) {
      line += 1
      for (const { record } of recordsOfLine({ ...read, where: { file: path, line } })) yield asRecord(record)
    }
  } catch (error) {
    const reason = sentenceOf(error)
    yield damaged({ file: path, line: line + 1 }, `cannot be decompressed: ${reason}`, false)
  }
}

/**
 * The records of a rollout, compressed or not. @param decompress creates the decompressor; returns undefined if there
 * is none
 */
export async function* rolloutRecords(
  path: string,
  decompress: () => Duplex | undefined = zstd,
): AsyncGenerator<TranscriptRecord> {
  if (!(await isCompressed(path))) {
    for await (const read of recordsOf(path, 'lines')) yield asRecord(read)
    return
  }
  const decompressor = decompress()
  if (decompressor !== undefined) yield* ofCompressed(path, decompressor)
  else
    yield damaged(
      { file: path },
      'is compressed with zstd, which Node reads from version 22.15 on: import it with such a Node, or decompress it first (zstd -d)',
      false,
    )
}
