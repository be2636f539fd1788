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
import { opencode } from '../../../src/cli/install/opencode.js'
import { pi } from '../../../src/cli/install/pi.js'
import { runCli } from '../../support/cli.js'
import { COMPACTED_SESSIONS, RULE } from '../../support/compacted-sessions.js'

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
  it('gets the note after a compaction, between two tools', async () => {
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

/** A hook process that answers with the event, and records what it was given. */
const STUB = `
import { appendFileSync } from 'node:fs'
let text = ''
for await (const chunk of process.stdin) text += chunk
appendFileSync('calls.jsonl', JSON.stringify({ ...JSON.parse(text), agent: process.argv[2] }) + '\\n')
const event = JSON.parse(text).hook_event_name
if (event === 'UserPromptSubmit' || event === 'PostToolUse')
  console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: 'note at ' + event } }))
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
  // A busy machine needs more than the time limit of a hook.
  await writeFile(join(home, 'plugin.mjs'), plugin.text.replace('MOST_MS = 280', 'MOST_MS = 60_000'))
  await writeFile(join(home, 'program.mjs'), `import { mkdirSync } from 'node:fs'\n${code}`)
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
    import { existsSync, readFileSync } from 'node:fs'
    const client = { session: {
      get: async ({ path }) => ({ data: { id: path.id, title: 'Cranes' } }),
      messages: async () => ({ data: [{ info: { id: 'm1' }, parts: [] }] }),
    } }
    const hooks = await ContextLedger({ client })
    const message = { message: { id: 'msg_1', sessionID: 'ses_1' }, parts: [] }
    mkdirSync('hooks')
    await hooks['chat.message']({ sessionID: 'ses_1' }, message)
    const early = message.parts.length
    await hooks.event({ event: { type: 'session.idle', properties: { sessionID: 'ses_1' } } })
    await hooks.event({ event: { type: 'session.compacted', properties: { sessionID: 'ses_1' } } })
    while (!existsSync('calls.jsonl')) await new Promise((resolve) => setTimeout(resolve, 10))
    mkdirSync('hooks/notes', { recursive: true })
    await hooks['chat.message']({ sessionID: 'ses_1' }, message)
    const result = { output: 'done', title: '', metadata: {} }
    await hooks['tool.execute.after']({ tool: 'read', sessionID: 'ses_1', callID: 'c' }, result)
    console.log(JSON.stringify({ early, parts: message.parts, result, exported: readFileSync('hooks/exports/ses_1.json', 'utf8') }))`,
  )
  expect(output).toEqual({
    early: 0,
    parts: [
      {
        id: expect.stringMatching(/^prt_[0-9a-f]{12}\w{14}$/u),
        sessionID: 'ses_1',
        messageID: 'msg_1',
        type: 'text',
        text: 'note at UserPromptSubmit',
        synthetic: true,
      },
    ],
    result: { output: 'done\n\nnote at PostToolUse', title: '', metadata: {} },
    exported: '{"info":{"id":"ses_1","title":"Cranes"},"messages":[{"info":{"id":"m1"},"parts":[]}]}',
  })
  const export_ = join(home, 'hooks/exports/ses_1.json')
  expect(calls).toEqual([
    { agent: 'opencode', hook_event_name: 'PostCompact', session_id: 'ses_1', transcript_path: export_ },
    { agent: 'opencode', hook_event_name: 'UserPromptSubmit', session_id: 'ses_1' },
    { agent: 'opencode', hook_event_name: 'PostToolUse', session_id: 'ses_1' },
  ])
})

it('pi gets the note as a message before the next turn, or with the next result of a tool', async () => {
  const { output, calls } = await withPlugin(
    pi,
    `
    import extension from './plugin.mjs'
    import { existsSync, readFileSync } from 'node:fs'
    const handlers = new Map()
    extension({ on: (event, handler) => handlers.set(event, handler) })
    const context = { sessionManager: { getSessionId: () => 's1', getSessionFile: () => '/srv/s1.jsonl' } }
    const emit = (event, value) => handlers.get(event)(value, context)
    const early = await emit('before_agent_start', { prompt: 'Go on.' })
    emit('session_compact', {})
    while (!existsSync('calls.jsonl')) await new Promise((resolve) => setTimeout(resolve, 10))
    mkdirSync('hooks/notes', { recursive: true })
    const content = [{ type: 'text', text: 'done' }]
    console.log(JSON.stringify([
      early ?? null,
      await emit('before_agent_start', { prompt: 'Go on.' }),
      await emit('tool_result', { toolName: 'read', content }),
    ]))`,
  )
  expect(output).toEqual([
    null,
    { message: { customType: 'context-ledger', content: 'note at UserPromptSubmit', display: true } },
    {
      content: [
        { type: 'text', text: 'done' },
        { type: 'text', text: 'note at PostToolUse' },
      ],
    },
  ])
  const session = { agent: 'pi', session_id: 's1', transcript_path: '/srv/s1.jsonl' }
  expect(calls).toEqual([
    { ...session, hook_event_name: 'PostCompact' },
    { ...session, hook_event_name: 'UserPromptSubmit' },
    { ...session, hook_event_name: 'PostToolUse' },
  ])
})
