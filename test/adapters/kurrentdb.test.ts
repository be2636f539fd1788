/**
 * A KurrentDB, asked what every store is asked: the server that stands in for one in the tests, alone and with other
 * systems that append to the same log throughout, one node and three; and a real one where
 * `CONTEXT_LEDGER_TEST_KURRENTDB` names it (counted as skipped otherwise).
 */
import { describe } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { openKurrentDbEventStore, type KurrentDbEventStore } from '../../src/adapters/kurrentdb/event-store.js'
import { createMemoryBodyStore } from '../../src/adapters/memory/body-store.js'
import { describeEventStore, type OpenedStore, type StoreTraits } from '../contracts/event-store.js'
import { noIndex } from '../support/event-ids.js'
import { startWireCluster } from '../support/kurrentdb/cluster.js'
import { isLong, isWhole, longDescribe } from '../support/length.js'
import { startWireServer } from '../support/kurrentdb/server.js'

const TRAITS: StoreTraits = { recognizes: 'at-its-revision', positions: 'gapped' }

/** A store at an address, and the ways to open it again and to give everything back. */
async function openAt(
  address: string,
  deadlineMs: number,
): Promise<Required<Pick<OpenedStore, 'reopen' | 'close' | 'done'>> & { readonly store: KurrentDbEventStore }> {
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
    async done() {
      for (const each of stores) await each.close()
    },
  }
}

const DEADLINE_MS = 5_000
const newPrefix = (): string => `test-${randomUUID()}-`

const beside = [
  { beside: 'alone in its log', foreign: false },
  { beside: 'beside other systems', foreign: true },
]
// CI has asked one node by `npm test`, and asks three behind it.
const asked = isWhole ? beside : isLong ? [] : beside.slice(0, 1)
for (const { beside: name, foreign } of asked)
  describe(`one node, ${name}`, () => {
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
          async done() {
            await opened.done()
            await server.close()
          },
        }
      },
      TRAITS,
    )
  })

longDescribe('three nodes, beside other systems', () => {
  describeEventStore(
    'KurrentDB on the wire',
    async () => {
      const cluster = await startWireCluster(3, { foreign: true })
      const opened = await openAt(cluster.connectionString, DEADLINE_MS)
      return {
        ...opened,
        prefix: newPrefix(),
        async done() {
          await opened.done()
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
