/**
 * A ledger is copied from a folder to a server, into a file, and back into a folder; the copy is killed, and repeated
 * after the source has grown. In the end every conversation's log is the same, and the ledger verifies. Without a
 * server, that step is left out.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runMigrateLog, type MigrateLogCommand } from '../../src/interfaces/cli/migrate/migrate-log.js'
import { openLedger } from '../../src/index.js'
import { startChild } from '../support/child.js'
import { answering, calling, SMALL, talk } from '../support/conversations.js'
import { collect } from '../support/events.js'
import { logPlaces } from '../support/log-places.js'
import { openTestSchema, testServer } from '../support/postgres.js'

let folder: string
const schema = `test ${randomUUID()}`
const places = logPlaces(schema)
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-move-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  if (testServer === '') return
  const { db, drop } = await openTestSchema({ schema })
  await db.close()
  await drop()
})

const asJson = (value: unknown): string => JSON.stringify(value)

/** Every conversation's log in the form of `log --json`, without the positions. */
async function logsOf(store: string): Promise<Readonly<Record<string, string>>> {
  const ledger = await openLedger({ store })
  try {
    const logs: Record<string, string> = {}
    for (const { conversationId } of (await ledger.list()).conversations) {
      logs[conversationId] = asJson(
        (await collect(ledger.log(conversationId))).map(({ revision, id, type, data, metadata }) => ({
          revision,
          id,
          type,
          data,
          metadata,
        })),
      )
    }
    expect(await ledger.admin.verify()).toMatchObject({ ok: true })
    return logs
  } finally {
    await ledger.close()
  }
}

async function live(store: string, from: number): Promise<void> {
  const ledger = await openLedger({ store, policy: SMALL })
  for (let at = from; at < from + 20; at += 5) {
    for (const conversation of ['harbour', 'quay/ü 🚢', `run-${String(at)}`]) {
      await ledger.append(conversation, talk(5, at))
      await ledger.admin.waitForCompaction(conversation)
    }
  }
  await ledger.append('harbour', [
    calling(`c${String(from)}`, [`call-${String(from)}`]),
    answering(`r${String(from)}`, `call-${String(from)}`, 'x'.repeat(90_000)),
  ])
  await ledger.close()
}

/** Runs the command; returns its output, parsed as JSON unless `json` is false. */
async function migrate(from: string, to: string, options: Partial<MigrateLogCommand> = {}): Promise<unknown> {
  const output: string[] = []
  const spy = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output.push(String(text))
    return true
  })
  try {
    await runMigrateLog(
      { from, to, fromDatabase: undefined, toDatabase: undefined, overwrite: false, json: true, ...options },
      places,
    )
  } finally {
    spy.mockRestore()
  }
  return options.json === false ? output.join('') : JSON.parse(output.join(''))
}

describe('a copied ledger', () => {
  it('is the same in every store', async () => {
    const start = join(folder, 'start')
    await live(start, 0)
    const expected = await logsOf(start)
    expect(Object.keys(expected).length).toBe(6)

    const stations = [...(testServer === '' ? [] : [testServer]), join(folder, 'backup.clog.gz'), join(folder, 'end')]
    let from = start
    for (const to of stations) {
      expect(await migrate(from, to)).toMatchObject({ equal: true, alreadyThere: 0, bodies: expect.any(Number) })
      from = to
    }
    expect(await logsOf(join(folder, 'end'))).toEqual(expected)

    // The source grows; the same copies add the new events.
    await live(start, 20)
    const later = await logsOf(start)
    expect(await migrate(start, join(folder, 'end'))).toMatchObject({ equal: true })
    expect(await logsOf(join(folder, 'end'))).toEqual(later)
    for (const server of testServer === '' ? [] : [testServer])
      expect(await migrate(start, server)).toMatchObject({ equal: true, alreadyThere: expect.any(Number) })
    expect(await migrate(start, join(folder, 'backup.clog.gz'), { overwrite: true })).toMatchObject({
      equal: true,
      alreadyThere: 0,
    })
    expect((await readdir(folder)).toSorted()).toEqual(['backup.clog.gz', 'end', 'start'])

    // Two ledgers that have diverged are rejected.
    await live(join(folder, 'end'), 40)
    await expect(migrate(start, join(folder, 'end'))).rejects.toMatchObject({ kind: 'TargetDiffers' })
    expect(await migrate(join(folder, 'end'), start)).toMatchObject({ equal: true })
    expect(await logsOf(start)).toEqual(await logsOf(join(folder, 'end')))
  }, 240_000)

  it('continues after every kill', async () => {
    const from = join(folder, 'backup.clog.gz')
    const to = testServer === '' ? join(folder, 'killed') : testServer
    const newSchema = `test ${randomUUID()}`
    for (const afterMs of [0, 300, 700]) {
      const child = startChild('migrate-log-until-killed', [from, to, newSchema])
      await child.said(1)
      await new Promise((resolve) => {
        setTimeout(resolve, afterMs)
      })
      await child.kill()
    }
    const child = startChild('migrate-log-until-killed', [from, to, newSchema])
    expect(JSON.parse((await child.said(2))[1] ?? '')).toMatchObject({ equal: true })
    await child.kill()
    if (testServer !== '') {
      const { db, drop } = await openTestSchema({ schema: newSchema })
      await db.close()
      await drop()
    }
  }, 120_000)
})

describe('the output', () => {
  it('is one line that names the equal logs', async () => {
    const file = join(folder, 'told.clog.gz')
    const backup = join(folder, 'backup.clog.gz')
    expect(await migrate(backup, file, { json: false })).toMatch(
      /^equal: \S+told\.clog\.gz has the events of \S+backup\.clog\.gz up to position \d+: \d+ streams, \d+ events, 2 bodies, \d+ kB\n\d+ s, [\d,]+ events\/s, sha256 [\da-f]{64}\n$/u,
    )
  })

  it.each<[string, Partial<MigrateLogCommand>, RegExp]>([
    ['no source', { from: undefined, to: 'x' }, /--from is required/u],
    ['no target', { to: '' }, /--to is required/u],
    ['the memory', { to: 'memory' }, /ends with its process/u],
    ['a source that is not there', { from: 'nowhere' }, /nowhere does not exist/u],
    ['a database for a file', { toDatabase: 'postgres://x/y' }, /--to-database requires a store/u],
    ['no address', { to: 'postgres://user:secret@[bad/x' }, /--to is not a valid address/u],
    ['overwriting a store', { to: 'new-folder', overwrite: true }, /--overwrite requires a file/u],
  ])('of invalid arguments is an error: %s', async (_case, options, sentence) => {
    const file = join(folder, 'words.clog.gz')
    await writeFile(file, '')
    const copying = (): Promise<unknown> =>
      migrate(options.from ?? file, options.to ?? join(folder, 'other.clog.gz'), options)
    await expect(copying()).rejects.toMatchObject({
      name: 'LedgerError',
      message: expect.stringMatching(sentence),
    })
    await expect(copying()).rejects.not.toMatchObject({
      message: expect.stringContaining('secret'),
    })
  })

  it.each([
    ['a file', (at: string) => [join(at, 'told.clog.gz'), join(at, '.', 'x', '..', 'told.clog.gz')]],
    ['a server', () => ['postgres://a:1@HOST/db', 'postgresql://b:2@host:5432/db?x=1']],
    ['a cluster', () => ['esdb://host:2113', 'kurrentdb://host/?tls=false']],
  ])('is an error if source and target are the same log: %s', async (_case, spellings) => {
    const [from = '', to = ''] = spellings(folder)
    await expect(migrate(from, to)).rejects.toMatchObject({
      name: 'LedgerError',
      message: '--from and --to name the same log',
    })
  })

  it('is an error for a folder without a ledger, and creates none there', async () => {
    const empty = await mkdtemp(join(folder, 'empty-'))
    await expect(migrate(empty, join(folder, 'new.clog.gz'))).rejects.toMatchObject({ kind: 'NoLedger' })
    expect(await readdir(empty)).toEqual([])
  })

  it('is an error for a damaged file, and creates no store', async () => {
    const bytes = await readFile(join(folder, 'backup.clog.gz'))
    const file = join(folder, 'damaged.clog.gz')
    await writeFile(file, bytes.subarray(0, bytes.length - 100))
    await expect(migrate(file, join(folder, 'never'))).rejects.toMatchObject({ kind: 'DamagedFile', fault: 'data' })
    expect(await readdir(folder)).not.toContain('never')
  })
})
