/** Hooks of agents: the note after a compaction, once, in time, and never an error for the agent. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import {
  lastProblem,
  logProblem,
  notesFolder,
  readPending,
  sessionKey,
  takeNote,
  writeNote,
  writeNoted,
  writePending,
} from '../../../src/interfaces/cli/hook/hook-folder.js'
import { makeNote } from '../../../src/interfaces/cli/hook/make-note.js'
import { limitAfterStart, runHook, type HookWorld } from '../../../src/interfaces/cli/hook/run-hook.js'
import { agentPrograms } from '../../../src/interfaces/cli/install/index.js'
import { openLedger, type Ledger } from '../../../src/index.js'
import { LedgerError } from '../../../src/lib/ledger-error.js'
import { runsOf } from '../../support/length.js'
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
  let skipped = 0
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
    /** @param opening called when the worker opens the ledger */
    work: async (opening: () => unknown = () => undefined) => {
      await makeNote(folder, sessionKey(agent, sessionId), {
        now: () => Date.now() + skipped,
        wait: async (milliseconds) => {
          skipped += milliseconds
          // A hook may look for the note meanwhile.
          await turnOfLoop()
        },
        open: async (_needs, work) => {
          opening()
          return await work(ledger, RULES)
        },
      })
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
      writePending(folder, key, {
        agent: 'claude-code',
        sessionId: again.sessionId,
        transcript: again.transcript,
        reportedAt: Date.now(),
        until: Date.now() + 300,
      })
      await again.work()
      expect(await again.hook('UserPromptSubmit')).toBe('')
      // The end of the noted compaction may be reported twice; the other one is missing.
      const problem = lastProblem(folder, 'claude-code')?.problem ?? ''
      expect(problem.includes(again.sessionId)).toBe(again !== agent)
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

/** Milliseconds between the start of the hook and the date of the compaction: the clock or the start may be late. */
const offsets = fc.integer({ min: -110_000, max: 110_000 })

describe('a compaction that ends before its hook has started, or is dated by another clock', () => {
  it.each(agentPrograms.map(({ name }) => name))('of %s gets its note', async (name) => {
    await fc.assert(
      fc.asyncProperty(offsets, fc.boolean(), async (offset, endsOnly) => {
        const agent = agentOf(name)
        const [begin, end = begin, prompt] = EVENTS[name] ?? ['', '', '']
        await agent.write('after', new Date(Date.now() + offset).toISOString())
        await agent.hook(endsOnly ? end : begin, { source: 'compact' })
        await agent.work()
        expect(await agent.hook(prompt)).toContain(RULE)
      }),
      { numRuns: runsOf(60) },
    )
  })

  it('may be dated at its start, ten minutes before the hook that reports its end', async () => {
    const agent = agentOf('codex')
    await agent.write('after', new Date(Date.now() - 660_000).toISOString())
    await agent.hook('PreCompact')
    const work = agent.work()
    await agent.hook('PostCompact')
    await work
    expect(await agent.hook('UserPromptSubmit')).toContain(RULE)
  })
})

/** Failures that end by themselves: another process writes, makes, upgrades or fills the ledger. */
const TEMPORARY = [
  new LedgerError('FolderLocked', 'locked'),
  new LedgerError('NoLedger', 'being made'),
  new LedgerError('StoreUnavailable', 'being opened'),
  new LedgerError('NewerSchema', 'being upgraded'),
  new LedgerError('FolderTaken', 'taken over'),
  new LedgerError('DiskFull', 'full'),
  new SyntaxError('half a file'),
]

it.each(TEMPORARY.map((error) => [error.message, error] as const))(
  'the note of a ledger that is %s arrives later',
  async (_message, error) => {
    const agent = agentOf('codex')
    await agent.write('after')
    await agent.hook('PostCompact')
    let attempts = 0
    await agent.work(() => {
      if ((attempts += 1) <= 2) throw error
    })
    expect(await agent.hook('UserPromptSubmit')).toContain(RULE)
    expect(lastProblem(folder, 'codex')).toBeUndefined()
  },
)

it('reports no problem if a program announces a compaction and does not need it', async () => {
  const agent = agentOf('gemini')
  await agent.write('before')
  await agent.hook('PreCompress')
  const key = sessionKey('gemini', agent.sessionId)
  const pending = readPending(folder, key)
  if (pending !== undefined) writePending(folder, key, { ...pending, until: Date.now() })
  let attempts = 0
  await agent.work(() => (attempts += 1))
  // The ledger stays closed.
  expect({ attempts, problem: lastProblem(folder, 'gemini') }).toEqual({ attempts: 0 })
  expect(await readdir(folder)).not.toContain('notes')
})

it('gives no note of an earlier compaction after a later one, and the note of one whose end is reported twice', async () => {
  const agent = agentOf('codex')
  await agent.write('after')
  await agent.hook('PostCompact')
  await agent.work()
  // The note waits while the end is reported again: the worker sees that it is still the right one.
  await agent.hook('SessionStart', { source: 'compact' })
  const key = sessionKey('codex', agent.sessionId)
  const pending = readPending(folder, key)
  if (pending !== undefined) writePending(folder, key, { ...pending, until: Date.now() })
  await agent.work()
  expect(lastProblem(folder, 'codex')).toBeUndefined()
  expect(takeNote(folder, key)).toContain(RULE)
  // A note of another compaction waits while this one ends.
  writeNote(folder, key, 'an earlier note')
  writeNoted(folder, key, 'an earlier compaction')
  await agent.hook('SessionStart', { source: 'compact' })
  expect(await agent.hook('PostToolUse')).toBe('')
  await agent.work()
  expect(await agent.hook('PostToolUse')).toContain(RULE)
  expect(await agent.hook('PostToolUse')).toBe('')
})

it('has as much time as its process needed to start, at least 60 ms and at most 5 s', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 180 }), (startMs, budgetMs) => {
      const limitMs = limitAfterStart(budgetMs - startMs, startMs)
      expect(limitMs).toBeGreaterThanOrEqual(Math.max(60, Math.min(startMs, 5_000)))
      expect(limitMs).toBeLessThanOrEqual(Math.max(budgetMs, 5_000))
    }),
  )
})

it('does not wait for a worker that was killed', async () => {
  const agent = agentOf('codex')
  await agent.write('after')
  const key = sessionKey('codex', agent.sessionId)
  await agent.hook('PostCompact')
  const pending = readPending(folder, key)
  if (pending !== undefined) writePending(folder, key, { ...pending, worker: 999_999_999 })
  expect(await agent.hook('UserPromptSubmit')).toBe('')
  expect(await readdir(folder)).not.toContain('notes')
  expect(lastProblem(folder, 'codex')?.problem).toContain(agent.sessionId)
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
  await makeNote(folder, sessionKey('opencode', 'ses_9'), { open: async (_needs, work) => await work(ledger, RULES) })
  expect(await readdir(join(folder, 'exports'))).toEqual([])
  expect(takeNote(folder, sessionKey('opencode', 'ses_9'))).toContain(RULE)
})
