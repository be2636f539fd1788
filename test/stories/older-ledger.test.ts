/**
 * A ledger that version 0.3.0 wrote, log and rows, opened by this version: it is complete and verifies, every context
 * equals the one returned then, and the conversation continues. The dump is of a Postgres: the sample conversation with a
 * window of 8,000 tokens, an edition that was adopted and reverted, a pin, and an undone cycle.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { migrateLog, type Upgrade } from '../../src/adapters/postgres/schema.js'
import type { Database } from '../../src/ports/sql.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

const ID = 'sample-harbour'
/** By revision: the hash of the context that version 0.3.0 printed. */
const CONTEXT_HASHES = [
  [150, 'c2798c9fb9152417c33d8fe38363bec54e6fcd956b7fa3d2daaa5c2c4cec0abd'],
  [219, 'a6c260a4355b85580e217dfa9dee42f3b14ed138dfbe9ee4a2e2eaff3cfbc8f8'],
] as const

let db: Database
beforeAll(async () => {
  db = await openTestDatabase()
  await db.script('drop schema if exists context_ledger cascade')
  await db.script(gunzipSync(readFileSync(join('test', 'fixtures', 'ledgers', '0.3.0.sql.gz'))).toString('utf8'))
})
afterAll(async () => {
  await db.close()
})

it('is upgraded only after its owner was told, and not at all if that fails', async () => {
  const versionOf = async () => (await db.query<{ version: number }>('select version from log_version'))[0]?.version
  const before = await versionOf()
  const refuse = (): Promise<void> => Promise.reject(new Error('no'))
  await expect(migrateLog(db, refuse)).rejects.toThrow('no')
  expect(await versionOf()).toBe(before)
  const upgrades: Upgrade[] = []
  await migrateLog(db, (upgrade) => void upgrades.push(upgrade))
  expect(upgrades).toEqual([{ from: before, to: await versionOf() }])
  expect(upgrades[0]?.to).toBeGreaterThan(Number(before))
  await migrateLog(db, refuse)
})

it('opens, is complete, returns the same contexts, and continues', async () => {
  const ledger = await ledgerOn(db)
  try {
    expect((await ledger.admin.verify()).problems).toEqual([])
    for (const [revision, hash] of CONTEXT_HASHES)
      expect(await ledger.context(ID, { at: revision })).toMatchObject({ hash })
    expect((await ledger.list()).conversations).toMatchObject([{ conversationId: ID, messages: 203, revision: 219 }])
    expect((await ledger.search('never delete harbour_prod', { conversationId: ID })).hits[0]?.text).toContain(
      'harbour_prod',
    )
    const [edition] = await ledger.editions.list()
    expect(edition?.states).toMatchObject({ 'was-in-force': 1 })
    expect((await ledger.admin.prompts.list()).unreadable).toEqual([])
    await ledger.append(ID, { role: 'user', content: 'And this is said to the version of today.' })
    await ledger.compact(ID, { force: true })
    const context = await ledger.context(ID)
    expect(context.messages.at(-1)?.content).toBe('And this is said to the version of today.')
    expect(context.messages.some(({ content }) => content === 'Never delete harbour_prod.')).toBe(true)
    await ledger.admin.projections.rebuild('all')
    expect((await ledger.admin.verify()).problems).toEqual([])
  } finally {
    await ledger.close()
  }
})
