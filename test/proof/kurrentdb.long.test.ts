/**
 * Checkpoints and proofs of a log in KurrentDB, on the test server: the order is that of `$all`, without the streams of
 * other programs.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/library/compose.js'
import { describeProvableLog, say } from '../contracts/provable-log.js'
import { createEventLog, type Recorded } from '../support/kurrentdb/log.js'
import { startWireServer, type WireServer } from '../support/kurrentdb/server.js'

const open = async (server: WireServer, database = 'memory') => {
  const ledger = await openLedger({ store: server.connectionString, database, onProblem: () => undefined })
  return {
    server,
    ledger,
    async close() {
      await ledger.close()
      await server.close()
    },
  }
}

for (const foreign of [false, true])
  describeProvableLog(foreign ? 'KurrentDB with other programs in its log' : 'KurrentDB', async () =>
    open(await startWireServer({ foreign })),
  )

const LONG = 120_000

/** A server with these records, as if the operator had changed the files of the first one. */
const serverWith = (records: readonly Recorded[]): Promise<WireServer> =>
  startWireServer({
    log: createEventLog({
      journal: { appends: records.map((record) => [record]), write: () => undefined, close: () => undefined },
    }),
  })

describe('a log in KurrentDB', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'proof-kurrentdb-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it(
    'that was changed is not intact, and a reordered one differs from its checkpoint, which names the event',
    async () => {
      const { privateKey: key } = generateKeyPairSync('ed25519')
      const checkpoint = { note: '', signer: createPublicKey(key) }
      const original = await open(await startWireServer({ foreign: true }), folder)
      await say(original.ledger, 'a', 3)
      await say(original.ledger, 'b', 5)
      checkpoint.note = (await original.ledger.admin.proofs.createCheckpoint({ key })).note
      await say(original.ledger, 'b', 2)
      const records = original.server.log.all
      await original.close()

      const problemsWith = async (changed: readonly Recorded[]): Promise<string[]> => {
        const opened = await open(await serverWith(changed), folder)
        const { problems } = await opened.ledger.admin.verify(undefined, { checkpoint })
        await opened.close()
        return problems.map(({ rule, stream, revision }) => `${rule} ${stream} ${String(revision)}`)
      }
      expect(await problemsWith(records)).toEqual([])

      const changed = records.map((record) => ({
        ...record,
        data: Buffer.from(Buffer.from(record.data).toString().replace('message 3 of b', 'message 3 of B')),
      }))
      const at = records.findIndex(({ data }) => Buffer.from(data).includes('message 3 of b'))
      expect(await problemsWith(changed)).toContain(`hash conversation-b ${String(records[at]?.revision)}`)

      // Two events of different streams change places: every stream is as it was.
      const conversationRecords = records.filter(({ stream }) => stream.startsWith('conversation-'))
      const second = conversationRecords.findIndex(
        ({ stream }, index) => index > 0 && stream !== conversationRecords[index - 1]?.stream,
      )
      const [former, later] = [conversationRecords[second - 1], conversationRecords[second]]
      if (former === undefined || later === undefined) throw new Error('one stream only')
      const swapped = records.map((record) =>
        record === former
          ? { ...later, position: former.position }
          : record === later
            ? { ...former, position: later.position }
            : record,
      )
      expect((await problemsWith(swapped)).filter((problem) => problem.startsWith('checkpoint'))).toContain(
        `checkpoint ${later.stream} ${String(later.revision)}`,
      )
    },
    LONG,
  )
})
