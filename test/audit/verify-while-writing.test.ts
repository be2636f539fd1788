/** `verify` of an intact ledger finds nothing while another process records and erases. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openMemory } from '../../src/adapters/pglite/sql.js'
import { createPostgresKeyringStore } from '../../src/adapters/postgres/keyring-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { TextKeys } from '../../src/application/sealing/text-keys.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import type { Ledger } from '../../src/index.js'
import type { EventStore } from '../../src/ports/event-store.js'
import type { Database } from '../../src/ports/sql.js'
import { SMALL, talk } from '../support/conversations.js'
import { ledgerOn } from '../support/ledger-on-database.js'

const STREAM = conversationStream('talk')

let db: Database
let writer: Ledger
let verifier: Ledger
/** What the writer does when the verifier has read all events so far. */
let meanwhile: (() => Promise<unknown>) | undefined

const withWrites = (store: EventStore): EventStore => ({
  ...store,
  async *readStream(stream, options) {
    let next = options?.from ?? 0
    for await (const event of store.readStream(stream, options)) {
      next = event.revision + 1
      yield event
    }
    const write = meanwhile
    if (write === undefined || stream !== STREAM) return
    meanwhile = undefined
    await write()
    yield* store.readStream(stream, { ...options, from: next })
  },
})

beforeEach(async () => {
  db = await openMemory()
  await migrateLog(db)
  const vault = createMemoryKeyVault()
  const keyring = createPostgresKeyringStore(db, 'writers')
  await TextKeys.create(keyring, vault)
  const open = async (storeFrom: (store: EventStore) => EventStore): Promise<Ledger> => {
    const keys = await TextKeys.open(keyring, vault)
    if (keys === undefined) throw new Error('not erasable')
    return await ledgerOn(db, { policy: SMALL, keys, alone: false, storeFrom })
  }
  writer = await open((store) => store)
  verifier = await open(withWrites)
  await writer.append(
    'talk',
    talk(4).map((message, at) => ({ ...message, id: `m${String(at)}` })),
  )
})
afterEach(async () => {
  await verifier.close()
  await writer.close()
})

it.each<[string, () => Promise<unknown>]>([
  [
    'records a message about another person',
    async () => await writer.append('talk', { role: 'user', content: 'Call her.', subjects: ['anna@example.org'] }),
  ],
  [
    'erases a message',
    async () => await writer.admin.erasure.run({ conversationId: 'talk', messageId: 'm1' }, { reason: 'r' }),
  ],
  [
    'erases a message and records one',
    async () => {
      await writer.admin.erasure.run({ conversationId: 'talk', messageId: 'm1' }, { reason: 'r' })
      await writer.append('talk', { role: 'user', content: 'And now?' })
    },
  ],
])('another process %s', async (_what, write) => {
  meanwhile = write
  const { problems } = await verifier.admin.verify('talk')
  expect(meanwhile).toBeUndefined()
  expect(problems).toEqual([])
})
