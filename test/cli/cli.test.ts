/** The command line, as text and as JSON. All tests share one ledger, because opening one takes seconds. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { access, mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { OpenDirectory } from '../support/open-directory.js'
import { runCli, spawnCli, startCli, type CliResult } from '../support/cli.js'
import { passedOff } from '../support/json.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub, stubFlags } from '../support/openai-stub.js'
import { longTest } from '../support/length.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

// Each command is a process that opens a database, which takes seconds.
jest.setTimeout(180_000)

// The tests depend on each other, so if the long ones run, the others run too.

const SAMPLE = 'examples/sample-conversation.jsonl'
const POLICY = ['--model-max-tokens', '2400', '--buffer', '4']

let folder: string
let sample: readonly string[]
let stub: OpenAiStub

/** The shared ledger. */
let directory: OpenDirectory

const run = async (words: readonly string[], input?: string): Promise<CliResult> =>
  await directory.run(words, { cwd: folder, ...(input === undefined ? {} : { input }) })

/** The parts of the documents that the tests use. */
interface Document {
  readonly [field: string]: unknown
  readonly error: { readonly kind: string; readonly message: string }
  readonly conversations: readonly { readonly conversationId: string; readonly messages: number }[]
  readonly hits: readonly Readonly<Record<string, unknown>>[]
  readonly problems: readonly Readonly<Record<string, unknown>>[]
  readonly batches: readonly { readonly batchId: string; readonly content: string; readonly state: string }[]
}

// The expectations check the shape of the document.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const parse = (text: string): Document => JSON.parse(text) as Document
const json = (result: CliResult): Document => parse(result.stdout)
/** The error document is the last line. On a slow machine, progress lines come before it. */
const errorOn = (stderr: string): Document['error'] => parse(stderr.trimEnd().split('\n').at(-1) ?? '').error

interface LoggedEvent {
  readonly revision: string
  readonly type: string
  readonly data: { readonly contextHash: string }
  readonly metadata: { readonly recordedAt: string }
}
const events = (log: Document): readonly LoggedEvent[] => passedOff<LoggedEvent[]>(log['events'])
const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-cli-'))
  sample = (await readFile(SAMPLE, 'utf8')).trimEnd().split('\n')
  stub = await startOpenAiStub(stubAnswers.unauthorized())
  directory = new OpenDirectory(join(folder, '.context-ledger'))
})

afterAll(async () => {
  await directory.close()
  await stub.close()
  await rm(folder, { recursive: true, force: true })
})

describe('words', () => {
  it('lists commands, exit statuses and where settings come from', async () => {
    const { status, stdout } = await run(['--help'])
    expect(status).toBe(0)
    for (const expected of [
      'import [files..]',
      'verify [conversation]',
      'Exit status:',
      '130',
      'context-ledger.config.json',
      '--summarizer',
    ])
      expect(stdout).toContain(expected)
  })

  it('shows a flag for each setting of the policy on the commands that write, and on no other', async () => {
    expect((await run(['import', '--help'])).stdout).toMatch(/--keep-recent .*--max-summary-tokens /su)
    expect((await run(['context', '--help'])).stdout).not.toContain('--keep-recent')
  })

  it.each([
    [['improt', 'x.jsonl'], 'did you mean `import`?'],
    [['list', '--stroe', 'x'], 'did you mean --store?'],
    [['append', 'c', '--text', 'x', '--keep-recnt', '3'], 'unknown flag --keep-recnt: did you mean --keep-recent?'],
    [['stats', '--scope', 'x'], 'unknown flag --scope\n'],
    [['list', '--color=false'], '--color takes no value'],
    [['context'], 'context-ledger context <conversation>'],
    [['import', '--view', 'none'], '--view must be one of working-state, clip-archive, session-summary'],
    [['search'], 'pass a query or --queries FILE'],
  ])('%j: says what to type instead, and ends with 2', async (words, expected) => {
    const { status, stdout, stderr } = await run(words)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain(expected)
  })

  it('colours where --color says so though it is no terminal, by the last word on it and over NO_COLOR', async () => {
    const errorOf = async (words: readonly string[]): Promise<string> =>
      (await spawnCli(['list', '--store', 'nowhere', ...words], { cwd: folder, env: { NO_COLOR: '1' } })).stderr
    expect(await errorOf(['--no-color', '--color'])).toContain('\u001B[31merror:')
    expect(await errorOf(['--color', '--no-color'])).toMatch(/^error: /u)
    expect(await errorOf([])).toMatch(/^error: /u)
  })

  longTest(
    'says that it makes a new ledger, the first time alone; takes an id that begins with a dash behind --',
    async () => {
      await writeFile(join(folder, 'dash.jsonl'), '{"role":"user","content":"hello"}\n')
      const made = await run(['import', 'dash.jsonl', '--store', 'dashes', '--conversation=-rf'])
      expect(made).toMatchObject({
        status: 0,
        stderr: expect.stringMatching(/^making a new ledger in .*dashes: once, and a few seconds\n/u),
      })
      const read = await run(['context', '--store', 'dashes', '--', '-rf'])
      expect(read).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('hello'),
        stderr: expect.not.stringContaining('making'),
      })
    },
  )

  it('reads of no ledger that is not there, and makes none', async () => {
    const { status, stdout, stderr } = await run(['list', '--store', 'nowhere', '--json'])
    expect([status, stdout]).toEqual([2, ''])
    const error = errorOn(stderr)
    expect(error.kind).toBe('NoLedger')
    expect(error.message).toContain('context-ledger import')
    expect(await exists(join(folder, 'nowhere'))).toBe(false)
  })

  longTest('names the variable of a key that is missing, before anything is made', async () => {
    await writeFile(join(folder, 'one.jsonl'), '{"role":"user","content":"hello"}\n')
    const { status, stderr } = await run([
      'import',
      'one.jsonl',
      '--store',
      'keyless',
      '--summarizer',
      'openai',
      '--model',
      'some-model',
    ])
    expect(status).toBe(2)
    expect(stderr).toContain('CONTEXT_LEDGER_API_KEY or OPENAI_API_KEY')
    expect(await exists(join(folder, 'keyless'))).toBe(false)
  })
})

describe('a ledger', () => {
  it('records nothing of a file with a malformed line, and names it', async () => {
    const broken = [...sample.slice(0, 61), sample[61]?.replace('"role":"', '"role":"old-'), ...sample.slice(62)].join(
      '\n',
    )
    await writeFile(join(folder, 'sample.jsonl'), broken)
    const first = await run(['import', 'sample.jsonl', ...POLICY])
    expect([first.status, first.stdout]).toEqual([2, ''])
    expect(first.stderr).toContain('sample.jsonl:62: role must be one of system, developer, user, assistant, tool')

    await writeFile(join(folder, 'sample.jsonl'), sample.join('\n'))
    await writeFile(join(folder, 'notes.jsonl'), '{"question":"who?","answer":null}\n')
    const second = await run(['import', 'sample.jsonl', 'notes.jsonl', ...POLICY, '--json'])
    expect(second.status).toBe(0)
    expect(json(second)).toMatchObject({
      conversations: [
        { file: 'sample.jsonl', conversationId: 'sample-harbour', recorded: 201, alreadyThere: 0, failures: 0 },
      ],
      skipped: ['notes.jsonl'],
    })

    const third = json(await run(['import', 'sample.jsonl', ...POLICY, '--json']))
    expect(third.conversations[0]).toMatchObject({ recorded: 0, alreadyThere: 201, cycles: 0 })
  })

  it.each([
    ['"n":9007199254740993', 'has the number 9007199254740993, and a double comes to 9007199254740992'],
    ['"id":"a","id":"b"', 'has the key "id" twice in one object'],
  ])('refuses what would be recorded as another thing than it says: %s', async (field, expected) => {
    const odd = `{"role":"user","content":"hello",${field}}`
    await writeFile(join(folder, 'odd.jsonl'), `{"role":"user","content":"hello"}\n${odd}\n`)
    await writeFile(join(folder, 'odd.json'), `[\n  {"role":"user","content":"hello"},\n  ${odd}\n]`)
    for (const [words, place] of [
      [['import', 'odd.jsonl'], 'odd.jsonl:2: '],
      [['import', 'odd.json'], 'odd.json:3: '],
      [['append', 'odd', '--message', odd], '--message '],
    ] as const) {
      const refused = await run([...words, '--store', 'odds'])
      expect([refused.status, refused.stdout]).toEqual([2, ''])
      expect(refused.stderr).toContain(`${place}${expected}`)
    }
  })

  it('gives the context as a document, and as the messages of a request', async () => {
    const document = json(await run(['context', 'sample-harbour', '--json']))
    expect(Object.keys(document)).toEqual(expect.arrayContaining(['conversationId', 'revision', 'hash', 'messages']))
    expect(document['tokens']).toEqual(expect.any(Number))
    expect(document['revision']).toMatch(/^\d+$/u)
    const request: unknown = JSON.parse((await run(['context', 'sample-harbour', '--format', 'openai'])).stdout)
    expect(request).toEqual(document['messages'])
    expect(request).toContainEqual(expect.objectContaining({ role: 'system' }))
  })

  // Skipped on systems without this device.
  const describeFullDisk = existsSync('/dev/full') ? describe : describe.skip
  describeFullDisk('on a full disk', () => {
    longTest('says in one sentence that its output cannot be written', async () => {
      const full = await open('/dev/full', 'w')
      const result = await spawnCli(['context', 'sample-harbour'], { cwd: folder, output: full.fd })
      const nothingToWrite = await spawnCli(['contxet'], { cwd: folder, output: full.fd })
      await full.close()
      expect(nothingToWrite.status).toBe(2)
      expect(result).toMatchObject({
        status: 3,
        stderr: expect.stringMatching(/^error: standard output cannot be written: .*ENOSPC[^\n]*\n$/u),
      })
    })
  })

  longTest(
    'gives the context as it stood: at a revision or a time, through either view, and the live messages',
    async () => {
      const prune = events(json(await run(['log', 'sample-harbour', '--json']))).findLast(
        ({ type }) => type === 'MessagesPruned',
      )
      const revision = prune?.revision ?? ''
      const then = json(await run(['context', 'sample-harbour', '--at', revision, '--json']))
      expect([then['revision'], then['hash']]).toEqual([revision, prune?.data.contextHash])
      const byTime = json(await run(['context', 'sample-harbour', '--at', prune?.metadata.recordedAt ?? '', '--json']))
      expect(byTime).toEqual(then)
      const otherView = json(
        await run(['context', 'sample-harbour', '--at', revision, '--view', 'session-summary', '--json']),
      )
      expect(otherView['inForce']).toEqual({ view: 'clip-archive', hash: then['hash'] })
      expect(otherView['hash']).not.toBe(then['hash'])
      expect(JSON.stringify(otherView['messages'])).toContain('## Session Summary')
      expect(
        (await run(['context', 'sample-harbour', '--at', revision, '--view', 'session-summary'])).stdout,
      ).toContain(
        `no model received this context: the active view was clip-archive, and its context has the SHA-256 ${String(then['hash'])}`,
      )
      const live = json(await run(['context', 'sample-harbour', '--at', revision, '--live', '--json']))
      expect(Object.keys(live)).toEqual(['conversationId', 'revision', 'recordedAt', 'messages'])
      expect([live['revision'], live['recordedAt']]).toEqual([revision, prune?.metadata.recordedAt])
    },
  )

  longTest('shows what a cycle took out and put in', async () => {
    const document = json(await run(['diff', 'sample-harbour', '--cycle', '2', '--json']))
    expect(Object.keys(document)).toEqual([
      'conversationId',
      'from',
      'to',
      'messages',
      'batches',
      'view',
      'events',
      'cycle',
    ])
    expect(document['cycle']).toEqual({ cycle: 2, others: [] })
    const { left, came } = passedOff<{ left: { messageId: string; batchId: string }[]; came: unknown[] }>(
      document['messages'],
    )
    const { came: batches } = passedOff<{ came: { batchId: string }[] }>(document['batches'])
    expect([left.length > 0, came, batches.length]).toEqual([true, [], 1])
    expect(left.every(({ batchId }) => batchId === batches[0]?.batchId)).toBe(true)
    const { stdout } = await run(['diff', 'sample-harbour', '--cycle', '2'])
    for (const expected of [
      `- ${left[0]?.messageId ?? ''} (revision `,
      `+ ${batches[0]?.batchId ?? ''} (depth 0, `,
      'across [-1-]{+2+} compaction cycles]',
      'MessagesPruned  cycle 2: ',
    ])
      expect(stdout).toContain(expected)
    const { from, to } = passedOff<Record<'from' | 'to', { revision: string; recordedAt: string }>>(document)
    expect(
      json(await run(['diff', 'sample-harbour', '--from', from.revision, '--to', to.recordedAt, '--json'])),
    ).toEqual({ ...document, cycle: undefined })
  })

  it.each([
    [
      ['context', 'sample-harbour', '--at', '99999999999999999999999'],
      'BadInput',
      /must be a revision \(a whole number up to 9007199254740991\), and is 99999999999999999999999/u,
    ],
    [['context', 'sample-harbour', '--at', '9999'], 'NoSuchRevision', /its revisions go from 0 to \d+/u],
    [['context', 'sample-harbour', '--at', '-1', '--live'], 'NoSuchRevision', /there is no revision -1 /u],
    [
      ['context', 'sample-harbour', '--live', '--view', 'clip-archive'],
      'Usage',
      /--view cannot be combined with --live/u,
    ],
    [['diff', 'sample-harbour'], 'Usage', /--from and --to/u],
    [['diff', 'sample-harbour', '--from', '1', '--cycle', '1'], 'Usage', /--cycle cannot be combined/u],
    [
      ['context', 'sample-harbour', '--at', '2999-01-01T00:00:00Z'],
      'AfterNow',
      /2999-01-01T00:00:00.000Z is in the future: the ledger's clock is at /u,
    ],
    [
      ['diff', 'sample-harbour', '--cycle', '99'],
      'CycleNotRecorded',
      /there is no cycle 99 in the log .*: the last one is \d+/u,
    ],
  ])('%j: says which moment there is not', async (words, kind, sentence) => {
    const { status, stdout, stderr } = await run([...words, '--json'])
    expect([status, stdout]).toEqual([2, ''])
    expect(errorOn(stderr)).toMatchObject({ kind, message: expect.stringMatching(sentence) })
  })

  longTest('searches one query, and a file of queries line by line', async () => {
    const keys = [
      'conversationId',
      'batchId',
      'role',
      'messageIds',
      'firstRevision',
      'lastRevision',
      'startTime',
      'endTime',
      'score',
      'text',
    ]
    await writeFile(
      join(folder, 'queries.jsonl'),
      '{"query":"invoice INV-2026-00317","conversationId":"sample-harbour","limit":3}\n{"query":"zebra crossing xylophone"}\n',
    )
    const one = json(
      await run(['search', 'invoice', 'INV-2026-00317', '--limit', '3', '--json', '--conversation', 'sample-harbour']),
    )
    const answered = (await run(['search', '--queries', 'queries.jsonl'])).stdout.trimEnd().split('\n').map(parse)
    expect(one.hits).toHaveLength(3)
    expect(Object.keys(one.hits[0] ?? {}).toSorted()).toEqual(keys.toSorted())
    expect(answered).toHaveLength(2)
    expect(answered[0]).toEqual(one)
    expect(String(one.hits[0]?.['text'])).toContain('INV-2026-00317')
  })

  longTest('takes chat arrays and lines without ids, each message once', async () => {
    const chat = [
      { role: 'user', content: 'which port?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'run', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '5433' },
    ]
    await writeFile(join(folder, 'my chat.json'), JSON.stringify(chat))
    const lines = chat.map((message) => JSON.stringify(message)).join('\n')
    expect(json(await run(['import', 'my chat.json', '--json']))).toMatchObject({
      conversations: [{ conversationId: 'my chat', recorded: 3, alreadyThere: 0 }],
    })
    expect(json(await run(['import', '--conversation', 'my chat', '--json'], lines))).toMatchObject({
      conversations: [{ recorded: 0, alreadyThere: 3 }],
    })
    const wrong = await run(['import', '--conversation', 'my chat', '--json'], lines.replace('5433', '5544'))
    expect([wrong.status, wrong.stdout]).toEqual([2, ''])
    expect(errorOn(wrong.stderr).kind).toBe('MessageIdTaken')
    expect(errorOn(wrong.stderr).message).toContain('standard input:3')
  })

  longTest('appends near the limit, and asks no model for what is only ahead of need', async () => {
    const long = Array.from({ length: 31 }, (_unused, at) =>
      JSON.stringify({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: `${String(at)} `.padEnd(400, 'the berth is booked twice, '),
      }),
    ).join('\n')
    const apart = ['--store', 'apart', '--json', ...stubFlags(stub.baseUrl), '--chunk-min-tokens', '0']
    expect(
      (await run(['import', '--conversation', 'near', ...apart, '--model-max-tokens', '40000'], long)).status,
    ).toBe(0)
    // 32 messages of 102 tokens and a soft limit of 3,360: above nine tenths of it, with a complete chunk.
    expect(
      (await run(['append', 'near', '--text', long.slice(0, 400), ...apart, '--model-max-tokens', '4200'])).status,
    ).toBe(0)
    expect(stub.calls).toHaveLength(0)
  })

  longTest('appends, and tells a compaction that failed by its status, its sentence and its log', async () => {
    const appended = json(
      await run(['append', 'my chat', '--id', 'u-9', '--pin', '--json'], 'never touch production\n'),
    )
    expect(appended).toMatchObject({ conversationId: 'my chat', recorded: ['u-9'] })
    const failing = [...stubFlags(stub.baseUrl)]
    const failed = await run(['compact', 'sample-harbour', '--force', '--json', ...failing])
    expect([failed.status, failed.stdout]).toEqual([3, ''])
    expect(errorOn(failed.stderr).kind).toBe('SummarizerFailed')
    const { stdout } = await run(['log', 'sample-harbour', '--from', '200'])
    expect(stdout).toMatch(/CompactionFailed +FAILED \(unauthorized\) at the manual limit, attempt 1/u)
    expect(stdout).not.toMatch(/MessageAppended.* m00001 /u)
    const compacted = json(await run(['compact', 'sample-harbour', '--force', '--json']))
    expect(compacted['messagesCompressed']).toBeGreaterThan(0)
  })

  longTest(
    'explains all that is compacted, a batch that a search found, and a line of the context, down to the messages',
    async () => {
      const { hits } = json(
        await run([
          'search',
          'invoice',
          'INV-2026-00317',
          '--limit',
          '10',
          '--json',
          '--conversation',
          'sample-harbour',
        ]),
      )
      const batchId = String(hits.find((hit) => hit['batchId'] !== null)?.['batchId'])
      const found = await run(['search', 'invoice', 'INV-2026-00317', '--conversation', 'sample-harbour'])
      expect(found.stdout).toContain(`context-ledger explain sample-harbour --batch ${batchId}`)

      const tree = await run(['explain', 'sample-harbour', '--batch', batchId, '--open'])
      expect(tree.status).toBe(0)
      for (const part of [
        batchId,
        'INV-2026-00317',
        'made by    extractive, extractive-5',
        'trigger, threshold 1,920 = (2,400 - 0 - 0 - 0) x 0.8',
        `by ${userInfo().username}@${hostname()}`,
        'No prompt: sentences are chosen',
      ])
        expect(tree.stdout).toContain(part)

      const view = json(await run(['explain', 'sample-harbour', '--json']))
      const context = (await run(['context', 'sample-harbour'])).stdout
      expect(context).toContain('context-ledger explain sample-harbour')
      const activeBatch = view.batches.find(({ state }) => state === 'shown')
      const line = activeBatch?.content.split('\n').at(1) ?? ''
      expect(context).toContain(line)
      expect(json(await run(['explain', 'sample-harbour', '--line', line, '--json']))).toMatchObject({
        kind: 'batch',
        batch: { batchId: activeBatch?.batchId, chunk: { summarizer: { strategy: 'extractive' } } },
      })

      const mistyped = await run(['explain', 'sample-harbour', '--batch', `${batchId.slice(0, -1)}z`, '--json'])
      expect([mistyped.status, mistyped.stdout, errorOn(mistyped.stderr).kind]).toEqual([2, '', 'NoSuchBatch'])
      expect(errorOn(mistyped.stderr).message).toContain(`did you mean ${batchId}?`)
      expect(
        errorOn((await run(['explain', 'sample-harbour', '--line', 'nobody said this', '--json'])).stderr).kind,
      ).toBe('NoSuchLine')
    },
  )

  longTest(
    'counts what compaction took and saved, by conversation and in total, and names the field of a wrong price',
    async () => {
      await writeFile(
        join(folder, 'prices.json'),
        JSON.stringify({ 'stub-1': { promptPerMillion: 1, completionPerMillion: 2, currency: 'USD' } }),
      )
      const { stdout } = await run(['stats', '--prices', 'prices.json', '--json'])
      const document = parse(stdout)
      expect(document.conversations).toHaveLength(2)
      expect(document['total']).toMatchObject({
        conversations: 2,
        messages: 205,
        failures: { unauthorized: 1 },
        cost: [],
        unpriced: [],
        models: [{ model: 'extractive-5', charge: { kind: 'free' } }],
      })
      const byProgram = await run(['stats', '--by', 'program'])
      expect(byProgram.stdout).toMatch(/^program +conversations .* cost\n\(none\) +2 +205 /u)
      expect((await run(['stats', 'sample-harbour', '--by', 'both'])).status).toBe(2)
      const one = await run(['stats', 'sample-harbour'])
      expect(one.stdout).toMatch(/messages +201: .*\n.*compaction +\d+ cycles/u)
      expect(one.stdout).toContain('unauthorized 1')

      await writeFile(
        join(folder, 'wrong.json'),
        JSON.stringify({ 'stub-1': { promptPerMillion: 'much', completionPerMillion: 2, currency: 'USD' } }),
      )
      const wrong = await runCli(['stats'], { cwd: folder, env: { CONTEXT_LEDGER_PRICES: 'wrong.json' } })
      expect([wrong.status, wrong.stdout]).toEqual([2, ''])
      expect(wrong.stderr).toMatch(/wrong\.json: stub-1\.promptPerMillion must be a number/u)
      expect((await run(['stats', 'nobody'])).status).toBe(2)
    },
  )

  longTest('lists, rebuilds and verifies; a fact that was changed ends with 4', async () => {
    const listed = json(await run(['list', '--json']))
    expect(
      listed.conversations
        .toSorted((a, b) => a.messages - b.messages)
        .map(({ conversationId, messages }) => [conversationId, messages]),
    ).toEqual([
      ['my chat', 4],
      ['sample-harbour', 201],
    ])
    expect((await run(['projections', 'rebuild', 'clip-archive'])).status).toBe(0)
    const whole = await run(['verify', '--json'])
    expect(whole.status).toBe(0)
    expect(json(whole)).toMatchObject({ ok: true, conversations: 2, problems: [], summaries: { notRecomputed: 0 } })

    expect((await run(['verify', '--export', 'monday.manifest'])).stderr).toContain('--new-key FILE')
    const made = json(await run(['verify', '--new-key', 'operator.pem', '--json']))
    expect((await stat(join(folder, 'operator.pem'))).mode & 0o777).toBe(0o600)
    expect((await run(['verify', '--new-key', 'operator.pem'])).status).toBe(2)
    const signed = await run(['verify', '--export', 'monday.manifest', '--key', 'operator.pem'])
    expect(signed.status).toBe(0)
    expect(signed.stdout).toContain(String(made['fingerprint']))
    const second = await run(['verify', '--export', 'monday.manifest', '--key', 'operator.pem'])
    expect(second).toMatchObject({ status: 2, stderr: expect.stringContaining('already exists') })
    const compared = await run([
      'verify',
      '--against',
      'monday.manifest',
      '--public-key',
      String(made['fingerprint']),
      '--json',
    ])
    expect(json(compared)).toMatchObject({ ok: true, against: { signedBy: made['fingerprint'], signerPinned: true } })
    const unpinned = await run(['verify', 'my chat', '--against', 'monday.manifest'])
    expect(unpinned).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('not who signed it'),
      stdout: expect.stringMatching(/: 1 of its \d streams, 5 events, signed by/u),
    })
    for (const [words, expected] of [
      [['--against', '.'], '. cannot be read: it is a folder'],
      [['--against', 'missing'], 'missing does not exist'],
      [['--export', 'nodir/m', '--key', 'operator.pem'], 'nodir/m cannot be written: its folder does not exist'],
      [['--new-key', 'nodir/x'], 'nodir/x cannot be written: its folder does not exist'],
      [['--new-key', ''], '--new-key needs a file name'],
    ] as const)
      expect([words, await run(['verify', ...words])]).toEqual([
        words,
        expect.objectContaining({ status: 2, stdout: '', stderr: expect.stringContaining(expected) }),
      ])
    expect((await run(['verify', '--against', 'operator.pem'])).status).toBe(2)
    const stranger = await run(['verify', '--against', 'monday.manifest', '--public-key', `sha256:${'0'.repeat(64)}`])
    expect(stranger).toMatchObject({ status: 4, stderr: expect.stringContaining('not by') })

    await directory.close()
    const db = await openFolder(join(folder, '.context-ledger'))
    await db.script(
      `alter table events disable trigger events_are_kept; update events set data = replace(data, '5433', '5434') where stream = 'conversation-my chat'`,
    )
    await db.close()
    const changed = await run(['verify', 'my chat', '--json'])
    expect(changed.status).toBe(4)
    const { ok, problems } = json(changed)
    expect(ok).toBe(false)
    expect(Object.keys(problems[0] ?? {})).toEqual(['stream', 'conversationId', 'revision', 'rule', 'detail'])
    expect(problems[0]).toMatchObject({ conversationId: 'my chat', revision: '3', rule: 'hash' })
    // With a closed pipe (`| head`), `verify` still exits with its result, and a command that only prints exits with 0.
    for (const [words, status] of [
      [['verify', 'my chat'], 4],
      [['import', 'my chat.json', '--conversation', 'unread'], 0],
      [['log', 'sample-harbour'], 0],
    ] as const) {
      const child = startCli(words, { cwd: folder })
      child.stdout.destroy()
      child.stdin.end()
      await once(child, 'close')
      expect([words, child.exitCode]).toEqual([words, status])
    }
    expect(json(await run(['list', '--json'])).conversations.map(({ conversationId }) => conversationId)).toContain(
      'unread',
    )
  })
})
