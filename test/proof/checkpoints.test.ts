/** Checkpoints of a ledger, and what `verify` finds against one. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { Ledger, RecordedCheckpoint } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { attack, ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

const { privateKey: key } = generateKeyPairSync('ed25519')
let db: Database
let ledger: Ledger

beforeEach(async () => {
  db = await openTestDatabase()
  ledger = await ledgerOn(db)
})
afterEach(async () => {
  await ledger.close()
  await db.close()
})

const say = async (conversation: string, messages: number): Promise<void> => {
  for (let at = 0; at < messages; at += 1)
    await ledger.append(conversation, { role: 'user', content: `message ${String(at)} of ${conversation}` })
}

const against = async (checkpoint: RecordedCheckpoint): Promise<readonly string[]> =>
  (
    await ledger.admin.verify(undefined, { checkpoint: { note: checkpoint.note, signer: createPublicKey(key) } })
  ).problems.map(({ rule, stream, revision, detail }) => `${rule} ${stream} ${String(revision)}: ${detail}`)

it('a log that only grew is the same as its checkpoints say', async () => {
  await say('a', 3)
  const first = await ledger.admin.proofs.createCheckpoint({ key })
  expect(await ledger.admin.proofs.createCheckpoint({ key })).toEqual(first)
  await say('b', 300)
  const second = await ledger.admin.proofs.createCheckpoint({ key })
  expect(second.size).toBeGreaterThan(first.size)
  expect(await ledger.admin.proofs.checkpoints()).toEqual([first, second])
  expect(await against(first)).toEqual([])
  const verification = await ledger.admin.verify(undefined, { checkpoint: { note: first.note } })
  expect(verification).toMatchObject({
    ok: true,
    checkpoint: { size: first.size, after: second.size - first.size, newest: { size: second.size } },
  })
})

it('names the event that was changed, although the chain was recomputed', async () => {
  await say('a', 3)
  await say('b', 5)
  const checkpoint = await ledger.admin.proofs.createCheckpoint({ key })
  await say('b', 2)
  const attacker = await attack(db)
  await attacker.run(
    `update events set data = replace(data, 'message 3 of b', 'message 3 of B') where stream = 'conversation-b'`,
  )
  await attacker.rechain('conversation-b')
  const problems = (await against(checkpoint)).filter((problem) => problem.startsWith('checkpoint'))
  expect(problems.join('\n')).toMatch(
    /checkpoint conversation-b \d+: event \d+ of the log, at position \d+, is not the one/u,
  )
  expect(problems.join('\n')).toMatch(/the events before the checkpoint of \d+ events are not those that it covers/u)
})
