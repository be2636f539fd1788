/** `install --compact`: the ledger makes the summaries of programs that let a plugin do so, and never stops them. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger } from '../../../src/index.js'
import { OWN_SUMMARY_BEGINNING } from '../../../src/domain/values/own-compactor.js'
import { readCompacting } from '../../../src/interfaces/cli/hook/compacting-session.js'
import { makeSummary } from '../../../src/interfaces/cli/hook/make-summary.js'
import type { InstalledCommands } from '../../../src/interfaces/cli/install/agent-program.js'
import { findInstallation } from '../../../src/interfaces/cli/install/installation.js'
import { opencode } from '../../../src/interfaces/cli/install/opencode.js'
import { pi } from '../../../src/interfaces/cli/install/pi.js'
import { runCli, type CliResult } from '../../support/cli.js'
import { keepEngines } from '../../support/kept-engines.js'

keepEngines()

const RULE = 'Rule: never touch harbour_prod.'
const ID = '019a0000-0000-7000-8000-00000000000c'

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'compactor-'))
})
afterEach(async () => {
  await rm(home, { recursive: true })
})

/** A session of pi: the rule, and turns with long answers. */
function sessionWith(turns: number): { readonly lines: string; readonly ids: readonly string[] } {
  const ids: string[] = []
  const message = (role: string, text: string): object => {
    const id = `e${String(ids.length)}`
    const parentId = ids.at(-1) ?? null
    ids.push(id)
    const content = [{ type: 'text', text }]
    return {
      type: 'message',
      id,
      parentId,
      timestamp: '2026-03-10T08:00:01.000Z',
      message: { role, content, timestamp: 1 },
    }
  }
  const header = { type: 'session', version: 3, id: ID, timestamp: '2026-03-10T08:00:00.000Z', cwd: '/srv/berths' }
  const records = [
    header,
    message('user', RULE),
    ...Array.from({ length: turns }, (_, at) => [
      message(
        'assistant',
        `Berth ${String(at)} was measured. ${'The quay is long and the water is deep. '.repeat(20)}`,
      ),
      message('user', `Go on with berth ${String(at + 1)}.`),
    ]).flat(),
  ]
  return { lines: `${records.map((record) => JSON.stringify(record)).join('\n')}\n`, ids }
}

describe('the summary of a session', () => {
  let ledger: Ledger

  beforeEach(async () => {
    ledger = await openLedger({ store: 'memory' })
  })
  afterEach(async () => {
    await ledger.close()
  })

  /** The summary of all messages but the last one. */
  async function summaryOf(turns: number, records?: readonly string[], rulesFile?: string) {
    const { lines, ids } = sessionWith(turns)
    const transcript = join(home, 'session.jsonl')
    await writeFile(transcript, lines)
    const input = { session_id: ID, transcript_path: transcript, records: records ?? ids.slice(0, -1) }
    return await makeSummary(ledger, { summarize: readCompacting(JSON.stringify(input), 'pi'), rulesFile })
  }

  it('has the rules of the user and the working state, and is smaller than the messages', async () => {
    const summary = await summaryOf(20)
    if (summary.kind === 'none') throw new Error(summary.reason)
    expect(summary.text.startsWith(OWN_SUMMARY_BEGINNING)).toBe(true)
    expect(summary.text).toContain(RULE)
    expect(summary.text).toContain('## Working state')
    expect(summary.tokens).toBeLessThan(summary.replacedTokens / 2)
  })

  it('records the session first', async () => {
    await summaryOf(20)
    expect((await ledger.context(`pi/${ID}`)).messages).toHaveLength(41)
  })

  it('begins with the rules of the rule file and with confirmed ones', async () => {
    const file = join(home, 'rules.md')
    await writeFile(file, '# Rules\n- Run `npm test` before each commit.\n')
    await summaryOf(20)
    await ledger.rules.add(`pi/${ID}`, 'Use the small crane.')
    const summary = await summaryOf(20, undefined, file)
    expect(summary).toMatchObject({
      kind: 'made',
      text: expect.stringContaining('- Run `npm test` before each commit.\n- Use the small crane.\n'),
    })
  })

  it.each([
    ['the messages are shorter than a summary', 0, ['e0'], 'smaller'],
    ['the session is not recorded up to its end', 2, ['x1', 'x2'], 'not recorded'],
  ])('is not made if %s', async (_case, turns, records, reason) => {
    expect(await summaryOf(turns, records)).toMatchObject({ kind: 'none', reason: expect.stringContaining(reason) })
  })
})

/** A plugin with summaries from a script. */
async function pluginWith(program: typeof pi, script: string): Promise<Readonly<Record<string, unknown>>> {
  const file = join(home, 'script.mjs')
  await writeFile(file, script)
  const commands: InstalledCommands = {
    folder: home,
    hook: () => '',
    mcp: [process.execPath],
    hookWords: [process.execPath, join(home, 'no-hook.mjs')],
    compactor: () => [process.execPath, file],
  }
  const folder = join(home, 'agent')
  await mkdir(join(folder, 'extensions'), { recursive: true })
  const addition = program.additions(folder, commands, home).find(({ kind }) => kind === 'file')
  if (addition?.kind !== 'file') throw new Error('there is no plugin')
  const plugin = join(home, 'plugin.mjs')
  await writeFile(plugin, addition.text)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a module
  return (await import(plugin)) as Readonly<Record<string, unknown>>
}

type Handler = (...values: readonly unknown[]) => Promise<unknown>

const ANSWER = { kind: 'made', text: 'The summary.', revision: 7, tokens: 3, replacedTokens: 90 }
const answering = (answer: unknown): string => `console.log(${JSON.stringify(JSON.stringify(answer))})`
const DIES = 'process.exit(1)'

describe('the extension of pi', () => {
  /** What the extension returns before a compaction. */
  async function compaction(script: string, event: object = {}): Promise<unknown> {
    const handlers = new Map<string, Handler>()
    const { default: extension } = await pluginWith(pi, script)
    if (typeof extension !== 'function') throw new Error('it exports no function')
    extension({ on: (name: string, handler: Handler) => handlers.set(name, handler), getSettings: () => ({}) })
    const sessionManager = { getSessionId: () => ID, getSessionFile: () => join(home, 'session.jsonl') }
    const branchEntries = ['a', 'b', 'c'].map((id) => ({ type: 'message', id }))
    const preparation = { firstKeptEntryId: 'c', tokensBefore: 900 }
    return await handlers.get('session_before_compact')?.(
      { preparation, branchEntries, reason: 'threshold', ...event },
      { sessionManager, cwd: home, model: { contextWindow: 200_000 } },
    )
  }

  it('returns the summary in the form that pi checks, with its author', async () => {
    expect(await compaction(answering(ANSWER))).toEqual({
      compaction: {
        summary: 'The summary.',
        firstKeptEntryId: 'c',
        tokensBefore: 900,
        details: {
          madeBy: 'context-ledger',
          reason: 'threshold',
          revision: 7,
          tokens: 3,
          replacedTokens: 90,
          durationMs: expect.any(Number),
        },
      },
    })
  })

  it.each([
    ['the process dies', DIES, {}],
    ['there is no summary', answering({ kind: 'none', reason: 'it would not be smaller' }), {}],
    ['the answer is damaged', 'console.log("{")', {}],
    ['the user asked for something in particular', answering(ANSWER), { customInstructions: 'Keep the prices.' }],
    ['pi ended the compaction', answering(ANSWER), { signal: AbortSignal.abort() }],
  ])('leaves the summary to pi if %s', async (_case, script, event) => {
    expect(await compaction(script, event)).toBeUndefined()
  })

  it('leaves the summary to an extension that pi loads before it', async () => {
    await mkdir(join(home, 'agent', 'extensions'), { recursive: true })
    await writeFile(join(home, 'agent', 'extensions', 'another.ts'), `pi.on('session_before_compact', () => {})`)
    expect(await compaction(answering(ANSWER))).toBeUndefined()
  })
})

describe('the plugin of opencode', () => {
  /** The text of a message after the plugin has seen it complete. */
  async function completed(script: string, isSummary = true): Promise<string> {
    const { ContextLedger: create } = await pluginWith(opencode, script)
    if (typeof create !== 'function') throw new Error('it exports no function')
    const info = { id: 'msg_1', role: 'assistant', ...(isSummary ? { summary: true } : {}) }
    const session = {
      get: async () => ({ data: { id: 'ses_1' } }),
      messages: async () => ({ data: [{ info: { id: 'msg_0', role: 'user' }, parts: [] }] }),
      message: async () => ({ data: { info, parts: [] } }),
    }
    const hooks: Readonly<Record<string, Handler>> = await create({ client: { session }, directory: home })
    const output = { text: 'The text of the model.' }
    await hooks['experimental.session.compacting']?.({ sessionID: 'ses_1' }, { context: [] })
    await hooks['experimental.text.complete']?.({ sessionID: 'ses_1', messageID: 'msg_1', partID: 'prt_1' }, output)
    return output.text
  }

  it('puts the summary before the text of the model, which stays', async () => {
    expect(await completed(answering(ANSWER))).toBe('The summary.\n## Summary by the model\nThe text of the model.')
  })

  it.each([
    ['the process dies', DIES, true],
    ['the message is no summary', answering(ANSWER), false],
  ])('changes nothing if %s', async (_case, script, isSummary) => {
    expect(await completed(script, isSummary)).toBe('The text of the model.')
  })
})

describe('install --compact', () => {
  const run = async (...words: string[]): Promise<CliResult> =>
    await runCli(['install', ...words], { cwd: home, env: { HOME: home } })
  const folder = (): string => join(home, '.local/state/context-ledger/hooks')

  it('stays when the program is installed again, until it is turned off', async () => {
    const plugin = join(home, '.pi/agent/extensions/context-ledger.ts')
    await run('--agent', 'pi', '--compact', '--yes')
    await run('--agent', 'pi', '--guard', '--yes')
    expect(findInstallation(folder(), 'pi')).toMatchObject({ compacts: true, guard: 'ask' })
    expect(await readFile(plugin, 'utf8')).toContain('compact-main.js')
    await run('--agent', 'pi', '--compact', 'off', '--yes')
    expect(findInstallation(folder(), 'pi')).not.toHaveProperty('compacts')
    expect(await readFile(plugin, 'utf8')).not.toContain('compact-main.js')
  })

  it('creates the ledger, because an agent would not wait for that', async () => {
    await run('--agent', 'pi', '--compact', '--yes')
    const { status } = await runCli(['list', '--store', join(home, '.context-ledger')], {
      cwd: home,
      env: { HOME: home },
    })
    expect(status).toBe(0)
  })

  it.each([
    [['--agent', 'codex', '--compact'], 'Codex CLI does not let a plugin make its summaries; opencode and pi do'],
    [['--agent', 'pi', '--compact', 'on'], '--compact "on" is not `off`'],
  ])('refuses %j', async (words, sentence) => {
    const { status, stderr } = await run(...words, '--yes')
    expect([status, stderr]).toEqual([2, expect.stringContaining(sentence)])
  })
})
