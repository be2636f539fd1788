/**
 * Programs that speak as documented run what `install` wrote: shell commands with JSON on standard input, a plugin of
 * opencode, and an extension of pi.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { sessionKey } from '../../../src/interfaces/cli/hook/hook-folder.js'
import { opencode } from '../../../src/interfaces/cli/install/opencode.js'
import { pi } from '../../../src/interfaces/cli/install/pi.js'
import { isRecord } from '../../../src/lib/is-record.js'
import { runCli } from '../../support/cli.js'
import { COMPACTED_SESSIONS, RULE } from '../../support/compacted-sessions.js'
import { longTest } from '../../support/length.js'

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'home-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
})

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program. `input` undefined leaves its standard input open. */
async function run(file: string, words: readonly string[], input: string | undefined): Promise<Ended> {
  const child = spawn(file, words, { cwd: home, env: { ...process.env, HOME: home, XDG_STATE_HOME: '' } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data) => (stdout += String(data)))
  child.stderr.on('data', (data) => (stderr += String(data)))
  child.stdin.on('error', () => undefined)
  if (input !== undefined) child.stdin.end(input)
  await once(child, 'close')
  child.stdin.destroy()
  return { status: child.exitCode, stdout, stderr }
}

const settingsSchema = z.object({
  hooks: z.record(z.string(), z.array(z.object({ hooks: z.array(z.object({ command: z.string() })) }))),
})

/** Claude Code: the command of an event, from its settings. */
async function claudeCode(event: string, input: object): Promise<string> {
  const settings = settingsSchema.parse(JSON.parse(await readFile(join(home, '.claude/settings.json'), 'utf8')))
  const command = settings.hooks[event]?.[0]?.hooks[0]?.command ?? ''
  const ended = await run('/bin/sh', ['-c', command], JSON.stringify({ ...input, hook_event_name: event }))
  expect(ended).toMatchObject({ status: 0, stderr: '' })
  return ended.stdout
}

describe('Claude Code', () => {
  longTest('gets the note after a compaction, between two tools', async () => {
    await mkdir(join(home, '.claude'))
    const installed = await runCli(['install', '--auto', '--yes'], { cwd: home, env: { HOME: home } })
    expect(installed.stderr).toBe('')
    const now = new Date(Date.now() + 60_000).toISOString()
    const { sessionId, file, before, after } = COMPACTED_SESSIONS['claude-code']?.('s1', now) ?? {}
    const transcript = join(home, '.claude/projects/-srv', file ?? '')
    await mkdir(dirname(transcript), { recursive: true })
    await writeFile(transcript, before ?? '')
    const input = { session_id: sessionId, transcript_path: transcript, cwd: '/srv' }
    expect(await claudeCode('PostToolUse', input)).toBe('')
    expect(await claudeCode('PreCompact', { ...input, trigger: 'auto' })).toBe('')
    await appendFile(transcript, (after ?? '').slice((before ?? '').length))
    let output = await claudeCode('SessionStart', { ...input, source: 'compact' })
    while (output === '') {
      await delay(200)
      output = await claudeCode('PostToolUse', input)
    }
    expect(output).toContain(RULE)
    expect(await claudeCode('UserPromptSubmit', input)).toBe('')
    expect((await runCli(['install', '--remove', '--yes'], { cwd: home, env: { HOME: home } })).status).toBe(0)
  })

  it('is never failed: input that is not JSON, and input that never ends', async () => {
    await mkdir(join(home, '.claude'))
    await runCli(['install', '--auto', '--yes'], { cwd: home, env: { HOME: home } })
    const text = await readFile(join(home, '.claude/settings.json'), 'utf8')
    const [command = ''] = /"[^"]*hook\/main\.js[^";]*true"/u.exec(text) ?? []
    for (const input of ['{ not JSON', undefined])
      expect(await run('/bin/sh', ['-c', String(JSON.parse(command))], input)).toEqual({
        status: 0,
        stdout: '',
        stderr: '',
      })
    const status = await runCli(['install'], { cwd: home, env: { HOME: home } })
    expect(status.stdout).toMatch(/last problem of claude-code, .*: (?:.*JSON|the hook was not done in time)/u)
  })
})

/** A hook process that records what it was given. */
const STUB = `
import { appendFileSync } from 'node:fs'
let text = ''
for await (const chunk of process.stdin) text += chunk
appendFileSync('calls.jsonl', JSON.stringify({ ...JSON.parse(text), words: process.argv.slice(2) }) + '\\n')
`

/** Functions of the programs below: `report` reads what the worker would read, and `note` lets a note wait. */
const IMPORTS = `
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
mkdirSync('hooks')
const ended = () => readdirSync('hooks/notes').find((name) => name.endsWith('.ended')) ?? ''
const report = () => readFileSync('hooks/notes/' + ended(), 'utf8')
const note = (text, key) => {
  mkdirSync('hooks/notes', { recursive: true })
  writeFileSync('hooks/notes/' + key + '.note', text)
}
const calls = async (count) => {
  const lines = () => (existsSync('calls.jsonl') ? readFileSync('calls.jsonl', 'utf8').split('\\n').length - 1 : 0)
  while (lines() < count) await new Promise((resolve) => setTimeout(resolve, 10))
}
`

/** Runs a program that loads a plugin from \`plugin.mjs\`. Returns what it prints, and the calls of the hook process. */
async function withPlugin(program: typeof pi, code: string): Promise<{ output: unknown; calls: unknown[] }> {
  const folder = join(home, 'hooks')
  await writeFile(join(home, 'stub.mjs'), STUB)
  const [plugin] = program.additions(
    join(home, 'settings'),
    {
      folder,
      hookWords: [process.execPath, join(home, 'stub.mjs')],
      mcp: ['node'],
      hook: () => '',
    },
    home,
  )
  if (plugin?.kind !== 'file') throw new Error('the plugin is not the first addition')
  await writeFile(join(home, 'plugin.mjs'), plugin.text)
  await writeFile(join(home, 'program.mjs'), `${IMPORTS}${code}`)
  const { status, stdout, stderr } = await run(process.execPath, [join(home, 'program.mjs')], '')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const calls = (await readFile(join(home, 'calls.jsonl'), 'utf8')).trim().split('\n')
  return { output: JSON.parse(stdout), calls: calls.map((call): unknown => JSON.parse(call)) }
}

it('opencode exports the session after a compaction, and adds the note to a message and to a result', async () => {
  const { output, calls } = await withPlugin(
    opencode,
    `
    import { ContextLedger } from './plugin.mjs'
    const client = { session: {
      get: async ({ path }) => ({ data: { id: path.id, title: 'Cranes' } }),
      messages: async () => ({ data: [{ info: { id: 'm1' }, parts: [] }] }),
    } }
    const hooks = await ContextLedger({ client })
    const message = { message: { id: 'msg_1', sessionID: 'ses_1' }, parts: [] }
    await hooks['chat.message']({ sessionID: 'ses_1' }, message)
    const early = message.parts.length
    await hooks.event({ event: { type: 'session.idle', properties: { sessionID: 'ses_1' } } })
    note('an earlier note', '${sessionKey('opencode', 'ses_1')}')
    await hooks.event({ event: { type: 'session.compacted', properties: { sessionID: 'ses_1' } } })
    await hooks['chat.message']({ sessionID: 'ses_1' }, message)
    const stale = message.parts.length
    await calls(1)
    const [file, exported] = [report(), readFileSync(report(), 'utf8')]
    rmSync('hooks/notes', { recursive: true })
    note('a note', '${sessionKey('opencode', 'ses_1')}')
    await hooks['chat.message']({ sessionID: 'ses_1' }, message)
    note('another note', '${sessionKey('opencode', 'ses_1')}')
    const result = { output: 'done', title: '', metadata: {} }
    await hooks['tool.execute.after']({ tool: 'read', sessionID: 'ses_1', callID: 'c' }, result)
    const left = existsSync('hooks/notes')
    console.log(JSON.stringify({ early, stale, parts: message.parts, result, exported, file, left }))`,
  )
  expect(output).toEqual({
    early: 0,
    stale: 0,
    parts: [
      {
        id: expect.stringMatching(/^prt_[0-9a-f]{12}\w{14}$/u),
        sessionID: 'ses_1',
        messageID: 'msg_1',
        type: 'text',
        text: 'a note',
        synthetic: true,
      },
    ],
    result: { output: 'done\n\nanother note', title: '', metadata: {} },
    exported: '{"info":{"id":"ses_1","title":"Cranes"},"messages":[{"info":{"id":"m1"},"parts":[]}]}',
    file: expect.stringMatching(/hooks\/exports\/ses_1\.\d+\.json$/u),
    left: false,
  })
  expect(calls).toEqual([
    {
      words: ['opencode', 'background'],
      hook_event_name: 'PreCompact',
      session_id: 'ses_1',
      transcript_path: isRecord(output) ? output['file'] : undefined,
    },
  ])
})

it('pi gets the note as a message before the next turn, or with the next result of a tool', async () => {
  const { output, calls } = await withPlugin(
    pi,
    `
    import extension from './plugin.mjs'
    const handlers = new Map()
    extension({ on: (event, handler) => handlers.set(event, handler) })
    const context = { sessionManager: { getSessionId: () => 's1', getSessionFile: () => '/srv/s1.jsonl' } }
    const emit = (event, value) => handlers.get(event)(value, context)
    const early = await emit('before_agent_start', { prompt: 'Go on.' })
    emit('session_before_compact', {})
    emit('session_compact', {})
    await calls(2)
    const file = report()
    rmSync('hooks/notes', { recursive: true })
    note('a note', '${sessionKey('pi', 's1')}')
    const prompted = await emit('before_agent_start', { prompt: 'Go on.' })
    note('another note', '${sessionKey('pi', 's1')}')
    const content = [{ type: 'text', text: 'done' }]
    console.log(JSON.stringify([early ?? null, file, prompted, await emit('tool_result', { toolName: 'read', content })]))`,
  )
  expect(output).toEqual([
    null,
    '/srv/s1.jsonl',
    { message: { customType: 'context-ledger', content: 'a note', display: true } },
    {
      content: [
        { type: 'text', text: 'done' },
        { type: 'text', text: 'another note' },
      ],
    },
  ])
  const start = {
    words: ['pi', 'background'],
    hook_event_name: 'PreCompact',
    session_id: 's1',
    transcript_path: '/srv/s1.jsonl',
  }
  expect(calls).toEqual([start, start])
})
