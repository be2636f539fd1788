/** `install`: additions to settings of agents, and their removal, which restores every byte. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { getNodeValue, parseTree } from 'jsonc-parser'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { AgentProgram } from '../../../src/interfaces/cli/install/agent-program.js'
import { agentPrograms, installable } from '../../../src/interfaces/cli/install/index.js'
import { findInstallation, writeInstallation } from '../../../src/interfaces/cli/install/installation.js'
import { planInstall, planRemoval, type InstallWorld } from '../../../src/interfaces/cli/install/plan-install.js'
import { readSettings, writeSettings } from '../../../src/interfaces/cli/install/settings-file.js'
import { runCli, type CliResult } from '../../support/cli.js'
import { runsOf } from '../../support/length.js'
import { keepEngines } from '../../support/kept-engines.js'

keepEngines()

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'home-'))
})
afterEach(async () => {
  await rm(home, { recursive: true })
})

const run = async (...words: string[]): Promise<CliResult> =>
  await runCli(['install', ...words], { cwd: home, env: { HOME: home } })

/** Every file and directory below the home, with its content and mode. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const { mode } = await lstat(path)
    const content = entry.isFile() ? (await readFile(path)).toString('latin1') : ''
    found[path.slice(folder.length)] = `${mode.toString(8)} ${content}`
  }
  return found
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(home, path)), { recursive: true })
  await writeFile(join(home, path), text)
}

/** The settings files of all programs that may exist before, and whether they may have comments. */
const SETTINGS = [
  { path: '.claude/settings.json', hasComments: false, hooks: 'SessionStart', servers: 'mcpServers' },
  { path: '.claude.json', hasComments: false, hooks: 'x', servers: 'mcpServers' },
  { path: '.codex/hooks.json', hasComments: false, hooks: 'PreCompact', servers: 'x' },
  { path: '.gemini/settings.json', hasComments: true, hooks: 'BeforeAgent', servers: 'mcpServers' },
  { path: '.config/opencode/opencode.json', hasComments: true, hooks: 'x', servers: 'mcp' },
  { path: '.config/zed/settings.json', hasComments: true, hooks: 'x', servers: 'agent_servers' },
  { path: '.jetbrains/acp.json', hasComments: true, hooks: 'x', servers: 'agent_servers' },
] as const

const scalars = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
const someValue = fc.oneof(
  scalars,
  fc.array(scalars, { maxLength: 2 }),
  fc.dictionary(fc.string(), scalars, { maxKeys: 2 }),
)
const WHITE_SPACE = ['', ' ', '\n', '\n\t', '\r\n    ', '\n   \n  '] as const
const spaces = (hasComments: boolean) =>
  fc.constantFrom(
    ...WHITE_SPACE,
    ...(hasComments ? [' // a remark, { "x": 1 }\n', '/* one */', ' /* two\n lines */ '] : []),
  )

/** A JSON text with odd white space and, if allowed, comments and trailing commas. */
function textOf(value: unknown, space: () => string, hasComments: boolean): string {
  const list = (open: string, parts: readonly string[], close: string): string => {
    const trailing = hasComments && parts.length > 0 && space() === '' ? ',' : ''
    return `${open}${parts.map((part) => `${space()}${part}${space()}`).join(',')}${trailing}${space()}${close}`
  }
  if (Array.isArray(value))
    return list(
      '[',
      value.map((each) => textOf(each, space, hasComments)),
      ']',
    )
  if (typeof value === 'object' && value !== null)
    return list(
      '{',
      Object.entries(value).map(
        ([name, each]) => `${JSON.stringify(name)}${space()}:${space()}${textOf(each, space, hasComments)}`,
      ),
      '}',
    )
  return JSON.stringify(value)
}

/** A settings file: members of the user, perhaps hooks and servers of others. */
const settingsText = ({ hasComments, hooks, servers }: (typeof SETTINGS)[number]): fc.Arbitrary<string> =>
  fc
    .record({
      members: fc.dictionary(fc.string(), someValue, { maxKeys: 3 }),
      hooks: fc.option(fc.dictionary(fc.constantFrom(hooks, 'Stop'), fc.array(someValue, { maxLength: 2 }))),
      servers: fc.option(fc.dictionary(fc.constantFrom('github', 'files'), someValue)),
      spaces: fc.infiniteStream(spaces(hasComments)),
      mark: fc.boolean(),
    })
    .map(({ members, hooks: ownHooks, servers: ownServers, spaces: stream, mark }) => {
      const space = (): string => stream.next().value ?? ''
      const value = {
        ...members,
        ...(ownHooks === null ? {} : { hooks: ownHooks }),
        ...(ownServers === null ? {} : { [servers]: ownServers }),
      }
      return `${mark ? '\ufeff' : ''}${space()}${textOf(value, space, hasComments)}${space()}`
    })

const tomlText = fc
  .array(
    fc.constantFrom('model = "o"', '# a remark', '', '[tui]', '[mcp_servers.files]', 'command = "files"', '  x = 1'),
  )
  .chain((rows) => fc.constantFrom('\n', '\r\n').map((newline) => rows.join(newline)))

const worldIn = (folder: string): InstallWorld => ({
  folder: join(folder, '.local/state/context-ledger/hooks'),
  home: folder,
  environment: {},
  store: '/srv/ledger',
  installations: [],
  commands: {
    folder: '/srv/hooks',
    mcp: ['/usr/bin/node', '/srv/main.js', 'mcp'],
    hookWords: ['/usr/bin/node', '/srv/hook.js'],
    hook: (agent, mode) => `hook ${agent} ${mode} "quoted"`,
    acp: { name: 'opencode (recorded)', words: ['/usr/bin/node', '/srv/main.js', 'acp', '--', 'opencode', 'acp'] },
  },
})

async function installed(program: AgentProgram, world: InstallWorld): Promise<number> {
  const { changes, installation } = await planInstall(program, world)
  if (installation !== undefined && changes.length > 0) writeInstallation(world.folder, installation)
  await writeSettings(changes)
  return changes.length
}

async function removed(program: AgentProgram, { folder }: InstallWorld): Promise<readonly string[]> {
  const installation = findInstallation(folder, program.name)
  if (installation === undefined) throw new Error(`${program.name} is not installed`)
  const { changes, left } = await planRemoval(program, installation)
  await writeSettings(changes)
  return left
}

const valueOf = (text: string): unknown => {
  const root = parseTree(text.replace('\ufeff', ' '), [], { allowTrailingComma: true })
  return root === undefined ? undefined : getNodeValue(root)
}

const files = fc.record({
  json: fc.tuple(...SETTINGS.map((each) => fc.option(settingsText(each), { freq: 5 }))),
  toml: fc.option(tomlText),
})

describe('settings of any form', () => {
  it('are restored byte by byte, and an installation is done once', async () => {
    let cases = 0
    await fc.assert(
      fc.asyncProperty(files, async ({ json, toml }) => {
        cases += 1
        const folder = join(home, String(cases))
        const world = worldIn(folder)
        const texts = SETTINGS.map(({ path }, at) => [path, json[at] ?? undefined] as const)
        for (const [path, text] of [...texts, ['.codex/config.toml', toml ?? undefined] as const])
          if (text !== undefined) await put(join(String(cases), path), text)
        await mkdir(folder, { recursive: true })
        const before = await contentOf(folder)
        for (const program of installable) {
          expect(await installed(program, world)).toBeGreaterThan(0)
          expect(await installed(program, world)).toBe(0)
        }
        // What the user has stays, and what is added is valid.
        for (const [path, text] of texts) {
          const now = valueOf(await readFile(join(folder, path), 'utf8'))
          expect(now).toMatchObject(Object(withoutLists(valueOf(text ?? '{}'))))
          expect(JSON.stringify(now)).toMatch(/hook|main\.js/u)
        }
        for (const program of installable.toReversed()) expect(await removed(program, world)).toEqual([])
        await rm(world.folder, { recursive: true })
        const after = await contentOf(folder)
        const isDirectory = (path: string): boolean => after[path]?.startsWith('40') === true && !(path in before)
        // The command removes directories that it made; a plan does not.
        expect(Object.fromEntries(Object.entries(after).filter(([path]) => !isDirectory(path)))).toEqual(before)
      }),
      { numRuns: runsOf(150) },
    )
  })

  it('keep changes that another program made after the installation', async () => {
    await fc.assert(
      fc.asyncProperty(settingsText(SETTINGS[0]), fc.boolean(), async (text, isRewritten) => {
        await put('.claude/settings.json', text)
        const [claudeCode] = agentPrograms
        if (claudeCode === undefined) throw new Error('there are no programs')
        const world = worldIn(home)
        await installed(claudeCode, world)
        const file = join(home, '.claude/settings.json')
        const withHooks = await readFile(file, 'utf8')
        // Rewritten as a whole, or only with one more member at its end.
        const changed = isRewritten
          ? JSON.stringify(valueOf(withHooks))
          : withHooks.replace(/\}(?=\s*$)/u, ', "added later": [1]}')
        await writeFile(file, changed)
        expect(await removed(claudeCode, world)).toEqual([])
        const before = valueOf(text)
        const after = valueOf(await readFile(file, 'utf8'))
        expect(withoutEmpty(after)).toEqual(
          withoutEmpty(isRewritten ? before : { ...Object(before), 'added later': [1] }),
        )
        await rm(world.folder, { recursive: true })
      }),
      { numRuns: runsOf(150) },
    )
  })
})

/** Lists get a further item, so only what is not in lists is compared. */
function withoutLists(value: unknown): unknown {
  return typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .filter(([, each]) => !Array.isArray(each))
          .map(([name, each]) => [name, withoutLists(each)]),
      )
}

/** A rewritten file may retain an empty list or object of ours. */
const withoutEmpty = (value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .map(([name, each]) => [name, withoutEmpty(each)] as const)
          .filter(([, each]) => JSON.stringify(each) !== '[]' && JSON.stringify(each) !== '{}'),
      )

describe('a settings file that cannot be changed safely', () => {
  const settings = '.claude/settings.json'
  /** The refusal of an installation, and what it changed. */
  async function refusal(): Promise<{ status: number | null; stderr: string; isUnchanged: boolean }> {
    const before = await contentOf(home)
    const { status, stderr } = await run('--agent', 'claude-code', '--yes')
    expect(stderr).toContain('nothing was written')
    return { status, stderr, isUnchanged: JSON.stringify(await contentOf(home)) === JSON.stringify(before) }
  }
  const refusedWith = (message: string) => ({
    status: 2,
    stderr: expect.stringContaining(message),
    isUnchanged: true,
  })

  it.each([
    ['{ "model": }', 'settings.json is not valid JSON: see line 1'],
    ['{\n  // a remark\n}', 'settings.json is not valid JSON: see line 2'],
    ['', 'settings.json is not valid JSON'],
    ['[]', 'settings.json is not a JSON object'],
    ['{"hooks": []}', 'hooks is not an object'],
    ['{"hooks": {"PreCompact": {}}}', 'hooks.PreCompact is not a list'],
  ])('is refused: %j', async (text, message) => {
    await put(settings, text)
    expect(await refusal()).toEqual(refusedWith(message))
  })

  it('is refused if it is not UTF-8', async () => {
    await mkdir(join(home, '.claude'))
    await writeFile(join(home, settings), Buffer.from([0x7b, 0xff, 0x7d]))
    expect(await refusal()).toEqual(refusedWith('is not UTF-8 text'))
  })

  it('is refused if it is a link, and the target stays', async () => {
    await put('dotfiles/settings.json', '{}')
    await mkdir(join(home, '.claude'))
    await symlink(join(home, 'dotfiles/settings.json'), join(home, settings))
    expect(await refusal()).toEqual(refusedWith('settings.json is a symbolic link'))
  })

  it('is refused if the second file is invalid, and the first stays', async () => {
    await put(settings, '{}')
    await put('.claude.json', '{"mcpServers": {"context-ledger": {"command": "mine"}}}')
    expect(await refusal()).toEqual(refusedWith('.claude.json has another mcpServers.context-ledger'))
  })

  const asRoot = process.getuid?.() === 0 ? describe : describe.skip
  asRoot('of a machine with several users', () => {
    it('is refused if it belongs to another user', async () => {
      await put(settings, '{}')
      await chown(join(home, settings), 12_345, 12_345)
      expect(await refusal()).toEqual(refusedWith('settings.json belongs to another user'))
    })
  })

  it('is refused if another program changes it between reading and writing, and the other files stay', async () => {
    await put('one.json', '{}')
    await put('two.json', '{}')
    const [one, two] = [await readSettings(join(home, 'one.json')), await readSettings(join(home, 'two.json'))]
    const three = await readSettings(join(home, 'new/three.json'))
    await put('two.json', '{"by": "another program"}')
    const before = await contentOf(home)
    await expect(
      writeSettings([
        { file: one, text: '{"a": 1}' },
        { file: two, text: '{"a": 1}' },
        { file: three, text: '{"a": 1}' },
      ]),
    ).rejects.toThrow('two.json was changed by another program meanwhile')
    expect(await contentOf(home)).toEqual(before)
  })

  it('is refused if Codex has our table already', async () => {
    for (const text of ['[mcp_servers."context-ledger"]\ncommand = "mine"', 'mcp_servers = {}']) {
      await put('.codex/config.toml', text)
      const { stderr } = await run('--agent', 'codex', '--yes')
      expect(stderr).toContain('config.toml already has mcp_servers.context-ledger')
    }
  })
})

describe('the command', () => {
  it('shows the change, and writes nothing without --yes', async () => {
    await put('.claude/settings.json', '{\n    "model": "opus"\n}\n')
    const before = await contentOf(home)
    const { status, stdout, stderr } = await run('--auto')
    expect(status).toBe(2)
    expect(stdout).toContain('+        "PreCompact": [')
    expect(stderr).toContain('nothing was written: pass --yes to write')
    expect(await contentOf(home)).toEqual(before)
  })

  it('installs for the programs on this machine, once, and removes everything', async () => {
    for (const folder of ['.claude', '.codex', '.config/opencode']) await mkdir(join(home, folder), { recursive: true })
    await put('.claude/settings.json', '{\n    "model": "opus"\n}\n')
    await chmod(join(home, '.claude/settings.json'), 0o640)
    const before = await contentOf(home)
    expect((await run('--auto', '--yes')).stdout).toContain('installed for Codex CLI; ledger:')
    expect((await lstat(join(home, '.claude/settings.json'))).mode & 0o777).toBe(0o640)
    const status: unknown = JSON.parse((await run('--json')).stdout)
    expect(status).toMatchObject({
      agents: [
        { agent: 'claude-code', isUsed: true, store: join(home, '.context-ledger') },
        { agent: 'codex', isUsed: true, store: join(home, '.context-ledger') },
        { agent: 'gemini', isUsed: false },
        { agent: 'opencode', isUsed: true, store: join(home, '.context-ledger') },
        { agent: 'pi', isUsed: false },
        { agent: 'zed', isUsed: false },
        { agent: 'jetbrains', isUsed: false },
      ],
    })
    expect((await run('--auto', '--yes')).stdout).toBe('nothing to do\n')
    expect((await run('--agent', 'codex', '--remove', '--yes')).stdout).toContain('removed from Codex')
    expect((await run('--agent', 'codex', '--remove', '--yes')).stdout).toBe('nothing to do\n')
    expect((await run('--remove', '--yes')).status).toBe(0)
    expect(await contentOf(home)).toEqual(before)
  })

  it('replaces an earlier installation if the ledger is another one', async () => {
    await mkdir(join(home, '.gemini'))
    const before = await contentOf(home)
    await run('--agent', 'gemini', '--yes')
    const { stdout } = await run('--agent', 'gemini', '--yes', '--store', 'other')
    expect(stdout).toContain(`ledger: ${join(home, 'other')}`)
    const settings = await readFile(join(home, '.gemini/settings.json'), 'utf8')
    expect(settings).toContain(join(home, 'other'))
    expect(settings).not.toContain(join(home, '.context-ledger'))
    await run('--remove', '--yes')
    expect(await contentOf(home)).toEqual(before)
  })

  it('keeps the rules for the notes, and rejects a file of rules that does not exist', async () => {
    await mkdir(join(home, '.claude'))
    await put('rules.txt', 'Answer in English.\n')
    const missing = await run('--agent', 'claude-code', '--yes', '--rules', 'rule.txt')
    expect(missing.stderr).toContain(
      `--rules names ${join(home, 'rule.txt')}, which does not exist (did you mean rules.txt?)`,
    )
    expect((await run('--agent', 'claude-code', '--yes', '--rules', 'rules.txt')).status).toBe(0)
    const servers = await readFile(join(home, '.claude.json'), 'utf8')
    expect(servers.replaceAll(/\s+/gu, '')).toContain(`"--rules","${join(home, 'rules.txt')}"`)
    expect(findInstallation(join(home, '.local/state/context-ledger/hooks'), 'claude-code')?.rules).toBe(
      join(home, 'rules.txt'),
    )
  })

  it('leaves a hook that the user changed, and says so', async () => {
    await put('.claude/settings.json', '{"a": 1}')
    await run('--agent', 'claude-code', '--yes')
    const file = join(home, '.claude/settings.json')
    await writeFile(file, (await readFile(file, 'utf8')).replace('"timeout": 15', '"timeout": 9'))
    const { stderr } = await run('--remove', '--yes')
    expect(stderr).toContain(`in ${file} was changed since the installation, so it stays: remove it by hand`)
    expect(await readFile(file, 'utf8')).toContain('"timeout": 9')
  })

  it.each([
    [['--agent', 'claud-code'], '--agent "claud-code" is no known agent: did you mean claude-code?'],
    [['--agent', 'pi', '--auto'], '--agent cannot be combined with --auto'],
    [['--auto'], 'found none of these programs on this machine: Claude Code, Codex'],
    [['--agent', 'pi', '--store', 'https://ledger.example'], 'not to a service'],
    [['--agent', 'pi', '--store', 'postgres://me:secret@db/x'], 'pass --store @FILE'],
  ])('rejects %j', async (words, message) => {
    const { status, stderr } = await run(...words, '--yes')
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(message) })
    expect(await contentOf(home)).toEqual({})
  })
})
