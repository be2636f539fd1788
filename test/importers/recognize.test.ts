/**
 * Recognizes the program of handwritten file heads. If `CONTEXT_LEDGER_TRANSCRIPTS` names a directory with real
 * transcripts, each file in it is checked as well.
 */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { importers, readTranscript, recognizeTranscript } from '../../src/application/importers/index.js'
import { headOf } from '../../src/application/importers/records-of.js'
import type { Importer, TranscriptItem } from '../../src/application/importers/transcript.js'

const lines = (...records: object[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('')
const json = (value: unknown): string => JSON.stringify(value, undefined, 2)
const at = '2026-03-10T08:00:00.000Z'
const message = (role: string, content: unknown): object => ({ role, content })

/** Program, path and content of each file. */
const files: readonly (readonly [program: string | undefined, path: string, content: string])[] = [
  [
    'claude-code',
    'claude/a.jsonl',
    lines({
      type: 'user',
      isSidechain: false,
      userType: 'external',
      uuid: 'u1',
      parentUuid: null,
      sessionId: 's',
      timestamp: at,
      version: '2.1.14',
      cwd: '/srv',
      message: message('user', 'Hello'),
    }),
  ],
  [
    'codex',
    'codex/rollout-a.jsonl',
    lines({ timestamp: at, type: 'session_meta', payload: { id: 'r', timestamp: at, cwd: '/srv' } }),
  ],
  [
    'pi',
    'pi/a.jsonl',
    lines(
      { type: 'session', version: 3, id: 'p', timestamp: at, cwd: '/srv' },
      { type: 'message', id: 'm', parentId: null, timestamp: at, message: message('user', 'Hello') },
    ),
  ],
  [
    'opencode',
    'opencode/a.json',
    json({
      info: {
        id: 'ses_1',
        projectID: 'p',
        directory: '/srv',
        title: 'Berths',
        version: '1.4.3',
        time: { created: 1, updated: 2 },
      },
      messages: [
        {
          info: { id: 'msg_1', sessionID: 'ses_1', role: 'user', time: { created: 1 } },
          parts: [{ id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1', type: 'text', text: 'Hello' }],
        },
      ],
    }),
  ],
  [
    'gemini',
    'gemini/a.json',
    json({
      sessionId: 'g',
      projectHash: 'f',
      startTime: at,
      lastUpdated: at,
      messages: [{ id: 'u', timestamp: at, type: 'user', content: 'Hello' }],
    }),
  ],
  [
    'gemini',
    'gemini/a.jsonl',
    lines(
      { sessionId: 'g', projectHash: 'f', startTime: at, lastUpdated: at, kind: 'main' },
      { id: 'u', timestamp: at, type: 'user', content: [{ text: 'Hello' }] },
    ),
  ],
  [
    'openhands',
    'openhands/events/event-00000-a.json',
    json({
      kind: 'MessageEvent',
      id: 'a',
      timestamp: '2026-03-10T08:00:00',
      source: 'user',
      llm_message: message('user', [{ type: 'text', text: 'Hello' }]),
    }),
  ],
  ['roo', 'roo-cline/tasks/1/api_conversation_history.json', json([message('user', '<task>Hello</task>')])],
  [
    'roo',
    'elsewhere/tasks/1/api_conversation_history.json',
    json({ version: 2, messages: [message('user', '<task>Hello</task>')] }),
  ],
  ['roo', 'roo-cline/tasks/1/history_item.json', json({ id: '1', number: 1, ts: 1, task: 'Hello', workspace: '/srv' })],
  ['cline', 'cline/tasks/1/api_conversation_history.json', json([message('user', '<task>Hello</task>')])],
  ['cline', 'cline/state/taskHistory.json', json([{ id: '1', ts: 1, task: 'Hello' }])],
  [
    'cline',
    'cline/sessions/s/s.messages.json',
    json({ version: 1, agent: 'lead', sessionId: 's', messages: [message('user', 'Hello')] }),
  ],
  [
    'chatgpt',
    'chatgpt/conversations.json',
    json([
      {
        title: 'Berths',
        create_time: 1,
        conversation_id: 'k',
        current_node: 'q',
        mapping: { q: { id: 'q', parent: null, children: [], message: null } },
      },
    ]),
  ],
  ['aider', 'aider/.aider.chat.history.md', '\n# aider chat started at 2026-03-10 08:00:00\n\n#### hello  \n'],
  [
    'swe-agent',
    'swe-agent/a.traj',
    json({
      environment: 'main',
      trajectory: [{ action: 'ls', observation: 'quay.md', response: 'I look.', state: '{}', thought: 'I look.' }],
      history: [
        { role: 'system', content: 'You fix.', agent: 'primary' },
        { role: 'user', content: 'Fix it.', agent: 'primary' },
      ],
      info: {},
    }),
  ],
  [undefined, 'others/package.json', json({ name: 'quay', version: '1.0.0', dependencies: {} })],
  [undefined, 'others/chat.json', json([message('user', 'Hello'), message('assistant', 'Hi')])],
  [undefined, 'others/log.jsonl', lines({ level: 'info', message: 'started' }, { id: 1, type: 'user' })],
  [undefined, 'others/README.md', '# aider\n\n> a chat\n'],
  [undefined, 'others/empty.json', ''],
]

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'transcripts-'))
  for (const [, path, content] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function recognizing(path: string): Promise<string[]> {
  const head = await headOf(path)
  return importers.flatMap((importer) => (importer.recognize(head) === undefined ? [] : [importer.program]))
}

async function read(path: string): Promise<TranscriptItem[]> {
  const found = await recognizeTranscript(path)
  const items: TranscriptItem[] = []
  if (found !== undefined)
    for await (const item of readTranscript(path, found.importer, found.layout, plainContentId)) items.push(item)
  return items
}

describe('a file', () => {
  it.each(files.map(([program, path]) => [path, program] as const))(
    'is of one program, or of none: %s',
    async (path, program) => {
      expect(await recognizing(join(folder, path))).toEqual(program === undefined ? [] : [program])
    },
  )

  it.each(files.flatMap(([program, path]) => (program === undefined ? [] : [path])))(
    'is read to its end: %s',
    async (path) => {
      expect(await read(join(folder, path))).not.toHaveLength(0)
    },
  )

  it('that is incomplete is read, and reported as damaged', async () => {
    const path = join(folder, 'gemini', 'cut.jsonl')
    const [, , whole] = files.find(([, name]) => name === 'gemini/a.jsonl') ?? []
    await writeFile(path, `${whole ?? ''}{"id":"v","timest`)
    const items = await read(path)
    expect(items.map(({ kind }) => kind)).toEqual(['conversation', 'message', 'damage'])
    expect(items.at(-1)).toMatchObject({ isCut: true, where: { line: 3 } })
  })
})

describe('reading a file', () => {
  it('reads its siblings in order, and ends once', async () => {
    const first = join(folder, 'order', '1.json')
    const second = join(folder, 'order', '2.json')
    await mkdir(dirname(first), { recursive: true })
    await writeFile(first, '"one"')
    await writeFile(second, '"two"')
    const importer: Importer = {
      program: 'order',
      title: 'Order',
      homes: () => [],
      recognize: () => 'json',
      siblings: async () => await Promise.resolve([second, first]),
      read: () => ({
        take: ({ value, where }) => [{ kind: 'left-out', what: String(value), where }],
        end: () => [{ kind: 'left-out', what: 'end', where: { file: first } }],
      }),
    }
    const items: TranscriptItem[] = []
    for await (const item of readTranscript(first, importer, 'json', plainContentId)) items.push(item)
    expect(items.map((item) => item.kind === 'left-out' && item.what)).toEqual(['two', 'one', 'end'])
  })

  it('has unique program names', () => {
    const programs = importers.map(({ program }) => program)
    expect(new Set(programs).size).toBe(programs.length)
  })
})

it('no file in the directory of transcripts is recognized by two programs', async () => {
  const configured = process.env['CONTEXT_LEDGER_TRANSCRIPTS'] ?? folder
  const entries = await readdir(configured, { recursive: true, withFileTypes: true })
  const paths = entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []))
  const found = await Promise.all(paths.map(async (path) => ({ path, programs: await recognizing(path) })))
  expect(found.filter(({ programs }) => programs.length > 1)).toEqual([])
})
