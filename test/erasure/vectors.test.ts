/** The vector of an erased text, and the hash that names the text, are removed; the others stay. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { createPostgresKeyringStore } from '../../src/adapters/postgres/keyring-store.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { sha256 } from '../../src/domain/values/hash.js'
import type { Ledger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { TextKeys } from '../../src/application/sealing/text-keys.js'
import { latch } from '../support/latch.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

const ERASED = 'Ursula lives at the harbour.'
const OTHER = 'The crane needs a winch.'

let db: Database
let ledger: Ledger
/** Called with each list of texts before the model answers. */
let beforeAnswer: () => Promise<void>
let isRequested = latch()

beforeEach(async () => {
  beforeAnswer = () => Promise.resolve()
  isRequested = latch()
  db = await openTestDatabase()
  await migrateLog(db)
  const store = createPostgresKeyringStore(db, 'none')
  const vault = createMemoryKeyVault()
  await TextKeys.create(store, vault)
  const keys = await TextKeys.open(store, vault)
  ledger = await ledgerOn(db, {
    ...(keys === undefined ? {} : { keys }),
    embedding: {
      model: 'axes',
      embed: (texts) => async () => {
        isRequested.open()
        await beforeAnswer()
        return E.right(texts.map((text) => [text.length, 1]))
      },
    },
  })
  await ledger.append('talk', [
    { id: 'a', role: 'user', content: ERASED },
    { id: 'b', role: 'assistant', content: OTHER },
  ])
  await ledger.admin.projections.catchUp()
})
afterEach(async () => {
  await ledger.close()
  await db.close()
})

const eraseFirst = () => ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'a' }, { reason: 'request' })
const hashes = async (): Promise<string[]> =>
  (await db.query<{ hash: string }>('select text_hash as hash from archive_vectors')).map(({ hash }) => hash)

it('after an erasure', async () => {
  await ledger.admin.projections.fillVectors()
  expect((await hashes()).toSorted()).toEqual([sha256(ERASED), sha256(OTHER)].toSorted())
  await eraseFirst()
  expect(await hashes()).toEqual([sha256(OTHER)])
})

it('also if the model answers after the erasure', async () => {
  const mayAnswer = latch()
  beforeAnswer = () => mayAnswer.opened
  const filled = ledger.admin.projections.fillVectors()
  await isRequested.opened
  await eraseFirst()
  mayAnswer.open()
  await filled
  expect(await hashes()).toEqual([sha256(OTHER)])
})
