/**
 * The contract of every event store on a KurrentDB: on the test server with one node and with three, alone and with
 * other programs that append to the same log; and on a real server if `CONTEXT_LEDGER_TEST_KURRENTDB` names one
 * (skipped otherwise).
 */
import { describe } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { openKurrentDbEventStore, type KurrentDbEventStore } from '../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { describeEventStore, type OpenedStore, type StoreTraits } from '../contracts/event-store.js'
import { noIndex } from '../support/event-ids.js'
import { startWireCluster } from '../support/kurrentdb/cluster.js'
import { isLong, longDescribe } from '../support/length.js'
import { startWireServer } from '../support/kurrentdb/server.js'

const TRAITS: StoreTraits = { recognizes: 'at-its-revision', positions: 'gapped' }

/** Opens a store at an address; `release` closes every store that was opened there. */
async function openAt(
  address: string,
  deadlineMs: number,
): Promise<Required<Pick<OpenedStore, 'reopen' | 'close' | 'release'>> & { readonly store: KurrentDbEventStore }> {
  const bodies = createMemoryBodyStore()
  const stores: KurrentDbEventStore[] = []
  const open = async (): Promise<KurrentDbEventStore> => {
    const store = await openKurrentDbEventStore(address, { bodies, eventIds: noIndex, deadlineMs })
    stores.push(store)
    return store
  }
  const store = await open()
  return {
    store,
    reopen: open,
    close: () => store.close(),
    async release() {
      for (const each of stores) await each.close()
    },
  }
}

const DEADLINE_MS = 5_000
const newPrefix = (): string => `test-${randomUUID()}-`

const SETTINGS = [
  { setting: 'alone in its log', foreign: false },
  { setting: 'with other programs in its log', foreign: true },
]
// In CI, `npm test` tests one node, and the long tests after it test three.
const settings = isLong ? SETTINGS : SETTINGS.slice(0, 1)
for (const { setting, foreign } of settings)
  describe(`one node, ${setting}`, () => {
    describeEventStore(
      'KurrentDB on the wire',
      async () => {
        const server = await startWireServer({ foreign })
        const opened = await openAt(server.connectionString, DEADLINE_MS)
        return {
          ...opened,
          ...(foreign ? { prefix: newPrefix() } : {}),
          restart: () => server.restart(),
          hanging: { hang: async () => server.hang(), resume: async () => server.resume(), deadlineMs: DEADLINE_MS },
          async release() {
            await opened.release()
            await server.close()
          },
        }
      },
      TRAITS,
    )
  })

longDescribe('three nodes, with other programs in the log', () => {
  describeEventStore(
    'KurrentDB on the wire',
    async () => {
      const cluster = await startWireCluster(3, { foreign: true })
      const opened = await openAt(cluster.connectionString, DEADLINE_MS)
      return {
        ...opened,
        prefix: newPrefix(),
        async release() {
          await opened.release()
          await cluster.close()
        },
      }
    },
    TRAITS,
  )
})

const realServer = process.env['CONTEXT_LEDGER_TEST_KURRENTDB'] ?? ''
const describeOnServer = realServer === '' ? describe.skip : describe

describeOnServer('on a server', () => {
  describeEventStore('KurrentDB', async () => ({ ...(await openAt(realServer, 10_000)), prefix: newPrefix() }), TRAITS)
})
