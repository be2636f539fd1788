/** A growing file of lines is read from the last position, in whatever pieces its bytes arrive. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { appendFile, copyFile, mkdtemp, open, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GrowingLines } from '../../src/application/importers/growing-lines.js'
import { recordsOf, type RecordOrDamage } from '../../src/application/importers/records-of.js'
import { runsOf } from '../support/length.js'

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'growing-'))
  path = join(folder, 'log.jsonl')
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

/** The records after the position; undefined if the file is not a continuation. */
async function readOn(lines: GrowingLines): Promise<readonly RecordOrDamage[] | undefined> {
  const file = await open(path)
  try {
    if (lines.bytes > 0 && !(await lines.isContinuation(file))) return undefined
    const records: RecordOrDamage[] = []
    for await (const record of lines.records(file)) records.push(record)
    return records
  } finally {
    await file.close()
  }
}

const isCut = (record: RecordOrDamage): boolean => 'kind' in record && record.isCut

it('yields the records of the whole file, wherever earlier reads ended', async () => {
  const line = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ says: fc.string({ unit: 'grapheme', maxLength: 30 }) }).map((v) => JSON.stringify(v)),
    },
    fc.constantFrom('', '  ', '{"half":', 'no JSON', '{"ended":1}\r', `{"long":"${'x'.repeat(70_000)}"}`),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
      async (lines, isEnded, shares) => {
        const bytes = Buffer.from(lines.join('\n') + (isEnded ? '\n' : ''))
        const cuts = [...shares.map((share) => Math.floor(bytes.length * share)), bytes.length].toSorted(
          (a, b) => a - b,
        )
        await writeFile(path, '')
        const reader = new GrowingLines(path)
        const records: RecordOrDamage[] = []
        let from = 0
        for (const cut of cuts) {
          await appendFile(path, bytes.subarray(from, cut))
          from = cut
          records.push(...((await readOn(reader)) ?? []).filter((record) => cut === bytes.length || !isCut(record)))
          // Reading again yields nothing, except an incomplete last line.
          expect(((await readOn(reader)) ?? []).filter((record) => !isCut(record))).toEqual([])
        }
        const whole: RecordOrDamage[] = []
        for await (const record of recordsOf(path, 'lines')) whole.push(record)
        expect(records.filter((record, at) => !isCut(record) || at === records.length - 1)).toEqual(whole)
        expect(reader.signature).toMatchObject({
          bytes: bytes.length,
          sha256: createHash('sha256').update(bytes).digest('hex'),
        })
      },
    ),
    { numRuns: runsOf(300) },
  )
})

it.each<[string, () => Promise<void>]>([
  ['has another head', () => writeFile(path, '{"b":1}\n{"a":2}\n{"a":3}\n{"a":4}\n')],
  ['has other words before the place', () => writeFile(path, '{"a":1}\n{"b":2}\n{"a":3}\n{"a":4}\n')],
  ['shrank', () => truncate(path, 12)],
  [
    'was rotated',
    async () => {
      await rename(path, join(folder, 'old.jsonl'))
      await copyFile(join(folder, 'old.jsonl'), path)
    },
  ],
])('does not continue a file that %s', async (_what, change) => {
  await writeFile(path, '{"a":1}\n{"a":2}\n{"a":3}\n')
  const reader = new GrowingLines(path)
  expect(await readOn(reader)).toHaveLength(3)
  await change()
  expect(await readOn(reader)).toBeUndefined()
})

it('ends without a signature if the file is rewritten during the read', async () => {
  const long = (name: string): string => `${JSON.stringify({ [name]: 'x'.repeat(700_000) })}\n`
  await writeFile(path, long('a').repeat(5))
  const reader = new GrowingLines(path)
  const file = await open(path)
  const read: unknown[] = []
  for await (const record of reader.records(file)) {
    if (read.length === 0) await writeFile(path, long('b').repeat(9))
    if (!('kind' in record)) read.push(record.value)
  }
  await file.close()
  expect(read.length).toBeLessThan(5)
  expect(JSON.stringify(read)).not.toContain('"b"')
  expect(reader.signature).toBeUndefined()
})
