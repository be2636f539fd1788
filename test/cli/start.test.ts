/** `start`: the first look at the sessions of this machine. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { cp, mkdir, mkdtemp, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCli, type CliResult } from '../support/cli.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'start-'))
  const sessions = join(home, '.claude', 'projects', '-srv-harbour')
  await mkdir(sessions, { recursive: true })
  for (const [name, at] of [
    ['claude-code-session.jsonl', '2026-01-02'],
    ['claude-code-rules.jsonl', '2026-01-03'],
  ] as const) {
    await cp(join('examples', name), join(sessions, name))
    await utimes(join(sessions, name), new Date(at), new Date(at))
  }
})
afterEach(() => rm(home, { recursive: true }))

const start = (...words: readonly string[]): Promise<CliResult> =>
  runCli(['start', ...words], {
    cwd: home,
    env: { HOME: home, CLAUDE_CONFIG_DIR: '', CODEX_HOME: '', XDG_DATA_HOME: '', XDG_CONFIG_HOME: '' },
  })
const hasLedger = (): Promise<boolean> =>
  stat(join(home, '.context-ledger')).then(
    () => true,
    () => false,
  )

describe('start', () => {
  it('asks first: without a terminal and without --yes it only counts', async () => {
    const { stdout, stderr, status } = await start()
    expect(status).toBe(0)
    expect(stdout).toBe('found 2 transcripts on this machine: Claude Code 2\n')
    expect(stderr).toContain('nothing was imported; `context-ledger start --yes` imports 2 transcripts')
    expect(await hasLedger()).toBe(false)
  })

  it('imports the sessions, and shows the worst compaction and the next commands', async () => {
    const { stdout, status } = await start('--yes')
    expect(status).toBe(0)
    expect(stdout).toContain('What compactions lost (2 sessions with compactions)')
    expect(stdout).toMatch(/rule (?:may be )?lost: .*production database/u)
    expect(stdout).toMatch(/context-ledger recall claude-code\/3f0c/u)
    expect(stdout).not.toContain('the other')
    // A second look imports nothing new, and shows the same.
    const second = await start('--yes')
    expect(second.stdout.slice(second.stdout.indexOf('What compactions lost'))).toBe(
      stdout.slice(stdout.indexOf('What compactions lost')),
    )
  })

  it('imports the newest up to a number, and says how to import the others', async () => {
    const { stdout } = await start('--yes', '--transcripts', '1')
    expect(stdout).toContain('(1 session with compactions)')
    expect(stdout).toContain('claude-code/b7d1c9e2')
    expect(stdout).toMatch(/import --discover --yes +the other 1 transcript/u)
  })

  it('says where it looked if there is no session', async () => {
    await rm(join(home, '.claude'), { recursive: true })
    const { stdout, status } = await start('--yes')
    expect(status).toBe(0)
    expect(stdout).toContain('found no transcripts in the default directories of Claude Code')
    expect(await hasLedger()).toBe(false)
  })

  it.each([
    [['--json'], 'start prints text only'],
    [['--transcripts', '0'], '--transcripts'],
    [['--from', 'cluade-code'], 'did you mean claude-code?'],
    [['--store', 'https://ledger.example', '--yes'], 'is a service: use import with --project'],
  ])('refuses %j', async (words, message) => {
    const { stderr, status } = await start(...words)
    expect([status === 0, stderr.includes(message), stderr]).toEqual([false, true, expect.any(String)])
    expect(await hasLedger()).toBe(false)
  })
})
