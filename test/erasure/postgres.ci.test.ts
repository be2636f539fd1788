/**
 * Erasure, proofs and retention on a Postgres server: after an erasure nothing of the texts is in a dump, and nothing in
 * the files of the server, its write-ahead log included. Skipped without a server.
 */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { execFile, spawnSync } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { SMALL } from '../support/conversations.js'
import { ErasingWorld, erasingHistories } from '../support/erasing-world.js'
import { createTestClock } from '../support/harness.js'
import { repeated, serverDescribe } from '../support/length.js'
import type { FoundPiece } from '../support/erased-pieces.js'
import { createTestDatabase, testServer } from '../support/postgres.js'
import { shinglesInFiles } from '../support/shingles.js'

jest.setTimeout(600_000)

/** A text that no other test and no earlier run has. */
const uniqueText = (): string => Array.from({ length: 6 }, () => randomBytes(12).toString('base64url')).join(' ')

const shinglesOf = (text: string): string[] =>
  Array.from({ length: text.length - 7 }, (_none, at) => text.slice(at, at + 8))

/** Runs a statement on the server, as the user of the tests. */
async function onServer<Found extends Record<string, unknown>>(address: string, statement: string): Promise<Found[]> {
  const db = await openPostgres(address, { schema: 'context_ledger_tests' })
  try {
    return await db.query<Found>(statement)
  } finally {
    await db.close()
  }
}

serverDescribe('on a Postgres server', () => {
  let folder: string
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'erase-postgres-'))
    database = await createTestDatabase()
  })
  afterEach(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })

  const openErasable = (address = database.address): Promise<Ledger> =>
    openLedger({ store: address, keys: join(folder, 'keys'), erasable: true, policy: SMALL })

  /** Pieces of texts in a dump of the database. */
  async function inDump(...texts: readonly string[]): Promise<FoundPiece[]> {
    const dumps = await mkdtemp(join(folder, 'dump-'))
    const { stdout } = await promisify(execFile)('pg_dump', [database.address], { maxBuffer: 2 ** 30 })
    await writeFile(join(dumps, 'dump.sql'), stdout)
    return (await Promise.all(texts.map((text) => shinglesInFiles(dumps, text)))).flat()
  }

  /** Files of the server that have pieces of texts. Undefined if they are on another machine. */
  async function inFiles(...texts: readonly string[]): Promise<string[] | undefined> {
    const [row] = await onServer<{ data_directory: string }>(testServer, 'show data_directory')
    const directory = row?.data_directory ?? ''
    const isHere = await access(join(directory, 'PG_VERSION')).then(
      () => true,
      () => false,
    )
    if (!isHere) return undefined
    const pieces = join(folder, 'pieces')
    await writeFile(pieces, `${texts.flatMap(shinglesOf).join('\n')}\n`)
    // The files of a server are too large to search them here. The status is 1 if nothing is found.
    const { status, stdout } = spawnSync('grep', ['-rlaF', '-f', pieces, directory], { env: { LC_ALL: 'C' } })
    if (status !== 0 && status !== 1) throw new Error(`grep ended with ${String(status)}`)
    return stdout
      .toString()
      .split('\n')
      .filter((file) => file !== '')
  }

  /** Makes the server keep old segments of its write-ahead log under later names, as a busy server does. */
  async function recycleSegments(): Promise<void> {
    const db = await openPostgres(testServer, { schema: 'context_ledger_tests' })
    for (let segment = 0; segment < 6; segment += 1) {
      await db.query("select pg_logical_emit_message(false, 'test', 'x')")
      await db.query('select pg_switch_wal()')
    }
    await db.query('checkpoint')
    await db.close()
  }

  /** A conversation with a summary, one about a person, and one that is erased as a whole. */
  async function fill(ledger: Ledger, [message = '', person = '', whole = '']: readonly string[]): Promise<void> {
    await ledger.append(
      'talk',
      Array.from({ length: 24 }, (_none, at) => ({
        id: `m${String(at)}`,
        role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: at === 3 ? message : `number ${String(at)} ${'and so on '.repeat(20)}`,
      })),
    )
    await ledger.compact('talk')
    await ledger.append('persons', [{ id: 'p1', role: 'user', content: person, subjects: ['ursula'] }])
    await ledger.append('whole', [{ id: 'w1', role: 'user', content: whole }])
    await ledger.admin.projections.catchUp()
    // Statistics have samples of the rows.
    await onServer(database.address, 'analyze')
  }

  async function eraseOthers(ledger: Ledger): Promise<boolean[]> {
    const { erasure } = ledger.admin
    const erased = [
      ...(await erasure.run({ subject: 'ursula' }, { reason: 'r' })),
      ...(await erasure.run({ conversationId: 'whole' }, { reason: 'r' })),
    ]
    return erased.map(({ receipt }) => receipt.filesCleaned)
  }

  it('an erased text is in no dump and no file, and the log continues from its checkpoint', async () => {
    const texts = [uniqueText(), uniqueText(), uniqueText()]
    const retained = uniqueText()
    await recycleSegments()
    const ledger = await openErasable()
    try {
      await fill(ledger, texts)
      await ledger.append('kept', [{ role: 'user', content: retained }])
      expect((await inDump(...texts)).length).toBeGreaterThanOrEqual(texts.length)
      const before = await inFiles(...texts)
      const { privateKey, publicKey } = generateKeyPairSync('ed25519')
      const { note } = await ledger.admin.proofs.createCheckpoint({ key: privateKey })
      const [first = ''] = texts
      const target = { conversationId: 'talk', messageId: 'm3' }
      expect(await ledger.admin.erasure.run(target, { reason: 'r' })).toMatchObject([
        { receipt: { filesCleaned: true } },
      ])
      expect((await inFiles(first)) ?? []).toEqual([])
      expect(await eraseOthers(ledger)).toEqual([true, true])
      expect(await inDump(...texts)).toEqual([])
      expect(await inFiles(...texts)).toEqual(before === undefined ? undefined : [])
      expect(before ?? texts).not.toEqual([])
      expect((await inDump(retained)).length).toBeGreaterThan(0)
      expect((await ledger.context('kept')).messages).toEqual([{ role: 'user', content: retained }])
      expect(await ledger.admin.verify(undefined, { checkpoint: { note, signer: publicKey } })).toMatchObject({
        problems: [],
        observations: [],
      })
    } finally {
      await ledger.close()
    }
  })

  it('waits for a transaction that can still read what is erased, so that no table keeps it', async () => {
    const texts = [uniqueText(), uniqueText(), uniqueText()]
    const ledger = await openErasable()
    const reader = await openPostgres(database.address, { schema: 'context_ledger_tests' })
    try {
      await fill(ledger, texts)
      let release: () => void = () => undefined
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const reading = reader.transaction(async (sql) => {
        await sql.query('set transaction isolation level repeatable read')
        await sql.query('select 1')
        await released
      })
      const erasing = eraseOthers(ledger)
      // Long enough for an erasure that does not wait.
      await Promise.race([erasing, new Promise((resolve) => setTimeout(resolve, 6_000))])
      release()
      await reading
      expect(await erasing).toEqual([true, true])
      expect((await inFiles(...texts.slice(1))) ?? []).toEqual([])
    } finally {
      await reader.close()
      await ledger.close()
    }
  })

  /** A user that owns the database and has nothing else. */
  async function createOwner(): Promise<{ readonly user: string; readonly address: string; drop(): Promise<void> }> {
    const user = `user_${randomBytes(6).toString('hex')}`
    const name = new URL(database.address).pathname.slice(1)
    await onServer(testServer, `create role ${user} login`)
    await onServer(testServer, `alter database ${name} owner to ${user}`)
    const address = new URL(database.address)
    address.username = user
    return {
      user,
      address: address.href,
      async drop() {
        await onServer(testServer, `alter database ${name} owner to current_user`)
        await onServer(database.address, `reassign owned by ${user} to current_user`)
        for (const place of [database.address, testServer]) await onServer(place, `drop owned by ${user}`)
        await onServer(testServer, `drop role ${user}`)
      },
    }
  }

  it('the owner of the database erases too; the files are cleaned only with the documented rights', async () => {
    const owner = await createOwner()
    const texts = [uniqueText(), uniqueText(), uniqueText()]
    const ledger = await openErasable(owner.address)
    try {
      await fill(ledger, texts)
      const target = { conversationId: 'talk', messageId: 'm3' }
      expect(await ledger.admin.erasure.run(target, { reason: 'r' })).toMatchObject([
        { receipt: { filesCleaned: false } },
      ])
      expect(await inDump(texts[0] ?? '')).toEqual([])
      for (const right of ['pg_checkpoint', 'pg_monitor']) await onServer(testServer, `grant ${right} to ${owner.user}`)
      await onServer(database.address, `grant execute on function pg_switch_wal() to ${owner.user}`)
      expect(await eraseOthers(ledger)).toEqual([true, true])
      expect(await inDump(...texts)).toEqual([])
      expect((await inFiles(...texts)) ?? []).toEqual([])
    } finally {
      await ledger.close()
      await owner.drop()
    }
  })

  it('erasures at random leave what the law allows', async () => {
    const world = await ErasingWorld.open({ store: database.address, keys: join(folder, 'keys') })
    try {
      const [history = []] = fc.sample(erasingHistories(repeated(12, 3)), { numRuns: 1, seed: 20_261_128 })
      for (const step of history) await world.step(step)
      await world.reopen()
      await world.check()
      expect(world.erasures).toBeGreaterThan(0)
      expect(await inDump(...world.erasedTexts().slice(-3))).toEqual([])
    } finally {
      await world.close()
    }
  })

  it('a retention run erases due conversations', async () => {
    const text = uniqueText()
    const ledger = await openLedger({
      store: database.address,
      keys: join(folder, 'keys'),
      erasable: true,
      clock: createTestClock(),
    })
    try {
      await ledger.append('old', [{ role: 'user', content: text, created_at: '2025-06-30T12:00:00.000Z' }], {
        scope: 'acme',
      })
      await ledger.append('held', [{ role: 'user', content: 'held', created_at: '2025-06-30T12:00:00.000Z' }], {
        scope: 'acme',
      })
      const { retention } = ledger.admin
      await retention.set({ scope: 'acme', eraseAfter: '180 days' }, { reason: 'policy 7' })
      await retention.hold({ conversationId: 'held' }, { reason: 'case 9' })
      expect(await retention.run()).toMatchObject({ receipt: { erased: [{ conversationId: 'old' }] } })
      expect((await ledger.context('old')).messages).toEqual([{ role: 'user', content: '[erased]' }])
      expect((await ledger.context('held')).messages).toEqual([{ role: 'user', content: 'held' }])
      expect(await inDump(text)).toEqual([])
      expect((await ledger.admin.verify()).problems).toEqual([])
    } finally {
      await ledger.close()
    }
  })
})
