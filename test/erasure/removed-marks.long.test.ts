/** Deleted rows that kept erased texts from being recorded again: `verify` names the erasure. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { openLedger } from '../../src/library/compose.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'removed-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const open = () => openLedger({ store: join(folder, 'store'), keys: join(folder, 'keys'), erasable: true })

/** Changes the database directly, as a user with access to it can. */
async function tamper(statements: string): Promise<void> {
  const db = await openFolder(join(folder, 'store'))
  await db.script(statements)
  await db.close()
}

async function problems(): Promise<readonly string[]> {
  const ledger = await open()
  try {
    return (await ledger.admin.verify()).problems.map(({ rule, detail }) => `${rule}: ${detail}`)
  } finally {
    await ledger.close()
  }
}

it('removed fingerprints and a person who is not erased any more', async () => {
  const ledger = await open()
  await ledger.append('talk', [
    {
      id: 'm1',
      role: 'user',
      content: 'Ursula lives here',
      subjects: ['ursula'],
      created_at: '2026-01-01T10:00:00.000Z',
    },
    { id: 'm2', role: 'assistant', content: 'fine' },
  ])
  const [byPerson] = await ledger.admin.erasure.run({ subject: 'ursula' }, { reason: 'r' })
  const [byMessage] = await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm2' }, { reason: 'r' })
  await ledger.close()
  expect(await problems()).toEqual([])

  await tamper('delete from erased_fingerprints where fingerprint = (select min(fingerprint) from erased_fingerprints)')
  const [found = '', ...others] = await problems()
  expect(others).toEqual([])
  expect(found).toMatch(/^erasure: .* 1 of 2 fingerprints are missing in the table erased_fingerprints/u)
  expect([byPerson?.erasureId, byMessage?.erasureId].some((id) => id !== undefined && found.includes(id))).toBe(true)

  await tamper('delete from erased_fingerprints; update key_subjects set erased = false')
  const all = await problems()
  expect(all).toHaveLength(3)
  expect(all.filter((each) => each.includes('2 of 2 fingerprints'))).toHaveLength(2)
  expect(all.filter((each) => each.includes('not erased in the table key_subjects'))).toEqual([
    expect.stringContaining(byPerson?.erasureId ?? ''),
  ])
})
