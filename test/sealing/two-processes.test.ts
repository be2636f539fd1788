/** Keys in the memory of one process, after another one removed them. */
import { afterEach, expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { createPostgresKeyringStore } from '../../src/adapters/postgres/keyring-store.js'
import { createPostgresPendingErasures } from '../../src/adapters/postgres/pending-erasures.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { messageTexts } from '../../src/domain/events/texts.js'
import { TextKeys } from '../../src/application/sealing/text-keys.js'
import { sealedTextsOf } from '../../src/domain/events/sealed.js'
import { isRecord } from '../../src/lib/is-record.js'
import type { Database } from '../../src/ports/sql.js'
import { openMemory } from '../../src/adapters/pglite/sql.js'

const PLACE = { stream: 'conversation-talk', revision: 0, type: 'MessageAppended' }
const REMOVAL = { units: new Set(['message:m1']), subjects: [] }

let db: Database
afterEach(() => db.close())

/** Two processes on one ledger, and a text that both can open. */
async function twoProcesses() {
  db = await openMemory()
  await migrateLog(db)
  const vault = createMemoryKeyVault()
  const open = async (): Promise<TextKeys> => {
    const keys = await TextKeys.open(createPostgresKeyringStore(db, 'writers'), vault)
    if (keys === undefined) throw new Error('not erasable')
    return keys
  }
  await TextKeys.create(createPostgresKeyringStore(db, 'writers'), vault)
  const [one, other] = [await open(), await open()]
  const sealedRecord = await one.toRecord('talk')
  const stored: unknown = JSON.parse(sealedRecord.seal('{"messageId":"m1","content":"hello"}', messageTexts, PLACE, []))
  const [sealed] = isRecord(stored) ? (sealedTextsOf(stored) ?? []) : []
  if (sealed === undefined) throw new Error('nothing is sealed')
  const opened = async (keys: TextKeys) => (await keys.of('talk')).open(sealed, PLACE)
  expect(await opened(other)).toEqual({ content: 'hello' })
  return { one, other, opens: () => opened(other), used: [{ unit: sealed.unit, epoch: sealed.epoch }] }
}

it.each(['a message', 'the whole conversation'])(
  'an erasure of %s is complete only when another process has forgotten its keys',
  async (what) => {
    const { one, opens, used } = await twoProcesses()
    const pending = createPostgresPendingErasures(db)
    const noted = { erasureId: 'e1', conversationId: 'talk', request: '{}' }
    await pending.add([noted])
    if (what === 'a message') {
      const epoch = await one.beginEpoch('talk')
      await one.remove('talk', { ...REMOVAL, epoch }, used)
    } else await one.removeAll('talk')
    // The other process reads all the time.
    const stop = new AbortController()
    const reading = (async () => {
      while (!stop.signal.aborted) {
        await opens()
        await new Promise(setImmediate)
      }
    })()
    await one.forgottenElsewhere()
    await pending.remove(noted)
    const after = await opens()
    stop.abort()
    await reading
    expect(after).toBe('erased')
  },
)

it('a process that did not read while the erasure ran asks before it opens a text', async () => {
  const { one, opens } = await twoProcesses()
  const pending = createPostgresPendingErasures(db)
  const noted = { erasureId: 'e1', conversationId: 'talk', request: '{}' }
  await pending.add([noted])
  await one.removeAll('talk')
  await one.forgottenElsewhere()
  await pending.remove(noted)
  expect(await opens()).toBe('erased')
})

it('a process learns of the fingerprints of an erasure before the erasure is complete', async () => {
  const { one, other } = await twoProcesses()
  expect([await one.mayHaveFingerprints(), await other.mayHaveFingerprints()]).toEqual([false, false])
  await one.addFingerprints(['a fingerprint'])
  await one.removeAll('talk')
  await one.forgottenElsewhere()
  expect([await one.mayHaveFingerprints(), await other.mayHaveFingerprints()]).toEqual([true, true])
})
