/**
 * Processes that read a folder through the process that has it open. Nothing that a reader does blocks the owner.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openFolderToRead } from '../../src/adapters/pglite/open-to-read.js'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { startChild, type Child } from '../support/child.js'
import { collect } from '../support/events.js'

let home: string
let folder: string
let children: Child[] = []
// The tests share a folder because creating one takes seconds; each test takes it over from the last.
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'ledger-'))
  folder = join(home, 'ledger')
  await (await openFolder(folder)).close()
}, 60_000)
afterEach(async () => {
  for (const child of children) await child.kill()
  children = []
})
afterAll(async () => {
  await rm(home, { recursive: true, force: true })
})
/** The newest lock, which is the owner's. */
const newestLock = async (): Promise<number> =>
  Math.max(...(await readdir(join(folder, 'lock'))).map((name) => Number.parseInt(name, 10)))

function start(...words: Parameters<typeof startChild>): Child {
  const child = startChild(...words)
  children.push(child)
  return child
}

/** Starts a process that appends to the folder, and waits for its first append. */
async function agent(): Promise<Child> {
  const child = start('append-until-killed', [folder])
  await child.said(1)
  return child
}

/** Starts a process that reads the folder. */
async function reader(): Promise<Child> {
  const child = start('read-folder', [folder])
  await child.said(1)
  return child
}

/** Sends a line to a reader and returns its answer. */
async function request(child: Child, line: string): Promise<Readonly<Record<string, unknown>>> {
  const before = child.lines.length
  child.say(line)
  const answer: unknown = JSON.parse((await child.said(before + 1))[before] ?? '')
  return Object.assign({}, answer)
}

/** Resolves when the agent has appended 20 more events. */
const continues = async (owner: Child): Promise<unknown> => await owner.said(owner.lines.length + 20)

describe('a folder that a process has open', () => {
  test('is read by two other processes, which see every acknowledged event, while the owner keeps appending', async () => {
    const owner = await agent()
    const readers = await Promise.all([reader(), reader()])
    for (const each of readers)
      expect(each.lines[0]).toMatch(new RegExp(`process ${String(owner.pid)} on .*append-until-killed`))
    for (let round = 0; round < 5; round++) {
      const acknowledged = owner.lines.length
      for (const { events } of await Promise.all(readers.map((each) => request(each, 'events'))))
        expect(events).toBeGreaterThanOrEqual(acknowledged)
      await continues(owner)
    }
    await Promise.all(children.map((child) => child.kill()))
    const db = await openFolder(folder)
    const events = await collect(createPostgresEventStore(db).readAll())
    await db.close()
    expect([0, 1]).toContain(events.length - owner.lines.length)
  }, 60_000)

  test('cannot be written by a reader with any statement: Postgres itself rejects it', async () => {
    await agent()
    const one = await reader()
    for (const statement of [
      `insert into streams values ('mine', 0)`,
      'delete from log_version',
      'create table mine (a int)',
      'drop schema context_ledger cascade',
      `select nextval('claim_fences')`,
      `select append_events('a', -2, array['5a6a3a38-1111-4111-8111-111111111111']::uuid[], array['x'], array['{}'], array['{}'])`,
      'with deleted as (delete from log_version returning 1) select 1',
    ]) {
      expect([statement, await request(one, statement)]).toEqual([
        statement,
        { failure: expect.stringContaining('in a read-only transaction'), code: '25006' },
      ])
    }
    for (const statement of [
      'commit',
      '/* */ rollback',
      'set transaction_read_only = off',
      'do $$ begin commit; end $$',
      'listen context_ledger',
    ]) {
      expect([statement, await request(one, statement)]).toEqual([
        statement,
        { failure: expect.stringContaining('for a reader'), code: '25006' },
      ])
    }
    for (const statement of [
      'set local transaction_read_only = off',
      `select set_config('transaction_read_only', 'off', false)`,
    ]) {
      expect([statement, await request(one, statement)]).toEqual([
        statement,
        { failure: expect.stringContaining('before any query'), code: '25001' },
      ])
    }
    expect(await request(one, `select to_regclass('mine') as mine, version from log_version`)).toEqual({
      rows: [{ mine: null, version: expect.any(Number) }],
    })
  }, 60_000)

  test('is not blocked by a reader that is suspended or killed inside a transaction', async () => {
    const owner = await agent()
    const [stopped, killed] = [await reader(), await reader()]
    expect(await request(stopped, 'hold')).toHaveProperty('held')
    process.kill(stopped.pid, 'SIGSTOP')
    await continues(owner)
    expect(await request(killed, 'hold')).toHaveProperty('held')
    await killed.kill()
    await continues(owner)
    process.kill(stopped.pid, 'SIGCONT')
    expect(await request(stopped, 'on')).toEqual({
      failure: expect.stringMatching(/waited 2000 ms for this reader and ended its transaction/),
    })
    expect(await request(stopped, 'events')).toHaveProperty('events')
    await continues(owner)
  }, 60_000)

  test('fails for its readers when its owner is killed, and can then be taken over', async () => {
    const owner = await agent()
    const one = await reader()
    await owner.kill()
    expect(await request(one, 'events')).toEqual({
      failure: expect.stringMatching(
        new RegExp(
          `ledger was read through process ${String(owner.pid)} on .*, which has ended.*open the ledger again`,
        ),
      ),
    })
    const number = await newestLock()
    const sockets = async (): Promise<string[]> =>
      (await readdir(join(folder, 'lock'))).filter((name) => name.endsWith('.sock'))
    expect(await sockets()).toEqual([`${String(number)}.sock`])
    const { db, ownerName: readBy } = await openFolderToRead(folder)
    expect(readBy).toBeUndefined()
    expect(await sockets()).toEqual([`${String(number + 1)}.sock`])
    expect((await stat(join(folder, 'lock', `${String(number + 1)}.sock`))).mode & 0o777).toBe(0o600)
    await db.close()
    expect(await sockets()).toEqual([])
  }, 60_000)

  test('with a path that is too long for a socket can be read too, and its socket is removed', async () => {
    const long = join(home, 'long '.repeat(30), 'ledger')
    await mkdir(dirname(long))
    await rename(folder, long)
    const db = await openFolder(long)
    const record: unknown = JSON.parse(
      await readFile(
        join(
          long,
          'lock',
          String(Math.max(...(await readdir(join(long, 'lock'))).map((name) => Number.parseInt(name, 10)))),
        ),
        'utf8',
      ),
    )
    const { socket } = Object.assign({ socket: '' }, record)
    expect(socket.startsWith(join(tmpdir(), 'context-ledger-'))).toBe(true)
    const reading = await openFolderToRead(long)
    expect([reading.ownerName, await reading.db.query('select 1 as one')]).toEqual([
      expect.stringContaining(String(process.pid)),
      [{ one: 1 }],
    ])
    await reading.db.close()
    await db.close()
    await rename(long, folder)
    await expect(stat(socket)).rejects.toMatchObject({ code: 'ENOENT' })
  }, 60_000)

  test('by a program that serves no readers cannot be read', async () => {
    const owner = await agent()
    const file = join(folder, 'lock', String(await newestLock()))
    const record: unknown = JSON.parse(await readFile(file, 'utf8'))
    await writeFile(file, JSON.stringify(Object.assign({}, record, { socket: undefined })))
    await expect(openFolderToRead(folder)).rejects.toMatchObject({
      kind: 'StoreUnavailable',
      message: expect.stringContaining(`process ${String(owner.pid)}`),
    })
  }, 60_000)

  test('by a suspended process cannot be read, and the error comes soon', async () => {
    const owner = await agent()
    process.kill(owner.pid, 'SIGSTOP')
    await expect(openFolderToRead(folder)).rejects.toMatchObject({
      kind: 'FolderLocked',
      message: expect.stringContaining('does not answer'),
    })
  }, 60_000)
})
