/** `import --store http://…`: transcripts of the named projects reach a service, redacted, each message once. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openService } from '../../src/library/compose.js'
import type { Ledger } from '../../src/index.js'
import type { ServiceStores } from '../../src/library/processes.js'
import type { Bound } from '../../src/ports/service-state.js'
import { createKey } from '../../src/service/keys.js'
import { startService, type Server } from '../../src/service/server.js'
import { claudeCodeLines } from '../support/claude-code-transcript.js'
import { runCli, type CliResult } from '../support/cli.js'
import { PEPPER } from '../support/service.js'

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

const push = async (key: string, ...words: string[]): Promise<CliResult> =>
  await runCli(['import', ...words, '--store', server.url], {
    cwd: folder,
    env: { CONTEXT_LEDGER_SERVICE_KEY: key, XDG_STATE_HOME: join(folder, 'state') },
  })

it('sends a session with its compaction, as the person of the key', async () => {
  const project = join(folder, 'api')
  await mkdir(project)
  await session('walk', project)
  const result = await push(await keyOf('alice'), 'sessions', '--project', project)
  expect([result.status, result.stderr]).toEqual([0, ''])
  expect(result.stdout).toContain('24 messages, 1 compaction')
  const actors = new Set<string | undefined>()
  for await (const event of ledger.log('claude-code/walk')) actors.add(event.metadata.actor)
  expect([...actors]).toEqual(['key:alice'])
  const again = await push(await keyOf('alice'), 'sessions', '--project', project)
  expect(again.stdout).toContain('(1 unchanged)')
})
