/** Hooks of agents: the note after a compaction, once, in time, and never an error for the agent. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import {
  lastProblem,
  logProblem,
  notesFolder,
  sessionKey,
  takeNote,
  writePending,
} from '../../../src/cli/hook/hook-folder.js'
import { makeNote } from '../../../src/cli/hook/make-note.js'
import { runHook, type HookWorld } from '../../../src/cli/hook/run-hook.js'
import { agentPrograms } from '../../../src/cli/install/index.js'
import { openLedger, type Ledger } from '../../../src/index.js'
import { COMPACTED_SESSIONS, RULE } from '../../support/compacted-sessions.js'

let ledger: Ledger
let folder: string
let sessions = 0
const RULES = ['Answer in English.']

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
})
afterAll(async () => {
  await ledger.close()
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hook-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

/** An agent whose hook has time for `polls` looks at the note. Its worker runs when the test calls `work`. */
function agentOf(agent: string, polls = 0) {
  const sessionId = `session-${String((sessions += 1))}`
  const transcript = join(folder, COMPACTED_SESSIONS[agent]?.(sessionId, '').file ?? '')
  const started: string[] = []
  const world = (): HookWorld => {
    let left = polls
    return {
      folder,
      agent,
      remainingMs: () => ((left -= 1) < 0 ? 0 : 100),
      startWorker(key) {
        started.push(key)
        return process.pid
      },
      now: Date.now,
    }
  }
  return {
    sessionId,
    transcript,
    started,
    write: async (kind: 'before' | 'after', at = new Date().toISOString()) => {
      await writeFile(transcript, COMPACTED_SESSIONS[agent]?.(sessionId, at)[kind] ?? '')
    },
    hook: async (event: string, more: object = {}): Promise<string> =>
      await runHook(
        JSON.stringify({ hook_event_name: event, session_id: sessionId, transcript_path: transcript, ...more }),
        world(),
      ),
    work: async () => {
      await makeNote(folder, sessionKey(agent, sessionId), async (_needs, work) => await work(ledger, RULES))
    },
  }
}

/** The documented events of each program: before the compaction, after it, and the next two. */
const EVENTS: Readonly<Record<string, readonly [string, string | undefined, string, string]>> = {
  'claude-code': ['PreCompact', 'SessionStart', 'UserPromptSubmit', 'PostToolUse'],
  codex: ['PreCompact', 'PostCompact', 'UserPromptSubmit', 'PostToolUse'],
  gemini: ['PreCompress', undefined, 'BeforeAgent', 'AfterTool'],
  opencode: ['PreCompact', 'PostCompact', 'UserPromptSubmit', 'PostToolUse'],
  pi: ['PreCompact', 'PostCompact', 'UserPromptSubmit', 'PostToolUse'],
}

it.each(agentPrograms.map(({ name }) => name))('%s gets the rule back once', async (name) => {
  const [begin, end, prompt, tool] = EVENTS[name] ?? ['', '', '', '']
  const agent = agentOf(name)
  await agent.write('before')
  expect(await agent.hook(begin)).toBe('')
  expect(await agent.hook(prompt)).toBe('')
  await agent.write('after')
  expect(end === undefined ? '' : await agent.hook(end, { source: 'compact' })).toBe('')
  expect(agent.started).toHaveLength(1)
  await agent.work()
  expect(lastProblem(folder, name)).toBeUndefined()
  expect(JSON.parse(await agent.hook(tool))).toEqual({
    hookSpecificOutput: {
      hookEventName: tool,
      additionalContext: expect.stringMatching(/Answer in English\.[^]*Never touch the production database/u),
    },
  })
  expect(await agent.hook(prompt)).toBe('')
  expect(await agent.hook(tool)).toBe('')
  // Guarded commands start Node.js only while this directory exists.
  expect(await readdir(folder)).not.toContain('notes')
})

describe('a hook', () => {
  it('gives the note itself if it is ready in time', async () => {
    const agent = agentOf('claude-code', Number.POSITIVE_INFINITY)
    await agent.write('after')
    const output = agent.hook('SessionStart', { source: 'compact' })
    await agent.work()
    expect(await output).toContain(RULE)
  })

  it('does nothing when a session starts without a compaction', async () => {
    const agent = agentOf('claude-code')
    await agent.write('after')
    for (const source of ['startup', 'resume', 'clear']) expect(await agent.hook('SessionStart', { source })).toBe('')
    expect(await agent.hook('Stop')).toBe('')
    expect(agent.started).toEqual([])
    expect(await readdir(folder)).toEqual([COMPACTED_SESSIONS['claude-code']?.(agent.sessionId, '').file])
  })

  it('gives no second note for a compaction, and none for an old one', async () => {
    const agent = agentOf('claude-code')
    await agent.write('after')
    await agent.hook('SessionStart', { source: 'compact' })
    await agent.work()
    expect(await agent.hook('UserPromptSubmit')).toContain(RULE)
    for (const at of [new Date().toISOString(), '2026-01-01T00:00:00.000Z']) {
      const again = at.startsWith('2026-01') ? agentOf('claude-code') : agent
      await again.write('after', at)
      await again.hook('SessionStart', { source: 'compact' })
      const key = sessionKey('claude-code', again.sessionId)
      // The worker would wait for another compaction.
      const since = Date.now() - 120_000
      writePending(folder, key, {
        agent: 'claude-code',
        sessionId: again.sessionId,
        transcript: again.transcript,
        since,
        until: Date.now() + 300,
      })
      await again.work()
      expect(await again.hook('UserPromptSubmit')).toBe('')
      expect(lastProblem(folder, 'claude-code')?.problem).toContain(again.sessionId)
    }
  })

  it('gives a note to one of several processes that take it', async () => {
    const agent = agentOf('codex')
    await agent.write('after')
    await agent.hook('PostCompact')
    await agent.work()
    const key = sessionKey('codex', agent.sessionId)
    expect([takeNote(folder, key), takeNote(folder, key), takeNote(folder, key)].filter(Boolean)).toHaveLength(1)
  })

  it.each([['not JSON'], ['[]'], ['{}'], ['{"hook_event_name":"PreCompact","session_id":"s"}']])(
    'rejects the input %s',
    async (input) => {
      const world = { folder, agent: 'pi', remainingMs: () => 0, startWorker: () => undefined, now: Date.now }
      await expect(runHook(input, world)).rejects.toThrow(/JSON|the input has no/u)
      expect(await readdir(folder)).toEqual([])
    },
  )
})

it('creates nothing after a removal, for an agent that is still running', async () => {
  const agent = agentOf('pi')
  await agent.write('after')
  await rm(folder, { recursive: true })
  await expect(agent.hook('PostCompact')).rejects.toThrow('ENOENT')
  logProblem(folder, 'pi', 'a problem')
  expect(await readdir(dirname(folder))).not.toContain(basename(folder))
  await mkdir(folder)
})

it('logs a transcript that cannot be read, and leaves nothing that waits', async () => {
  const agent = agentOf('gemini')
  await writeFile(agent.transcript, 'these are no records\n')
  await agent.hook('PreCompress')
  await agent.work()
  expect(lastProblem(folder, 'gemini')?.problem).toContain(agent.transcript)
  expect(await readdir(notesFolder(folder)).catch(() => 'absent')).toBe('absent')
})

it('deletes the export of a session after its import', async () => {
  const { sessionId, after } = COMPACTED_SESSIONS['opencode']?.('ses_9', new Date().toISOString()) ?? {}
  const file = join(folder, 'exports', 'ses_9.json')
  await mkdir(join(folder, 'exports'))
  await writeFile(file, after ?? '')
  const world = { folder, agent: 'opencode', remainingMs: () => 0, startWorker: () => process.pid, now: Date.now }
  await runHook(JSON.stringify({ hook_event_name: 'PostCompact', session_id: sessionId, transcript_path: file }), world)
  await makeNote(folder, sessionKey('opencode', 'ses_9'), async (_needs, work) => await work(ledger, RULES))
  expect(await readdir(join(folder, 'exports'))).toEqual([])
  expect(takeNote(folder, sessionKey('opencode', 'ses_9'))).toContain(RULE)
})
