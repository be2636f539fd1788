/** `--agent-rules`: the rule files that an agent loads by itself, and the calls that broke their rules. */
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { agentRuleFiles } from '../../src/interfaces/cli/config/agent-rule-files.js'
import { runCli, type CliResult } from '../support/cli.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

const EXAMPLE = join(process.cwd(), 'examples', 'claude-code-rules.jsonl')
const BEFORE_SESSION = new Date('2026-01-01T00:00:00Z')

let folder: string
let home: string
let project: string

async function makeFolders(): Promise<void> {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'agent-rules-')))
  home = join(folder, 'home')
  project = join(folder, 'repository', 'app')
  await mkdir(home)
  await mkdir(project, { recursive: true })
  await mkdir(join(folder, 'repository', '.git'))
}

/** Writes a rule file that is older than the session. */
async function write(path: string, text: string, changedAt = BEFORE_SESSION): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  await utimes(path, changedAt, changedAt)
}

const filesFor = async (program: string) => [...(await agentRuleFiles({ program, project }, {}, home)).values()]
const namesFor = (program: string): Promise<readonly string[]> =>
  filesFor(program).then((files) => files.map(({ name }) => name))

describe('the rule files of an agent', () => {
  beforeEach(makeFolders)
  afterEach(() => rm(folder, { recursive: true }))

  it.each([
    ['claude-code', '.claude/CLAUDE.md', 'CLAUDE.md', 'Claude Code'],
    ['codex', '.codex/AGENTS.md', 'AGENTS.md', 'Codex CLI'],
    ['gemini', '.gemini/GEMINI.md', 'GEMINI.md', 'Gemini CLI'],
    ['opencode', '.config/opencode/AGENTS.md', 'AGENTS.md', 'opencode'],
    ['pi', '.pi/agent/AGENTS.md', 'AGENTS.md', 'pi'],
  ])('of %s are those of the user, of the repository and of the project', async (program, ofUser, name, title) => {
    await write(join(home, ofUser), '- Never push to main.')
    await write(join(project, name), '- Never push to main.')
    await write(join(folder, 'repository', name), '- Never push to main.')
    const files = await filesFor(program)
    expect(files.map((file) => file.name)).toEqual([`~/${ofUser}`, `${folder}/repository/${name}`, name])
    expect(new Set(files.map(({ loadedBy }) => loadedBy))).toEqual(new Set([title]))
  })

  it('of a program that takes the first of two are one', async () => {
    await write(join(project, 'AGENTS.md'), '- a')
    await write(join(project, 'AGENTS.override.md'), '- b')
    expect(await namesFor('codex')).toEqual(['AGENTS.override.md'])
  })

  it('have the files that a line inserts, each once, and none from outside of the directory', async () => {
    await write(join(project, 'CLAUDE.md'), '@docs/rules.md\n@../secret.md\n@/etc/hostname\n@missing.md')
    await write(join(project, 'docs', 'rules.md'), '@rules.md\n- Never push to main.')
    await write(join(folder, 'repository', 'secret.md'), '- Never push to main.')
    expect(await namesFor('claude-code')).toEqual(['CLAUDE.md', 'docs/rules.md'])
  })

  it('are no pipe, no directory and no file above 1 MB', async () => {
    await promisify(execFile)('mkfifo', [join(project, 'CLAUDE.md')])
    await mkdir(join(project, '.claude', 'CLAUDE.md'), { recursive: true })
    await write(join(project, 'CLAUDE.local.md'), 'x'.repeat(1_000_001))
    expect(await namesFor('claude-code')).toEqual([])
  })

  it('are none that a program loads only for some paths', async () => {
    const limited = (fields: string): string => `---\n${fields}\n---\n- Never push to main.`
    await write(join(project, '.cursor', 'rules', 'a.mdc'), limited('globs: "*.py"\nalwaysApply: false'))
    await write(join(project, '.cursor', 'rules', 'b.mdc'), limited('description: all\nalwaysApply: true'))
    await write(join(project, '.claude', 'rules', 'a.md'), limited('paths:\n  - "src/**"'))
    await write(join(project, '.claude', 'rules', 'b.md'), '- Never push to main.')
    await write(join(project, '.github', 'instructions', 'a.instructions.md'), limited('applyTo: "**/*.ts"'))
    await write(join(project, '.github', 'instructions', 'b.instructions.md'), limited('applyTo: "**"'))
    expect(await namesFor('cursor')).toEqual(['.cursor/rules/b.mdc'])
    expect(await namesFor('claude-code')).toEqual(['.claude/rules/b.md'])
    expect(await namesFor('copilot-cli')).toEqual(['.github/instructions/b.instructions.md'])
  })

  it('of another program, and of a project that is not here, are none', async () => {
    await write(join(project, 'AGENTS.md'), '- Never push to main.')
    expect(await namesFor('chatgpt')).toEqual([])
    await write(join(home, '.codex', 'AGENTS.md'), '- Never push to main.')
    for (const elsewhere of ['/nowhere/at/all', undefined])
      expect((await agentRuleFiles({ program: 'codex', project: elsewhere }, {}, home)).size).toBe(0)
    expect((await agentRuleFiles({}, {}, home)).size).toBe(0)
  })
})

describe('a check with the rule files of the agent', () => {
  let store: string

  beforeAll(async () => {
    await makeFolders()
    store = join(folder, 'ledger')
    const session = join(folder, 'session.jsonl')
    await writeFile(session, (await readFile(EXAMPLE, 'utf8')).replaceAll('/srv/harbour', project))
    await run('import', session)
  })
  afterAll(() => rm(folder, { recursive: true }))

  const run = (...words: readonly string[]): Promise<CliResult> =>
    runCli([...words, '--store', store, '--resident', 'off'], { cwd: folder, env: { HOME: home } })

  it('names the line that a call broke, and that the program loads the file', async () => {
    await write(join(project, 'CLAUDE.md'), '# Rules\n\n- Never run `git log`.\n')
    const { stdout, status } = await run('rules', 'check', 'b7d1', '--agent-rules')
    expect(status).toBe(4)
    expect(stdout).toContain('CLAUDE.md:3  Never run `git log`.\n  broken once')
    expect(stdout).toContain('Claude Code loads the file of the rule into every context')
    expect((await run('rules', 'check', 'b7d1')).stdout).not.toContain('CLAUDE.md')
    expect((await run('rules', 'check', '--all', '--agent-rules')).stdout).toContain('CLAUDE.md:3  Never run')
    expect((await run('rules', 'list', 'b7d1', '--agent-rules')).stdout).toContain('CLAUDE.md:3')
  })

  it('says that the agent may not have had the rule of a file that was changed later', async () => {
    await write(join(project, 'CLAUDE.md'), '- Never run `git log`.\n', new Date())
    const { stdout } = await run('rules', 'check', 'b7d1', '--agent-rules', '--json')
    const [rule] = JSON.parse(stdout).checks[0].rules
    expect(rule.breaks[0].context).toEqual({
      presence: 'unclear',
      loadedBy: 'Claude Code',
      changedAt: expect.stringMatching(/^20/u),
    })
  })

  it('follows the messages where the user states the rule of a later file', async () => {
    await write(join(project, 'CLAUDE.md'), '- Never push to the main branch.\n', new Date())
    expect((await run('rules', 'check', 'b7d1', '--agent-rules')).stdout).toContain(
      'the rule was gone since compaction 1',
    )
    await write(join(project, 'CLAUDE.md'), '- Never push to the main branch.\n')
    expect((await run('rules', 'check', 'b7d1', '--agent-rules')).stdout).toContain('loads the file of the rule')
  })

  it('reads a file that is named too once', async () => {
    await write(join(project, 'CLAUDE.md'), '- Never run `git log`.\n')
    const named = join(project, 'CLAUDE.md')
    const { stdout } = await run('rules', 'check', 'b7d1', '--agent-rules', '--rules', named)
    expect(stdout.match(/Never run `git log`/gu)).toHaveLength(1)
    expect(stdout).toContain('Claude Code loads the file of the rule')
  })

  it('says if the agent has no rule file', async () => {
    await rm(join(project, 'CLAUDE.md'), { force: true })
    const { stderr } = await run('rules', 'check', 'b7d1', '--agent-rules')
    expect(stderr).toContain(`--agent-rules found no rule file that Claude Code loads for ${project}`)
  })
})
