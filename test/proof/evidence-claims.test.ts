/** What an evidence file states at its beginning: the operator, the model, the time of signing, and dates that differ. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Evidence } from '../../src/index.js'
import { dateNotes, modelOf, signerOf, signingTimes } from '../../src/interfaces/page/client/evidence/claims.js'
import { compareFingerprint } from '../../src/interfaces/page/client/evidence/compare-key.js'
import { verifyEvidence, type Verified } from '../../src/interfaces/page/client/evidence/verify.js'
import { openProvableLedger, type ProvableLedger } from '../support/provable-ledger.js'

const DAY_MS = 86_400_000
let opened: ProvableLedger

beforeAll(async () => {
  opened = await openProvableLedger(0)
  const { ledger } = opened
  await ledger.append('named', { role: 'user', content: 'Is pier four free?', created_at: '2025-03-01T09:00:00.000Z' })
  const { revision, hash } = await ledger.context('named')
  await ledger.append('named', {
    role: 'assistant',
    content: 'From 14:00.',
    answers: { revision: revision.toString(), hash },
    attributes: { model: 'model-1' },
  })
  await ledger.append('configured', { role: 'user', content: 'Hello' }, { policy: { model: 'model-2' } })
  await ledger.append('unknown', { role: 'user', content: 'Hello' })
  await ledger.admin.proofs.createCheckpoint({ key: opened.key })
})
afterAll(async () => {
  await opened.close()
})

const evidenceOf = async (id: string): Promise<Evidence> => await opened.ledger.admin.proofs.evidence(id)

/** The verified evidence of a conversation, with other unsigned statements. */
async function stated(id: string, unsigned: Partial<Evidence['unsigned']> = {}): Promise<Verified> {
  const evidence = await evidenceOf(id)
  return await verifyEvidence(JSON.stringify({ ...evidence, unsigned: { ...evidence.unsigned, ...unsigned } }))
}

/** The time of the last event that a file shows, and some milliseconds. */
async function afterLast(id: string, ms: number): Promise<string> {
  const { events } = await stated(id)
  return new Date(Date.parse(events.at(-1)?.recordedAt ?? '') + ms).toISOString()
}

describe('who and which model', () => {
  it('the model of the answer, or else of the settings, or else none', async () => {
    expect(modelOf(await stated('named'))).toEqual({ name: 'model-1', source: 'recorded with the answer' })
    const configured = modelOf(await stated('configured'))
    expect(configured.name).toBe('model-2')
    expect(configured.source).toContain('by the settings')
    expect(modelOf(await stated('unknown')).name).toBeUndefined()
  })

  it('an operator only as the file says', async () => {
    expect(signerOf(await stated('named'))).toBe('The holder of the key')
    expect(signerOf(await stated('named', { operator: 'Example Ltd' }))).toBe(
      'The holder of the key (Example Ltd, as the file says)',
    )
  })

  it('the time at which the ledger signed', async () => {
    const [checkpoint] = await opened.ledger.admin.proofs.checkpoints()
    expect((await evidenceOf('named')).unsigned).toEqual({ signedAt: checkpoint?.createdAt })
    const [time] = signingTimes(await stated('named'))
    expect(time).toContain(checkpoint?.createdAt.slice(0, 16).replace('T', ' '))
    expect(time).toContain('The signature does not cover this time')
  })
})

it('the times that a time stamp service and a witness state, as not verified', async () => {
  const evidence = await evidenceOf('named')
  const stamp = Buffer.concat([
    Buffer.from('0\u0017\u000d270101000000Z', 'latin1'),
    Buffer.from([0x18, 0x13]),
    Buffer.from('20261127160405.123Z'),
  ])
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(1_760_000_000n)
  const line = `— witness.example/w ${Buffer.concat([Buffer.alloc(4), time, Buffer.alloc(64)]).toString('base64')}`
  const checkpoint = {
    ...evidence.checkpoint,
    note: `${evidence.checkpoint.note}${line}\n`,
    timeStamp: stamp.toString('base64'),
  }
  const [, stamped, witnessed] = signingTimes(await verifyEvidence(JSON.stringify({ ...evidence, checkpoint })))
  expect(stamped).toContain('A time stamp service states 2026-11-27 16:04 UTC. This page does not verify it')
  expect(witnessed).toContain('The witness witness.example/w states 2025-10-09 08:53 UTC. This page does not verify it')
})

describe('dates', () => {
  it('that are near each other need no explanation', async () => {
    const signedAt = await afterLast('unknown', DAY_MS / 2)
    expect(dateNotes(await stated('unknown', { signedAt }))).toEqual([])
  })

  it('of a signature long after the events, or before them', async () => {
    const late = dateNotes(await stated('unknown', { signedAt: await afterLast('unknown', 5 * DAY_MS) }))
    expect(late).toEqual([expect.stringContaining('the log was signed 5 days later')])
    const early = dateNotes(await stated('unknown', { signedAt: await afterLast('unknown', -3 * DAY_MS) }))
    expect(early).toEqual([expect.stringContaining('signed 3 days before the last event')])
  })

  it('of messages that were written long before they were recorded', async () => {
    const notes = dateNotes(await stated('named', { signedAt: await afterLast('named', 0) }))
    expect(notes).toEqual([expect.stringMatching(/^1 message says that it was written on 2025-03-01, but/u)])
  })
})

it('a fingerprint is compared in every usual spelling', () => {
  const digits = '0123456789abcdef'.repeat(4)
  const states = (text: string) => compareFingerprint(text, [`sha256:${digits}`])?.state
  const same = [digits, `sha256:${digits}`, ` SHA256:${digits.toUpperCase()}\n`, digits.replaceAll(/..(?=.)/gu, '$&:')]
  expect(same.map(states)).toEqual(same.map(() => 'ok'))
  expect(states(`sha256:${digits.slice(1)}0`)).toBe('failed')
  expect(['abc', `${digits}0`, digits.replace('0', 'g')].map(states)).toEqual(['open', 'open', 'open'])
  expect(states('  ')).toBeUndefined()
})
