/** The copies that commands made, as `erase` names them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noteFile, noteLog, notePrinted, writtenCopies } from '../../src/interfaces/cli/written-copies.js'
import { serverIdentity } from '../../src/library/addresses.js'

let top: string
let store: string
let stores = 0
const before = process.env['XDG_STATE_HOME']

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'written-copies-'))
  process.env['XDG_STATE_HOME'] = top
})
beforeEach(async () => {
  store = join(top, `ledger-${String((stores += 1))}`)
  await mkdir(store)
})
afterAll(async () => {
  if (before === undefined) delete process.env['XDG_STATE_HOME']
  else process.env['XDG_STATE_HOME'] = before
  await rm(top, { recursive: true })
})

describe('a copy of a log', () => {
  it('in a directory or file is named while it exists', async () => {
    const copy = join(top, 'copy')
    await noteLog(store, copy, copy)
    expect(await writtenCopies(store, ['talk'])).toEqual([])
    await mkdir(copy)
    expect(await writtenCopies(store, ['talk'])).toEqual([`the copy of the log in ${copy}`])
    await rm(copy, { recursive: true })
    expect(await writtenCopies(store, ['talk'])).toEqual([])
    // The parent directory of a noted file can become a file.
    await noteFile(store, join(copy, 'page.html'), 'talk')
    await writeFile(copy, '')
    expect(await writtenCopies(store, ['talk'])).toEqual([`the copy of the log in ${copy}`])
  })

  it('on a server is named always', async () => {
    await noteLog(store, 'postgres://u:secret@db.example/copy', 'postgres://db.example/copy')
    expect(await writtenCopies(store, ['talk'])).toEqual(['the copy of the log in postgres://db.example/copy'])
    for (const name of await readdir(store)) expect(await readFile(join(store, name), 'utf8')).not.toContain('secret')
  })
})

it('a command that printed twice is noted once', async () => {
  for (const _ of [1, 2]) await notePrinted(store, 'export --format atif', 'talk')
  const copies = await writtenCopies(store, ['talk'])
  expect(copies).toHaveLength(1)
  expect((await readFile(join(store, 'reports.jsonl'), 'utf8')).trimEnd().split('\n')).toHaveLength(1)
})

describe('a ledger on a server', () => {
  const SPELLINGS = [
    ['postgres://user:a@Db.Example/ledger', 'postgresql://other@db.example:5432/ledger?sslmode=require'],
    ['postgres://user:p@ss@db.example/ledger', 'postgres://db.example/ledger/'],
    ['esdb://A:2113,b?tls=false', 'kurrentdb://b:2113,a:2113'],
    ['esdb+discover://cluster.example', 'kdb+discover://admin:changeit@cluster.example:2113'],
    ['esdb://[::1]', 'esdb://[::1]:2113?tls=true'],
    ['postgres:///ledger?host=/run/pg', 'postgres://user@/ledger?sslmode=disable&host=/run/pg'],
  ] as const

  it.each(SPELLINGS)('has the same copies as %s and as %s', async (one, another) => {
    const file = join(top, 'page.html')
    await writeFile(file, '')
    await noteFile(one, file, 'talk')
    expect(await writtenCopies(another, ['talk'])).toEqual([file])
  })

  it('has other copies than another server or database', () => {
    const identities = [
      ...SPELLINGS.map(([one]) => one),
      'postgres://db.example/other',
      'postgres://db.example:5433/ledger',
    ]
    // The first two addresses name one database.
    expect(new Set(identities.map(serverIdentity)).size).toBe(identities.length - 1)
  })

  it('is no server if the address has no host, or an invalid port', () => {
    for (const address of ['postgres://', 'esdb://a:b', 'postgres://user@:5432x/db', './folder'])
      expect(serverIdentity(address)).toBeUndefined()
  })
})
