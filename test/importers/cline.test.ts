/** Handwritten tasks of Cline's extension (3.x) and sessions of its newer form. */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cline } from '../../src/application/importers/cline.js'
import { recognizeTranscript, readTranscript } from '../../src/application/importers/index.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { itemsOf, lawfulItems, ofKind } from '../support/transcript-laws.js'

const FOLDER = '/home/ada/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1773129600000'
const FILE = `${FOLDER}/api_conversation_history.json`
const SESSION = '/home/ada/.cline/data/sessions/s1/s1.messages.json'

const textMessage = (role: string, ...texts: string[]): object => ({
  role,
  content: texts.map((text) => ({ type: 'text', text })),
})
const record = (value: unknown, file = FILE) => ({ value, where: { file } })
/** Reads messages with their companion files. */
const read = (messages: unknown, companions: Readonly<Record<string, unknown>> = {}): TranscriptItem[] =>
  itemsOf(cline, FILE, [
    ...Object.entries(companions).map(([name, value]) => record(value, `${FOLDER}/${name}`)),
    record(messages),
  ])

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part: { text?: string }) => part.text ?? '').join(' ')
      : ''
/** The items in short form: texts of messages, contexts in brackets, edits after an arrow. */
function story(items: readonly TranscriptItem[]): string[] {
  const texts = new Map(ofKind(items, 'message').map(({ sourceId, body }) => [sourceId, textOf(body.content)]))
  return items.flatMap((item) => {
    if (item.kind === 'message') return [textOf(item.body.content)]
    if (item.kind === 'edit') return [`${texts.get(item.sourceId) ?? '?'} → ${textOf(item.content)}`]
    if (item.kind !== 'compaction') return []
    const context = item.context.map((entry) =>
      entry.kind === 'inserted' ? `+${textOf(entry.body.content)}` : (texts.get(entry.sourceId) ?? '?'),
    )
    return [`[${context.join(' ')}]`]
  })
}

const messages = [
  textMessage('user', '<task>\nberths\n</task>', '<environment_details>…'),
  textMessage('assistant', 'a1'),
  textMessage('user', "[read_file for 'quay.md'] Result:", 'the quay'),
  textMessage('assistant', 'a3'),
  textMessage('user', "[read_file for 'quay.md'] Result:", 'the quay again'),
  textMessage('assistant', 'a5'),
  textMessage('user', '<feedback>\nfaster\n</feedback>'),
  textMessage('assistant', 'a7'),
]
/** A message in the user interface while message number `index` was the last one. */
const uiMessage = (ts: number, index: number, more: object = {}): object => ({
  ts,
  type: 'say',
  say: 'text',
  conversationHistoryIndex: index,
  ...more,
})

describe('a task', () => {
  it('has its title, directory and version from the companion files', () => {
    const items = read(messages, {
      'taskHistory.json': [
        { id: '1', ts: 1, task: 'another' },
        { id: '1773129600000', ts: 1773129600000, task: 'berths', cwdOnTaskInitialization: '/srv/harbour' },
      ],
      'task_metadata.json': { files_in_context: [], environment_history: [{ ts: 1, cline_version: '3.58.0' }] },
    })
    expect(items[0]).toMatchObject({
      kind: 'conversation',
      sourceId: '1773129600000',
      title: 'berths',
      cwd: '/srv/harbour',
      programVersion: '3.58.0',
      startedAt: '2026-03-10T08:00:00.000Z',
    })
  })

  it('distinguishes the user’s text from results and reminders with the role user', () => {
    expect(ofKind(read(messages), 'message').map(({ byProgram }) => byProgram === true)).toEqual([
      false,
      false,
      true,
      false,
      true,
      false,
      false,
      false,
    ])
  })

  it('has times and costs from the user interface', () => {
    const request = (tokensIn: number): object => ({
      say: 'api_req_started',
      text: JSON.stringify({ tokensIn, tokensOut: 5, cacheReads: 2, cost: 0.01 }),
    })
    const items = ofKind(
      read(messages.slice(0, 4), {
        'ui_messages.json': [
          uiMessage(1000, -1, request(10)),
          uiMessage(2000, 0),
          uiMessage(3000, 1, request(20)),
          uiMessage(4000, 2),
        ],
      }),
      'message',
    )
    expect(items.map(({ at }) => at?.slice(17, 19))).toEqual(['02', '03', '04', '04'])
    expect(items.map(({ usage }) => usage?.inputTokens)).toEqual([undefined, 10, undefined, 20])
    expect(items[1]?.usage).toEqual({ inputTokens: 10, outputTokens: 5, cacheReadTokens: 2, cost: 0.01 })
  })

  it('has times, models and costs from the messages in newer versions', () => {
    const [, answer] = ofKind(
      read([
        textMessage('user', '<task>'),
        {
          ...textMessage('assistant', 'a'),
          ts: 1773129601000,
          modelInfo: { modelId: 'claude-x', providerId: 'anthropic', mode: 'act' },
          metrics: { tokens: { prompt: 7, completion: 3, cached: 1 }, cost: 0.5 },
        },
      ]),
      'message',
    )
    expect(answer).toMatchObject({
      at: '2026-03-10T08:00:01.000Z',
      model: 'claude-x',
      usage: { inputTokens: 7, outputTokens: 3, cacheReadTokens: 1, cost: 0.5 },
    })
  })
})

describe('messages that requests omit', () => {
  it('leave where the user interface shows it first', () => {
    const items = read(messages, {
      'ui_messages.json': [
        uiMessage(1000, 2),
        uiMessage(2000, 4, { conversationHistoryDeletedRange: [2, 3] }),
        uiMessage(3000, 5, { conversationHistoryDeletedRange: [2, 3] }),
        uiMessage(4000, 6, { conversationHistoryDeletedRange: [2, 5] }),
      ],
    })
    const task = '<task>\nberths\n</task> <environment_details>…'
    const secondRead = "[read_file for 'quay.md'] Result: the quay again"
    const feedback = '<feedback>\nfaster\n</feedback>'
    expect(story(items)).toEqual([
      task,
      'a1',
      "[read_file for 'quay.md'] Result: the quay",
      'a3',
      secondRead,
      `[${task} a1 ${secondRead}]`,
      'a5',
      feedback,
      `[${task} a1 ${feedback}]`,
      'a7',
    ])
    expect(ofKind(items, 'compaction')).toMatchObject([
      { sourceId: 'deleted-2-3', at: '1970-01-01T00:00:02.000Z', trigger: 'auto', summary: { kind: 'none' } },
      { sourceId: 'deleted-2-5' },
    ])
  })

  it('leave at an unknown time if only the list of tasks contains it', () => {
    const item = { id: '1773129600000', ts: 1, task: 'berths', conversationHistoryDeletedRange: [2, 5] }
    const items = read(messages, { 'taskHistory.json': [item] })
    expect(items.at(-1)).toMatchObject({ kind: 'compaction', trigger: 'unknown' })
    expect(ofKind(items, 'compaction')[0]?.at).toBeUndefined()
    expect(story(items).at(-1)).toBe(
      '[<task>\nberths\n</task> <environment_details>… a1 <feedback>\nfaster\n</feedback> a7]',
    )
  })

  it('are reported once if both files contain them', () => {
    const range = { conversationHistoryDeletedRange: [2, 3] }
    const items = read(messages, {
      'taskHistory.json': [{ id: '1773129600000', ts: 1, task: 'berths', ...range }],
      'ui_messages.json': [uiMessage(2000, 4, range)],
    })
    expect(ofKind(items, 'compaction')).toHaveLength(1)
  })

  it.each([
    [{ say: 'tool', text: JSON.stringify({ tool: 'summarizeTask', content: 'In short.' }) }, 'auto'],
    [{ type: 'ask', ask: 'condense', text: 'In short.' }, 'manual'],
  ])('have a summary if the user interface shows one: %j', (more, trigger) => {
    const items = read(messages, {
      'ui_messages.json': [uiMessage(1000, 4, more), uiMessage(2000, 4, { conversationHistoryDeletedRange: [2, 4] })],
    })
    expect(ofKind(items, 'compaction')).toMatchObject([{ trigger, summary: { kind: 'text', text: 'In short.' } }])
  })

  it('are not reported if the list ends before them', () => {
    const items = read(messages.slice(0, 3), {
      'ui_messages.json': [uiMessage(2000, 4, { conversationHistoryDeletedRange: [2, 3] })],
    })
    expect(ofKind(items, 'compaction')).toEqual([])
  })
})

/** A block of a message, with its replacements. */
const replaced = (
  message: number,
  type: number,
  block: number,
  texts: readonly (readonly [number, string])[],
): unknown => {
  const updates = texts.map(([ts, text]) => [ts, 'text', [text], []])
  return [message, [type, [[block, updates]]]]
}

describe('blocks that requests replace', () => {
  const edits = [
    replaced(0, 0, 0, [[3000, '<task>\n[Continue]\n</task>']]),
    replaced(2, 2, 1, [
      [3000, '[duplicate]'],
      [3500, '[gone]'],
    ]),
    replaced(99, 2, 1, [[3000, 'nothing']]),
    ['odd'],
  ]

  it('are edits of their messages, in order, at the position at which they were made', () => {
    const items = read(messages, {
      'ui_messages.json': [uiMessage(2900, 4), uiMessage(3900, 6)],
      'context_history.json': edits,
    })
    const quay = "[read_file for 'quay.md'] Result: the quay"
    expect(story(items).filter((text) => text.includes('→'))).toEqual([
      '<task>\nberths\n</task> <environment_details>… → <task>\n[Continue]\n</task> <environment_details>…',
      `${quay} → [read_file for 'quay.md'] Result: [duplicate]`,
      `${quay} → [read_file for 'quay.md'] Result: [gone]`,
    ])
    expect(ofKind(items, 'edit').map(({ why, at }) => [why, at])).toEqual([
      ['replaced', '1970-01-01T00:00:03.000Z'],
      ['pruned', '1970-01-01T00:00:03.000Z'],
      ['pruned', '1970-01-01T00:00:03.500Z'],
    ])
    expect(items.findIndex(({ kind }) => kind === 'edit')).toBe(6)
    expect(ofKind(items, 'left-out')).toMatchObject([{ what: 'context_history.json' }])
  })
})

describe('a session of the newer form', () => {
  const session = {
    version: 1,
    updated_at: '2026-03-10T08:10:00.000Z',
    agent: 'lead',
    sessionId: 's1',
    messages: [
      {
        id: 'm0',
        role: 'user',
        content: [{ type: 'text', text: '<user_input mode="act">berths</user_input>' }],
        ts: 1773129600000,
      },
      {
        id: 'm1',
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'list', signature: 's' },
          { type: 'tool_use', id: 'c1', name: 'list', input: { quay: 1 }, signature: 'g' },
        ],
        ts: 1773129601000,
        modelInfo: { id: 'claude-x', provider: 'anthropic' },
        metrics: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 2, cacheWriteTokens: 1, cost: 0.1 },
      },
      {
        id: 'm2',
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c1', name: 'list', content: 'B2' }],
        ts: 1773129602000,
      },
      { id: 'm3', role: 'assistant', content: 'B2.', ts: 1773129603000 },
      { id: 'm4', role: 'user', content: 'ok', ts: 1773129604000 },
      { id: 'm5', role: 'assistant', content: 'ok', ts: 1773129605000 },
    ],
  }
  const state = (more: object): object => ({
    version: 1,
    updated_at: '2026-03-10T08:00:04.500Z',
    source_message_count: 5,
    source_prefix_hash: 'sha256:ab',
    messages: [
      {
        role: 'user',
        content: 'Context summary:\n\nIn short.',
        metadata: { kind: 'compaction_summary', summary: 'In short.', tokensBefore: 800 },
      },
      { id: 'new-1', role: 'assistant', content: 'B2.' },
      { id: 'm4', role: 'user', content: 'o' },
    ],
    ...more,
  })
  const readSession = (companions: readonly [string, unknown][] = [], value: unknown = session): TranscriptItem[] =>
    itemsOf(cline, SESSION, [
      ...companions.map(([name, one]) => record(one, join(dirname(SESSION), name))),
      record(value, SESSION),
    ])

  it('has messages with ids, times, models and costs', () => {
    const items = readSession([
      [
        's1.json',
        {
          version: 1,
          session_id: 's1',
          started_at: '2026-03-10T07:59:00.000Z',
          cwd: '/srv/harbour',
          metadata: { title: 'Berths', fork: { forkedFromSessionId: 's0' } },
        },
      ],
    ])
    expect(items[0]).toMatchObject({
      sourceId: 's1',
      title: 'Berths',
      cwd: '/srv/harbour',
      startedAt: '2026-03-10T07:59:00.000Z',
      parent: { sourceId: 's0', how: 'fork' },
    })
    expect(items[2]).toMatchObject({
      sourceId: 'm1',
      at: '2026-03-10T08:00:01.000Z',
      model: 'claude-x',
      usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 2, cacheWriteTokens: 1, cost: 0.1 },
      body: { toolCalls: [{ id: 'c1', function: { name: 'list', arguments: '{"quay":1}' }, signature: 'g' }] },
    })
    expect(items[3]).toMatchObject({ body: { role: 'tool', toolCallId: 'c1', content: 'B2' } })
  })

  it('is compacted to the context in the companion file, whose messages match by id or content', () => {
    const items = readSession([['s1.compaction.json', state({})]])
    expect(story(items)).toEqual([
      'berths',
      '',
      'B2',
      'B2.',
      'ok',
      '[+Context summary:\n\nIn short. B2. ok]',
      'ok → o',
      'ok',
    ])
    expect(ofKind(items, 'compaction')).toMatchObject([
      {
        sourceId: `compaction-${plainContentId('sha256:ab')}`,
        at: '2026-03-10T08:00:04.500Z',
        summary: { kind: 'text', text: 'In short.' },
        tokensBefore: 800,
        context: [{ isSummary: true }, { sourceId: 'm3' }, { sourceId: 'm4' }],
      },
    ])
    expect(ofKind(items, 'edit')).toMatchObject([{ sourceId: 'm4', part: 0, why: 'shortened' }])
  })

  it('begins after a compaction if the summary replaced the messages', () => {
    const summary = {
      id: 'm9',
      role: 'user',
      content: 'Context summary:\n\nIn short.',
      metadata: { kind: 'compaction_summary', summary: 'In short.', generatedAt: 1773129604500 },
    }
    const items = readSession([], { ...session, messages: [summary, ...session.messages.slice(3)] })
    expect(story(items)).toEqual(['B2.', 'ok', '[+Context summary:\n\nIn short. B2. ok]', 'ok'])
    expect(ofKind(items, 'compaction')).toMatchObject([{ coversMissing: true, at: '2026-03-10T08:00:04.500Z' }])
  })

  it('names the parent session of a team’s agent', () => {
    const file = '/home/ada/.cline/data/sessions/s1/helper__1.messages.json'
    const value = { ...session, sessionId: 's1__helper', origin: { subagent: 'helper', version: '4.1.0' } }
    expect(itemsOf(cline, file, [record(value, file)])[0]).toMatchObject({
      sourceId: 's1__helper',
      programVersion: '4.1.0',
      parent: { sourceId: 's1', how: 'sub-agent' },
    })
  })

  describe('on a disk', () => {
    let folder = ''
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'cline-'))
      const task = join(folder, 'tasks', '1773129600000')
      await mkdir(task, { recursive: true })
      await mkdir(join(folder, 'state'))
      const files: readonly (readonly [string, unknown])[] = [
        ['s1.messages.json', session],
        ['s1.compaction.json', state({})],
        ['s1.json', { version: 1, session_id: 's1', started_at: '2026-03-10T07:59:00.000Z', source: 'cli' }],
        [
          'state/taskHistory.json',
          [{ id: '1773129600000', ts: 1, task: 'berths', conversationHistoryDeletedRange: [2, 5] }],
        ],
        ['tasks/1773129600000/api_conversation_history.json', messages],
        ['tasks/1773129600000/ui_messages.json', [uiMessage(2000, 6, { conversationHistoryDeletedRange: [2, 3] })]],
        ['tasks/1773129600000/context_history.json', [replaced(1, 0, 0, [[2500, '[NOTE]']])]],
      ]
      for (const [name, value] of files) await writeFile(join(folder, name), JSON.stringify(value))
    })
    afterAll(async () => {
      await rm(folder, { recursive: true })
    })

    const itemKindsOf = async (name: string): Promise<string[]> => {
      const found = await recognizeTranscript(join(folder, name))
      expect(found?.importer.program).toBe(cline.program)
      const kinds: string[] = []
      if (found !== undefined)
        for await (const item of readTranscript(join(folder, name), found.importer, found.layout, plainContentId))
          if (item.kind !== 'message') kinds.push(item.kind === 'left-out' ? item.what : item.kind)
      return kinds
    }

    it.each([
      ['s1.messages.json', ['conversation', 'compaction', 'edit']],
      ['s1.compaction.json', ['compaction.json']],
      ['s1.json', ['session.json']],
      ['state/taskHistory.json', ['taskHistory.json']],
      ['tasks/1773129600000/api_conversation_history.json', ['conversation', 'edit', 'compaction', 'compaction']],
      ['tasks/1773129600000/ui_messages.json', ['ui_messages.json']],
      ['tasks/1773129600000/context_history.json', ['context_history.json']],
    ])('is read with its companion files, each of which contains no conversation: %s', async (name, expected) => {
      expect(await itemKindsOf(name)).toEqual(expected)
    })
  })
})

it('is recognized at any file size', () => {
  const head = (path: string, text: string) => ({ path, records: [], text })
  expect(cline.recognize(head(FILE, '[{"role":"user","content":[{"type":"text","text":"<task>'))).toBe('json')
  expect(cline.recognize(head(`${FOLDER}/ui_messages.json`, '[{"ts":1773129600000,"type":"say","say":"task"'))).toBe(
    'json',
  )
  expect(
    cline.recognize(
      head(SESSION, '{"version":1,"agent":"lead","sessionId":"s1","messages":[{"id":"m0","role":"user","content":[{'),
    ),
  ).toBe('json')
  expect(cline.recognize(head('/tmp/x.json', '[{"role":"user","content":"hello"'))).toBeUndefined()
})

describe('any task', () => {
  const range = fc.tuple(fc.nat(6), fc.nat(12))
  const companionFiles = fc.record({
    'ui_messages.json': fc.array(
      fc.record(
        {
          ts: fc.nat(20),
          type: fc.constant('say'),
          conversationHistoryIndex: fc.integer({ min: -1, max: 14 }),
          conversationHistoryDeletedRange: range,
        },
        { requiredKeys: ['ts', 'type'] },
      ),
      { maxLength: 8 },
    ),
    'context_history.json': fc.array(
      fc
        .tuple(fc.nat(12), fc.nat(2), fc.nat(20), fc.string())
        .map(([message, block, ts, text]) => replaced(message, 2, block, [[ts, text]])),
      { maxLength: 5 },
    ),
  })
  const list = fc.array(
    fc
      .tuple(fc.constantFrom('user', 'assistant'), fc.array(fc.string(), { maxLength: 3 }))
      .map(([role, texts]) => textMessage(role, ...texts)),
    { maxLength: 12 },
  )

  it('satisfies the rules for all transcripts, with any companion files', () => {
    fc.assert(
      fc.property(list, companionFiles, (more, files) => {
        const all = [textMessage('user', '<task>'), ...more]
        // Companion files yield nothing by themselves, so the checks apply only to the last record.
        const reading = {
          ...cline,
          read: (path: string) => {
            const reader = cline.read(path, plainContentId)
            for (const [name, value] of Object.entries(files))
              expect([...reader.take(record(value, `${FOLDER}/${name}`))]).toEqual([])
            return reader
          },
        }
        const items = lawfulItems(reading, FILE, [record(all)], 0)
        expect(items.length).toBeGreaterThan(all.length)
      }),
      { numRuns: 100 },
    )
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(FILE, SESSION, `${FOLDER}/ui_messages.json`), (value, path) => {
        expect(itemsOf(cline, path, [record(value, path)])).not.toHaveLength(0)
      }),
    )
  })
})
