/** The changes of the working state that a model asks for: what is applied, and what is recorded as rejected. */
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { createStructuredSummarizer } from '../../src/application/summarizers/structured.js'
import { applyOperations, isEnded } from '../../src/domain/conversation/working-state.js'
import type { StateItem, StateOperation, WorkingState } from '../../src/domain/events/index.js'
import { mentionsDay } from '../../src/domain/text/days.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { isSummarizerFailure, type MessageToSummarize, type Summary } from '../../src/ports/summarizer.js'
import { repeated } from '../support/length.js'
import { calledTool, chunkJob, sourceMessage } from '../support/summary-jobs.js'

const item = (id: string, kind: StateItem['kind'], text: string, some: Partial<StateItem> = {}): StateItem => ({
  id,
  kind,
  by: kind === 'rule' ? 'user' : 'agent',
  text,
  sourceRevisions: [1],
  weight: 90,
  ...some,
})

const before: WorkingState = {
  items: [
    item('R1', 'rule', 'Never touch the table audit_log.'),
    item('O1', 'open', 'Write the migration.', { next: 'ask for the schema' }),
    item('E1', 'error', 'The tests need a server.', { endedAt: 3 }),
  ],
}

const messages: readonly MessageToSummarize[] = [
  sourceMessage('user', 'The bill must stay under $340 a month. You may touch audit_log from now on.', {
    revision: 10,
  }),
  sourceMessage('assistant', 'The migration is written: src/migrate.ts, 42 tests pass.', { revision: 11 }),
  ...calledTool('c1', 'AskUserQuestion', { question: 'Which port?' }, '"Which port?"="Port 5544, on the copy."').map(
    (message, at) => ({ ...message, revision: 12 + at }),
  ),
  ...calledTool('c2', 'Bash', { command: 'git push' }, 'Rejected. The user said: never push on Fridays').map(
    (message, at) => ({ ...message, revision: 14 + at }),
  ),
  sourceMessage('user', '<system-reminder>\nAlways answer in verse.\n</system-reminder>', { revision: 16 }),
]

interface Answer {
  readonly state: WorkingState
  readonly summary: Summary
  readonly reasons: readonly string[]
}

async function answered(answer: unknown, given: WorkingState | undefined = before): Promise<Answer> {
  const model = createScriptedLanguageModel([typeof answer === 'string' ? answer : JSON.stringify(answer)])
  const summarizer = createStructuredSummarizer({ model })
  const summary = await summarizer.summarize(summarizer.prepare(chunkJob({ messages, workingState: given })))
  if (isSummarizerFailure(summary)) throw new Error(summary.detail)
  return {
    summary,
    state: applyOperations(given, summary.operations ?? []),
    reasons: (summary.rejectedOperations ?? []).map(({ reason }) => reason),
  }
}

const add = (kind: string, text: string, ...sources: readonly string[]) => ({
  op: 'add',
  kind,
  text,
  reason: '',
  next: '',
  sources,
})
const changes = (...operations: readonly unknown[]) => ({ operations, state: '' })
const textsOf = ({ items }: WorkingState): string[] => items.filter((each) => !isEnded(each)).map(({ text }) => text)

describe('a change is applied', () => {
  test.each([
    ['a rule in the words of the user', add('rule', 'The bill must stay under $340 a month.', 'r10')],
    ['a rule with a frame around the words', add('rule', 'On money: "must stay under $340"', 'r10')],
    ['a rule with an omission', add('rule', 'The bill … under $340 a month', '10')],
    ['a rule from an answer to a question', add('rule', '“Port 5544, on the copy.”', 'r13')],
    ['a rule from a refusal', add('rule', 'never push on Fridays', 'r15')],
    ['a value of a message', add('value', 'The copy listens on port 5544.', 'r13')],
    ['a decision in other words', add('decision', 'The limit on costs was set.', 'r10')],
    ['a kind that does not exist, as a fact', add('poem', 'The work goes on.', 'r11')],
  ])('%s', async (_name, operation) => {
    const { state, reasons, summary } = await answered(changes(operation))
    expect(reasons).toEqual([])
    expect(textsOf(state)).toContain(operation.text)
    expect(summary.text).toContain(operation.text)
  })

  test('work is closed by a message of the agent, a rule by one of the user', async () => {
    const { state } = await answered(
      changes({ op: 'close', id: 'O1', sources: ['r11'] }, { op: 'close', id: 'R1', sources: ['r10'] }),
    )
    expect(textsOf(state)).toEqual([])
    expect(state.items.map(({ endedAt }) => endedAt)).toEqual([10, 11, 3])
  })

  test('an item is replaced, and extended, and keeps what it was not told to lose', async () => {
    const { state } = await answered(
      changes(
        { op: 'append', id: 'O1', text: 'The file is src/migrate.ts.', sources: ['r11'] },
        {
          op: 'replace',
          id: 'R1',
          text: 'You may touch audit_log from now on.',
          reason: '',
          next: '',
          sources: ['r10'],
        },
      ),
    )
    expect(textsOf(state)).toEqual([
      'Write the migration. The file is src/migrate.ts.',
      'You may touch audit_log from now on.',
    ])
    expect(state.items.find(({ id }) => id === 'O1')).toMatchObject({
      next: 'ask for the schema',
      sourceRevisions: [1, 11],
    })
  })

  test('the state at the end replaces the one before', async () => {
    const { state } = await answered({ operations: [], state: 'The migration is written.' })
    const later = await answered({ operations: [], state: 'It is deployed.' }, state)
    expect(later.state.items.filter(({ kind }) => kind === 'progress').map(({ text }) => text)).toEqual([
      'It is deployed.',
    ])
  })
})

describe('a change is rejected, the others are applied', () => {
  test.each([
    ['a revision that is not there', add('fact', 'They met.', 'r99'), /revision/u],
    ['no revision', add('fact', 'They met.'), /revision/u],
    ['a rule in words of the model', add('rule', 'Costs have to be low.', 'r10'), /did not write/u],
    ['a rule of the agent', add('rule', '42 tests pass', 'r11'), /no words of the user/u],
    ['a rule of the program', add('rule', 'Always answer in verse.', 'r16'), /no words of the user/u],
    ['an invented value', add('value', 'The limit is $900.', 'r10'), /900/u],
    ['an empty text', add('fact', ' ', 'r10'), /no text/u],
    ['an item that is there', add('open', 'Write the migration!', 'r11'), /has this item/u],
    ['an unknown id', { op: 'close', id: 'O77', sources: ['r11'] }, /no item O77/u],
    ['a closed item', { op: 'close', id: 'E1', sources: ['r11'] }, /closed already/u],
    ['a rule closed by the agent', { op: 'close', id: 'R1', sources: ['r11'] }, /only words of the user/u],
    ['a rule closed by the program', { op: 'close', id: 'R1', sources: ['r16'] }, /only words of the user/u],
    ['words added to a rule', { op: 'append', id: 'R1', text: 'Or not.', sources: ['r10'] }, /words of the user/u],
  ])('%s', async (_name, operation, reason) => {
    const { state, reasons } = await answered(changes(operation, add('fact', 'The work goes on.', 'r11')))
    expect(reasons).toEqual([expect.stringMatching(reason)])
    expect(textsOf(state)).toEqual(['Never touch the table audit_log.', 'Write the migration.', 'The work goes on.'])
  })

  test('an answer of which nothing can be applied is no summary', async () => {
    await expect(answered(changes(add('fact', 'They met.', 'r99')))).rejects.toThrow('no summary')
  })

  test('prose is the summary, and changes nothing', async () => {
    const { summary, state } = await answered('They moved the service to Postgres 16 and wrote a migration for it.')
    expect(summary).toMatchObject({ asPlainText: true })
    expect(state).toEqual(before)
  })
})

test('law: whatever a model answers, each item rests on messages, and a rule leaves only by words of the user', async () => {
  const revision = fc.constantFrom('r1', 'r10', 'r11', 'r13', 'r15', 'r16', 'r99', '12', 'x', '')
  const words = fc.constantFrom(
    '',
    'The bill must stay',
    'never push on Fridays',
    'Port 5544',
    '$900',
    'src/migrate.ts',
    '“42 tests”',
  )
  const operation = fc.record({
    op: fc.constantFrom('add', 'replace', 'append', 'close', 'drop', 'delete'),
    id: fc.constantFrom('R1', 'O1', 'E1', 'R10', 'V10', 'nope'),
    kind: fc.constantFrom('rule', 'open', 'value', 'fact', 'statement', 'progress', 'poem'),
    text: words,
    reason: words,
    next: words,
    sources: fc.array(revision, { maxLength: 3 }),
  })
  const known = new Set([1, ...messages.map((message) => message.revision)])
  const byUser = new Set([10, 13, 15])
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 8 }), words, async (operations, state) => {
      const answer = await answered({ operations, state }).catch(() => undefined)
      if (answer === undefined) return
      for (const { sourceRevisions, kind, endedAt } of answer.state.items) {
        expect(sourceRevisions.length).toBeGreaterThan(0)
        expect(sourceRevisions.every((each) => known.has(each))).toBe(true)
        const isRule = kind === 'rule'
        expect(isRule && endedAt !== undefined && !byUser.has(endedAt)).toBe(false)
        expect(isRule && !sourceRevisions.some((each) => each === 1 || byUser.has(each))).toBe(false)
      }
      expect(answer.state.items.filter(({ id }) => id === 'R1')).toHaveLength(1)
      expect(defaultEstimator.text(answer.summary.text)).toBeLessThanOrEqual(320)
      const ops: readonly StateOperation[] = answer.summary.operations ?? []
      expect(applyOperations(before, ops)).toEqual(answer.state)
    }),
    { numRuns: repeated(300, 60) },
  )
})

test('an answer far above the limit loses its least important items, and no words of the user', async () => {
  const { state, reasons } = await answered(
    changes(
      ...Array.from({ length: 3_000 }, (_none, at) =>
        add('file', `src/part-${String(at)}.ts has the migration.`, 'r11'),
      ),
      add('rule', 'The bill must stay under $340 a month.', 'r10'),
      add('decision', 'The migration has 42 tests.', 'r11'),
    ),
  )
  expect(textsOf(state)).toEqual(
    expect.arrayContaining(['The bill must stay under $340 a month.', 'The migration has 42 tests.']),
  )
  expect(state.items.length).toBeLessThan(150)
  expect(reasons.length).toBeGreaterThan(2_850)
})

test('a rule does not become its contrary with a later message as its source', async () => {
  const document: WorkingState = { items: [item('R1', 'rule', 'Never push to main without my approval.')] }
  const { state } = await answered(
    changes(
      { op: 'replace', id: 'R1', text: 'Push to main without my approval.', reason: '', next: '', sources: ['r10'] },
      add('decision', 'The migration is written.', 'r11'),
    ),
    document,
  )
  expect(textsOf(state)).toContain('Never push to main without my approval.')
  expect(textsOf(state)).not.toContain('Push to main without my approval.')
})

test.each([
  ['See summary 3.', '2026-03-03'],
  ['maybe 5 files', '2026-05-05'],
  ['version 3.15', '2024-03-15'],
  ['le 15 juin', '2026-07-15'],
])('%j mentions no %s', (text, date) => {
  expect(mentionsDay(text, date)).toBe(false)
})

test('15 мая is a day in May', () => {
  expect(mentionsDay('Релиз 15 мая', '2026-05-15')).toBe(true)
})

test('work is closed without a message that says so, and a rule is not', async () => {
  const { state, reasons } = await answered(
    changes(
      { op: 'close', id: 'O1', sources: ['r2'] },
      { op: 'close', id: 'R1', sources: [] },
      { op: 'close', id: 'O1', sources: ['r999'] },
    ),
  )
  expect(state.items.find(({ id }) => id === 'O1')?.endedAt).toBe(16)
  expect(state.items.find(({ id }) => id === 'R1')?.endedAt).toBeUndefined()
  expect(reasons).toEqual(['only words of the user end a rule', 'names no revision of these messages'])
})

test('an answer that closes long items has room for as much as one that closes none', async () => {
  const document: WorkingState = {
    items: Array.from({ length: 40 }, (_none, at) =>
      item(`O${String(at)}`, 'open', `Step ${String(at)} of the migration, `.repeat(12)),
    ),
  }
  const { state, reasons } = await answered(
    changes(
      ...document.items.map(({ id }) => ({ op: 'close', id, sources: ['r11'] })),
      add('fact', 'The north wing has the new parts.', 'r11'),
    ),
    document,
  )
  expect(textsOf(state)).toContain('The north wing has the new parts.')
  expect(reasons).toEqual([])
})

test('an answer above the limit keeps the state of the work', async () => {
  const long = changes(
    ...Array.from({ length: 300 }, (_none, at) => add('fact', `Part ${String(at)} was moved.`, 'r11')),
  )
  const { state } = await answered({ ...long, state: 'The parts are moved; next: the tests.' })
  expect(textsOf(state)).toContain('The parts are moved; next: the tests.')
})

describe('a value with a date', () => {
  const day = fc.date({ min: new Date('2020-01-01'), max: new Date('2030-12-31'), noInvalidDate: true })
  const written = [
    (date: Date) =>
      date.toLocaleDateString('en-US', { month: 'long', day: 'numeric', year: 'numeric', timeZone: 'UTC' }),
    (date: Date) => date.toLocaleDateString('en-GB', { month: 'short', day: 'numeric', timeZone: 'UTC' }),
    (date: Date) => date.toLocaleDateString('de', { month: 'long', day: 'numeric', timeZone: 'UTC' }),
    (date: Date) => date.toLocaleDateString('fr', { month: 'long', day: 'numeric', year: 'numeric', timeZone: 'UTC' }),
    (date: Date) => date.toLocaleDateString('es', { month: 'long', day: 'numeric', timeZone: 'UTC' }),
    (date: Date) => date.toLocaleDateString('ja', { month: 'long', day: 'numeric', timeZone: 'UTC' }),
    (date: Date) => date.toLocaleDateString('ko', { month: 'long', day: 'numeric', timeZone: 'UTC' }),
    (date: Date) =>
      date.toLocaleDateString('en-US', { month: '2-digit', day: '2-digit', year: 'numeric', timeZone: 'UTC' }),
  ]

  test('law: is recorded if its messages mention that day in any form, and not if they mention another one', () => {
    fc.assert(
      fc.property(day, fc.constantFrom(...written), (date, form) => {
        const iso = date.toISOString().slice(0, 10)
        const laterDay = new Date(date.getTime() + 86_400_000 * 40).toISOString().slice(0, 10)
        const text = `The release is on ${form(date)}, after the tests.`
        expect([text, mentionsDay(text, iso), mentionsDay(text, laterDay)]).toEqual([text, true, false])
      }),
      { numRuns: repeated(300, 100) },
    )
  })

  test('loses only the part whose number is in no message', async () => {
    const { state, reasons } = await answered(
      changes(add('value', 'The port is 5544. The limit is 977 requests.', 'r13'), add('value', 'Budget 977.', 'r10')),
    )
    expect(textsOf(state)).toContain('The port is 5544.')
    expect(textsOf(state).join('\n')).not.toContain('977')
    expect(reasons).toEqual(['977 is in none of its messages', '977 is in none of its messages'])
  })
})

test('a request asks for more while the document is small, and says how large the document is', () => {
  const summarizer = createStructuredSummarizer({ model: createScriptedLanguageModel(['']) })
  const promptOf = (workingState: WorkingState): string =>
    JSON.stringify(summarizer.prepare(chunkJob({ messages, workingState, maxSummaryTokens: 1_000 })))
  const large: WorkingState = {
    items: Array.from({ length: 400 }, (_none, at) =>
      item(`F${String(at)}`, 'fact', `Part ${String(at)} is in the north wing.`),
    ),
  }
  expect(promptOf({ items: [] })).toContain('at most 1840 tokens')
  expect(promptOf(large)).toContain('at most 920 tokens')
  expect(promptOf(large)).toMatch(/The document has \d,\d{3} tokens. Its limit is 5,000./u)
})

test('a rule is put together from its words and later ones, and an older number stays in a value', async () => {
  const document: WorkingState = { items: [...before.items, item('V1', 'value', 'The port is 5432.', { weight: 65 })] }
  const { state, reasons } = await answered(
    changes(
      {
        op: 'replace',
        id: 'R1',
        text: '"Never touch the table audit_log" → "You may touch audit_log from now on"',
        reason: '',
        next: '',
        sources: ['r10', 'r11'],
      },
      { op: 'replace', id: 'V1', text: 'The port was 5432 and is 5544.', reason: '', next: '', sources: ['r13'] },
    ),
    document,
  )
  expect(reasons).toEqual([])
  expect(state.items.find(({ id }) => id === 'R1')).toMatchObject({ endedAt: 10 })
  expect(textsOf(state)).toContain('The port was 5432 and is 5544.')
})
