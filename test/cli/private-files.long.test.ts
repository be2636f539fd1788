/** No other user may read or write the files of the command line, whatever the umask is. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { runCli, type CliResult } from '../support/cli.js'
import { talk } from '../support/conversations.js'

// The modes of the files that the engine unpacks.
globalThis.unpacksTemplate = true

let root: string
let umask: number
let clean: string

/** Files and directories in a directory, including itself, that the group or others can access. */
function openToOthers(folder: string): string[] {
  const below = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
  return [folder, ...below].filter((path) => (lstatSync(path).mode & 0o077) !== 0)
}

async function run(...words: readonly string[]): Promise<CliResult> {
  const ended = await runCli(words, { cwd: root, env: { CONTEXT_LEDGER_STORE: 'store' } })
  if (ended.status !== 0) throw new Error(`${words.join(' ')}: ${ended.stderr}`)
  return ended
}

beforeAll(async () => {
  clean = mkdtempSync(join(tmpdir(), 'private-'))
  const ledger = await openLedger({ store: join(clean, 'store') })
  await ledger.append('talk', talk(6))
  await ledger.close()
})
afterAll(() => {
  rmSync(clean, { recursive: true, force: true })
})
beforeEach(() => {
  umask = process.umask(0o000)
  root = mkdtempSync(join(tmpdir(), 'private-'))
})
afterEach(() => {
  process.umask(umask)
  rmSync(root, { recursive: true, force: true })
})

it('after every command under umask 000 no other user has rights to any file', async () => {
  const list = join(root, 'list.json')
  writeFileSync(list, JSON.stringify(talk(4).map(({ role, content }) => ({ role, content }))), { mode: 0o600 })
  for (const words of [
    ['append', 'talk', '--text', 'Which berth?'],
    ['import', 'list.json'],
    ['list'],
    ['context', 'talk'],
    ['search', 'berth'],
    ['compact', 'talk'],
    ['projections', 'rebuild'],
    ['keys', 'create', '--name', 'ours', '--role', 'read'],
    ['verify', '--new-key', 'key.pem'],
    ['verify', '--export', 'manifest.jsonl', '--key', 'key.pem'],
    ['page', 'talk', '--html', 'page.html'],
    ['forgotten', '--all', '--html', 'forgotten.html'],
    ['migrate-log', '--from', 'store', '--to', 'copy.clog.gz'],
  ]) {
    await run(...words)
    expect([words.join(' '), openToOthers(root)]).toEqual([words.join(' '), []])
  }
  expect(readdirSync(root)).toEqual(
    expect.arrayContaining([
      'copy.clog.gz',
      'forgotten.html',
      'key.pem',
      'manifest.jsonl',
      'page.html',
      'store.pepper',
    ]),
  )
}, 600_000)

it('while the folder is open, the socket of its readers is private too', async () => {
  const folder = join(root, 'store')
  const ledger = await openLedger({ store: folder })
  try {
    await ledger.append('talk', talk(200))
    expect(openToOthers(folder)).toEqual([])
  } finally {
    await ledger.close()
  }
})

it('a folder that others had rights to is restricted when it is opened, which is reported once', async () => {
  const folder = join(root, 'store')
  cpSync(join(clean, 'store'), folder, { recursive: true })
  for (const name of ['.', 'ledger.json', 'lock', 'pgdata', 'pgdata/PG_VERSION', 'pgdata/base']) {
    const path = join(folder, name)
    chmodSync(path, lstatSync(path).isDirectory() ? 0o755 : 0o666)
  }
  expect(openToOthers(folder)).toHaveLength(6)
  expect((await run('list')).stderr).toMatch(/other users had access to 6 files and folders of .*store/u)
  expect(openToOthers(folder)).toEqual([])
  expect((await run('list')).stderr).not.toContain('other users')
})
