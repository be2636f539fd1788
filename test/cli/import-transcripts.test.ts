/** `import` of transcripts: program detection, directories, discovery, and invalid input. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claudeCodeLines } from '../support/claude-code-transcript.js'
import { runCli, type CliResult } from '../support/cli.js'
import { jsonAs } from '../support/json.js'
import { copilotCli } from '../support/written/copilot-cli.js'
import { longTest } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

interface ImportReport {
  readonly transcripts?: readonly {
    readonly file: string
    readonly program: string
    readonly unchanged: boolean
    readonly conversations: readonly {
      readonly conversationId: string
      readonly messages: number
      readonly compactions: number
      readonly known: number
    }[]
  }[]
  readonly totals?: {
    readonly files: number
    readonly unchanged: number
    readonly messages: number
    readonly known: number
    readonly cut: number
  }
  readonly skipped: readonly string[]
}

describe('import of transcripts', () => {
  let folder: string
  let home: string
  const run = async (words: readonly string[]): Promise<CliResult> =>
    await runCli(words, { cwd: folder, env: { HOME: home, CLAUDE_CONFIG_DIR: join(home, '.claude') } })
  const report = (result: CliResult): ImportReport => {
    if (result.status !== 0) throw new Error(result.stderr)
    return jsonAs<ImportReport>(result.stdout)
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-transcripts-'))
    home = join(folder, 'home')
    const project = join(home, '.claude', 'projects', '-srv-harbour')
    await mkdir(project, { recursive: true })
    await writeFile(join(project, 'session-1.jsonl'), `${claudeCodeLines(5, [2]).join('\n')}\n`)
    const cut = claudeCodeLines(3, [], 'session-2').join('\n')
    await writeFile(join(project, 'session-2.jsonl'), cut.slice(0, -30))
    await writeFile(join(project, 'notes.json'), '{"nothing": "of a conversation"}')
    await writeFile(join(folder, 'outside.jsonl'), `${claudeCodeLines(2, [], 'session-3').join('\n')}\n`)
    await symlink(join(folder, 'outside.jsonl'), join(project, 'link.jsonl'))
    await symlink(project, join(project, 'round'))
    await writeFile(join(folder, 'strange.jsonl'), '{"kind":"strange","value":1}\n')
  })

  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  longTest('discovers newer programs in their own directories, and samples a file without its texts', async () => {
    const otherHome = join(folder, 'other-home')
    const session = join(otherHome, '.copilot', 'session-state', 'session-4')
    await mkdir(session, { recursive: true })
    await writeFile(join(session, 'events.jsonl'), Object.values(copilotCli.files).join(''))
    const env = { COPILOT_HOME: join(otherHome, '.copilot'), CLAUDE_CONFIG_DIR: join(otherHome, '.claude') }
    const found = await runCli(['import', '--discover', '--json'], { cwd: folder, env })
    expect(jsonAs<readonly { readonly program: string }[]>(found.stdout).map(({ program }) => program)).toEqual([
      'copilot-cli',
    ])
    const sample = await runCli(['import', '--sample', join(session, 'events.jsonl')], { cwd: folder, env })
    expect(sample.stdout.split('\n')).toContainEqual(
      expect.stringContaining('"type":"user.message","data":{"content":"<'),
    )
    expect(sample.stderr).toContain('recognized as copilot-cli')
    for (const text of copilotCli.context.has) expect(sample.stdout).not.toContain(text)
    const none = await runCli(['import', '--sample'], { cwd: folder, env })
    expect([none.status, none.stderr]).toEqual([2, expect.stringContaining('--sample requires exactly one file')])
  })

  it('lists what this machine has, and records nothing', async () => {
    const { status, stdout } = await run(['import', '--discover'])
    expect(status).toBe(0)
    expect(stdout).toMatch(/claude-code +2 /u)
    expect(stdout).toContain('--discover --yes')
  })

  it('counts without a ledger', async () => {
    const dry = report(await run(['import', '--dry-run', '--json', join(home, '.claude')]))
    expect(
      dry.transcripts?.map(({ conversations }) =>
        conversations.map(({ messages, compactions }) => [messages, compactions]),
      ),
    ).toEqual([[[20, 1]], [[11, 0]]])
  })

  it('tells what an import would record, in words and as JSON', async () => {
    const words = await run(['import', '--dry-run', join(home, '.claude')])
    expect(words.stdout).toMatch(
      /^Would import 31 messages \(dry run\): [\d,]+ tokens, [\d,]+ bytes, 2 conversations, 1 compaction, programs: claude-code$/mu,
    )
    expect(words.stdout).not.toContain('recorded')
    const json = jsonAs<{ wouldImport: { messages: number; tokens: number; bytes: number; programs: string[] } }>(
      (await run(['import', '--dry-run', '--json', join(home, '.claude')])).stdout,
    )
    expect(json.wouldImport).toMatchObject({ messages: 31, compactions: 1, programs: ['claude-code'] })
    expect(json.wouldImport.tokens).toBeGreaterThan(0)
    expect(json.wouldImport.bytes).toBeGreaterThan(json.wouldImport.tokens)
  })

  longTest('counts the tokens of a file of messages in a dry run', async () => {
    const file = join(folder, 'chat.jsonl')
    await writeFile(file, '{"role":"user","content":"Never touch production."}\n')
    const { stdout } = await run(['import', '--dry-run', file])
    expect(stdout).toMatch(/^Would import 1 message \(dry run\): [1-9]\d* tokens, 52 bytes, 1 conversation/mu)
  })

  longTest('lists ten skipped files, one in a line, and counts the others', async () => {
    const many = join(folder, 'many')
    await mkdir(many)
    await writeFile(join(many, 'chat.jsonl'), '{"role":"user","content":"hello"}\n')
    for (let at = 10; at < 23; at += 1) await writeFile(join(many, `notes-${String(at)}.json`), '{"a": 1}')
    const { stderr } = await run(['import', '--dry-run', many])
    const lines = stderr.trimEnd().split('\n')
    expect(lines[0]).toBe('Skipped 13 files without a conversation:')
    expect(lines.slice(1, 11)).toEqual(
      Array.from({ length: 10 }, (_none, at) => `  ${join(many, `notes-${String(at + 10)}.json`)}`),
    )
    expect(lines[11]).toBe('  and 3 more')
  })

  it('takes a folder: every transcript in it, nothing that a link leads out to, and says what it left', async () => {
    const imported = report(await run(['import', '--discover', '--yes', '--json']))
    expect(
      imported.transcripts?.map(({ program, conversations }) => [program, conversations[0]?.conversationId]),
    ).toEqual([
      ['claude-code', 'claude-code/session-1'],
      ['claude-code', 'claude-code/session-2'],
    ])
    expect(imported.totals).toMatchObject({ messages: 31, cut: 1 })
    const second = report(await run(['import', join(home, '.claude'), '--json']))
    expect(second.totals).toMatchObject({ files: 2, unchanged: 2, messages: 0 })
    expect(second.skipped.map((path) => path.slice(path.lastIndexOf('/') + 1)).toSorted()).toEqual([
      'link.jsonl',
      'notes.json',
      'round',
    ])
  })

  longTest('takes what was cut off when it is whole', async () => {
    const file = join(home, '.claude', 'projects', '-srv-harbour', 'session-2.jsonl')
    await writeFile(file, `${claudeCodeLines(3, [], 'session-2').join('\n')}\n`)
    const whole = report(await run(['import', file, '--json']))
    expect(whole.transcripts?.[0]?.conversations[0]).toMatchObject({ messages: 1, known: 11 })
    const verified = await run(['verify'])
    expect(verified.stdout).toContain('ok')
  })

  it('shows the context that the program made, and what it did', async () => {
    expect((await run(['context', 'claude-code/session-1', '--json'])).stdout).toContain('"program":"claude-code"')
    expect((await run(['log', 'claude-code/session-1'])).stdout).toContain(
      'claude-code compacted (auto): 12 messages removed',
    )
    expect((await run(['compact', 'claude-code/session-1'])).stderr).toContain('claude-code makes')
  })

  it.each([
    [['import', 'strange.jsonl'], 'begins with "{\\"kind\\":\\"strange\\"'],
    [['import', 'strange.jsonl'], 'claude-code, claude-code-stream, codex'],
    [['import', 'outside.jsonl', '--from', 'codex'], 'transcript of codex'],
    [['import', 'outside.jsonl', '--from', 'claude'], '--from must be one of'],
    [['import', '--yes', 'outside.jsonl'], '--yes requires --discover'],
    [['import', '--discover', 'outside.jsonl'], '--discover cannot be combined with files'],
    [['import', 'outside.jsonl', '--conversation', 'mine'], '--conversation requires exactly one file'],
    [['import', 'nowhere'], 'nowhere does not exist'],
  ])('%j says %s', async (words, said) => {
    const { status, stderr } = await run(words)
    expect(status).not.toBe(0)
    expect(stderr.replaceAll(/\s+/gu, ' ')).toContain(said)
  })
})
