/** A database of Zed: a thread with a failed tool, a sub-agent's thread, and one in the older form with segments. */
import { insert } from '../sqlite-program.js'
import { counted, type Raw, type WrittenTranscript } from './written.js'

const thread: Raw = {
  version: '0.3.0',
  title: 'Keel',
  updated_at: '2026-10-06T08:00:00Z',
  model: { provider: 'p', model: 'model-x' },
  messages: [
    {
      User: {
        id: 'u1',
        content: [
          { Text: 'Scrape the keel.' },
          { Mention: { uri: { File: { abs_path: '/srv/keel.md' } }, content: 'oak' } },
        ],
      },
    },
    {
      Agent: {
        content: [
          { Thinking: { text: 'A scraper.', signature: 's' } },
          { Text: 'I scrape.' },
          {
            ToolUse: {
              id: 't1',
              name: 'terminal',
              raw_input: '{}',
              input: { command: 'scrape' },
              is_input_complete: true,
            },
          },
        ],
        tool_results: {
          t1: {
            tool_use_id: 't1',
            tool_name: 'terminal',
            is_error: true,
            content: [{ Text: 'too hard' }],
            output: null,
          },
        },
      },
    },
    'Resume',
    { Agent: { content: [{ Text: 'It does not come off.' }], tool_results: {} } },
  ],
}
const older: Raw = {
  version: '0.2.0',
  summary: 'Old',
  messages: [
    { id: 0, role: 'user', segments: [{ type: 'text', text: 'Sand it.' }], context: 'grit 80' },
    {
      id: 1,
      role: 'assistant',
      segments: [{ type: 'text', text: 'Sanded.' }],
      tool_uses: [{ id: 't2', name: 'sand', input: {} }],
      tool_results: [{ tool_use_id: 't2', is_error: false, content: { Text: 'smooth' } }],
    },
  ],
}
const userMessage = (id: string, words: string): Raw => ({ User: { id, content: [{ Text: words }] } })
const answered = (words: string): Raw => ({ Agent: { content: [{ Text: words }], tool_results: {} } })
/** A compaction that keeps the newest prompts, of which the older one is too long to be kept whole. */
const compacted: Raw = {
  ...thread,
  messages: [
    userMessage('v1', 'Forgotten prompt.'),
    userMessage('v2', `Long prompt. ${'ü'.repeat(40_000)} Its end.`),
    answered('An answer that is summarized.'),
    userMessage('v3', 'Short prompt.'),
    { User: { id: 'v4', content: [] } },
    { Compaction: { Summary: 'The keel is clean.' } },
    userMessage('v5', 'Paint it.'),
  ],
}
const native: Raw = {
  ...thread,
  messages: [
    userMessage('w1', 'Caulk it.'),
    { Compaction: { ProviderNative: { provider: 'p', items: [{ type: 'x' }] } } },
  ],
}
const row = (id: string, data: Raw, more: Raw): string =>
  insert('threads', {
    id,
    summary: 'Keel',
    updated_at: `2026-10-06T08:00:0${id.slice(-1)}Z`,
    data_type: 'json',
    data,
    ...more,
  })

export const zed: WrittenTranscript = {
  program: 'zed',
  isDatabase: true,
  files: {
    'zed/threads/threads.db': [
      `CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL,
        data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT, created_at TEXT);`,
      row('thread-1', thread, { folder_paths: '/srv/quay', created_at: '2026-10-06T07:00:00Z' }),
      row(
        'thread-2',
        { ...thread, messages: [{ User: { id: 'u9', content: [{ Text: 'Hold the lamp.' }] } }] },
        { parent_id: 'thread-1' },
      ),
      row('thread-3', older, {}),
    ].join('\n'),
  },
  counts: [
    counted({
      sourceId: 'thread-1',
      messages: {
        user: JSON.stringify(thread).split('"User"').length + JSON.stringify(thread).split('"Resume"').length - 2,
        assistant: JSON.stringify(thread).split('"Agent"').length - 1,
        tool: 1,
      },
      calls: JSON.stringify(thread).split('"ToolUse"').length - 1,
      results: 1,
    }),
    counted({ sourceId: 'thread-2', messages: { user: 1 }, parent: 'thread-1' }),
    counted({ sourceId: 'thread-3', messages: { user: 1, assistant: 1, tool: 1 }, calls: 1, results: 1 }),
  ],
  leftOut: {},
  context: { has: ['Scrape the keel.', 'oak', 'I scrape.', 'too hard', 'Continue where', 'come off'] },
}

export const zedCompacted: WrittenTranscript = {
  program: 'zed',
  isDatabase: true,
  files: {
    'zed/compacted/threads.db': [
      `CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL,
        data BLOB NOT NULL);`,
      row('compacted-1', compacted, {}),
      row('compacted-2', native, {}),
    ].join('\n'),
  },
  counts: [
    counted({ sourceId: 'compacted-1', messages: { user: 4, assistant: 1 }, compactions: 1 }),
    counted({ sourceId: 'compacted-2', messages: { user: 1 }, compactions: 1 }),
  ],
  leftOut: { 'empty message': 1 },
  context: {
    has: ['Long prompt. ü', 'Short prompt.', 'The keel is clean.', 'Paint it.'],
    lacks: ['Forgotten prompt.', 'Its end.', 'An answer'],
  },
}
