/** `install` for editors that run agents over the Agent Client Protocol. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { programFile } from '../../support/child.js'
import { runCli, type CliResult } from '../../support/cli.js'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'editor-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
})
const run = async (...words: string[]): Promise<CliResult> =>
  await runCli(['install', ...words], { cwd: home, env: { HOME: home } })

const SETTINGS = `{
  // mine
  "agent_servers": { "quay": { "command": "quay" } },
}
`

it('an editor gets an entry that records the agent, keeps its own ones, and loses it again', async () => {
  const file = join(home, '.config', 'zed', 'settings.json')
  await mkdir(join(home, '.config', 'zed'), { recursive: true })
  await writeFile(file, SETTINGS)
  expect(await run('--agent', 'zed', '--acp', 'opencode', '--yes')).toMatchObject({ status: 0 })
  const text = await readFile(file, 'utf8')
  expect(text).toContain('// mine')
  expect(text).toContain('"quay": { "command": "quay" }')
  expect(text.replaceAll(/\s+/gu, ' ')).toMatch(
    /"opencode \(recorded\)": \{ "type": "custom", "command": "[^"]+", "args": \[ "[^"]+main\.js", "acp", "--recall", "--store", "[^"]+", "--", "opencode", "acp" \]/u,
  )
  expect(await run('--agent', 'zed', '--remove', '--yes')).toMatchObject({ status: 0 })
  expect(await readFile(file, 'utf8')).toBe(SETTINGS)
})

it('the check asks the agent through the relay', async () => {
  const agent = `${process.execPath} ${resolve(programFile('acp-agent'))} ${join(home, 'in')} ${join(home, 'out')}`
  await run('--agent', 'jetbrains', '--acp', agent, '--yes')
  expect(await run('--agent', 'jetbrains', '--check')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('JetBrains IDEs: the agent (quay 1.0) answered'),
  })
  await run('--agent', 'jetbrains', '--acp', 'no-such-program acp', '--yes')
  const { status, stdout } = await run('--agent', 'jetbrains', '--check')
  expect([status, stdout]).toEqual([3, expect.stringContaining('no-such-program cannot be started')])
}, 120_000)

it.each([
  [['--agent', 'zed', '--yes'], '--acp AGENT'],
  [['--agent', 'zed', '--acp', 'opencod', '--yes'], 'name one of claude-code, codex, gemini, opencode'],
  [['--agent', 'pi', '--acp', 'opencode', '--yes'], '--agent zed or --agent jetbrains'],
  [['--agent', 'zedd', '--acp', 'opencode', '--yes'], 'zed'],
])('%j names the mistake', async (words, sentence) => {
  const { status, stderr } = await run(...words)
  expect([status, stderr]).toEqual([2, expect.stringContaining(sentence)])
})
