/** `install --check`: a canary through each hook, plugin and MCP server that is in the settings. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashOf } from '../../../src/domain/values/hash.js'
import { runCli, type CliResult } from '../../support/cli.js'
import { longTest } from '../../support/length.js'
import { keepEngines } from '../../support/kept-engines.js'

keepEngines()

const FOLDERS = {
  'claude-code': '.claude',
  codex: '.codex',
  gemini: '.gemini',
  opencode: '.config/opencode',
  pi: '.pi/agent',
} as const
let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'home-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, maxRetries: 5 })
})

const run = async (...words: string[]): Promise<CliResult> =>
  await runCli(['install', ...words], { cwd: home, env: { HOME: home, SHELL: '/bin/sh' } })

async function install(...agents: readonly (keyof typeof FOLDERS)[]): Promise<void> {
  for (const agent of agents) await mkdir(join(home, FOLDERS[agent]), { recursive: true })
  expect((await run('--auto', '--yes')).status).toBe(0)
}

async function change(file: string, from: string, to: string): Promise<void> {
  const path = join(home, file)
  const text = await readFile(path, 'utf8')
  expect(text).toContain(from)
  await writeFile(path, text.replaceAll(from, to))
}

/** Codex runs only hooks that the user has trusted. This is what Codex 0.171 writes then. */
async function trustCodex(): Promise<void> {
  const file = join(home, '.codex/hooks.json')
  const { hooks } = JSON.parse(await readFile(file, 'utf8'))
  const tables = Object.entries<readonly { readonly matcher?: string; readonly hooks: readonly object[] }[]>(hooks).map(
    ([name, groups]) => {
      const event = name.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, '_').toLowerCase()
      const [group] = groups
      const handlers = group?.hooks.map((hook) => ({ ...hook, async: false }))
      const hash = hashOf({ event_name: event, matcher: group?.matcher, hooks: handlers })
      return `[hooks.state.${JSON.stringify(`${file}:${event}:0:0`)}]\ntrusted_hash = "sha256:${hash}"\n`
    },
  )
  const config = join(home, '.codex/config.toml')
  await writeFile(config, `${await readFile(config, 'utf8')}\n${tables.join('\n')}`)
}

/** The lines, without the time and the number of tools. */
const linesOf = ({ stdout }: CliResult): string[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/[\d.]+ s$/u, 'N s').replace(/\(\d+ tools\)/u, '(N tools)'))

longTest('five programs, one of them with a broken hook', async () => {
  await install('claude-code', 'codex', 'gemini', 'opencode', 'pi')
  await trustCodex()
  const settings = '.gemini/settings.json'
  const text = await readFile(join(home, settings), 'utf8')
  const file = /\S+hook\/main\.js/u.exec(text)?.[0] ?? ''
  await change(settings, file, `${file}.gone`)
  const checked = await run('--check')
  expect(linesOf(checked)).toEqual([
    'ok  Claude Code: 4 hooks and the MCP server (N tools) answered; a note arrives after N s',
    'ok  Codex CLI: 5 hooks and the MCP server (N tools) answered; a note arrives after N s',
    `broken  Gemini CLI: AfterTool, BeforeAgent: no note came back (${file}.gone does not exist); PreCompress: nothing arrived (${file}.gone does not exist). Run \`context-ledger install --agent gemini --yes\` again`,
    'ok  opencode: the plugin and the MCP server (N tools) answered; a note arrives after N s',
    'ok  pi: the plugin answered; a note arrives after N s',
  ])
  expect(checked.status).toBe(3)
})

describe('what is broken', () => {
  it('is named: a hook that was removed, and an MCP server that does not start', async () => {
    await install('claude-code')
    await change('.claude/settings.json', '"UserPromptSubmit"', '"Stop"')
    await change('.claude.json', '"--read-only"', '"--read-nothing"')
    const { status, stdout } = await run('--check', '--agent', 'claude-code', '--json')
    expect(status).toBe(3)
    expect(JSON.parse(stdout)).toEqual({
      checks: [
        {
          agent: 'claude-code',
          isWorking: false,
          sentence: expect.stringMatching(
            /^Claude Code: the MCP server: the server ended: .*; UserPromptSubmit: .* has no such hook any more\. Run/u,
          ),
        },
      ],
    })
  })

  longTest('is named if Codex does not trust the hooks, or the plugin of pi was changed', async () => {
    await install('codex', 'pi')
    await writeFile(join(home, '.pi/agent/extensions/context-ledger.ts'), 'export default 1\n')
    const { status, stdout } = await run('--check')
    expect(status).toBe(3)
    expect(stdout).toContain('but Codex does not run 5 hooks that you have not trusted: type /hooks in Codex')
    expect(stdout).toContain('broken  pi: the plugin: it has another form than this command wrote. Run')
  })

  it('is an error if nothing is installed', async () => {
    expect(await run('--check')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('nothing is installed: run `context-ledger install --auto`'),
    })
    expect((await run('--check', '--remove')).stderr).toContain('--check can only be combined with --agent')
  })
})
