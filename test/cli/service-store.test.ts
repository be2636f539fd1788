/** With a service in `--store`, the command line prints the same as with the store itself. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openService } from '../../src/library/compose.js'
import type { Ledger } from '../../src/index.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { startService, type Server } from '../../src/interfaces/service/server.js'
import { runCli, type CliResult } from '../support/cli.js'
import { talk } from '../support/conversations.js'
import { PEPPER } from '../support/service.js'
import { longTest } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

let cwd: string
let store: string
let ledger: Ledger
let server: Server

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'service-store-'))
  store = join(cwd, 'ledger')
  writeFileSync(
    join(cwd, 'run.jsonl'),
    talk(40)
      .map((message) => `${JSON.stringify(message)}\n`)
      .join(''),
  )
  const { ledger: opened, ...stores } = await openService({ store })
  ledger = opened
  server = await startService({ ledger, stores, host: '127.0.0.1', port: 0, mayBeOpen: true })
})

afterAll(async () => {
  await server.close()
  await ledger.close()
  rmSync(cwd, { recursive: true, force: true })
})

const through = async (...words: string[]): Promise<CliResult> =>
  await runCli([...words, '--store', server.url], { cwd })
/** Runs a command on the directory that this process has open. */
const directly = async (...words: string[]): Promise<CliResult> => await runCli([...words, '--store', store], { cwd })

describe('--store http://…', () => {
  it('imports, and compacts by the policy that is given', async () => {
    const imported = await through('import', 'run.jsonl', '--conversation', 'run', '--model-max-tokens', '2000')
    expect([imported.status, imported.stderr]).toEqual([0, expect.any(String)])
    await ledger.admin.waitForCompaction()
    expect((await ledger.context('run')).messages.length).toBeLessThan(40)
    const second = await through('import', 'run.jsonl', '--conversation', 'run', '--json')
    expect(JSON.parse(second.stdout)).toMatchObject({ conversations: [{ recorded: 0, alreadyThere: 40 }] })
    // Other processes see the current rows, so bring the read models to the end of the log first.
    await ledger.list()
  })

  it.each([
    [['list']],
    [['list', '--sort', 'tokens', '--json']],
    [['context', 'run', '--json']],
    [['context', 'run', '--at', '12']],
    [['log', 'run', '--limit', '5']],
    [['log', 'run', '--json']],
    [['search', 'harbour', '--conversation', 'run']],
    [['explain', 'run']],
    [['diff', 'run', '--cycle', '1']],
    [['stats', 'run']],
    [['stats']],
    [['forgotten', 'run', '--json']],
    [['prompts']],
    [['editions', 'list']],
  ])('%j says the same', async (words) => {
    const [direct, overService] = [await directly(...words), await through(...words)]
    // The order of keys in JSON has no meaning.
    const output = ({ stdout }: CliResult): unknown =>
      words.includes('--json')
        ? stdout
            .split('\n')
            .filter(Boolean)
            .map((line): unknown => JSON.parse(line))
        : stdout
    expect([overService.status, output(overService)]).toEqual([direct.status, output(direct)])
  })

  longTest('verifies, which who has the folder open does for others', async () => {
    const { status, stdout } = await through('verify')
    expect([status, stdout]).toEqual([0, expect.stringContaining('ok')])
  })

  it('pins, undoes and says no in the same words and with the same status', async () => {
    const { messages } = await ledger.messages('run')
    expect((await through('pin', 'run', messages.at(-1)?.messageId ?? '')).status).toBe(0)
    expect((await through('undo', 'run', '--cycle', '99')).status).toBe(2)
    const direct = await directly('context', 'rum')
    const overService = await through('context', 'rum')
    expect([overService.status, overService.stderr]).toEqual([direct.status, direct.stderr])
  })

  longTest('refuses what a service does by its own settings, and what is done beside the store', async () => {
    const model = await through('compact', 'run', '--model', 'gpt-x')
    expect([model.status, model.stderr]).toEqual([2, expect.stringContaining('--model has no effect with a service')])
    const worker = await through('projections', 'run')
    expect([worker.status, worker.stderr]).toEqual([2, expect.stringContaining('is a service')])
    const keys = await through('keys', 'list')
    expect([keys.status, keys.stderr]).toEqual([2, expect.stringContaining('is a service')])
    const transcript = await through('import', join(process.cwd(), 'examples/claude-code-session.jsonl'))
    expect([transcript.status, transcript.stderr]).toEqual([
      2,
      expect.stringContaining('nothing leaves this machine unless you name its project'),
    ])
    const nobody = await runCli(['list', '--store', 'http://127.0.0.1:1'], { cwd })
    expect([nobody.status, nobody.stderr]).toEqual([3, expect.stringContaining('cannot be reached')])
  })
})

it('a key that is missing is asked for by the name that the command line knows it by', async () => {
  const { ledger: locked, ...stores } = await openService({ store: 'memory' })
  await createKey(stores.keys, PEPPER, { name: 'one', roles: ['read'], bound: undefined })
  const guarded = await startService({
    ledger: locked,
    stores,
    pepper: PEPPER,
    host: '127.0.0.1',
    port: 0,
    mayBeOpen: false,
  })
  const { status, stderr } = await runCli(['list', '--store', guarded.url], { cwd })
  expect([status, stderr]).toEqual([2, expect.stringContaining('CONTEXT_LEDGER_SERVICE_KEY')])
  await guarded.close()
  await locked.close()
})
