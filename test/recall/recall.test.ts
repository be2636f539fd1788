/** The note that restores an agent after a compaction. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { openLedger, type Ledger, type MessageInput } from '../../src/index.js'
import { toReportMessage } from '../../src/application/loss-report/compaction-reports.js'
import { entriesOf } from '../../src/application/recall/entries.js'
import type { ContextComparison } from '../../src/application/recall/context-comparison.js'
import { noteOf } from '../../src/application/recall/note.js'
import { contentText } from '../../src/domain/values/message.js'
import { NOTE_BEGINNING } from '../../src/domain/values/recall-note.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'
import { histories } from '../support/arbitraries.js'
import { repeated } from '../support/length.js'

const EXAMPLE = 'examples/claude-code-session.jsonl'
const ID = 'claude-code/3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'

let ledger: Ledger
let conversations = 0
const newId = (): string => `run-${String((conversations += 1))}`

beforeAll(async () => {
  // A summary that keeps nothing, and a view without items: the context lacks all that was removed.
  ledger = await openLedger({
    store: 'memory',
    summarizer: () => Promise.resolve('They worked on it.'),
    policy: { modelMaxTokens: 1_000, view: 'clip-archive' },
  })
  await ledger.transcripts.import(EXAMPLE)
})
afterAll(async () => {
  await ledger.close()
})

const call = (id: string, name: string, input: unknown, result: string): MessageInput[] => [
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
  },
  { role: 'tool', tool_call_id: id, content: result },
]

/** The messages as a report has them. */
const reported = (messages: readonly MessageInput[]): ReportMessage[] =>
  messages.map((message, at) =>
    toReportMessage({
      messageId: `m${String(at)}`,
      revision: at + 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      tokens: 5,
      role: message.role === 'function' ? 'tool' : message.role,
      content: typeof message.content === 'string' ? message.content : null,
      toolCallId: message.tool_call_id,
      toolCalls: message.tool_calls?.map((toolCall) => ({ type: 'function', ...toolCall })),
      attributes: undefined,
    }),
  )

const filler = (number: number): MessageInput[] =>
  Array.from({ length: number }, (_none, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `Number ${String(at)}: the weather was mild over the bay, and the ferry came in before the rain. `.repeat(
      3,
    ),
  }))

/** The note for messages that were compacted away, with newer messages behind them. */
async function noteFor(messages: readonly MessageInput[], tokens?: number): Promise<string> {
  const id = newId()
  await ledger.append(id, [...messages, ...filler(30)])
  await ledger.admin.waitForCompaction()
  const { text, compactions } = await ledger.recall(id, tokens === undefined ? {} : { tokens })
  expect(compactions).toBeGreaterThan(0)
  return text
}

describe('the example session', () => {
  it('gets the rule back that its summary lost, with its revision', async () => {
    expect((await ledger.recall(ID)).text).toMatch(
      /- “The export has to keep its CSV columns in the same order, .* it must be done by Friday 13 March\.” \(r2\)/u,
    )
  })
})

describe('a note', () => {
  it('is empty for a conversation that was not compacted', async () => {
    const id = newId()
    await ledger.append(id, { role: 'user', content: 'Never touch the production database.' })
    expect(await ledger.recall(id)).toMatchObject({ text: '', tokens: 0, compactions: 0, entries: [] })
  })

  it('has the open tasks, the last error of a check, and the words of a refusal', async () => {
    const todos = [
      { content: 'Read the exporter', status: 'completed' },
      { content: 'Write a failing test', status: 'in_progress' },
      { content: 'Round only at the end', status: 'pending' },
    ]
    const refusal = 'The tool use was rejected. The user said:\nnever push on Fridays'
    const note = await noteFor([
      { role: 'user', content: 'Repair the export of the invoices.' },
      ...call('c1', 'TodoWrite', { todos }, 'ok'),
      ...call('c2', 'Edit', { file_path: '/srv/app/export.ts', old_string: 'a', new_string: 'b' }, 'done'),
      ...call('c3', 'Bash', { command: 'npm test' }, 'Exit code 1\nError: expected 26.25, got 26.26\n1 failed'),
      ...call('c4', 'Bash', { command: 'git push origin main' }, refusal),
    ])
    expect(note).toContain('to do: Write a failing test')
    expect(note).toContain('to do: Round only at the end')
    expect(note).not.toContain('to do: Read the exporter')
    expect(note).toContain('Error: expected 26.25, got 26.26')
    expect(note).not.toContain('changed once')
    expect(note).toContain('refused Bash(git push origin main): never push on Fridays')
    expect(note).not.toContain('git push origin main →')
  })

  it('says nothing twice, and leaves out assents, finished requests and questions', async () => {
    const note = await noteFor([
      { role: 'user', content: 'We decided to round only at the end of the invoice.' },
      { role: 'assistant', content: 'Shall I also look at the exporter?' },
      { role: 'user', content: 'yes, proceed' },
      { role: 'assistant', content: 'The exporter is read.' },
      { role: 'user', content: 'Please explain how the exporter finds a berth.' },
      { role: 'assistant', content: 'It asks the berth service.' },
      { role: 'user', content: 'We decided to round only at the end of the invoice.' },
    ])
    expect(note.split('round only at the end of the invoice')).toHaveLength(2)
    expect(note).not.toMatch(/proceed|explain|exporter/u)
  })

  it('without a summary that can be read has the work: reports, results and files, without the lines of a program', () => {
    const around = (output: string): string => `${output}\nShell cwd was reset to /srv/app`
    const { text: earlier } = noteOf([{ section: 'rules', text: 'Never sail alone.', revision: 1 }], 500)
    const before = reported([
      ...call('c1', 'Edit', { file_path: '/srv/app/export.ts', old_string: 'a', new_string: 'b' }, 'done'),
      ...['build', 'lint', 'docs'].flatMap((target) =>
        call(target, 'Bash', { command: `make ${target}` }, around(`made the ${target}`)),
      ),
      ...call('c2', 'Bash', { command: 'cd /srv/app && make check' }, around('checked 30 invoices')),
      ...call('c3', 'shell', { command: 'make ship' }, '{"output":"shipped it\\n","metadata":{"exit_code":0}}'),
      // A hook added a note to a result.
      ...call('c4', 'Bash', { command: 'make survey' }, `The quay is 40 m long.\n\n${earlier}`),
      { role: 'assistant', content: 'The export rounds at the end now.' },
    ])
    const missing = {
      removed: before,
      remaining: [],
      before,
      after: [],
      summary: { kind: 'opaque' },
      compactions: 1,
      unchangedIds: new Set<string>(),
      pinnedIds: new Set<string>(),
    } as const
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only these fields are read
    const { text: note } = noteOf(entriesOf(missing as unknown as ContextComparison, []), 1_500, [], true)
    expect(note).toContain('- The export rounds at the end now. (r')
    expect(note).toContain('- make check → checked 30 invoices')
    expect(note).toContain('- make ship → shipped it')
    expect(note).toContain('- make survey → The quay is 40 m long. (r')
    expect(note).toContain('/srv/app/export.ts: changed once')
    expect(note).not.toMatch(/cwd was reset|metadata|Never sail/u)
    expect(note.split(NOTE_BEGINNING)).toHaveLength(2)
  })

  it.each([
    ['update_plan', { plan: [{ step: 'Round only at the end', status: 'pending' }] }],
    ['todo_write', { todos: [{ description: 'Round only at the end', status: 'todo' }] }],
    ['update_todo_list', { todos: '- [x] Read\n- [ ] Round only at the end' }],
    ['TaskCreate', { subject: 'Round only at the end' }],
  ])('reads the list of tasks of %s', async (name, input) => {
    expect(await noteFor(call('c1', name, input, 'Task #1 created'))).toContain('to do: Round only at the end')
  })

  // A rule keeps its place whatever marks it has: such a message was once taken for code.
  it('law: a rule in a typed message is in the note, whatever stands around it', async () => {
    const marks = fc.constantFrom(
      '',
      '[[turn-0: read notes.txt]]',
      '{a,b}',
      '`rm -rf *`',
      '<b>',
      'C:\\\\tmp|x',
      '(see #12)',
      '=> $X;',
    )
    const rule = fc.constantFrom(
      'Never touch harbour_prod.',
      'Rule: never touch harbour_prod.',
      'Always run the linter before you commit.',
      'Niemals die Tabelle audit_log anfassen.',
      '本番のデータベースには絶対に触らないでください。',
      'No toques nunca la base de producción.',
    )
    await fc.assert(
      fc.asyncProperty(rule, marks, marks, async (words, first, last) => {
        const note = await noteFor([{ role: 'user', content: `${first}\n${words} ${last}`.trim() }])
        expect(lettersOf(note)).toContain(lettersOf(words))
      }),
      { numRuns: repeated(120, 30) },
    )
  })

  it('begins with the rules that it is given, and names those that do not fit', async () => {
    const { entries } = await ledger.recall(ID, { rules: ['Answer in German.'] })
    expect(entries[0]).toEqual({ section: 'rules', text: 'Answer in German.' })
    await expect(ledger.recall(ID, { tokens: 100, rules: ['Answer in German. '.repeat(90)] })).rejects.toMatchObject({
      kind: 'BadInput',
      message: expect.stringContaining('leaves no room for 1 of 1 rules'),
    })
  })

  it('proposes the rules that the user stated, also those that the context has', async () => {
    const id = newId()
    await ledger.append(id, [
      { role: 'user', content: 'Hello. Never push on Fridays.\nWhat time is it?' },
      { role: 'assistant', content: 'You must never ask me that.' },
    ])
    expect((await ledger.recall(id)).statedRules).toEqual([{ text: 'Never push on Fridays.', revision: 1 }])
  })

  it('of an earlier moment is that of the context at this moment', async () => {
    expect((await ledger.recall(ID, { at: 20 })).text).toBe('')
    const { text } = await ledger.recall(ID, { at: 31 })
    expect(text).toContain('Never touch the production database')
    await expect(ledger.recall(ID, { at: 9_999 })).rejects.toMatchObject({ fault: 'input' })
  })

  it.each([Number.NaN, 0, 99, 1.5, -1])('of %p tokens is refused', async (tokens) => {
    await expect(ledger.recall(ID, { tokens })).rejects.toMatchObject({ kind: 'BadInput' })
  })
})

/** The texts of the recorded messages by revision. */
async function recordedTexts(id: string): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>()
  for await (const event of ledger.log(id))
    if (event.type === 'MessageAppended') texts.set(event.revision, contentText(event.data.content))
  return texts
}

const lettersOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, '')

describe('whatever the conversation and the limit', () => {
  it('a note keeps its limit, quotes the messages of its revisions, and repeats none of the context', async () => {
    let [entries, quotations] = [0, 0]
    const cranes = fc.uniqueArray(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 6 })
    const lived = fc.tuple(histories(12), cranes, fc.integer({ min: 100, max: 2_000 }))
    await fc.assert(
      fc.asyncProperty(lived, async ([messages, crane, limit]) => {
        const id = newId()
        const rules = crane.map((number): MessageInput => ({
          role: 'user',
          content: `Never use crane ${String(number)} alone.`,
        }))
        const all = [...messages.map(({ pinned: _pinned, ...message }) => message), ...rules, ...filler(30)]
        await ledger.append(id, all)
        await ledger.admin.waitForCompaction()
        const said = await recordedTexts(id)
        const live = new Set((await ledger.messages(id)).messages.map(({ revision }) => revision))
        const note = await ledger.recall(id, { tokens: limit })
        expect(note.tokens).toBeLessThanOrEqual(limit)
        entries += note.entries.length
        for (const { revision = -1, text } of note.entries) {
          expect([said.has(revision), live.has(revision)]).toEqual([true, false])
          expect(note.text).toContain(`- ${text} (r${String(revision)})`)
          // A quotation has the message's letters and digits, in one line and without control characters.
          const quoted = lettersOf(/“([^“”…]+)”$/u.exec(text)?.[1] ?? '')
          if (quoted !== '') quotations += 1
          expect(lettersOf(said.get(revision) ?? '')).toContain(quoted)
        }
      }),
      { numRuns: repeated(15, 5) },
    )
    expect(entries).toBeGreaterThan(repeated(15, 4))
    expect(quotations).toBeGreaterThan(repeated(5, 1))
  })
})

describe('the guide', () => {
  it('shows the lines that the command prints', async () => {
    const example = /```text\n([\s\S]*?)```/u.exec(readFileSync('docs/guides/recall.md', 'utf8'))?.[1] ?? ''
    const lines = example.split('\n').filter((line) => line.trim() !== '' && line.trim() !== '…')
    expect(lines.length).toBeGreaterThan(2)
    const { text } = await ledger.recall(ID)
    for (const line of lines) expect(text.split('\n')).toContain(line)
  })
})
