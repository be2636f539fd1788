/** `migrate-log` from an erasable log: events, keys, persons and fingerprints are copied, and erased texts stay erased. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { generateKeyPairSync } from 'node:crypto'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyFolder } from '../../src/adapters/file/key-folder.js'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { createPostgresKeyringStore } from '../../src/adapters/postgres/keyring-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { runMigrateLog, type MigrateLogCommand } from '../../src/interfaces/cli/migrate/migrate-log.js'
import * as places from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { keyVaultError, type KeyVault } from '../../src/ports/key-vault.js'
import { copyKeys } from '../../src/application/sealing/copy-keys.js'
import { TextKeys } from '../../src/application/sealing/text-keys.js'
import { SMALL } from '../support/conversations.js'
import { startWireServer } from '../support/kurrentdb/server.js'
import { longDescribe } from '../support/length.js'
import { openTestDatabase } from '../support/memory-database.js'
import { createTestDatabase, testServer } from '../support/postgres.js'
import { shinglesInFiles } from '../support/shingles.js'

jest.setTimeout(300_000)

const SECRET = 'Ursula Zwickel lives at Quellenweg 17 in Bad Wurzach'
const ADDRESS = 'The parcel for Bodo Krahwinkel waits in Dachsberg'
const FORMER = {
  role: 'user',
  content: `${SECRET}, of an earlier talk`,
  created_at: '2026-03-04T05:06:07.000Z',
} as const
const CONVERSATIONS = ['talk', 'persons', 'gone']

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'migrate-erasable-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs the command. Returns its output as JSON. */
async function migrate(options: Pick<MigrateLogCommand, 'from' | 'to'> & Partial<MigrateLogCommand>): Promise<unknown> {
  const output: string[] = []
  const spy = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output.push(String(text))
    return true
  })
  try {
    await runMigrateLog(
      { fromDatabase: undefined, toDatabase: undefined, overwrite: false, json: true, ...options },
      places,
    )
  } finally {
    spy.mockRestore()
  }
  return options.json === false ? output.join('') : JSON.parse(output.join(''))
}

/** A ledger with summaries, erased and live persons, and an erased conversation. */
async function fill(ledger: Ledger): Promise<void> {
  await ledger.append(
    'talk',
    Array.from({ length: 24 }, (_none, at) => ({
      id: `m${String(at)}`,
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: at === 3 ? SECRET : `number ${String(at)} ${'and so on '.repeat(at === 5 ? 9_000 : 20)}`,
    })),
  )
  await ledger.compact('talk')
  await ledger.append('persons', [
    { id: 'p1', role: 'user', content: `${SECRET} as well`, subjects: ['ursula'] },
    { id: 'p2', role: 'user', content: ADDRESS, subjects: ['bodo'] },
  ])
  await ledger.append('gone', [FORMER])
  await ledger.admin.erasure.run({ conversationId: 'gone' }, { reason: 'r' })
  await ledger.admin.erasure.run({ subject: 'ursula' }, { reason: 'r' })
}

async function contextsOf(ledger: Ledger): Promise<unknown[]> {
  const contexts = []
  for (const id of CONVERSATIONS) contexts.push((await ledger.context(id)).messages)
  return contexts
}

interface Place {
  readonly address: string
  readonly database?: string
  close(): Promise<void>
}

interface Target {
  readonly name: string
  create(): Promise<Place>
}

const TARGETS: readonly Target[] = [
  { name: 'a directory', create: async () => ({ address: join(folder, 'to'), close: async () => undefined }) },
  {
    name: 'KurrentDB',
    async create() {
      const server = await startWireServer()
      return {
        address: server.connectionString,
        database: join(folder, 'to-database'),
        close: () => server.stop(),
      }
    },
  },
  ...(testServer === ''
    ? []
    : [
        {
          name: 'Postgres',
          async create() {
            const { address, drop } = await createTestDatabase()
            return { address, close: drop }
          },
        },
      ]),
]

// The read models of KurrentDB are a directory, and a server uses the SQL of a directory: CI copies to KurrentDB only.
const targets = TARGETS.map((target) => ({ target, run: target.name === 'KurrentDB' ? describe : longDescribe }))
for (const { target: tested, run } of targets)
  run(`from a directory to ${tested.name}`, () => {
    let to: Place
    beforeEach(async () => {
      to = await tested.create()
    })
    afterEach(() => to.close())

    it('every text, key and erasure is the same, and a repeated copy brings later erasures', async () => {
      const keys = join(folder, 'keys')
      const from = join(folder, 'from')
      const openSource = () => places.openLedger({ store: from, keys, erasable: true, policy: SMALL })
      const openTarget = () =>
        places.openLedger({
          store: to.address,
          keys,
          ...(to.database === undefined ? {} : { database: to.database }),
        })
      const copy = () => migrate({ from, to: to.address, toDatabase: to.database, keys })
      const { privateKey, publicKey } = generateKeyPairSync('ed25519')

      const source = await openSource()
      await fill(source)
      const { note } = await source.admin.proofs.createCheckpoint({ key: privateKey })
      const before = await contextsOf(source)
      await source.close()
      expect(await copy()).toMatchObject({ equal: true, keys: { conversations: 3, areShared: true } })
      const copied = await openTarget()
      expect(await contextsOf(copied)).toEqual(before)
      expect(JSON.stringify(before)).toContain(ADDRESS)
      const checkpoint = { note, signer: publicKey }
      expect(await copied.admin.verify(undefined, { checkpoint })).toMatchObject({ problems: [], observations: [] })
      await copied.close()

      const grown = await openSource()
      await grown.append('talk', [{ id: 'later', role: 'user', content: 'And then?' }])
      await grown.append('new', [{ id: 'n1', role: 'user', content: 'A new conversation.' }])
      await grown.admin.erasure.run({ conversationId: 'talk', messageId: 'm3' }, { reason: 'r' })
      const after = await contextsOf(grown)
      await grown.close()
      expect(await copy()).toMatchObject({ equal: true, keys: { conversations: 4 } })
      const target = await openTarget()
      expect(await contextsOf(target)).toEqual(after)
      expect((await target.context('new')).messages).toHaveLength(1)

      // Nothing that was erased in the source is recorded in the target.
      await expect(target.append('gone', [{ role: 'user', content: 'x' }])).rejects.toMatchObject({
        kind: 'ConversationErased',
      })
      await expect(target.append('new', [{ role: 'user', content: 'x', subjects: ['ursula'] }])).rejects.toMatchObject({
        kind: 'SubjectErased',
      })
      await target.append('import', [FORMER])
      expect((await target.context('import')).messages).toEqual([{ role: 'user', content: '[erased]' }])

      // A person is found in the target.
      const [erased] = await target.admin.erasure.run({ subject: 'bodo' }, { reason: 'r' })
      expect(erased).toMatchObject({ conversationId: 'persons', receipt: { messages: 1 } })
      expect(JSON.stringify(await contextsOf(target))).not.toContain(ADDRESS)
      expect(await target.admin.verify()).toMatchObject({ problems: [], observations: [] })
      const last = await contextsOf(target)
      await target.close()

      // The target has gone on: a copy is rejected and does not change its keys.
      await expect(copy()).rejects.toMatchObject({ kind: 'TargetDiffers' })
      const unchanged = await openTarget()
      expect(await contextsOf(unchanged)).toEqual(last)
      await unchanged.close()
      expect(await shinglesInFiles(folder, SECRET)).toEqual([])
      // An erasure in the target alone does not reach the read models of the source.
      const remains = await shinglesInFiles(folder, ADDRESS)
      expect(remains.filter(({ where }) => !where.startsWith(`from/`))).toEqual([])
    })
  })

describe('with another key vault', () => {
  it('the target is read with its own keys alone, and the source keeps its own', async () => {
    const [from, to, keys, toKeys] = ['from', 'to', 'keys', 'to-keys'].map((name) => join(folder, name))
    const source = await places.openLedger({ store: from ?? '', keys: keys ?? '', erasable: true, policy: SMALL })
    await fill(source)
    const before = await contextsOf(source)
    await source.close()
    expect(await migrate({ from, to, keys, toKeys })).toMatchObject({ keys: { conversations: 3, areShared: false } })
    expect(await migrate({ from, to, keys, toKeys, json: false })).toMatch(
      /^equal: .*\nkeys of 3 conversations are wrapped again by the key folder .*to-keys; delete the source and its keys when you use the target/u,
    )
    const target = await places.openLedger({ store: to ?? '', keys: toKeys ?? '' })
    expect(await contextsOf(target)).toEqual(before)
    await target.admin.erasure.run({ conversationId: 'talk' }, { reason: 'r' })
    await target.close()
    const sourceLedger = await places.openLedger({ store: from ?? '', keys: keys ?? '' })
    expect(await contextsOf(sourceLedger)).toEqual(before)
    await sourceLedger.close()
  })

  it('an erasure that ends between reading a record and unwrapping it is followed', async () => {
    const databases = [await openTestDatabase(), await openTestDatabase()] as const
    for (const db of databases) await migrateLog(db)
    const [fromStore, toStore] = databases.map((db) => createPostgresKeyringStore(db, 'none'))
    if (fromStore === undefined || toStore === undefined) throw new Error('no stores')
    const memory = createMemoryKeyVault()
    let erase = async (): Promise<void> => undefined
    const vault: KeyVault = {
      ...memory,
      async unwrap(name, wrapped) {
        await erase()
        return await memory.unwrap(name, wrapped)
      },
    }
    await TextKeys.create(fromStore, vault)
    const from = await TextKeys.open(fromStore, vault)
    if (from === undefined) throw new Error('not erasable')
    const header = { stream: 'conversation-talk', revision: 1, type: 'MessageAppended' }
    const groups = [{ at: [], unit: () => 'whole' as const, fields: { content: () => '[erased]' } }]
    const sealed = (await from.toRecord('talk')).seal('{"content":"hello"}', groups, header, [])
    const another = { ...createMemoryKeyVault(), name: 'another vault' }
    await TextKeys.createCopy(toStore, another, from)
    const to = await TextKeys.open(toStore, another)
    if (to === undefined) throw new Error('not erasable')
    erase = async () => {
      erase = async () => undefined
      const epoch = await from.beginEpoch('talk')
      await from.remove('talk', { epoch, units: new Set(), subjects: [] }, [{ unit: 'whole', epoch: 1 }])
    }
    expect(await copyKeys(from, to)).toBe(1)
    const { sealed: entries } = JSON.parse(sealed)
    expect((await to.reload('talk')).open(entries[0], header)).toEqual({ content: 'hello' })
    for (const db of databases) await db.close()
  })
})

describe('what cannot be copied is rejected by name:', () => {
  let shared: string
  let from: string
  let keys: string
  beforeAll(async () => {
    shared = await mkdtemp(join(tmpdir(), 'migrate-rejected-'))
    from = join(shared, 'from')
    keys = join(shared, 'keys')
    const ledger = await places.openLedger({ store: from, keys, erasable: true })
    await ledger.append('talk', [{ id: 'm1', role: 'user', content: SECRET }])
    await ledger.close()
  })
  afterAll(() => rm(shared, { recursive: true, force: true }))

  const isThere = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    )

  it('an erasable log to a file', async () => {
    const to = join(folder, 'file.clog.gz')
    await expect(migrate({ from, to, keys })).rejects.toMatchObject({
      kind: 'Usage',
      message: expect.stringMatching(/is erasable, and a file cannot hold its keys: copy it to another store/u),
    })
    expect(await isThere(to)).toBe(false)
  })

  it('an erasable log to one that is not erasable', async () => {
    const to = join(folder, 'to')
    const plain = await places.openLedger({ store: to })
    await plain.append('other', [{ role: 'user', content: 'x' }])
    await plain.close()
    await expect(migrate({ from, to, keys })).rejects.toMatchObject({
      kind: 'TargetDiffers',
      message: expect.stringMatching(/to has events and is not erasable: copy an erasable log to an empty store/u),
    })
  })

  it('an erasable log to another erasable ledger', async () => {
    const to = join(folder, 'to')
    const targetLedger = await places.openLedger({ store: to, keys, erasable: true })
    await targetLedger.close()
    await expect(migrate({ from, to, keys })).rejects.toMatchObject({
      kind: 'TargetDiffers',
      message: expect.stringMatching(/is another erasable ledger, with keys of its own/u),
    })
  })

  it('keys of a target that has none', async () => {
    const plain = await places.openLedger({ store: join(folder, 'plain') })
    await plain.close()
    await expect(
      migrate({ from: join(folder, 'plain'), to: join(folder, 'to'), toKeys: join(folder, 'x') }),
    ).rejects.toMatchObject({
      kind: 'Usage',
      message: expect.stringContaining('--to-keys requires an erasable target'),
    })
    await expect(
      migrate({ from: join(folder, 'plain'), to: join(folder, 'to.clog.gz'), toKeys: join(folder, 'x') }),
    ).rejects.toMatchObject({ kind: 'Usage', message: expect.stringContaining('--to-keys requires a store') })
  })

  it('a log with an erasure that is not completed', async () => {
    const folderVault = createKeyFolder(keys)
    const denying: KeyVault = {
      name: folderVault.name,
      wrap: (name, dataKey) => folderVault.wrap(name, dataKey),
      unwrap: (name, wrapped) => folderVault.unwrap(name, wrapped),
      destroy: () => Promise.reject(keyVaultError('KeyVaultDenied', 'denied')),
    }
    const denied = await places.openLedger({ store: from, keys: denying })
    await expect(denied.admin.erasure.run({ conversationId: 'talk' }, { reason: 'r' })).rejects.toMatchObject({
      kind: 'KeyVaultDenied',
    })
    await denied.close()
    const to = join(folder, 'to')
    await expect(migrate({ from, to, keys })).rejects.toMatchObject({
      kind: 'ErasurePending',
      message: expect.stringMatching(
        /conversation "talk"\): run `context-ledger erase --resume` on it, then copy again/u,
      ),
    })
    expect(await isThere(to)).toBe(false)
    const ledger = await places.openLedger({ store: from, keys })
    expect(await ledger.admin.erasure.resume()).toHaveLength(1)
    await ledger.close()
    expect(await migrate({ from, to, keys })).toMatchObject({ equal: true })
  })
})
