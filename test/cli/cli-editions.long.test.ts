/** `editions compare` and `replay --dry-run`, as text and as JSON, over one ledger with one edition. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { either as E } from 'fp-ts'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { loadConversation } from '../../src/application/recording/load-conversation.js'
import { openReplay } from '../../src/application/editions/replay-conversation.js'
import { resolvePolicy } from '../../src/domain/values/policy.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import { openLedger } from '../../src/index.js'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import { runCli, type CliResult } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { createTestClock } from '../support/harness.js'

// Each command is a process that opens a database.
jest.setTimeout(180_000)

const CONVERSATION = 'sample-harbour'
const EDITION = 'e1'
let folder: string

const run = (...words: string[]): Promise<CliResult> => runCli(words, { cwd: folder })

/** Creates an edition whose summaries have a third of the tokens. */
async function makeEdition(conversationId = CONVERSATION): Promise<void> {
  const db = await openFolder(join(folder, '.context-ledger'))
  const log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
  const conversation = await loadConversation(log, conversationId)
  const settings = { ...conversation.configuration?.settings, maxSummaryTokens: 30 }
  const policy = resolvePolicy(settings)
  const summarizer = createExtractiveSummarizer()
  if (E.isLeft(policy) || conversation.configuration === undefined) throw new Error('no policy')
  const { strategy, provider, model } = summarizer
  const replay = await openReplay(
    { log, clock: createTestClock(), summarizer, persona: '', registerPrompt: () => Promise.resolve(), actor: 'test' },
    {
      editionId: EDITION,
      configuration: { ...conversation.configuration, settings, policy: policy.right },
      summarizer: { strategy, provider, model },
      conversation,
    },
    { recording: true },
  )
  if (E.isLeft(replay)) throw new Error(replay.left.kind)
  const reached = await replay.right.advance()
  if (reached.kind !== 'done') throw new Error(`the edition is ${reached.kind}`)
  await db.close()
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-cli-editions-'))
  const imported = await run(
    'import',
    resolve('examples/sample-conversation.jsonl'),
    '--model-max-tokens',
    '2400',
    '--buffer',
    '4',
  )
  if (imported.status !== 0) throw new Error(imported.stderr)
  await makeEdition()
  await writeFile(
    join(folder, 'questions.jsonl'),
    '{"question":"Which database may never be touched?","evidence":["m00002"]}\n{"question":"no labels"}\n{"question":"not known","evidence":["m00002"],"answerable":false}\n',
  )
  await writeFile(join(folder, 'large.json'), '{"modelMaxTokens":6000}')
  await writeFile(join(folder, 'small.json'), '{"modelMaxTokens":1600}')
  await writeFile(join(folder, 'wrong.json'), '{"keepRecnt":3}')
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

interface Report {
  readonly conversationRevision: string
  readonly figures: Readonly<Record<'against' | 'edition', Readonly<Record<string, number>>>>
  readonly losses: readonly {
    readonly kind: string
    readonly total: number
    readonly lost: { readonly kept: { readonly count: number } }
  }[]
  readonly evidence: unknown
}
interface Document {
  readonly conversations: readonly {
    readonly conversationId: string
    readonly recorded: boolean
    readonly report: Report
  }[]
  readonly rows: readonly {
    readonly name: string
    readonly kind: string
    readonly total: Readonly<Record<string, number>>
  }[]
  readonly events: readonly { readonly type: string }[]
  readonly skipped: readonly unknown[]
  readonly error: { readonly kind: string; readonly message: string }
}
// The expectations check the shape of the document.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const parse = (text: string): Document => JSON.parse(text) as Document

describe('editions compare', () => {
  it('shows figures, losses with the message that said it first, and the difference of the views', async () => {
    const { status, stdout } = await run('editions', 'compare', EDITION, CONVERSATION, '--questions', 'questions.jsonl')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^sample-harbour "[^"]*" as of revision \d+, recorded\n/u)
    expect(stdout).toMatch(/tokens of the context +[\d,]+ +[\d,]+ +[+−]?[\d,]+\n/u)
    expect(stdout).toMatch(/constraints +\d+ /u)
    expect(stdout).toMatch(/evidence +1 +1 /u)
    expect(stdout).toMatch(/lost \w+ \(\d+\)\n {2}.+ \[m\d{5}/u)
    expect(stdout).toMatch(/view: [\d,]+ lines? unchanged, [\d,]+ removed, [\d,]+ added\n/u)
    expect(stdout).toMatch(/^- /mu)
    expect(stdout).toMatch(/^\+ /mu)
  })

  it('as JSON it is the fact that is recorded; asked again it is the one recorded before', async () => {
    const [first, again] = [
      await run('editions', 'compare', EDITION, '--json'),
      await run('editions', 'compare', EDITION, '--json'),
    ]
    const [one, two] = [parse(first.stdout).conversations[0], parse(again.stdout).conversations[0]]
    expect([one?.recorded, two?.recorded]).toEqual([true, false])
    expect(two?.report).toEqual(one?.report)
    expect(one?.report.losses.map(({ kind }) => kind)).toEqual([
      'pinned',
      'constraints',
      'files',
      'identifiers',
      'numbers',
    ])
    expect(one?.report.losses.reduce((sum, kind) => sum + kind.lost.kept.count, 0)).toBeGreaterThan(0)
    expect(one?.report.figures.edition['viewTokens']).toBeLessThan(one?.report.figures.against['viewTokens'] ?? 0)
  })

  it.each([
    [['editions', 'compare', 'e9'], 'there is no edition e9 of any conversation'],
    [['editions', 'compare', EDITION, 'nowhere'], 'there is no conversation "nowhere"'],
    [['editions', 'compare', EDITION, '--questions', 'none.jsonl'], 'none.jsonl does not exist'],
    [['editions', 'compare', EDITION, '--questions', 'large.json'], 'large.json:1: question'],
  ])('%j is refused', async (words, message) => {
    const { status, stdout, stderr } = await run(...words)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })
})

describe('replay --dry-run', () => {
  it('shows a row and a plot for each policy, beside how it went and no compaction, and records nothing', async () => {
    const events = async () => parse((await run('log', CONVERSATION, '--json')).stdout).events.length
    const before = await events()
    const { status, stdout } = await run(
      'replay',
      CONVERSATION,
      '--dry-run',
      '--policy',
      'large.json',
      '--policy',
      'small.json',
    )
    expect(status).toBe(0)
    expect(stdout).toMatch(/^ +cycles +summaries +requests/u)
    for (const name of ['as recorded', 'no compaction', 'large', 'small'])
      expect(stdout).toMatch(new RegExp(String.raw`^${name} +[\d,]+ +[\d,]+ +[\d,]+ +[\d,]+ +[\d,]+`, 'mu'))
    expect(stdout.match(/┤/gu)?.length).toBeGreaterThanOrEqual(9)
    expect(stdout).toMatch(/large tokens at each of \d+ requests\n/u)
    expect(await events()).toBe(before)
  })

  it('tries what flags make of each file, or flags alone', async () => {
    const tried = async (...words: string[]): Promise<unknown> =>
      parse((await run('replay', CONVERSATION, '--dry-run', ...words, '--json')).stdout).rows.at(-1)?.total
    const [large, overruled, alone] = [
      await tried('--policy', 'large.json'),
      await tried('--policy', 'small.json', '--model-max-tokens', '6000'),
      await tried('--model-max-tokens', '6000'),
    ]
    expect([overruled, alone]).toEqual([large, large])
  })

  it('as JSON has every request', async () => {
    const { rows } = parse((await run('replay', '--all', '--dry-run', '--policy', 'small.json', '--json')).stdout)
    expect(rows.map(({ name, kind }) => [name, kind])).toEqual([
      ['as recorded', 'recorded'],
      ['no compaction', 'none'],
      ['small', 'tried'],
    ])
    expect(rows[2]?.total['largestContext']).toBeLessThanOrEqual(1600)
    expect(rows[2]?.total['cycles']).toBeGreaterThan(rows[0]?.total['cycles'] ?? 0)
  })

  it.each([
    [['replay', CONVERSATION, '--dry-run'], '--policy FILE, or flags such as'],
    [
      ['replay', CONVERSATION, '--dry-run', '--policy', 'small.json', '--max-tokens', '5'],
      '--max-tokens has no effect with --dry-run',
    ],
    [['replay', CONVERSATION, '--dry-run', '--chunk-size', 'many'], '--chunk-size must be a number'],
    [['replay', CONVERSATION, '--summaries', 'extractive', '--yes'], '--summaries requires --dry-run'],
    [['replay', '--dry-run', '--policy', 'small.json'], 'name conversations, or pass --all'],
    [
      ['replay', CONVERSATION, '--dry-run', '--policy', 'wrong.json'],
      'wrong.json: keepRecnt is no setting of the policy',
    ],
    [['replay', CONVERSATION, '--dry-run', '--policy', 'missing.json'], 'missing.json, which does not exist'],
    [['replay', 'nowhere', '--dry-run', '--policy', 'small.json'], 'there is no conversation "nowhere"'],
  ])('%j is refused', async (words, message) => {
    const { status, stdout, stderr } = await run(...words)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })
})

// These tests change the ledger, so they come last.
describe('an edition that was given up or put back', () => {
  /** Appends messages like an agent's process, with compaction. */
  async function appended(
    conversationId: string,
    messages: ReturnType<typeof talk>,
    policy: PolicySettings = {},
  ): Promise<void> {
    const ledger = await openLedger({ store: join(folder, '.context-ledger'), policy })
    await ledger.append(conversationId, messages)
    await ledger.admin.waitForCompaction()
    await ledger.close()
  }

  it('keeps nobody from comparing it in the other conversations, and is named', async () => {
    await appended('other', talk(30), SMALL)
    await makeEdition('other')
    expect((await run('editions', 'drop', EDITION, 'other')).status).toBe(0)
    const { status, stdout } = await run('editions', 'compare', EDITION)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^sample-harbour "[^"]*" as of revision/mu)
    expect(stdout).toContain('skipped: edition e1 of "other" was dropped')
    expect(parse((await run('editions', 'compare', EDITION, '--json')).stdout).skipped).toEqual([
      { kind: 'EditionIsDropped', editionId: EDITION, conversationId: 'other' },
    ])
    expect(await run('editions', 'compare', EDITION, CONVERSATION, 'other')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('edition e1 of "other" was dropped'),
    })
  })

  it('is asked for by an odd id, which is refused by the name that it was typed as', async () => {
    for (const [words, said] of [
      [['editions', 'show', ''], 'EDITION is empty'],
      [['editions', 'compare', EDITION, '--against', ''], '--against is empty'],
      [['context', ''], 'CONVERSATION is empty'],
      [
        ['list', '--until', 'x'],
        '--until must be a time such as 2026-03-01T12:30:00Z, and is "x"; or a word: yesterday, monday, "last tuesday", "last week", 3d, 2026-03-01\n`context-ledger list --help` shows its flags and examples.',
      ],
    ] as const)
      expect(await run(...words)).toMatchObject({ status: 2, stdout: '', stderr: `error: ${said}\n` })
    expect(await run('editions', 'compare', EDITION, 'sample-harbor')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(
        /^error: there is no conversation "sample-harbor" .*The nearest:\n {2}sample-harbour/u,
      ),
    })
  })

  it('is put back though that is above the limit, which is told with what to do', async () => {
    expect((await run('editions', 'adopt', EDITION, CONVERSATION)).status).toBe(0)
    await appended(CONVERSATION, talk(80, 500))
    const { status, stdout } = await run('editions', 'revert', EDITION, CONVERSATION)
    expect(status).toBe(0)
    const match =
      /reverted, [\d,]+ → ([\d,]+) tokens, at or above the limit of [\d,]+, with \d+ texts shortened or omitted to fit the window: the next append compacts it; `context-ledger compact sample-harbour` does it now\n/u.exec(
        stdout,
      )
    expect((await run('context', CONVERSATION)).stdout).toContain(`${match?.[1] ?? 'nothing'} tokens`)
  })

  it('says in words why a context stays above its limit, in the command that puts it into force and in `context`, and groups the figures of what cannot be undone', async () => {
    // Five messages of 600 tokens: they are recent, and the soft limit is 3,200.
    const long = Array.from({ length: 5 }, (_, at) => ({
      id: `long${String(at)}`,
      role: 'user' as const,
      content: `Message ${String(at)}: `.padEnd(2_800, 'the berth of the harbour is booked twice, '),
    }))
    await appended('recent', [...talk(100), ...long], { ...SMALL, modelMaxTokens: 4_000, keepRecent: 5 })
    await makeEdition('recent')
    const why = 'at least half of it is messages that are never compacted: leading, pinned and recent ones'
    const { stdout } = await run('editions', 'adopt', EDITION, 'recent')
    expect(stdout).toMatch(new RegExp(`now active, .* tokens, at or above the limit of 3,200: ${why}\n`, 'u'))
    expect((await run('context', 'recent')).stdout).toMatch(
      new RegExp(`over budget: 3,\\d+ tokens, the limit is 3,200: ${why}. \\d+ messages cannot be compacted`, 'u'),
    )
    await appended('much', talk(300), { ...SMALL, modelMaxTokens: 4_000 })
    expect(await run('undo', 'much', '--cycle', '1')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/would use 1\d,\d{3} tokens; the hard limit is 4,000/u),
    })
  })
})
