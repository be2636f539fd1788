/**
 * Erasure of a log in KurrentDB, on the test server: the server never receives a readable text; its events stay as they
 * are, and the keys are destroyed.
 */
import { afterEach, beforeEach, expect, jest } from '@jest/globals'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { SMALL } from '../support/conversations.js'
import { ErasingWorld, erasingHistories } from '../support/erasing-world.js'
import { startWireServer, type WireServer } from '../support/kurrentdb/server.js'
import { longTest, repeated } from '../support/length.js'
import { startRelay, type RecordingRelay } from '../support/recording-relay.js'
import { shinglesIn, shinglesInFiles } from '../support/shingles.js'

jest.setTimeout(300_000)

const SECRET = 'Ursula Zwickel lives at Quellenweg 17 in Bad Wurzach'
const KEPT = 'The harbour crane needs a new winch before Thursday'

let folder: string
let server: WireServer
let relay: RecordingRelay
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'erase-kurrentdb-'))
  server = await startWireServer({ foreign: true })
  relay = await startRelay(server.port)
})
afterEach(async () => {
  await relay.close()
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

/** The address of the relay, which records what the server receives. */
const address = (): string => server.connectionString.replace(`:${String(server.port)}`, `:${String(relay.port)}`)

const open = (erasable: boolean): Promise<Ledger> =>
  openLedger({
    store: address(),
    database: join(folder, 'database'),
    policy: SMALL,
    ...(erasable ? { erasable, keys: join(folder, 'keys') } : {}),
  })

/** Messages with texts in every field, a body outside the log, a title, and a summary. */
async function fill(ledger: Ledger): Promise<void> {
  await ledger.append('talk', [
    { id: 'm0', role: 'user', content: SECRET },
    {
      id: 'm1',
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call-1', type: 'function', function: { name: 'look', arguments: JSON.stringify({ who: SECRET }) } },
      ],
    },
    { id: 'm2', role: 'tool', tool_call_id: 'call-1', content: `${SECRET} `.repeat(2_000) },
    ...Array.from({ length: 20 }, (_none, at) => ({
      id: `n${String(at)}`,
      role: at % 2 === 0 ? ('assistant' as const) : ('user' as const),
      content: `number ${String(at)} ${'and so on '.repeat(20)}`,
    })),
  ])
  await ledger.compact('talk')
  await ledger.append('person', [{ id: 'p1', role: 'user', content: SECRET, subjects: ['ursula'] }])
  await ledger.append('whole', [{ id: 'w1', role: 'user', content: SECRET }])
  await ledger.append('kept', [{ id: 'k1', role: 'user', content: KEPT }])
  await ledger.admin.projections.catchUp()
}

longTest('the server receives no readable text, its events stay, and the keys are destroyed', async () => {
  const ledger = await open(true)
  await fill(ledger)
  expect((await shinglesInFiles(join(folder, 'database'), SECRET)).length).toBeGreaterThan(0)
  const before = [...server.log.all]
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { note } = await ledger.admin.proofs.createCheckpoint({ key: privateKey })
  const { erasure } = ledger.admin
  const receipts = []
  for (const messageId of ['m0', 'm1', 'm2'])
    receipts.push(...(await erasure.run({ conversationId: 'talk', messageId }, { reason: 'r' })))
  receipts.push(...(await erasure.run({ subject: 'ursula' }, { reason: 'r' })))
  receipts.push(...(await erasure.run({ conversationId: 'whole' }, { reason: 'r' })))

  expect(server.log.all.slice(0, before.length)).toEqual(before)
  const keys = receipts.flatMap(({ receipt }) => receipt.keys)
  expect(keys.length).toBe(5)
  for (const name of keys)
    expect(await readFile(join(folder, 'keys', `${name}.key`), 'utf8')).toBe('context-ledger key destroyed\n')
  expect(receipts.every(({ receipt }) => receipt.filesCleaned)).toBe(true)

  const contents = async (id: string) => (await ledger.context(id)).messages.map(({ content }) => content)
  expect(await contents('person')).toEqual(['[erased]'])
  expect(await contents('whole')).toEqual(['[erased]'])
  expect(await contents('kept')).toEqual([KEPT])
  expect(JSON.stringify(await ledger.context('talk'))).not.toContain('Zwickel')
  expect(await ledger.admin.verify(undefined, { checkpoint: { note, signer: publicKey } })).toMatchObject({
    problems: [],
    observations: [],
  })
  await ledger.close()
  expect(shinglesIn(relay.received(), SECRET)).toEqual([])
  expect(shinglesIn(relay.received(), KEPT)).toEqual([])
  expect(await shinglesInFiles(folder, SECRET)).toEqual([])
})

longTest('a server that is no erasable ledger receives the texts, so the search above would find them', async () => {
  const ledger = await open(false)
  await ledger.append('talk', [{ role: 'user', content: SECRET }])
  await ledger.close()
  expect(shinglesIn(relay.received(), SECRET)).not.toEqual([])
})

longTest('erasures at random leave what the law allows', async () => {
  const world = await ErasingWorld.open({
    store: address(),
    database: join(folder, 'database'),
    keys: join(folder, 'keys'),
  })
  try {
    const [history = []] = fc.sample(erasingHistories(repeated(12, 3)), { numRuns: 1, seed: 20_261_128 })
    for (const step of history) await world.step(step)
    await world.reopen()
    await world.check()
    expect(world.erasures).toBeGreaterThan(0)
  } finally {
    await world.close()
  }
  for (const text of world.erasedTexts()) expect(shinglesIn(relay.received(), text)).toEqual([])
})
