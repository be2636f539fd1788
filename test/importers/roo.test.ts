/** Handwritten tasks of Roo Code, in the formats of versions 3.20 (a list) to 3.50 (messages of the AI SDK). */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recognizeTranscript, readTranscript } from '../../src/application/importers/index.js'
import { roo } from '../../src/application/importers/roo.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { itemsOf, lawfulItems, ofKind } from '../support/transcript-laws.js'

const FOLDER = '/home/ada/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1773129600000'
const FILE = `${FOLDER}/api_conversation_history.json`

const user = (text: string, more: object = {}): object => ({ role: 'user', content: [{ type: 'text', text }], ...more })
const answer = (text: string, more: object = {}): object => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  ...more,
})
const record = (value: unknown, name = 'api_conversation_history.json') => ({
  value,
  where: { file: `${FOLDER}/${name}` },
})
const read = (messages: unknown, shown?: unknown): TranscriptItem[] =>
  itemsOf(roo, FILE, [...(shown === undefined ? [] : [record(shown, 'ui_messages.json')]), record(messages)])

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part: { text?: string }) => part.text ?? '').join('')
      : ''
/** The items in short form: texts of messages, and contexts in brackets. */
function story(items: readonly TranscriptItem[]): string[] {
  const texts = new Map(ofKind(items, 'message').map(({ sourceId, body }) => [sourceId, textOf(body.content)]))
  return items.flatMap((item) => {
    if (item.kind === 'message') return [textOf(item.body.content)]
    if (item.kind !== 'compaction') return []
    const context = item.context.map((entry) =>
      entry.kind === 'inserted' ? `+${textOf(entry.body.content)}` : (texts.get(entry.sourceId) ?? '?'),
    )
    return [`[${context.join(' ')}]`]
  })
}

describe('a summary that retained the first message and the last three', () => {
  const hidden = { condenseParent: 'x1' }
  const messages = [
    user('task', { ts: 1 }),
    answer('a', { ts: 2, ...hidden }),
    user('b', { ts: 3, ...hidden }),
    answer('S', { ts: 4, isSummary: true, condenseId: 'x1' }),
    user('c', { ts: 5 }),
    answer('d', { ts: 6 }),
    user('e', { ts: 7 }),
    answer('f', { ts: 8 }),
  ]

  it('covers the messages that refer to it, and follows the three retained ones', () => {
    const items = read(messages)
    expect(story(items)).toEqual(['task', 'a', 'b', 'c', 'd', 'e', '[task +S c d e]', 'f'])
    expect(ofKind(items, 'compaction')).toMatchObject([
      { sourceId: 'x1', trigger: 'unknown', summary: { kind: 'text', text: 'S' }, where: { path: '[3]' } },
    ])
    expect(ofKind(items, 'compaction')[0]?.coversMissing).toBeUndefined()
  })

  it('is at its time in the user interface, with its usage', () => {
    const uiMessages = [
      {
        ts: 6,
        type: 'say',
        say: 'condense_context',
        contextCondense: {
          condenseId: 'x1',
          summary: 'In short.',
          cost: 0.02,
          prevContextTokens: 9000,
          newContextTokens: 1200,
        },
      },
    ]
    const items = read(messages, uiMessages)
    expect(story(items)).toEqual(['task', 'a', 'b', 'c', 'd', '[task +S c d]', 'e', 'f'])
    expect(ofKind(items, 'compaction')).toMatchObject([
      {
        at: '1970-01-01T00:00:00.006Z',
        summary: { kind: 'text', text: 'In short.' },
        tokensBefore: 9000,
        tokensAfter: 1200,
        usage: { cost: 0.02 },
      },
    ])
  })

  it('gives messages the same ids as before the summary was inserted', () => {
    const before = read(messages.toSpliced(3, 1).map((message) => ({ ...message, condenseParent: undefined })))
    const ids = (items: readonly TranscriptItem[]): string[] => ofKind(items, 'message').map(({ sourceId }) => sourceId)
    expect(ids(read(messages))).toEqual(ids(before))
  })

  it('is hidden by the next summary, except for messages that the next one does not hide', () => {
    const hiddenBySecond = { condenseParent: 'x2' }
    const items = read([
      ...messages.slice(0, 3),
      answer('S', { ts: 4, isSummary: true, condenseId: 'x1', ...hiddenBySecond }),
      ...messages.slice(4, 7).map((message) => ({ ...message, ...hiddenBySecond })),
      answer('T', { ts: 8, isSummary: true, condenseId: 'x2' }),
      answer('f', { ts: 9 }),
    ])
    expect(story(items)).toEqual(['task', 'a', 'b', 'c', 'd', 'e', '[task +S c d e]', 'f', '[task +T f]'])
  })

  it('covers nothing if the summary was deleted with the messages after it', () => {
    expect(story(read(messages.slice(0, 3)))).toEqual(['task', 'a', 'b'])
  })
})

it('a summary with the role user restarts the list at its position', () => {
  const hidden = { condenseParent: 'x1' }
  const items = read([
    user('task', { ts: 1, ...hidden }),
    answer('a', { ts: 2, ...hidden }),
    user('S', { ts: 3, isSummary: true, condenseId: 'x1' }),
    answer('b', { ts: 4 }),
  ])
  expect(story(items)).toEqual(['task', 'a', '[+S]', 'b'])
})

it('a summary whose messages were deleted covers missing messages', () => {
  const items = read([user('task'), answer('S', { isSummary: true }), user('c'), answer('d'), user('e'), answer('f')])
  expect(story(items)).toEqual(['task', 'c', 'd', 'e', '[task +S c d e]', 'f'])
  expect(ofKind(items, 'compaction')).toMatchObject([{ coversMissing: true, summary: { kind: 'text', text: 'S' } }])
})

describe('a truncation', () => {
  const hidden = { truncationParent: 't1' }
  const messages = [
    user('task', { ts: 1 }),
    answer('a', { ts: 2, ...hidden }),
    user('b', { ts: 3, ...hidden }),
    { role: 'user', content: '[Sliding window truncation]', ts: 4, isTruncationMarker: true, truncationId: 't1' },
    answer('c', { ts: 5 }),
    user('d', { ts: 6 }),
  ]

  it('inserts its marker into the context, and has no summary', () => {
    const items = read(messages)
    expect(story(items)).toEqual(['task', 'a', 'b', 'c', 'd', '[task +[Sliding window truncation] c d]'])
    expect(ofKind(items, 'compaction')).toMatchObject([{ sourceId: 't1', trigger: 'auto', summary: { kind: 'none' } }])
  })

  it('is at its time in the user interface', () => {
    const uiMessages = [
      {
        ts: 5,
        type: 'say',
        say: 'sliding_window_truncation',
        contextTruncation: { truncationId: 't1', messagesRemoved: 2, prevContextTokens: 500, newContextTokens: 200 },
      },
    ]
    const items = read(messages, uiMessages)
    expect(story(items)).toEqual(['task', 'a', 'b', 'c', '[task +[Sliding window truncation] c]', 'd'])
    expect(ofKind(items, 'compaction')).toMatchObject([{ tokensBefore: 500, tokensAfter: 200 }])
  })
})

describe('messages of the AI SDK', () => {
  const items = read({
    version: 2,
    messages: [
      user('<task>\nCount the berths\n</task>', { ts: 1773129601000 }),
      { type: 'reasoning', encrypted_content: 'x9', id: 'rs_1', summary: [], ts: 1773129602000 },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'List them first.', providerOptions: { anthropic: { signature: 's' } } },
          { type: 'text', text: 'I list them.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'list_berths', input: { quay: 'north' } },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'list_cranes', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'list_berths', output: { type: 'text', value: 'B2, B3' } },
          {
            type: 'tool-result',
            toolCallId: 'c2',
            toolName: 'list_cranes',
            output: { type: 'text', value: '[ERROR] none' },
          },
        ],
      },
      user('<environment_details>\nopen tabs\n</environment_details>'),
      { role: 'conductor', content: 'x' },
      17,
    ],
  })
  const messages = ofKind(items, 'message')

  it('contain calls and text, and each result is a message', () => {
    expect(messages.map(({ body, part, isError }) => [body.role, part, isError])).toEqual([
      ['user', 0, undefined],
      ['assistant', 0, undefined],
      ['assistant', 0, undefined],
      ['tool', 0, undefined],
      ['tool', 1, true],
      ['user', 0, undefined],
    ])
    expect(messages[2]?.body).toMatchObject({
      content: [
        { type: 'reasoning', text: 'List them first.', providerOptions: { anthropic: { signature: 's' } } },
        { type: 'text', text: 'I list them.' },
      ],
      toolCalls: [
        { id: 'c1', type: 'function', function: { name: 'list_berths', arguments: '{"quay":"north"}' } },
        { id: 'c2' },
      ],
    })
    expect(messages[3]).toMatchObject({
      sourceId: messages[4]?.sourceId,
      body: { content: 'B2, B3', toolCallId: 'c1' },
    })
  })

  it('belong to one answer with the reasoning before them, which is kept unchanged', () => {
    expect(messages[1]?.body.content).toEqual([{ type: 'reasoning', encrypted_content: 'x9', id: 'rs_1', summary: [] }])
    expect(messages[2]?.answerId).toBe(messages[1]?.answerId)
  })

  it('distinguish the user from the program', () => {
    expect(messages.map(({ byProgram }) => byProgram)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      true,
    ])
    expect(messages[0]?.at).toBe('2026-03-10T08:00:01.000Z')
  })

  it('are counted if they are not valid', () => {
    expect(ofKind(items, 'left-out').map(({ what, where }) => [what, where.path])).toEqual([
      ['conductor', 'messages[5]'],
      ['message', 'messages[6]'],
    ])
  })
})

it('Anthropic blocks are results, additional text, images and reasoning', () => {
  const items = read([
    user('<task>\nLook\n</task>'),
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'A picture.', signature: 's' },
        { type: 'tool_use', id: 'c1', name: 'look', input: { at: 'B2' } },
      ],
      reasoning_content: 'A picture.',
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: '<feedback>\nand the crane\n</feedback>' },
        {
          type: 'tool_result',
          tool_use_id: 'c1',
          is_error: true,
          content: [
            { type: 'text', text: 'dark' },
            { type: 'image', source: { type: 'base64' } },
          ],
        },
      ],
    },
  ])
  expect(ofKind(items, 'message').map(({ body, part, byProgram }) => ({ ...body, part, byProgram }))).toMatchObject([
    { role: 'user' },
    {
      role: 'assistant',
      content: [{ type: 'thinking', thinking: 'A picture.', signature: 's' }],
      toolCalls: [{ id: 'c1', function: { name: 'look', arguments: '{"at":"B2"}' } }],
      extra: { reasoning_content: 'A picture.' },
    },
    { role: 'tool', toolCallId: 'c1', content: [{ type: 'text', text: 'dark' }, { type: 'image' }], part: 0 },
    { role: 'user', content: '<feedback>\nand the crane\n</feedback>', part: 1 },
  ])
  expect(ofKind(items, 'message')[3]?.byProgram).toBeUndefined()
})

describe('the files of a task', () => {
  let folder = ''
  const path = (...names: string[]): string => join(folder, 'roo-cline', 'tasks', '1773129600000', ...names)
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roo-'))
    await mkdir(path(), { recursive: true })
    await writeFile(path('api_conversation_history.json'), JSON.stringify([user('task'), answer('done')]))
    await writeFile(
      path('history_item.json'),
      JSON.stringify({
        id: '1773129600000',
        number: 3,
        ts: 1773129600000,
        task: 'Count the berths',
        workspace: '/srv/harbour',
        parentTaskId: '1773129500000',
      }),
    )
    await writeFile(
      path('ui_messages.json'),
      JSON.stringify([{ ts: 1773129600500, type: 'say', say: 'text', text: 'task' }]),
    )
    await writeFile(path('task_metadata.json'), JSON.stringify({ files_in_context: [] }))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  const itemsIn = async (name: string): Promise<TranscriptItem[]> => {
    const found = await recognizeTranscript(path(name))
    expect(found?.importer.program).toBe(roo.program)
    const items: TranscriptItem[] = []
    if (found !== undefined)
      for await (const item of readTranscript(path(name), found.importer, found.layout, plainContentId))
        items.push(item)
    return items
  }

  it('together describe the task', async () => {
    expect(await itemsIn('api_conversation_history.json')).toMatchObject([
      {
        kind: 'conversation',
        sourceId: '1773129600000',
        title: 'Count the berths',
        cwd: '/srv/harbour',
        startedAt: '2026-03-10T08:00:00.000Z',
        parent: { sourceId: '1773129500000', how: 'sub-agent' },
      },
      { kind: 'message', body: { role: 'user' } },
      { kind: 'message', body: { role: 'assistant' } },
    ])
  })

  it.each(['history_item.json', 'ui_messages.json', 'task_metadata.json'])(
    'contain no conversation: %s',
    async (name) => {
      expect(await itemsIn(name)).toMatchObject([{ kind: 'left-out', what: name }])
    },
  )
})

it('is distinguished from Cline by its own fields, and otherwise by its directory', () => {
  const head = (path: string, value: unknown) => ({
    path,
    records: [value],
    text: JSON.stringify(value).slice(0, 4096),
  })
  const elsewhere = '/backup/tasks/1/api_conversation_history.json'
  expect(roo.recognize(head(elsewhere, [user('task', { condenseParent: 'x' })]))).toBe('json')
  expect(roo.recognize(head(elsewhere, { version: 2, messages: [user('task')] }))).toBe('json')
  expect(roo.recognize(head(elsewhere, [user('task')]))).toBeUndefined()
  expect(roo.recognize(head(FILE, [user('task')]))).toBe('json')
  expect(roo.recognize(head(FILE, [{ nothing: true }]))).toBeUndefined()
  // Too large to parse.
  expect(
    roo.recognize({ path: FILE, records: [], text: '[{"role":"user","content":[{"type":"text","text":"<task>' }),
  ).toBe('json')
})

describe('any task', () => {
  const tags = fc.record(
    {
      ts: fc.nat(30),
      isSummary: fc.boolean(),
      condenseId: fc.constantFrom('x1', 'x2'),
      condenseParent: fc.constantFrom('x1', 'x2'),
      isTruncationMarker: fc.boolean(),
      truncationId: fc.constantFrom('t1'),
      truncationParent: fc.constantFrom('t1'),
    },
    { requiredKeys: [] },
  )
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string() }),
    fc.record({
      type: fc.constantFrom('tool_use', 'tool-call'),
      id: fc.constantFrom('c1', 'c2', ''),
      name: fc.string(),
      input: fc.jsonValue(),
    }),
    fc.record({ type: fc.constant('tool_result'), tool_use_id: fc.constantFrom('c1', 'c2'), content: fc.jsonValue() }),
    fc.jsonValue(),
  )
  const message = fc
    .tuple(
      fc.constantFrom('user', 'assistant', 'tool', 'system'),
      fc.oneof(fc.string(), fc.array(block, { maxLength: 4 })),
      tags,
    )
    .map(([role, content, more]) => ({ role, content, ...more }))
  const list = fc.array(fc.oneof({ weight: 5, arbitrary: message }, { weight: 1, arbitrary: fc.jsonValue() }), {
    maxLength: 14,
  })

  it('satisfies the rules for all transcripts', () => {
    fc.assert(
      fc.property(list, (messages) => {
        const items = lawfulItems(roo, FILE, [record([user('<task>'), ...messages])], 0)
        const places = new Set(items.flatMap(({ where }) => (where.path === undefined ? [] : [where.path])))
        // Nothing is lost: each record is emitted, counted, or the summary of a compaction.
        expect(places.size).toBe(messages.length + 1)
      }),
      { numRuns: 150 },
    )
  })

  it('yields the items of a shorter list first', () => {
    const plain = fc.array(
      fc
        .tuple(fc.constantFrom('user', 'assistant'), fc.constantFrom('yes', 'no', 'go on'))
        .map(([role, content]) => ({ role, content })),
      { minLength: 1, maxLength: 12 },
    )
    fc.assert(
      fc.property(plain, fc.nat(12), (messages, cut) => {
        const half = read([user('<task>'), ...messages.slice(0, cut)])
        expect(read([user('<task>'), ...messages]).slice(0, half.length)).toEqual(half)
      }),
    )
  })

  it('does not overflow the stack', () => {
    let deep: unknown = 'x'
    for (let level = 0; level < 20_000; level += 1) deep = [deep]
    const items = read([
      user('<task>'),
      {
        role: 'assistant',
        content: [
          { type: 'odd', deep },
          { type: 'tool_use', id: 'c', name: 'n', input: deep },
        ],
      },
    ])
    expect(ofKind(items, 'message')).toHaveLength(2)
    expect(ofKind(items, 'damage')).toEqual([])
  })
})
