/** The first append to a conversation of an erasable ledger creates its keys. */
import { afterEach, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyFolder } from '../../src/adapters/file/key-folder.js'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openFolder, openMemory } from '../../src/adapters/pglite/sql.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { createPostgresKeyringStore } from '../../src/adapters/postgres/keyring-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { keyVaultError, type KeyVault } from '../../src/ports/key-vault.js'
import { TextKeys } from '../../src/application/sealing/text-keys.js'
import { collect, eventNamed } from '../support/events.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

const LONG = 60_000
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function opened(store: string, keys: string | KeyVault): Promise<Ledger> {
  const ledger = await openLedger({ store, erasable: true, keys })
  closing.push(() => ledger.close())
  return ledger
}

const eventsOf = async (ledger: Ledger): Promise<number> => {
  const { events } = await ledger.admin.verify()
  return events
}

it(
  'nothing is recorded before the vault has the key',
  async () => {
    const vault = createMemoryKeyVault()
    const during: number[] = []
    const ledger = await opened('memory', {
      ...bound(vault),
      async wrap(name, dataKey) {
        // The ledger's own key is wrapped while the ledger is opened.
        if (!name.endsWith('-ledger')) during.push(await eventsOf(ledger))
        return await vault.wrap(name, dataKey)
      },
    })
    await ledger.append('talk', [{ id: 'm1', role: 'user', content: 'hello' }])
    expect(during).toEqual([0])
    expect(await eventsOf(ledger)).toBe(2)
  },
  LONG,
)

it(
  'a vault that does not answer fails the append, and the next one records',
  async () => {
    const vault = createMemoryKeyVault()
    let isDown = false
    const ledger = await opened('memory', {
      ...bound(vault),
      wrap: async (name, dataKey) => {
        if (isDown) throw keyVaultError('KeyVaultUnavailable', 'no answer')
        return await vault.wrap(name, dataKey)
      },
    })
    isDown = true
    const message = { id: 'm1', role: 'user', content: 'hello' } as const
    await expect(ledger.append('talk', [message])).rejects.toMatchObject({ kind: 'KeyVaultUnavailable' })
    expect(await eventsOf(ledger)).toBe(0)
    isDown = false
    await ledger.append('talk', [message])
    expect((await ledger.context('talk')).messages).toMatchObject([{ content: 'hello' }])
  },
  LONG,
)

it(
  'keys that a process stored before it was killed are used by the first append',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'first-append-'))
    closing.push(() => rm(folder, { recursive: true, force: true }))
    const [store, keys] = [join(folder, 'ledger'), join(folder, 'keys')]
    await (await openLedger({ store, erasable: true, keys })).close()
    const db = await openFolder(store)
    const textKeys = await TextKeys.open(createPostgresKeyringStore(db, 'none'), createKeyFolder(keys))
    const stored = await textKeys?.toRecord('talk')
    await db.close()

    const ledger = await opened(store, keys)
    await ledger.append('talk', [{ id: 'm1', role: 'user', content: 'hello' }])
    await ledger.close()
    const reopened = await opened(store, keys)
    expect((await reopened.context('talk')).messages).toMatchObject([{ content: 'hello' }])
    expect((await reopened.admin.verify()).problems).toEqual([])
    expect(stored?.isErased).toBe(false)
  },
  LONG,
)

it(
  'the store records keys and events together, or nothing',
  async () => {
    const db = await openMemory()
    closing.push(() => db.close())
    await migrateLog(db)
    const store = createPostgresEventStore(db)
    const keyrings = createPostgresKeyringStore(db, 'none')
    const keyring = (wrapped: string) =>
      ({ conversationId: 'talk', version: 1, generation: 1, wrapped, keys: 'k', toDestroy: [] }) as const
    const append = async (wrapped: string, stream: string) =>
      await store.appendWithKeyring?.(keyring(wrapped), stream, 'no_stream', [eventNamed('x')])()

    expect(await append('first', 'a')).toEqual(E.right({ revision: 0, position: 0, repeated: false }))
    expect(await keyrings.get('talk')).toEqual(keyring('first'))
    expect(await append('second', 'b')).toEqual(E.right(undefined))
    expect(await keyrings.get('talk')).toEqual(keyring('first'))
    expect((await collect(store.readAll())).map(({ stream }) => stream)).toEqual(['a'])
  },
  LONG,
)

it(
  'a fingerprint that is stored while the first lookup runs is found by the next one',
  async () => {
    const db = await openMemory()
    closing.push(() => db.close())
    await migrateLog(db)
    const vault = createMemoryKeyVault()
    await TextKeys.create(createPostgresKeyringStore(db, 'none'), vault)
    const keys = await TextKeys.open(createPostgresKeyringStore(db, 'none'), vault)
    expect(await keys?.mayHaveFingerprints()).toBe(false)
    const fingerprint = randomBytes(32).toString('hex')
    const reopenedKeys = await TextKeys.open(createPostgresKeyringStore(db, 'none'), vault)
    await Promise.all([reopenedKeys?.mayHaveFingerprints(), reopenedKeys?.addFingerprints([fingerprint])])
    expect(await reopenedKeys?.mayHaveFingerprints()).toBe(true)
    expect([...((await reopenedKeys?.findFingerprints([fingerprint])) ?? [])]).toEqual([fingerprint])
  },
  LONG,
)

/** The functions of a vault, for one that replaces some of them. */
function bound(vault: KeyVault): KeyVault {
  return {
    name: vault.name,
    wrap: (name, dataKey) => vault.wrap(name, dataKey),
    unwrap: (name, wrapped) => vault.unwrap(name, wrapped),
    destroy: (name) => vault.destroy(name),
  }
}
