/** Erasures that a rule, a hold or the rows do not allow: the plan says so, and nothing is erased before it is known. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { createPostgresKeyringStore } from '../../src/adapters/postgres/keyring-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { TextKeys } from '../../src/application/sealing/text-keys.js'
import type { KeyVault } from '../../src/ports/key-vault.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

const ANNA = { subjects: ['anna@example.org'] }
const TARGET = { subject: 'anna@example.org' }
const REASON = { reason: 'r' }

let home: string
let ledger: Ledger
/** Called before a key is destroyed. */
let beforeDestroy: () => Promise<void>
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'context-ledger-'))
  beforeDestroy = () => Promise.resolve()
  const memory = createMemoryKeyVault()
  const keys: KeyVault = {
    ...memory,
    async destroy(keyName) {
      await beforeDestroy()
      await memory.destroy(keyName)
    },
  }
  ledger = await openLedger({ store: 'memory', erasable: true, keys })
})
afterEach(async () => {
  await ledger.close()
  await rm(home, { recursive: true, force: true })
})

it('a conversation with two plans is planned as allowed only if both are', async () => {
  await mkdir(join(home, 'codex'))
  await ledger.append('original', [
    { role: 'user', content: 'always use pelican!', created_at: '2020-01-01T00:00:00.000Z', ...ANNA },
    { role: 'assistant', content: 'noted', created_at: '2020-01-01T00:00:00.000Z' },
  ])
  const { conversationId: copy } = await ledger.transcripts.handoff('original', {
    to: 'codex',
    home: join(home, 'codex'),
    cwd: '/srv/harbour',
  })
  await ledger.append(copy, [{ role: 'user', content: 'and heron!', ...ANNA }])
  await ledger.admin.retention.set({ keepAtLeast: '30 days' }, REASON)
  const planned = await ledger.admin.erasure.plan(TARGET)
  const of = (id: string) => planned.find(({ conversationId }) => conversationId === id)
  expect(planned).toHaveLength(2)
  expect(of('original')).not.toHaveProperty('notAllowed')
  expect(of(copy)?.messages).toHaveLength(2)
  expect(of(copy)?.notAllowed).toContain('is kept at least')
  await expect(ledger.admin.erasure.run(TARGET, REASON)).rejects.toMatchObject({ kind: 'TooYoung' })
})

it('a hold that is placed during an erasure stops it, and the error names the conversations that were erased before', async () => {
  await ledger.append('first', [{ role: 'user', content: 'pelican', ...ANNA }])
  await ledger.append('second', [{ role: 'user', content: 'heron', ...ANNA }])
  let hold: Promise<unknown> | undefined
  beforeDestroy = async () => {
    hold ??= ledger.admin.retention.hold({ conversationId: 'second' }, REASON)
    await hold
  }
  await expect(ledger.admin.erasure.run(TARGET, REASON)).rejects.toMatchObject({
    kind: 'OnHold',
    message: expect.stringContaining('Erased before it: "first"'),
    details: { conversationId: 'second', erased: ['first'] },
  })
  expect(await ledger.admin.erasure.receipts('first')).toMatchObject([{ receipt: { messages: 1 } }])
  expect(await ledger.admin.erasure.receipts('second')).toEqual([])
  expect((await ledger.context('second')).messages[0]?.content).toBe('heron')
})

it('rows that cannot be brought to the end of the log are reported before a key is destroyed', async () => {
  const db = await openTestDatabase()
  await migrateLog(db)
  const [store, vault] = [createPostgresKeyringStore(db, 'none'), createMemoryKeyVault()]
  await TextKeys.create(store, vault)
  const keys = await TextKeys.open(store, vault)
  const onDatabase = await ledgerOn(db, keys === undefined ? {} : { keys })
  try {
    await onDatabase.append('talk', [{ role: 'user', content: 'pelican', ...ANNA }])
    await onDatabase.admin.projections.catchUp()
    // Rows of a newer program: this one does not read them.
    await db.script(`update projection_checkpoints set version = version + 1 where name = 'live-messages'`)
    await expect(onDatabase.admin.erasure.run(TARGET, REASON)).rejects.toMatchObject({ kind: 'ProjectionStopped' })
    expect(await onDatabase.admin.erasure.receipts('talk')).toEqual([])
    expect((await onDatabase.context('talk')).messages[0]?.content).toBe('pelican')
    expect(await onDatabase.admin.erasure.resume()).toEqual([])
  } finally {
    await onDatabase.close()
    await db.close()
  }
})
