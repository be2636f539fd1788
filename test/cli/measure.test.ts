/** `measure`: the counts of a made-up session with known losses, and the effect of other files in the directory. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProgramRow } from '../../src/application/losses/measured-programs.js'
import { runCli, type CliResult } from '../support/cli.js'
import { jsonAs } from '../support/json.js'
import { plantedSecrets } from '../support/planted-secrets.js'

const PUSH = 'Never push to the main branch.'
const LEGACY = 'Do not change anything in `src/legacy/`.'
const CRANES = 'Use crane_api, not dock_api, for the exports.'
const TOML = Array.from({ length: 12 }, (_none, at) => `crane_${String(at)} = ${String(1_000 + 37 * at)}`).join('\n')

interface Step {
  readonly user?: string
  readonly call?: readonly [tool: string, input: object, result: string]
  readonly summary?: string
}

const edit = (file: string): Step => ({
  call: ['Edit', { file_path: file, old_string: 'a', new_string: 'b' }, 'The file has been updated.'],
})
const read: Step = { call: ['Read', { file_path: '/srv/harbour/config.toml' }, TOML] }
const push = (more = ''): Step => ({
  call: ['Bash', { command: `git push origin main${more}` }, 'Everything up-to-date'],
})

/** A session with two compactions. The first keeps three rules; the second keeps one, changes one and drops one. */
const STEPS: readonly Step[] = [
  { user: `Please repair the list of cranes. ${PUSH} ${LEGACY} ${CRANES}` },
  read,
  { summary: `The user said: ${PUSH} ${LEGACY} ${CRANES} The configuration was read.` },
  { user: 'Go on.' },
  push(),
  read,
  edit('/srv/harbour/src/cranes.ts'),
  { summary: `The user said: ${LEGACY} Use dock_api, not crane_api, for the exports. The list is repaired.` },
  { user: 'Go on.' },
  edit('/srv/harbour/src/legacy/cranes.ts'),
  push(),
]

/** The row of that session, counted by hand. */
const ROW: ProgramRow = {
  program: 'claude-code',
  version: '2.1.50',
  sessions: 1,
  compactions: 2,
  unreadable: 0,
  rules: { there: 4, changed: 1, gone: 1, unclear: 0 },
  broken: { there: 2, changed: 0, gone: 1, unclear: 0 },
  needed: 0,
  repeated: 1,
  // Half of the 3 messages before the first compaction, and of the 7 before the second. The repeated call comes later.
  compared: { messages: 4, before: 0, after: 0 },
  nextEdit: { compactions: 2, calls: 0, lowest: 0, highest: 2 },
}

/** The session as Claude Code writes it. */
function sessionOf(sessionId: string, version: string, steps: readonly Step[]): string {
  const lines: string[] = []
  let parentUuid: string | null = null
  const record = (more: object): void => {
    const uuid = `${sessionId}-${String(lines.length)}`
    const timestamp = new Date(Date.UTC(2026, 2, 12, 9, 0, lines.length)).toISOString()
    const shared = { isSidechain: false, userType: 'external', cwd: '/srv/harbour', sessionId, version }
    lines.push(JSON.stringify({ parentUuid, ...shared, uuid, timestamp, ...more }))
    parentUuid = uuid
  }
  const user = (content: unknown, more: object = {}): void => {
    record({ type: 'user', message: { role: 'user', content }, ...more })
  }
  for (const [at, { user: words, call, summary }] of steps.entries()) {
    const id = `${sessionId}-call-${String(at)}`
    if (words !== undefined) user(words)
    if (call !== undefined) {
      const [name, input, result] = call
      const content = [{ type: 'tool_use', id, name, input }]
      record({
        type: 'assistant',
        requestId: id,
        message: { id, role: 'assistant', model: 'claude-opus-4-5', content },
      })
      user([{ type: 'tool_result', tool_use_id: id, content: result }])
    }
    if (summary === undefined) continue
    const logicalParentUuid = parentUuid
    parentUuid = null
    record({
      type: 'system',
      subtype: 'compact_boundary',
      content: 'Conversation compacted',
      logicalParentUuid,
      compactMetadata: { trigger: 'auto', preTokens: 9_000 },
    })
    user(summary, { isCompactSummary: true, isVisibleInTranscriptOnly: true })
  }
  return `${lines.join('\n')}\n`
}

interface Measured {
  readonly rows: readonly (ProgramRow & { readonly evidence?: string })[]
  readonly skipped: readonly { readonly file: string; readonly reason: string }[]
}

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'measure-'))
  await mkdir(join(folder, 'sessions'))
  await writeFile(join(folder, 'sessions', 'harbour.jsonl'), sessionOf('harbour', '2.1.50', STEPS))
})
afterEach(() => rm(folder, { recursive: true }))

const measure = (...words: readonly string[]): Promise<CliResult> => runCli(['measure', ...words], { cwd: folder })
const measured = async (...words: readonly string[]): Promise<Measured> =>
  jsonAs<Measured>((await measure(...words, '--json')).stdout)

/** The files of a directory, with their bytes. */
const filesIn = async (name: string): Promise<(readonly [string, string])[]> =>
  Promise.all(
    (await readdir(join(folder, name)))
      .toSorted()
      .map(async (file) => [file, await readFile(join(folder, name, file), 'utf8')] as const),
  )

describe('a made-up session', () => {
  it('has the counts that a person counts', async () => {
    expect(await measured('sessions')).toEqual({ rows: [ROW], skipped: [] })
  })

  it('is a row of a Markdown table', async () => {
    const { status, stdout, stderr } = await measure('sessions')
    const [head = '', rule = '', row = '', ...rest] = stdout.trimEnd().split('\n')
    expect([status, stderr, rest]).toEqual([0, '', []])
    expect(new Set([head.length, rule.length, row.length]).size).toBe(1)
    expect(row.split('|').map((cell) => cell.trim())).toEqual([
      '',
      'claude-code',
      '2.1.50',
      '1',
      '2',
      '0',
      '4 / 1 / 1 / 0',
      '2 / 0 / 1 / 0',
      '0',
      '1',
      '0 / 0',
      '0 (0 to 2)',
      '',
    ])
    const page = await readFile(join(process.cwd(), 'docs', 'what-agents-forget.md'), 'utf8')
    const cellsOf = (line: string): string[] => line.split('|').map((cell) => cell.trim())
    expect(page.split('\n').map((line) => cellsOf(line).join())).toContain(cellsOf(head).join())
  })

  it('has evidence for each count: revisions and words', async () => {
    const [{ evidence = '' } = {}] = (await measured('sessions', '--evidence', 'evidence')).rows
    expect((await readdir(join(folder, 'evidence'))).toSorted()).toEqual([evidence])
    const { row, sessions } = jsonAs<{ row: ProgramRow; sessions: readonly object[] }>(
      await readFile(join(folder, 'evidence', evidence), 'utf8'),
    )
    expect(row).toEqual(ROW)
    const first = { compaction: expect.stringMatching(/^\d+$/u), presence: 'there' }
    expect(sessions).toMatchObject([
      {
        conversationId: 'claude-code/harbour',
        files: ['harbour.jsonl'],
        compactions: [{ callsToEdit: 2 }, { callsToEdit: 0 }],
        rules: [
          { ...first, words: PUSH },
          { words: PUSH, presence: 'gone' },
          { ...first, words: LEGACY },
          { words: LEGACY, presence: 'there' },
          { ...first, words: CRANES },
          { words: CRANES, presence: 'changed', found: expect.stringContaining('Use dock_api, not crane_api') },
        ],
        breaks: [
          { ruleWords: PUSH, words: 'git push origin main', presence: 'there' },
          { ruleWords: PUSH, words: 'git push origin main', presence: 'gone' },
          { ruleWords: LEGACY, presence: 'there' },
        ],
        needed: [],
        repeated: [{ tool: 'Read', words: '/srv/harbour/config.toml' }],
      },
    ])
  })
})

it('counts in the examples what the guides show of them', async () => {
  const { rows } = await measured(join(process.cwd(), 'examples'))
  expect(rows).toMatchObject([
    {
      sessions: 2,
      compactions: 2,
      rules: { there: 1, changed: 0, gone: 3, unclear: 2 },
      broken: { there: 0, changed: 0, gone: 1, unclear: 0 },
      needed: 1,
      repeated: 1,
      nextEdit: { compactions: 1, calls: 2 },
    },
  ])
})

describe('other files of the directory', () => {
  it('add rows of other versions, and change no other row', async () => {
    const before = await measured('sessions')
    await mkdir(join(folder, 'sessions', 'outsider'))
    const steps = [...STEPS.slice(0, 3), ...STEPS.slice(8)]
    await writeFile(join(folder, 'sessions', 'outsider', 'a.jsonl'), sessionOf('outsider', '2.1.7', steps))
    const { rows } = await measured('sessions')
    expect(rows.map(({ version }) => version)).toEqual(['2.1.7', '2.1.50'])
    expect(rows.slice(1)).toEqual(before.rows)
  })

  it('are named if they are no session, and skipped', async () => {
    for (const [name, text] of [
      ['notes.md', '# Notes\n'],
      ['broken.json', '{"a":'],
      ['table.jsonl', '{"b":1}\n{"b":2}\n'],
    ] as const)
      await writeFile(join(folder, 'sessions', name), text)
    const { rows, skipped } = await measured('sessions')
    expect(rows).toEqual([ROW])
    expect(skipped.map(({ file }) => file)).toEqual(['broken.json', 'notes.md', 'table.jsonl'])
    const { status, stderr } = await measure('sessions')
    expect([status, stderr.trimEnd().split('\n')]).toEqual([
      0,
      skipped.map(({ file, reason }) => `skipped ${file}: ${reason}`),
    ])
    expect(stderr).toContain('skipped notes.md: no session of a known program\n')
  })

  it('give the same bytes in another directory, as do those of the examples', async () => {
    await cp(join(process.cwd(), 'examples'), join(folder, 'sessions', 'examples'), { recursive: true })
    await cp(join(folder, 'sessions'), join(folder, 'copy'), { recursive: true })
    const [first, second] = [
      await measure('sessions', '--evidence', 'one'),
      await measure(join(folder, 'copy'), '--evidence', 'two'),
    ]
    expect(first).toEqual(second)
    expect(first.stderr).toBe('skipped examples/sample-conversation.jsonl: no session of a known program\n')
    expect(await filesIn('one')).toEqual(await filesIn('two'))
  })

  it('show no secret in the evidence', async () => {
    const [secret = { text: '', secret: '' }] = plantedSecrets(1, 3)
    const steps = [...STEPS.slice(0, 4), push(` # ${secret.text}`)]
    await writeFile(join(folder, 'sessions', 'secret.jsonl'), sessionOf('secret', '2.1.7', steps))
    await measure('sessions', '--evidence', 'evidence')
    const texts = (await filesIn('evidence')).map(([, text]) => text).join('\n')
    expect(texts).toContain('git push origin main # [secret:')
    expect(texts).not.toContain(secret.secret)
  })
})

describe('wrong input', () => {
  it.each([
    [['empty'], 'nothing to measure: empty has no session'],
    [['without'], 'nothing to measure: without has no session; skipped notes.md: no session of a known program'],
    [['missing'], 'missing does not exist'],
    [[join('sessions', 'harbour.jsonl')], 'is a file: name the directory with the sessions'],
    [['sessions', '--evidence', 'without'], 'without is not empty: choose a new directory'],
    [['sessions', '--evidence', ''], '--evidence needs the name of a directory'],
  ])('%j', async (words, message) => {
    await mkdir(join(folder, 'empty'))
    await mkdir(join(folder, 'without'))
    await writeFile(join(folder, 'without', 'notes.md'), '# Notes\n')
    const { status, stdout, stderr } = await measure(...words)
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})
