/** `import --store http://…`: transcripts of the named projects reach a service, redacted, each message once. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openService } from '../../../src/library/compose.js'
import type { Ledger } from '../../../src/index.js'
import type { ServiceStores } from '../../../src/library/processes.js'
import type { Bound } from '../../../src/ports/service-state.js'
import { createKey } from '../../../src/interfaces/service/keys.js'
import { startService, type Server } from '../../../src/interfaces/service/server.js'
import { claudeCodeLines } from '../../support/claude-code-transcript.js'
import { runCli, type CliResult } from '../../support/cli.js'
import { plantedSecrets } from '../../support/planted-secrets.js'
import { openTestPage } from '../../support/page.js'
import { startRelay } from '../../support/recording-relay.js'
import { PEPPER } from '../../support/service.js'
import { keepEngines } from '../../support/kept-engines.js'

keepEngines()

let ledger: Ledger
let stores: ServiceStores
let server: Server
let folder: string

beforeAll(async () => {
  const { ledger: opened, ...rest } = await openService({ store: 'memory' })
  ledger = opened
  stores = rest
  server = await startService({ ledger, stores, pepper: PEPPER, host: '127.0.0.1', port: 0, mayBeOpen: false })
})
afterAll(async () => {
  await server.close()
  await ledger.close()
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'push-'))
  await mkdir(join(folder, 'sessions'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

const keyOf = async (name: string, bound?: Bound): Promise<string> =>
  (await createKey(stores.keys, PEPPER, { name, roles: ['append'], bound })).key

/** Writes a session of Claude Code that began in this directory. */
async function session(id: string, cwd: string, text = 'the tide'): Promise<string> {
  const lines = claudeCodeLines(6, [2], id).map((line) =>
    line.replaceAll('/srv/harbour', cwd).replaceAll('Please look at crane', `${text} of`),
  )
  const file = join(folder, 'sessions', `${id}.jsonl`)
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}

/** Runs `import` on a laptop, which has its own queue. */
async function importOn(laptop: string, key: string, ...words: string[]): Promise<CliResult> {
  const env = { CONTEXT_LEDGER_SERVICE_KEY: key, XDG_STATE_HOME: join(folder, laptop) }
  return await runCli(['import', ...words], { cwd: folder, env })
}
const push = async (key: string, ...words: string[]): Promise<CliResult> =>
  await importOn('laptop', key, ...words, '--store', server.url)

async function eventsOf(id: string): Promise<{ readonly types: Record<string, number>; readonly actors: string[] }> {
  const types: Record<string, number> = {}
  const actors = new Set<string>()
  for await (const { type, metadata } of ledger.log(`claude-code/${id}`)) {
    types[type] = (types[type] ?? 0) + 1
    actors.add(metadata.actor ?? '')
  }
  return { types, actors: [...actors] }
}

it('sends a session with its compaction, as the person of the key', async () => {
  const project = join(folder, 'api')
  await mkdir(project)
  await session('walk', project)
  const result = await push(await keyOf('alice'), '--project', project, 'sessions')
  expect(result.stdout).toContain('24 messages, 1 compaction')
  expect(result.status).toBe(0)
  const { types, actors } = await eventsOf('walk')
  expect(actors).toEqual(['key:alice'])
  expect(types).toMatchObject({ MessageAppended: 24, CompactionObserved: 1 })
  const repeated = await push(await keyOf('alice'), 'sessions', '--project', project)
  expect(repeated.stdout).toContain('(1 unchanged)')
})

it('sends no secret, and records a session once that two laptops have', async () => {
  const secrets = plantedSecrets(1)
  const lines = claudeCodeLines(secrets.length, [3], 'secrets').map((line) =>
    line
      .replaceAll('/srv/harbour', folder)
      .replace(/crane (\d+)\b/u, (text, turn: string) =>
        JSON.stringify(`${text}: ${secrets[Number(turn)]?.text ?? ''}`).slice(1, -1),
      ),
  )
  const file = join(folder, 'sessions', 'secrets.jsonl')
  await writeFile(file, `${lines.join('\n')}\n`)
  const relay = await startRelay(Number(new URL(server.url).port))
  const words = ['sessions', '--project', folder, '--store', `http://127.0.0.1:${String(relay.port)}`]
  try {
    expect((await importOn('one', await keyOf('alice'), ...words)).status).toBe(0)
    expect((await importOn('two', await keyOf('alice'), ...words)).status).toBe(0)
  } finally {
    await relay.close()
  }
  const wire = relay.received().toString('utf8')
  expect(wire).toContain('[secret:')
  expect(secrets.filter(({ secret }) => wire.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([])
  const { types } = await eventsOf('secrets')
  expect(types).toMatchObject({ MessageAppended: secrets.length * 4, CompactionObserved: 1 })
})

it('sends only the conversations of the named projects', async () => {
  const project = join(folder, 'api')
  await mkdir(join(project, 'src'), { recursive: true })
  await mkdir(join(folder, 'private'))
  await symlink(join(folder, 'private'), join(project, 'link'))
  await session('inside', join(project, 'src'))
  await session('deleted', join(project, 'worktrees', 'gone'))
  await session('outside', join(folder, 'private'))
  await session('similar', join(folder, 'api-2'))
  await session('linked', join(project, 'link'))
  await session('above', join(project, '..', 'private'))
  await session('climbs', `${project}/nowhere/../../private`)
  const result = await push(await keyOf('bob'), 'sessions', '--project', 'api')
  expect(result.stdout).toContain('5 conversation outside the --project folders')
  const { conversations } = await ledger.list()
  const ids = conversations.map(({ conversationId }) => conversationId.replace('claude-code/', ''))
  expect(ids.toSorted()).toEqual(expect.arrayContaining(['deleted', 'inside']))
  for (const id of ['outside', 'similar', 'linked', 'above', 'climbs']) expect(ids).not.toContain(id)
})

it('does not reach another tenant, and stops if the key is not accepted', async () => {
  await session('tenant', folder)
  expect((await push(await keyOf('alice', { scope: 'acme' }), 'sessions', '--project', folder)).status).toBe(0)
  await session('tenant', folder, 'the moon')
  const rivalPush = await push(await keyOf('eve', { scope: 'rival' }), 'sessions', '--project', folder)
  expect(rivalPush.status).toBe(0)
  expect((await eventsOf('scope:acme/tenant')).actors).toEqual(['key:alice'])
  expect((await eventsOf('scope:rival/tenant')).actors).toEqual(['key:eve'])
  await session('tenant', folder, 'the sun')
  const wrong = await push('cl_0123456789abcdef_nonsense', 'sessions', '--project', folder)
  expect(wrong.stderr).toContain('this key is not known here, or it was revoked')
  expect(wrong.status).toBe(2)
})

it('lists the conversations of a person and of a project, on the command line and on the page', async () => {
  await mkdir(join(folder, 'web'))
  await mkdir(join(folder, 'app'))
  await session('carol-web', join(folder, 'web'))
  await session('carol-app', join(folder, 'app'))
  await push(await keyOf('carol'), 'sessions', '--project', 'web', '--project', 'app')
  await rm(join(folder, 'sessions', 'carol-app.jsonl'))
  await session('dan-web', join(folder, 'web'))
  await push(await keyOf('dan'), 'sessions', '--project', 'web')
  const reader = (await createKey(stores.keys, PEPPER, { name: 'lead', roles: ['read'], bound: undefined })).key
  const env = { CONTEXT_LEDGER_SERVICE_KEY: reader }
  const list = async (...words: string[]): Promise<string> =>
    (await runCli(['list', ...words, '--store', server.url], { cwd: folder, env })).stdout
  expect(await list('--person', 'carol', '--project', 'web')).toMatch(/carol-web.*carol\n1 conversation\n/u)
  expect(await list('--project', join(folder, 'web'))).toMatch(/2 conversations\n$/u)
  const page = openTestPage(ledger)
  const { text } = await page.get('/?person=carol')
  expect(text).toContain('<a href="/?person=carol" title="All conversations of this person">carol</a>')
  expect(text).not.toContain('claude-code%2Fdan-web')
  expect((await page.get('/?person=dan&project=web')).text).toContain('claude-code%2Fdan-web')
})

it('keeps its queue while the service is down, and the next import sends it although the file is gone', async () => {
  const file = await session('offline', folder)
  const key = await keyOf('alice')
  const { url } = server
  await server.close()
  const port = Number(new URL(url).port)
  const down = await push(key, 'sessions', '--project', folder, '--store', url)
  expect(down.status).toBe(3)
  expect(down.stderr).toMatch(/24 messages are queued in .*, and the next import to this service sends them/u)
  await rm(file)
  await session('another', join(folder, 'sessions'))
  server = await startService({ ledger, stores, pepper: PEPPER, host: '127.0.0.1', port, mayBeOpen: false })
  const up = await push(key, 'sessions', '--project', folder)
  expect(up.stderr).toContain('24 messages are queued')
  expect((await eventsOf('offline')).types).toMatchObject({ MessageAppended: 24, CompactionObserved: 1 })
})

it.each([
  [['sessions', '--store', 'https://ledger.invalid'], 'pass --project DIRECTORY'],
  [['sessions', '--store', 'https://ledger.invalid', '--project', 'nowhere'], '"nowhere" is not a directory'],
  [['sessions', '--store', 'http://ledger.invalid', '--project', '.'], 'would send sessions and the key unencrypted'],
  [
    ['sessions', '--store', 'https://ledger.invalid', '--project', '.', '--service-key', 'cl_typed'],
    'other users of this machine can read the key',
  ],
  [['sessions', '--project', '.'], '--project requires a service in --store'],
  [['sessions', '--allow-http'], '--allow-http requires a service in --store'],
  [
    ['sessions', '--store', 'https://ledger.invalid', '--project', '.', '--dry-run'],
    '--project cannot be combined with --dry-run',
  ],
])('refuses import %j', async (words, message) => {
  await session('refused', folder)
  const result = await importOn('laptop', '', ...words)
  expect(result.stderr).toContain(message)
  expect([result.status, result.stdout]).toEqual([2, ''])
})
