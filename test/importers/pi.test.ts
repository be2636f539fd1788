/** Handwritten sessions of pi, in the formats of versions 1 (without ids) and 3 (a tree). */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contentText } from '../../src/domain/values/message.js'
import { headOf, recordsOf } from '../../src/application/importers/records-of.js'
import { pi } from '../../src/application/importers/pi.js'
import type { TranscriptItem, TranscriptRecord } from '../../src/application/importers/transcript.js'
import { itemsOf, lawfulItems, linesOf, ofKind } from '../support/transcript-laws.js'

const ID = '019a0000-0000-7000-8000-00000000000b'
const FILE = `/home/ada/.pi/agent/sessions/--srv-berths--/2026-03-10T08-00-00-000Z_${ID}.jsonl`
const TIME = '2026-03-10T08:00:01.000Z'

const header = (more: object = {}): object => ({
  type: 'session',
  version: 3,
  id: ID,
  timestamp: '2026-03-10T08:00:00.000Z',
  cwd: '/srv/berths',
  ...more,
})
const entry = (id: string, parentId: string | null, type: string, more: object): object => ({
  type,
  id,
  parentId,
  timestamp: TIME,
  ...more,
})
const message = (id: string, parentId: string | null, value: object): object =>
  entry(id, parentId, 'message', { message: { ...value, timestamp: 1_773_129_600_000 } })
const user = (id: string, parentId: string | null, text: string): object =>
  message(id, parentId, { role: 'user', content: [{ type: 'text', text }] })
const answer = (id: string, parentId: string | null, text: string): object =>
  message(id, parentId, { role: 'assistant', content: [{ type: 'text', text }], model: 'opus' })
const compaction = (id: string, parentId: string | null, more: object): object =>
  entry(id, parentId, 'compaction', { summary: 'Berth 7 is free.', tokensBefore: 5000, ...more })

const read = (values: readonly unknown[], file = FILE): TranscriptItem[] => itemsOf(pi, file, linesOf(file, values))
const messages = (items: readonly TranscriptItem[]) => ofKind(items, 'message')
const leftOut = (items: readonly TranscriptItem[]): string[] => ofKind(items, 'left-out').map(({ what }) => what)
const only = (value: object): unknown => messages(read([header(), message('a', null, value)]))[0]

describe('a session', () => {
  it('is the conversation of its header', () => {
    expect(read([header({ parentSession: '/x/2026-03-09T08-00-00-000Z_the-parent.jsonl' })])).toEqual([
      {
        kind: 'conversation',
        sourceId: ID,
        parent: { sourceId: 'the-parent', how: 'fork' },
        cwd: '/srv/berths',
        startedAt: '2026-03-10T08:00:00.000Z',
        where: { file: FILE, line: 1 },
      },
    ])
  })

  it('yields each message once, with the usage of answers', () => {
    const items = read([
      header(),
      entry('m', null, 'model_change', { provider: 'anthropic', modelId: 'opus' }),
      user('a', 'm', 'Which berth is free?'),
      message('b', 'a', {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I look.', thinkingSignature: 's1' },
          { type: 'text', text: 'I look.' },
          { type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'berths' } },
        ],
        model: 'opus',
        usage: { input: 10, output: 4, cacheRead: 80, cacheWrite: 5, totalTokens: 99, cost: { input: 1, total: 0.25 } },
        stopReason: 'toolUse',
      }),
      message('c', 'b', {
        role: 'toolResult',
        toolCallId: 'c1',
        toolName: 'bash',
        content: [{ type: 'text', text: 'no such program' }],
        details: { exitCode: 127 },
        isError: true,
      }),
    ])
    expect(messages(items)).toEqual([
      {
        kind: 'message',
        sourceId: 'a',
        part: 0,
        at: TIME,
        body: { role: 'user', content: 'Which berth is free?' },
        where: { file: FILE, line: 3 },
      },
      {
        kind: 'message',
        sourceId: 'b',
        part: 0,
        at: TIME,
        body: {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I look.', thinkingSignature: 's1' },
            { type: 'text', text: 'I look.' },
          ],
          toolCalls: [{ id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"berths"}' } }],
        },
        model: 'opus',
        usage: { inputTokens: 95, outputTokens: 4, cacheReadTokens: 80, cacheWriteTokens: 5, cost: 0.25 },
        where: { file: FILE, line: 4 },
      },
      {
        kind: 'message',
        sourceId: 'c',
        part: 0,
        at: TIME,
        body: { role: 'tool', content: 'no such program', toolCallId: 'c1' },
        isError: true,
        exitCode: 127,
        where: { file: FILE, line: 5 },
      },
    ])
    expect(leftOut(items)).toEqual(['model_change'])
  })

  it('yields an answer that was stopped before its first words', () => {
    expect(only({ role: 'assistant', content: [], stopReason: 'aborted' })).toMatchObject({
      body: { role: 'assistant', content: '' },
    })
  })

  it('yields a call without text with null content, and keeps its other fields', () => {
    expect(
      only({ role: 'assistant', content: [{ type: 'toolCall', id: 'c', name: 'x', thoughtSignature: 's' }] }),
    ).toMatchObject({
      body: {
        content: null,
        toolCalls: [{ id: 'c', type: 'function', function: { name: 'x', arguments: '{}' }, thoughtSignature: 's' }],
      },
    })
  })

  it('yields the user’s commands as the model receives them, without those that the user excluded', () => {
    const command = { role: 'bashExecution', command: 'ls', output: 'berth.ts', exitCode: 2, cancelled: false }
    expect(only(command)).toMatchObject({
      byProgram: true,
      body: { role: 'user', content: 'Ran `ls`\n```\nberth.ts\n```\n\nCommand exited with code 2' },
    })
    expect(only({ ...command, output: '', exitCode: undefined, cancelled: true })).toMatchObject({
      body: { content: 'Ran `ls`\n(no output)\n\n(command cancelled)' },
    })
    expect(leftOut(read([header(), message('a', null, { ...command, excludeFromContext: true })]))).toEqual([
      'message/bashExecution',
    ])
  })

  it('keeps an output that is no text, two calls of one id, and names a result of no call', () => {
    const ran = { role: 'bashExecution', command: 'ls', output: { lines: 2 } }
    expect(only(ran)).toMatchObject({ body: { content: 'Ran `ls`\n```\n{"lines":2}\n```' } })
    const call = (path: string): object => ({ type: 'toolCall', id: 'c', name: 'read', arguments: { path } })
    const called = { role: 'assistant', content: [{ type: 'text', text: 'I read.' }, call('a'), call('b')] }
    expect(only(called)).toMatchObject({ body: { content: 'I read.', toolCalls: [{ id: 'c' }, { id: 'c#2' }] } })
    const items = read([header(), message('a', null, { role: 'toolResult', content: 'lost' })])
    expect(ofKind(items, 'damage')).toMatchObject([{ detail: 'is a result that names no call' }])
  })

  it('yields an extension’s messages for the model, and skips its private data', () => {
    const items = read([
      header(),
      entry('a', null, 'custom', { customType: 'tide', data: { high: 4 } }),
      entry('b', 'a', 'custom_message', { customType: 'tide', content: 'High tide at four.', display: true }),
      message('c', 'b', { role: 'hookMessage', content: [{ type: 'text', text: 'Low tide at ten.' }] }),
    ])
    expect(messages(items).map(({ body, byProgram }) => [body.content, byProgram])).toEqual([
      ['High tide at four.', true],
      ['Low tide at ten.', true],
    ])
    expect(leftOut(items)).toEqual(['custom'])
  })

  it('yields the system prompt and its changes, section by section', () => {
    expect(
      only({
        role: 'system',
        content: '',
        sections: { preamble: 'You berth ships.', skills: null },
        toolsAdded: [{ name: 'crane' }],
        toolsRemoved: [],
      }),
    ).toMatchObject({
      body: {
        role: 'system',
        content: [
          { type: 'text', text: 'You berth ships.', section: 'preamble' },
          { type: 'section_removed', section: 'skills' },
          { type: 'tools_added', tools: [{ name: 'crane' }] },
        ],
      },
    })
  })

  it('can get its name later', () => {
    const items = read([header(), entry('a', null, 'session_info', { name: 'Berths' })])
    expect(ofKind(items, 'conversation').map(({ sourceId, title }) => [sourceId, title])).toEqual([
      [ID, undefined],
      [ID, 'Berths'],
    ])
  })

  it('skips and counts empty and unknown entries', () => {
    const items = read([
      header(),
      entry('a', null, 'label', { targetId: 'x' }),
      entry('b', 'a', 'weather', {}),
      message('c', 'b', { role: 'parrot', content: 'Ahoy' }),
      { type: 'message', id: 'c', parentId: 'b' },
      header(),
      7,
    ])
    expect(leftOut(items)).toEqual(['label', 'weather', 'message/parrot', 'message', 'session', 'unknown'])
  })
})

describe('a compaction', () => {
  const before = [header(), user('a', null, 'one'), answer('b', 'a', '1'), user('c', 'b', 'two'), answer('d', 'c', '2')]
  const summary = {
    kind: 'inserted',
    body: {
      role: 'user',
      content:
        'The conversation history before this point was compacted into the following summary:\n\n<summary>\nBerth 7 is free.\n</summary>',
    },
    isSummary: true,
  }
  const retainedEntries = (...ids: string[]): object[] => ids.map((sourceId) => ({ kind: 'message', sourceId }))
  const compacted = (...values: object[]) => ofKind(read([...before, ...values]), 'compaction')

  it('retains the messages from an entry on', () => {
    expect(
      compacted(compaction('k', 'd', { firstKeptEntryId: 'c', usage: { input: 7, output: 1, cost: { total: 0.5 } } })),
    ).toEqual([
      {
        kind: 'compaction',
        sourceId: 'k',
        at: TIME,
        trigger: 'unknown',
        summary: { kind: 'text', text: 'Berth 7 is free.' },
        context: [summary, ...retainedEntries('c', 'd')],
        tokensBefore: 5000,
        model: 'opus',
        usage: { inputTokens: 7, outputTokens: 1, cost: 0.5 },
        where: { file: FILE, line: 6 },
      },
    ])
  })

  it('retains nothing if it names itself', () => {
    expect(compacted(compaction('k', 'd', { firstKeptEntryId: 'k' }))[0]?.context).toEqual([summary])
  })

  it('contains the system prompt, which replaces earlier ones', () => {
    const [first] = ofKind(
      read([
        header(),
        user('a', null, 'one'),
        message('s', 'a', { role: 'system', content: 'You berth ships.' }),
        compaction('k', 's', {
          firstKeptEntryId: 'a',
          systemMessage: { role: 'system', content: 'You berth all ships.' },
        }),
      ]),
      'compaction',
    )
    expect(first?.context).toEqual([
      { kind: 'inserted', body: { role: 'system', content: 'You berth all ships.' } },
      summary,
      ...retainedEntries('a'),
    ])
  })

  it('may contain the retained messages as texts', () => {
    const tail = [
      { role: 'user', content: [{ type: 'text', text: 'two' }] },
      { role: 'assistant', content: [{ type: 'text', text: '2, in short' }] },
    ]
    expect(compacted(compaction('k', 'd', { retainedTail: tail }))[0]?.context).toEqual([
      summary,
      ...retainedEntries('c'),
      { kind: 'inserted', body: { role: 'assistant', content: '2, in short' } },
    ])
  })

  it('may retain messages that an earlier one had covered', () => {
    const [, second] = compacted(
      compaction('k', 'd', { firstKeptEntryId: 'd' }),
      user('e', 'k', 'three'),
      compaction('l', 'e', { firstKeptEntryId: 'c' }),
    )
    expect(second?.context).toEqual([summary, ...retainedEntries('c', 'd', 'e')])
  })

  it('retains missing messages if the file begins after them', () => {
    const [cut] = ofKind(
      read([header(), user('c', 'b', 'two'), compaction('k', 'c', { firstKeptEntryId: 'a' })]),
      'compaction',
    )
    expect(cut).toMatchObject({
      coversMissing: true,
      context: [summary, { kind: 'missing', sourceId: 'a' }, ...retainedEntries('c')],
    })
  })

  it('has unknown messages if the line of the named entry is damaged', () => {
    const [first] = ofKind(
      read([
        header(),
        user('a', null, 'one'),
        undefined,
        answer('c', 'b', '1'),
        compaction('k', 'c', { firstKeptEntryId: 'b' }),
      ]),
      'compaction',
    )
    expect(first).toMatchObject({ context: [summary], unknown: ['a', 'c'] })
  })
})

describe('a session of the first version', () => {
  const bare = (value: object): object => ({ type: 'message', timestamp: TIME, message: { ...value, timestamp: 1 } })
  const entries = [
    bare({ role: 'user', content: 'one' }),
    { type: 'thinking_level_change', timestamp: TIME, thinkingLevel: 'high' },
    bare({ role: 'assistant', content: [{ type: 'text', text: '1' }], model: 'opus' }),
  ]
  const compactedAt = (firstKeptEntryIndex: number): object => ({
    type: 'compaction',
    timestamp: TIME,
    summary: 'One.',
    firstKeptEntryIndex,
    tokensBefore: 9,
  })
  const keptFrom = (index: number): unknown =>
    ofKind(read([header({ version: undefined }), ...entries, compactedAt(index)]), 'compaction')[0]

  it('identifies its entries by their index', () => {
    const items = read([
      header({ version: undefined, branchedFrom: '/x/2026-03-09T08-00-00-000Z_old.jsonl' }),
      ...entries,
    ])
    expect(ofKind(items, 'conversation')[0]?.parent).toEqual({ sourceId: 'old', how: 'fork' })
    expect(messages(items).map(({ sourceId, body }) => [sourceId, body.content])).toEqual([
      ['entry-1', 'one'],
      ['entry-3', '1'],
    ])
  })

  it('retains the messages from an index on, which counts the header', () => {
    expect(keptFrom(3)).toMatchObject({ context: [{ kind: 'inserted' }, { kind: 'message', sourceId: 'entry-3' }] })
    expect(keptFrom(0)).toMatchObject({
      context: [{ kind: 'inserted' }, { sourceId: 'entry-1' }, { sourceId: 'entry-3' }],
    })
    expect(keptFrom(99)).toMatchObject({ context: [{ kind: 'inserted' }], unknown: ['entry-1', 'entry-3'] })
  })

  it('may have its header at the end', () => {
    const items = read([...entries, header({ version: undefined })])
    expect(ofKind(items, 'conversation').map(({ sourceId, cwd }) => [sourceId, cwd])).toEqual([
      [ID, undefined],
      [ID, '/srv/berths'],
    ])
    expect(messages(items).map(({ sourceId }) => sourceId)).toEqual(['entry-0', 'entry-2'])
  })
})

describe('the tree of a session', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pi-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const readFile = async (name: string, values: readonly unknown[]): Promise<TranscriptItem[]> => {
    const path = join(folder, name)
    await writeFile(
      path,
      values.map((value) => `${value === undefined ? 'no JSON' : JSON.stringify(value)}\n`).join(''),
    )
    const reader = pi.read(path, plainContentId)
    const items: TranscriptItem[] = []
    for await (const record of recordsOf(path, 'lines'))
      if ('kind' in record) items.push(record)
      else items.push(...reader.take(record))
    return items
  }
  /** The items in short form. */
  const story = (items: readonly TranscriptItem[]): unknown[] =>
    items.flatMap((item): unknown[] => {
      switch (item.kind) {
        case 'message':
          return [`${item.sourceId}: ${contentText(item.body.content)}`]
        case 'withdrawal':
          return [{ withdrawn: item.sourceIds }]
        case 'undo':
          return [{ undone: item.sourceIds }]
        case 'edit':
          return [{ edited: item.sourceId, to: item.content, why: item.why }]
        case 'compaction':
          return [{ compacted: item.sourceId }]
        case 'conversation':
        case 'damage':
        case 'left-out':
          return []
        default:
          return item satisfies never
      }
    })

  const one = user('a', null, 'one')
  const two = answer('b', 'a', '1')

  it('withdraws an abandoned branch', () => {
    expect(
      story(read([header(), one, two, user('c', 'b', 'two'), answer('d', 'c', '2'), user('e', 'b', 'two, please')])),
    ).toEqual(['a: one', 'b: 1', 'c: two', 'd: 2', { withdrawn: ['c', 'd'] }, 'e: two, please'])
  })

  it('contains pi’s summary of an abandoned branch', () => {
    const items = read([header(), one, two, entry('s', 'a', 'branch_summary', { fromId: 'b', summary: 'It said 1.' })])
    expect(story(items).slice(2)).toEqual([
      { withdrawn: ['b'] },
      's: The following is a summary of a branch that this conversation came back from:\n\n<summary>\nIt said 1.</summary>',
    ])
    expect(messages(items).at(-1)?.byProgram).toBe(true)
  })

  it('may start over', () => {
    expect(story(read([header(), one, two, user('c', null, 'other')]))).toEqual([
      'a: one',
      'b: 1',
      { withdrawn: ['a', 'b'] },
      'c: other',
    ])
  })

  it('undoes the compactions of an abandoned branch', () => {
    expect(
      story(
        read([
          header(),
          one,
          two,
          compaction('k', 'b', { firstKeptEntryId: 'b' }),
          user('c', 'k', 'two'),
          compaction('l', 'c', { firstKeptEntryId: 'l' }),
          user('d', 'a', 'three'),
        ]),
      ).slice(-3),
    ).toEqual([{ undone: ['l', 'k'] }, { withdrawn: ['b', 'c'] }, 'd: three'])
  })

  it('emits a branch again when the user returns to it', async () => {
    const items = await readFile('return.jsonl', [
      header(),
      one,
      two,
      undefined,
      user('c', 'b', 'two'),
      compaction('k', 'c', { firstKeptEntryId: 'c' }),
      user('d', 'a', 'three'),
      answer('e', 'k', '2'),
    ])
    expect(story(items)).toEqual([
      'a: one',
      'b: 1',
      'c: two',
      { compacted: 'k' },
      { undone: ['k'] },
      { withdrawn: ['b', 'c'] },
      'd: three',
      { withdrawn: ['d'] },
      'b: 1',
      'c: two',
      { compacted: 'k' },
      'e: 2',
    ])
    const [first, once] = ofKind(items, 'compaction')
    expect(once).toEqual(first)
  })

  it('reports damage if the file is gone', () => {
    const items = read([header(), one, two, user('c', 'a', 'two'), user('d', 'b', 'three')], join(folder, 'gone.jsonl'))
    expect(ofKind(items, 'damage')[0]?.detail).toMatch(/^goes on from a branch that was left, .*: ENOENT/u)
    expect(story(items).at(-1)).toBe('d: three')
  })

  it('continues after a damaged line', () => {
    expect(story(read([header(), one, undefined, user('c', 'b', 'two')]))).toEqual(['a: one', 'c: two'])
  })

  it('edits a message while the branch with the edit is current', async () => {
    const items = await readFile('edit.jsonl', [
      header(),
      one,
      two,
      entry('x', 'b', 'context_edit', { targetId: 'a', replacement: { content: 'One.' } }),
      entry('y', 'x', 'context_edit', { targetId: 'b', replacement: null }),
      entry('z', 'y', 'context_edit', { targetId: 'a', replacement: 'ONE' }),
      entry('w', 'z', 'context_edit', { targetId: 'nobody', replacement: null }),
      user('c', 'x', 'two'),
      user('d', 'b', 'three'),
    ])
    expect(story(items)).toEqual([
      'a: one',
      'b: 1',
      { edited: 'a', to: 'One.', why: 'replaced' },
      { edited: 'b', to: null, why: 'pruned' },
      { edited: 'a', to: 'ONE', why: 'replaced' },
      { edited: 'a', to: 'One.', why: 'replaced' },
      { edited: 'b', to: '1', why: 'replaced' },
      'c: two',
      { withdrawn: ['c'] },
      { edited: 'a', to: 'one', why: 'replaced' },
      'd: three',
    ])
    expect(leftOut(items)).toEqual(['context_edit'])
  })

  it('is recognized by its content', async () => {
    const layout = async (name: string, values: readonly unknown[]): Promise<string | undefined> => {
      await readFile(name, values)
      return pi.recognize(await headOf(join(folder, name)))
    }
    expect(await layout('1.jsonl', [header()])).toBe('lines')
    expect(await layout('2.jsonl', [one, two])).toBe('lines')
    expect(await layout('3.jsonl', [{ type: 'message', role: 'user', content: [] }])).toBeUndefined()
    expect(await layout('4.jsonl', [{ type: 'session_meta', timestamp: TIME, payload: { id: ID } }])).toBeUndefined()
    expect(await layout('5.jsonl', [{ type: 'user', timestamp: TIME, message: { role: 'user' } }])).toBeUndefined()
  })

  it('is in pi’s directories', () => {
    expect(pi.homes({}, '/home/ada')).toEqual(['/home/ada/.pi/agent/sessions'])
    expect(pi.homes({ PI_CODING_AGENT_DIR: '/srv/pi', PI_CODING_AGENT_SESSION_DIR: '/srv/s' }, '/home/ada')).toEqual([
      '/srv/s',
      '/srv/pi/sessions',
    ])
  })

  describe('with any content', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', undefined)
    const anything = fc.jsonValue({ maxDepth: 3 })
    const parts = fc.oneof(
      fc.record({
        type: fc.constantFrom('text', 'thinking', 'toolCall', 'tool_use', 'x'),
        text: anything,
        id: ids,
        name: ids,
        arguments: anything,
      }),
      anything,
    )
    const values = fc.record({
      role: fc.constantFrom(
        'user',
        'assistant',
        'toolResult',
        'system',
        'bashExecution',
        'custom',
        'branchSummary',
        'x',
      ),
      content: fc.oneof(fc.string(), fc.array(parts, { maxLength: 3 }), anything),
      toolCallId: ids,
      command: anything,
      output: anything,
      sections: anything,
      usage: anything,
    })
    const lines = fc.oneof(
      {
        weight: 12,
        arbitrary: fc.record({
          type: fc.constantFrom(
            'message',
            'message',
            'message',
            'compaction',
            'context_edit',
            'branch_summary',
            'custom_message',
            'x',
          ),
          id: fc.oneof(fc.uuid(), ids),
          parentId: fc.oneof(ids, fc.constant(null)),
          message: values,
          summary: fc.oneof(fc.string(), anything),
          firstKeptEntryId: fc.oneof(ids, anything),
          firstKeptEntryIndex: fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 20 }), anything),
          retainedTail: fc.option(fc.array(values, { maxLength: 3 }), { nil: undefined, freq: 5 }),
          targetId: ids,
          replacement: fc.oneof(fc.string(), anything),
        }),
      },
      { weight: 1, arbitrary: fc.constantFrom(header(), header({ id: 'x' })) },
      { weight: 1, arbitrary: anything },
    )

    it('satisfies the rules for all transcripts', async () => {
      const cuts = fc.double({ min: 0, max: 1, noNaN: true })
      await fc.assert(
        fc.asyncProperty(fc.array(lines, { maxLength: 25 }), cuts, async (random, cut) => {
          const path = join(folder, 'laws.jsonl')
          await writeFile(path, random.map((value) => `${JSON.stringify(value)}\n`).join(''))
          const records: TranscriptRecord[] = []
          for await (const record of recordsOf(path, 'lines')) if (!('kind' in record)) records.push(record)
          expect(lawfulItems(pi, path, records, cut).length).toBeGreaterThanOrEqual(records.length)
        }),
        { numRuns: 200 },
      )
    })
  })
})

describe('a compaction with the summary of an extension', () => {
  const compacted = (more: object): object => {
    const records = [
      header(),
      user('a', null, 'Book berth 7.'),
      answer('b', 'a', 'Booked.'),
      compaction('c', 'b', more),
    ]
    return ofKind(read(records), 'compaction')[0] ?? {}
  }

  it('names the ledger, why pi compacted, and how long the summary took', () => {
    const details = { madeBy: 'context-ledger', reason: 'threshold', durationMs: 310 }
    expect(compacted({ fromHook: true, details })).toMatchObject({
      madeBy: 'context-ledger',
      trigger: 'auto',
      durationMs: 310,
    })
  })

  it('names no extension that has no name', () => {
    expect(compacted({ fromHook: true, details: { readFiles: [] } })).toMatchObject({
      madeBy: 'extension',
      trigger: 'unknown',
    })
    expect(compacted({ fromHook: false })).not.toHaveProperty('madeBy')
  })
})
