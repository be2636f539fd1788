/**
 * Flipped bits, in 1,000 places: of the log, of the stored tree and checkpoints, of a given checkpoint, and of evidence.
 * `verify` against a checkpoint finds each of the first three. Each of the evidence is found by the script of the file
 * and by the independent verifier, also if a forger computed the digest of the file again.
 */
import { repeated } from '../support/length.js'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { RecordedCheckpoint } from '../../src/index.js'
import { isRecord } from '../../src/lib/is-record.js'
import { isLedgerError } from '../../src/lib/ledger-error.js'
import { evidenceFile } from '../../src/interfaces/page/evidence-file.js'
import { verifyEvidence } from '../../src/interfaces/page/client/evidence/verify.js'
import { hasPython, verifyIndependently } from '../support/independent-verifier.js'
import { attack, type Attacker } from '../support/ledger-on-database.js'
import { CONVERSATION, openProvableLedger, type ProvableLedger } from '../support/provable-ledger.js'

jest.setTimeout(1_800_000)

let opened: ProvableLedger
let checkpoint: RecordedCheckpoint
let attacker: Attacker

/** Numbers from 0 up to 1, the same in every run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const flipped = (bytes: Uint8Array, at: number, bit: number): Buffer => {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] ?? 0) ^ (1 << bit)
  return changed
}

beforeAll(async () => {
  opened = await openProvableLedger(40)
  await opened.ledger.admin.proofs.createCheckpoint({ key: opened.key })
  for (let at = 0; at < 300; at += 1)
    await opened.ledger.append('filler', { role: 'user', content: `Filler ${String(at)}` })
  checkpoint = await opened.ledger.admin.proofs.createCheckpoint({ key: opened.key })
  await opened.ledger.admin.projections.catchUp()
  attacker = await attack(opened.db)
})
afterAll(async () => {
  await opened.close()
})

/** What `verify` finds, or the error with which it refuses. */
async function found(note = checkpoint.note): Promise<readonly string[]> {
  const { ledger, publicKey } = opened
  try {
    const { problems } = await ledger.admin.verify(undefined, { checkpoint: { note, signer: publicKey } })
    return problems.map(({ rule, stream, detail }) => `${rule} ${stream}: ${detail}`)
  } catch (error) {
    if (isLedgerError(error)) return [error.message]
    throw error
  }
}

/** Whether the comparison with the checkpoint finds something, whatever the other rules find. */
const foundByCheckpoint = async (): Promise<boolean> =>
  (await found()).some((problem) => problem.startsWith('checkpoint '))

describe('a flipped bit is found', () => {
  it('in up to 250 places of the log', async () => {
    expect(await found()).toEqual([])
    const random = randomOf(1)
    const events = await opened.db.query<Record<string, string>>('select * from events order by position')
    const missed: string[] = []
    for (let run = 0; run < repeated(250, 12); run += 1) {
      const event = events[Math.floor(random() * events.length)] ?? {}
      const column = ['data', 'metadata', 'type', 'stream', 'data', 'metadata', 'data'][run % 7] ?? ''
      const text = Buffer.from(event[column] ?? '')
      // Postgres stores no text with other bytes than those of UTF-8, and no NUL.
      const at = Math.floor(random() * text.length)
      const changed = flipped(text, at, Math.floor(random() * 7)).toString('utf8')
      if (changed.includes('\0') || changed.includes('\uFFFD')) continue
      await attacker.run(`update events set ${column} = $2 where position = $1`, [event['position'], changed])
      const problems = await found()
      if (problems.length === 0) missed.push(`${column} of ${String(event['position'])} at ${String(at)}`)
      await attacker.run(`update events set ${column} = $2 where position = $1`, [event['position'], event[column]])
    }
    expect(missed).toEqual([])
    expect(await found()).toEqual([])
  })

  it('in 150 places of the stored tree and the stored checkpoints', async () => {
    const random = randomOf(3)
    const missed: string[] = []
    const tiles = await opened.db.query<{ level: number; index: string; hashes: Uint8Array }>(
      'select * from proof_tiles',
    )
    for (let run = 0; run < repeated(100, 10); run += 1) {
      const { level, index, hashes } = tiles[run % tiles.length] ?? { level: 0, index: '0', hashes: new Uint8Array() }
      const changed = flipped(hashes, Math.floor(random() * hashes.length), Math.floor(random() * 8))
      const put = 'update proof_tiles set hashes = $3 where level = $1 and index = $2'
      await opened.db.query(put, [level, index, changed])
      if (!(await foundByCheckpoint())) missed.push(`tile ${String(level)}/${index}`)
      await opened.db.query(put, [level, index, hashes])
    }
    const stored = await opened.db.query<{ size: string; note: string }>(
      'select size, note from checkpoints order by size',
    )
    for (let run = 0; run < repeated(50, 10); run += 1) {
      const { size, note } = stored[run % stored.length] ?? { size: '', note: '' }
      const bytes = Buffer.from(note)
      const changed = flipped(bytes, Math.floor(random() * bytes.length), Math.floor(random() * 7)).toString('utf8')
      if (changed.includes('\0') || changed.includes('\uFFFD')) continue
      await opened.db.query('update checkpoints set note = $2 where size = $1', [size, changed])
      if (!(await foundByCheckpoint())) missed.push(`checkpoint ${size}`)
      await opened.db.query('update checkpoints set note = $2 where size = $1', [size, note])
    }
    for (const [column, value] of [
      ['size', 'size + 1'],
      ['size', 'size - 1'],
      ['position', 'position + 1'],
      ['position', 'position - 2'],
    ]) {
      const [before] = await opened.db.query<Record<string, string>>('select * from proof_tree')
      await opened.db.query(`update proof_tree set ${String(column)} = ${String(value)}`)
      if (!(await foundByCheckpoint())) missed.push(`tree ${String(value)}`)
      await opened.db.query(`update proof_tree set ${String(column)} = $1`, [before?.[String(column)]])
    }
    expect(missed).toEqual([])
    expect(await found()).toEqual([])
  })

  it('in every bit of a given checkpoint', async () => {
    const bytes = Buffer.from(checkpoint.note)
    const missed: number[] = []
    // The last, valid one would run the whole verification.
    for (let at = 0; at < bytes.length; at += 1)
      for (let bit = 0; bit < 8; bit += 1) {
        const note = flipped(bytes, at, bit).toString('utf8')
        const error: unknown = await opened.ledger.admin
          .verify('filler', { checkpoint: { note, signer: opened.publicKey } })
          .catch((thrown: unknown) => thrown)
        if (!isLedgerError(error, 'NoCheckpoint', 'CheckpointChanged', 'OtherSigner')) missed.push(at)
      }
    expect(missed).toEqual([])
  })

  it('in up to 1,000 places of an evidence file, by its script and by another program', async () => {
    const random = randomOf(4)
    const file = Buffer.from(await evidenceFile(await opened.ledger.admin.proofs.evidence(CONVERSATION)))
    const files = Array.from({ length: repeated(1_000, 40) }, () =>
      flipped(file, Math.floor(random() * file.length), Math.floor(random() * 8)),
    )
    expect(await missedByScript(files)).toEqual([])
    expect(missedByPython(files)).toEqual([])
  })

  it('in up to 1,000 places of the evidence in it, also if its digest was computed again', async () => {
    const random = randomOf(5)
    const text = await evidenceFile(await opened.ledger.admin.proofs.evidence(CONVERSATION))
    const file = Buffer.from(text)
    const from = Buffer.byteLength(text.slice(0, text.indexOf(START) + START.length))
    const to = Buffer.byteLength(text.slice(0, text.indexOf('</script>', text.indexOf(START))))
    const original = signedPart(parsed(jsonOf(text)))
    const files: Buffer[] = []
    while (files.length < repeated(1_000, 40)) {
      const changed = flipped(file, from + Math.floor(random() * (to - from)), Math.floor(random() * 7))
      // Another spelling of the same content, such as \\u003C for \\u003c, changes nothing.
      const part = signedPart(parsed(jsonOf(changed.toString('utf8'))))
      if (!isDeepStrictEqual(part, original)) files.push(withDigest(changed))
    }
    expect(await missedByScript(files)).toEqual([])
    expect(missedByPython(files)).toEqual([])
  })

  it('in up to 50 places of the log, after which the hash chain was computed again, with the event', async () => {
    const random = randomOf(2)
    const events = (
      await opened.db.query<Record<string, string>>(
        `select * from events where type = 'MessageAppended' and stream = 'conversation-filler' order by position`,
      )
    ).slice(0, 300)
    const missed: string[] = []
    for (let run = 0; run < repeated(50, 10); run += 1) {
      const event = events[Math.floor(random() * events.length)] ?? {}
      const changed = (event['data'] ?? '').replace('Filler', 'Gimmer')
      await attacker.run('update events set data = $2 where position = $1', [event['position'], changed])
      await attacker.rechain('conversation-filler')
      const problems = await found()
      if (!problems.some((problem) => problem.startsWith('checkpoint conversation-filler: event ')))
        missed.push(`${String(event['position'])}: ${problems.join('; ')}`)
      await attacker.undo()
    }
    expect(missed).toEqual([])
  })
})

const SIGNED = ['format', 'version', 'conversationId', 'checkpoint', 'nodes', 'events', 'context', 'summaries']
const START = '<script type="application/json" id="evidence">'
const DIGEST = /(?<=<meta name="file-sha256" content=")[0-9a-f]{64}(?=">)/u

const jsonOf = (file: string): string => {
  const from = file.indexOf(START) + START.length
  return file.slice(from, file.indexOf('</script>', from))
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The evidence without what no signature covers; undefined if it is none. */
const signedPart = (value: unknown): unknown =>
  isRecord(value) && SIGNED.every((field) => field in value)
    ? Object.fromEntries(SIGNED.map((field) => [field, value[field]]))
    : undefined

const digestOf = (file: string): string =>
  createHash('sha256')
    .update(file.replace(DIGEST, '0'.repeat(64)))
    .digest('hex')

function withDigest(file: Buffer): Buffer {
  const text = file.toString('utf8')
  return Buffer.from(text.replace(DIGEST, digestOf(text)))
}

/** The files whose script finds nothing: neither another digest, as a browser computes it, nor a step that fails. */
async function missedByScript(files: readonly Buffer[]): Promise<number[]> {
  const missed: number[] = []
  for (const [at, file] of files.entries()) {
    const text = file.toString('utf8')
    if (DIGEST.exec(text)?.[0] !== digestOf(text)) continue
    const isValid = await verifyEvidence(jsonOf(text)).then(
      ({ steps }) => steps.every(({ state }) => state === 'ok'),
      () => false,
    )
    if (isValid) missed.push(at)
  }
  return missed
}

const missedByPython = (files: readonly Buffer[]): number[] =>
  hasPython ? verifyIndependently(files).flatMap((verdict, at) => (verdict === 'valid' ? [at] : [])) : []
