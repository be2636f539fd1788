/** Handwritten sessions of Gemini CLI, in the formats of versions 0.2x (one object) and 0.40 and later (JSON Lines). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { gemini } from '../../src/application/importers/gemini.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { runsOf } from '../support/length.js'
import { itemsOf, lawfulItems, linesOf, ofKind } from '../support/transcript-laws.js'

const FILE = '/home/ada/.gemini/tmp/harbour/chats/session-2026-03-10T08-00-aa11bb22.jsonl'
const header = {
  sessionId: 'aa11bb22-session',
  projectHash: 'f00d',
  startTime: '2026-03-10T08:00:00.000Z',
  lastUpdated: '2026-03-10T08:00:00.000Z',
  kind: 'main',
}
const user = (id: string, text: string): object => ({
  id,
  timestamp: '2026-03-10T08:01:00.000Z',
  type: 'user',
  content: [{ text }],
})
const answer = (id: string, content: unknown, more: object = {}): object => ({
  id,
  timestamp: '2026-03-10T08:01:05.000Z',
  type: 'gemini',
  content,
  thoughts: [],
  tokens: { input: 900, output: 40, cached: 700, thoughts: 12, tool: 0, total: 952 },
  model: 'gemini-3-pro',
  ...more,
})
const response = (id: string, given: object): object => ({
  functionResponse: { id, name: 'list_berths', response: given },
})
const call = (id: string, result: unknown, status = 'success'): object => ({
  id,
  name: 'list_berths',
  args: { quay: 'north' },
  result,
  status,
  timestamp: '2026-03-10T08:01:06.000Z',
  resultDisplay: 'three berths',
})
const set = (messages: readonly object[]): object => ({
  $set: { messages, lastUpdated: '2026-03-10T08:09:00.000Z' },
})

const read = (values: readonly unknown[], file = FILE): TranscriptItem[] => itemsOf(gemini, file, linesOf(file, values))
const readWhole = (value: unknown): TranscriptItem[] =>
  itemsOf(gemini, '/tmp/session.json', [{ value, where: { file: '/tmp/session.json' } }])
const leftOut = (items: readonly TranscriptItem[]): string[] => ofKind(items, 'left-out').map(({ what }) => what)
const roles = (items: readonly TranscriptItem[]): string[] => ofKind(items, 'message').map(({ body }) => body.role)
/** A context in short form: ids of messages, and texts in quotation marks. */
const contexts = (items: readonly TranscriptItem[]): string[][] =>
  ofKind(items, 'compaction').map(({ context }) =>
    context.map((entry) => (entry.kind === 'inserted' ? JSON.stringify(entry.body.content) : entry.sourceId)),
  )

describe('a session that is one object', () => {
  const items = readWhole({
    ...header,
    summary: 'Berths of the north quay.',
    messages: [
      { id: 'i1', timestamp: '2026-03-10T08:00:30.000Z', type: 'info', content: 'Two extensions are loaded.' },
      user('u1', 'Which berths are free?'),
      answer('g1', 'I will look.', {
        thoughts: [{ subject: 'Looking', description: 'The list has them.', timestamp: '2026-03-10T08:01:04.000Z' }],
        toolCalls: [
          call('c1', [response('c1', { output: 'B2, B3' })]),
          call('c2', [response('c2', { error: 'No such quay.' })], 'error'),
          call('c3', [response('c3', { error: '[Operation Cancelled]' })], 'cancelled'),
          call('c4', null, 'executing'),
        ],
      }),
      { ...user('u2', ''), content: 'And tomorrow?' },
      { id: 'e1', timestamp: '2026-03-10T08:02:00.000Z', type: 'error', content: 'Quota exceeded.' },
    ],
  })

  it('has an id, a title and a start time', () => {
    expect(ofKind(items, 'conversation')).toMatchObject([
      { sourceId: 'aa11bb22-session', title: 'Berths of the north quay.', startedAt: '2026-03-10T08:00:00.000Z' },
    ])
  })

  it('yields an answer with its thoughts and calls, and each result as a separate message', () => {
    const messages = ofKind(items, 'message')
    expect(messages.map(({ sourceId, part }) => `${sourceId}.${String(part)}`)).toEqual([
      'u1.0',
      'g1.0',
      'g1.1',
      'g1.2',
      'g1.3',
      'u2.0',
    ])
    expect(messages[1]).toMatchObject({
      answerId: 'g1',
      model: 'gemini-3-pro',
      usage: { inputTokens: 900, outputTokens: 40, cacheReadTokens: 700, reasoningTokens: 12 },
      body: {
        content: [
          { type: 'thought', subject: 'Looking' },
          { type: 'text', text: 'I will look.' },
        ],
        toolCalls: [
          { id: 'c1', type: 'function', function: { name: 'list_berths', arguments: '{"quay":"north"}' } },
          { id: 'c2' },
          { id: 'c3' },
          { id: 'c4' },
        ],
      },
    })
    expect(messages.slice(2, 5).map(({ body, isError }) => [body.toolCallId, body.content, isError])).toEqual([
      ['c1', 'B2, B3', undefined],
      ['c2', 'No such quay.', true],
      ['c3', '[Operation Cancelled]', true],
    ])
    expect(messages[5]?.body).toEqual({ role: 'user', content: 'And tomorrow?' })
  })

  it('counts records that only the user saw', () => {
    expect(leftOut(items)).toEqual(['info', 'error'])
  })

  it('keeps images, and responses without an output, unchanged', () => {
    const [, picture, looked, , result] = ofKind(
      readWhole({
        ...header,
        messages: [
          user('u0', 'Look.'),
          { ...user('u1', ''), content: [{ text: 'This:' }, { inlineData: { mimeType: 'image/png', data: 'iVBO' } }] },
          answer('g1', [
            { text: 'I see.', thoughtSignature: 's1' },
            { functionCall: { id: 'c9', name: 'zoom', args: { by: 2 } } },
          ]),
          answer('g2', '', { toolCalls: [call('c5', [response('c5', { berths: 3 })])] }),
        ],
      }),
      'message',
    )
    expect(picture?.body.content).toEqual([
      { type: 'text', text: 'This:' },
      { type: 'inlineData', inlineData: { mimeType: 'image/png', data: 'iVBO' } },
    ])
    expect(looked?.body).toMatchObject({
      content: [{ type: 'text', text: 'I see.', thoughtSignature: 's1' }],
      toolCalls: [{ id: 'c9', function: { name: 'zoom', arguments: '{"by":2}' } }],
    })
    expect(result?.body.content).toBe('{"berths":3}')
  })
})

describe('a session in lines', () => {
  it('yields the additions of a repeated record as further messages of that record', () => {
    const items = read([
      header,
      user('u1', 'Which berths are free?'),
      { $set: { lastUpdated: '2026-03-10T08:01:01.000Z' } },
      answer('g1', 'I will look.', { tokens: null }),
      answer('g1', 'I will look.'),
      answer('g1', 'I will look.', { toolCalls: [call('c1', null, 'executing')] }),
      answer('g1', 'I will look.', { toolCalls: [call('c1', [response('c1', { output: 'B2' })])] }),
    ])
    expect(ofKind(items, 'message').map(({ part, body }) => [part, body.role, body.content])).toEqual([
      [0, 'user', 'Which berths are free?'],
      [0, 'assistant', 'I will look.'],
      [1, 'assistant', null],
      [2, 'tool', 'B2'],
    ])
    expect(leftOut(items)).toEqual(['$set', 'gemini'])
    expect(ofKind(items, 'edit')).toEqual([])
  })

  it('yields a change of a record as an edit', () => {
    const items = read([
      header,
      answer('g1', 'Berth B2 is free.', { toolCalls: [call('c1', [response('c1', { output: 'B2, B3, B4' })])] }),
      answer('g1', 'Berth B3 is free.', { toolCalls: [call('c1', [response('c1', { output: 'B3' })])] }),
    ])
    expect(ofKind(items, 'edit')).toMatchObject([
      { sourceId: 'g1', part: 0, content: 'Berth B3 is free.', why: 'replaced' },
      { sourceId: 'g1', part: 1, content: 'B3', why: 'replaced' },
    ])
  })

  it('withdraws a message and everything after it, and emits restored messages again', () => {
    const items = read([
      header,
      user('u1', 'Berths?'),
      answer('g1', 'Three.'),
      user('u2', 'Cranes?'),
      answer('g2', 'None.'),
      { $rewindTo: 'u2' },
      user('u2', 'Cranes?'),
      { $rewindTo: 'nobody' },
    ])
    expect(ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([
      ['u2', 'g2'],
      ['u1', 'g1', 'u2'],
    ])
    expect(ofKind(items, 'message').map(({ sourceId }) => sourceId)).toEqual(['u1', 'g1', 'u2', 'g2', 'u2'])
  })

  it('has the caller of a sub-agent as its parent', () => {
    const file = '/home/ada/.gemini/tmp/harbour/chats/aa11bb22-session/helper-7.jsonl'
    const items = read([{ ...header, sessionId: 'helper-7', kind: 'subagent' }], file)
    expect(items).toMatchObject([{ sourceId: 'helper-7', parent: { sourceId: 'aa11bb22-session', how: 'sub-agent' } }])
  })

  it('has a title as soon as a record contains one', () => {
    const items = read([header, { $set: { summary: 'Berths' } }, { $set: { summary: 'Berths' } }])
    expect(ofKind(items, 'conversation').map(({ title }) => title)).toEqual([undefined, 'Berths'])
    expect(leftOut(items)).toEqual(['metadata'])
  })

  it('marks the initial context of Gemini CLI as the program’s', () => {
    const items = read([
      header,
      user('u0', '<session_context>\nToday is Tuesday.\n</session_context>'),
      user('u1', 'Hello'),
    ])
    expect(ofKind(items, 'message').map(({ byProgram }) => byProgram)).toEqual([true, undefined])
  })

  it('gets its id from the file name if it begins in the middle', () => {
    expect(read([answer('g9', 'So it is.')])).toMatchObject([
      { kind: 'conversation', sourceId: 'session-2026-03-10T08-00-aa11bb22' },
      { kind: 'message' },
    ])
  })
})

describe('a list that replaces the previous one', () => {
  const reported = [
    header,
    user('u1', 'Which berths are free?'),
    answer('g1', 'I will look.', { toolCalls: [call('c1', [response('c1', { output: 'B2, B3' })])] }),
    answer('g2', 'B2 and B3.'),
    user('u2', 'And cranes?'),
  ]
  const summary = user('s1', '<state_snapshot>The user asked for berths.</state_snapshot>')
  const agreed = answer('s2', 'Got it. Thanks for the additional context!', { thoughts: undefined, tokens: undefined })

  it('is the beginning if there were no messages', () => {
    const items = read([header, set([user('u1', 'Berths?'), answer('g1', [{ text: 'Three.' }])])])
    expect(roles(items)).toEqual(['user', 'assistant'])
    expect(ofKind(items, 'compaction')).toEqual([])
  })

  it('is a compaction if messages are missing, and its new messages replace them', () => {
    const items = read([...reported, set([summary, agreed, user('u2', 'And cranes?')]), answer('g3', 'None.')])
    expect(ofKind(items, 'compaction')).toMatchObject([
      {
        sourceId: '$set-1',
        at: '2026-03-10T08:09:00.000Z',
        trigger: 'unknown',
        summary: { kind: 'text', text: '<state_snapshot>The user asked for berths.</state_snapshot>' },
        context: [
          { kind: 'inserted', isSummary: true, body: { role: 'user' } },
          { kind: 'inserted', body: { role: 'assistant' } },
          { kind: 'message', sourceId: 'u2' },
        ],
      },
    ])
    expect(ofKind(items, 'compaction')[0]?.context[1]).not.toHaveProperty('isSummary')
    expect(ofKind(items, 'message').at(-1)?.sourceId).toBe('g3')
  })

  it('can be compacted again, and may retain an earlier summary', () => {
    const newSummary = user('s3', 'Cranes, in short.')
    const items = read([
      ...reported,
      set([summary, agreed, user('u2', 'And cranes?')]),
      answer('g3', 'None.'),
      user('u3', 'Why?'),
      set([summary, newSummary, user('u3', 'Why?')]),
    ])
    expect(contexts(items)[1]).toEqual([
      '"<state_snapshot>The user asked for berths.</state_snapshot>"',
      '"Cranes, in short."',
      'u3',
    ])
  })

  it('masks outputs if only contents differ, whatever the form of the history', () => {
    const items = read([
      ...reported,
      set([
        user('u1', 'Which berths are free?'),
        answer(
          'g1',
          [{ text: 'I will look.', thoughtSignature: 's' }, { functionCall: { id: 'c1', name: 'list_berths' } }],
          {
            toolCalls: [call('c1', [response('c1', { output: '<tool_output_masked>' })])],
          },
        ),
        // The user turn that contained the responses is not a separate record.
        { ...user('r1', ''), content: [response('c1', { output: '<tool_output_masked>' })] },
        answer('g2', [{ text: 'B2 ' }, { text: 'and B3.' }]),
        user('u2', 'And cranes?'),
      ]),
    ])
    expect(ofKind(items, 'compaction')).toEqual([])
    expect(ofKind(items, 'edit')).toMatchObject([
      { sourceId: 'g1', part: 1, content: '<tool_output_masked>', why: 'masked' },
    ])
    expect(roles(items)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
  })

  it('withdraws the last messages if nothing replaces them', () => {
    const items = read([...reported, set([user('u1', 'Which berths are free?')])])
    expect(ofKind(items, 'compaction')).toEqual([])
    expect(ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([['g1', 'g2', 'u2']])
  })

  it('yields the remaining context if a rewind removes a summary', () => {
    const items = read([...reported, set([summary, agreed, user('u2', 'And cranes?')]), { $rewindTo: 's2' }])
    expect(ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([['u2']])
    expect(contexts(items)[1]).toEqual(['"<state_snapshot>The user asked for berths.</state_snapshot>"'])
  })

  it('keeps the calls and results of inserted messages', () => {
    const items = read([
      ...reported,
      set([
        summary,
        answer('k1', [{ functionCall: { id: 'k', name: 'zoom', args: {} } }]),
        { ...user('k2', ''), content: [response('k', { output: 'closer' })] },
        user('u2', 'And cranes?'),
      ]),
    ])
    // A record without text is not new: its calls are in the known record of the model.
    expect(contexts(items)[0]).toContain('"closer"')
  })
})

describe('recognizing a session', () => {
  const head = (...records: unknown[]) => ({ path: FILE, records, text: '' })

  it('distinguishes one object from JSON Lines, and rejects other formats', () => {
    expect(gemini.recognize(head({ ...header, messages: [] }))).toBe('json')
    expect(gemini.recognize(head(header, user('u1', 'Hello')))).toBe('lines')
    expect(gemini.recognize(head(header))).toBe('lines')
    expect(gemini.recognize(head(answer('g1', 'So.')))).toBe('lines')
    expect(gemini.recognize(head({ type: 'user', id: 'x' }))).toBeUndefined()
    expect(gemini.recognize(head({ sessionId: 's', messages: [] }))).toBeUndefined()
    expect(
      gemini.recognize({
        path: FILE,
        records: [],
        text: '{\n  "sessionId": "a",\n  "projectHash": "b",\n  "messages": [',
      }),
    ).toBe('json')
  })
})

/** The steps of a random session; numbers select among the existing records. */
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        does: fc.constantFrom('ask', 'answer', 'again', 'rewind', 'mask', 'compress'),
        at: fc.nat(20),
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('odd'), at: fc.jsonValue() }) },
  ),
  { maxLength: 25 },
)

interface Written {
  readonly id: string
  readonly content: unknown
}

/** The lines that Gemini CLI would write, and its current message list. */
function linesFor(story: readonly { readonly does: string; readonly at: unknown }[]): unknown[] {
  let list: (Written & object)[] = []
  const lines: unknown[] = [header]
  for (const [number, { does, at: given }] of story.entries()) {
    if (typeof given !== 'number' || does === 'odd') {
      lines.push(given)
      continue
    }
    const name = String(number)
    const chosen = list[given % Math.max(list.length, 1)]
    const calls = (result: unknown): object => ({ toolCalls: [call(`c-${name}`, result)] })
    if (does === 'ask') list.push({ ...user(`u${name}`, ''), id: `u${name}`, content: `Question ${name}` })
    if (does === 'answer')
      list.push({
        ...answer(`g${name}`, '', calls(given % 2 === 0 ? null : [response(`c-${name}`, { output: name })])),
        id: `g${name}`,
        content: `Answer ${name}`,
      })
    if (does === 'ask' || does === 'answer') lines.push(list.at(-1))
    if (does === 'again' && chosen !== undefined)
      lines.push({ ...chosen, ...calls([response(`c-${name}`, { output: name })]) })
    if (does === 'rewind') {
      lines.push({ $rewindTo: chosen?.id ?? 'nobody' })
      list = list.slice(0, chosen === undefined ? 0 : list.indexOf(chosen))
    }
    if (does === 'compress') {
      const summary = { ...user(`s${name}`, ''), id: `s${name}`, content: `Summary ${name}` }
      list = [summary, ...list.slice(given % (list.length + 1))]
    }
    const hasMask = does === 'mask'
    if (hasMask || does === 'compress')
      lines.push(set(list.map((one) => ({ ...one, content: [{ text: hasMask ? `masked ${name}` : one.content }] }))))
  }
  return lines
}

describe('any session', () => {
  it('satisfies the rules for all transcripts', () => {
    fc.assert(
      fc.property(steps, fc.double({ min: 0, max: 1, noNaN: true }), (story, cut) => {
        const records = linesOf(FILE, linesFor(story))
        expect(lawfulItems(gemini, FILE, records, cut)).not.toHaveLength(0)
      }),
      { numRuns: 120 },
    )
  })
})

describe('the usage of an answer', () => {
  const tokens = { input: 900, output: 40, cached: 700, thoughts: 12, tool: 0, total: 952 }
  const usage = { inputTokens: 900, outputTokens: 40, cacheReadTokens: 700, reasoningTokens: 12 }
  const reportedBy = (values: readonly unknown[]) =>
    ofKind(read(values), 'message').map((message) => [message.usage, message.earlierUsage])

  it('is on the next message if a second line of the answer contains it, once', () => {
    const first = answer('g1', 'So.', { tokens: undefined })
    const second = answer('g1', 'So.', { tokens })
    const earlier = { answerId: 'g1', usage }
    expect(
      reportedBy([header, user('u1', 'Hello'), first, second, second, user('u2', 'And?'), answer('g2', 'Then.')]),
    ).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [undefined, earlier],
      [usage, undefined],
    ])
    const withResult = answer('g1', 'So.', { tokens, toolCalls: [call('c1', [response('c1', { output: 'B2' })])] })
    const calling = answer('g1', 'So.', { tokens: undefined, toolCalls: [call('c1', undefined)] })
    expect(reportedBy([header, calling, withResult, user('u2', 'And?')])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [undefined, earlier],
    ])
  })
})

describe('a compression in the middle of a turn', () => {
  const called = answer('m4', 'I look again.', { toolCalls: [call('c2', [response('c2', { output: 'four berths' })])] })
  const records = [
    header,
    user('m1', 'Count the berths.'),
    answer('m2', 'I look.', { toolCalls: [call('c1', [response('c1', { output: 'three berths' })])] }),
    user('m3', 'And now?'),
    called,
  ]
  // The program writes its new list with ids of its own, and the result of the last call after it.
  const list = set([
    user('n1', '<state_snapshot>The user counts berths.</state_snapshot>'),
    answer('n2', 'Got it.'),
    user('n3', 'And now?'),
    answer('n4', [{ text: 'I look again.' }, { functionCall: { id: 'c2', name: 'list_berths', args: {} } }]),
  ])
  const pending = { ...user('n5', ''), content: [response('c2', { output: 'four berths' })] }
  const end = answer('m6', 'Four.')

  it('keeps the messages that the list repeats, with the result of the pending call', () => {
    const items = read([...records, list, pending, end])
    expect(contexts(items)).toEqual([
      ['"<state_snapshot>The user counts berths.</state_snapshot>"', '"Got it."', 'm3', 'm4'],
    ])
    expect(ofKind(items, 'edit')).toEqual([])
    const results = ofKind(items, 'message').filter(({ body }) => body.role === 'tool')
    expect(results.map(({ sourceId, body }) => [sourceId, body.toolCallId])).toEqual([
      ['m2', 'c1'],
      ['m4', 'c2'],
    ])
  })

  it('takes the result of a call that the list has and no record before it', () => {
    const items = read([...records.slice(0, 4), list, pending, end])
    expect(contexts(items)[0]).toContain('m3')
    const results = ofKind(items, 'message').filter(({ body }) => body.toolCallId === 'c2')
    expect(results.map(({ body }) => body.content)).toEqual(['four berths'])
  })

  it('does not record messages again when a resumed session writes them with other ids', () => {
    const copies = [
      user('p1', 'Count the berths.'),
      answer('p2', [{ text: 'I look.' }, { functionCall: { id: 'c1', name: 'list_berths', args: {} } }]),
      // The result has the id of the message that called.
      { ...user('p2', ''), content: [response('c1', { output: 'three berths' })] },
      user('p3', 'And now?'),
    ]
    const items = read([...records.slice(0, 4), set(copies), user('m7', 'Thanks.')])
    expect(changes(items)).toEqual(changes(read([...records.slice(0, 4), user('m7', 'Thanks.')])))
  })
})

/** The items that change a conversation, without their places. */
const changes = (items: readonly TranscriptItem[]): readonly string[] =>
  items.filter(({ kind }) => kind !== 'left-out').map(({ where: _where, ...item }) => JSON.stringify(item))

describe('a session that the program resumes into the same file', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gemini-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  const T = '2026-11-29T08:38:44.784Z'
  const start = { sessionId: 'g1', projectHash: 'p', startTime: T, lastUpdated: T, kind: 'main' }
  const context = {
    id: 'ctx',
    timestamp: T,
    type: 'user',
    content: [{ text: '<session_context>\nx\n</session_context>' }],
  }
  const turn = (at: number): readonly Record<string, unknown>[] => {
    const timestamp = new Date(Date.parse(T) + (at + 1) * 1_000).toISOString()
    const listing = { id: `c${String(at)}`, name: 'ls', args: {} }
    const output = { functionResponse: { id: listing.id, name: 'ls', response: { output: 'hull.md' } } }
    const step = { id: `a${String(at)}`, timestamp, type: 'gemini', content: 'Step.', thoughts: [] }
    return [
      { id: `u${String(at)}`, timestamp, type: 'user', content: [{ text: 'Go on.' }] },
      step,
      { ...step, toolCalls: [{ ...listing, result: [output] }] },
      { id: `r${String(at)}`, timestamp, type: 'user', content: [output] },
      { id: `d${String(at)}`, timestamp, type: 'gemini', content: 'Done.', thoughts: [] },
    ]
  }

  it('is recorded once, wherever an import reads it', async () => {
    const anySteps = fc.array(fc.constantFrom('turn', 'resume'), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(anySteps, fc.array(fc.nat(60), { maxLength: 4 }), async (all, cuts) => {
        const list: Record<string, unknown>[] = [context]
        const records: unknown[] = [start, { $set: { messages: [context], lastUpdated: T } }]
        let turns = 0
        for (const change of ['turn', ...all])
          if (change === 'turn') {
            const made = turn(turns)
            turns += 1
            records.push(...made)
            // The list of a resume has the results in their calls, under the id of the answer.
            list.push(...made.filter((_each, at) => at !== 1))
          } else records.push(start, { $set: { messages: [context] } }, { $set: { messages: [...list] } })
        const ledger = await openLedger({ store: 'memory' })
        const file = join(folder, 'session-2026-11-29T08-38-g1.jsonl')
        let [recorded, withdrawn] = [0, 0]
        for (const end of [...cuts.toSorted((a, b) => a - b), records.length]) {
          await writeFile(
            file,
            records
              .slice(0, end)
              .map((record) => `${JSON.stringify(record)}\n`)
              .join(''),
          )
          const { conversations } = await ledger.transcripts.import(file, { from: 'gemini' })
          recorded += conversations[0]?.messages ?? 0
          withdrawn += conversations[0]?.withdrawn ?? 0
        }
        expect({ recorded, withdrawn }).toEqual({ recorded: 1 + turns * 5, withdrawn: 0 })
        expect((await ledger.context('gemini/g1')).messages).toHaveLength(1 + turns * 4)
        await ledger.close()
      }),
      { numRuns: runsOf(50) },
    )
  })
})
