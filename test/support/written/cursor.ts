/** A transcript of a Cursor agent with a sub-agent's own file, and a database with two conversations and a summary. */
import { insert } from '../sqlite-program.js'
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const rowOf = (role: string, ...content: readonly Raw[]): Raw => ({ role, message: { content } })
const text = (words: string): Raw => ({ type: 'text', text: words })
const transcript: readonly Raw[] = [
  rowOf('user', text('<user_query>\nPaint the hull.\n</user_query>')),
  rowOf('assistant', text('I look for paint.'), { type: 'tool_use', name: 'Shell', input: { command: 'ls paint' } }),
  rowOf('assistant', text('There is red paint.')),
  rowOf('assistant', text('There is red paint.')),
]
const isRole =
  (role: string) =>
  (each: Raw): boolean =>
    each['role'] === role

const bubbles: readonly Raw[] = [
  { bubbleId: 'b1', type: 1, text: 'Which flags fly?', createdAt: '2026-10-04T08:00:00.000Z' },
  {
    bubbleId: 'b2',
    type: 2,
    text: '',
    thinking: { text: 'A search.' },
    toolFormerData: {
      toolCallId: 'tool_1',
      name: 'grep',
      rawArgs: '{"q":"flag"}',
      result: '{"hits":2}',
      status: 'completed',
    },
  },
  { bubbleId: 'b3', type: 2, text: 'Two flags.', tokenCount: { inputTokens: 90, outputTokens: 5 } },
  { bubbleId: 'b4', type: 1, text: 'Lower one.' },
  { bubbleId: 'b5', type: 2, text: '', capabilityType: 22 },
  { bubbleId: 'b6', type: 2, text: 'One is lowered.', modelInfo: { modelName: 'model-y' } },
  {
    bubbleId: 'b61',
    type: 2,
    text: '',
    toolFormerData: {
      toolCallId: 'tool_9\nfc_9',
      name: 'shell',
      rawArgs: '',
      params: '{"run":"flag"}',
      status: 'started',
    },
  },
  { bubbleId: 'b62', type: 1, text: 'Stop that.' },
  {
    bubbleId: 'b7',
    type: 2,
    text: '',
    toolFormerData: { toolCallId: 'tool_2', name: 'shell', rawArgs: '{}', status: 'loading' },
  },
].map((bubble) => ({ _v: 3, ...bubble }))
const composer = (composerId: string, more: Raw): Raw => ({
  _v: 10,
  composerId,
  name: 'Flags',
  createdAt: 1_790_000_000_000,
  modelConfig: { modelName: 'model-x' },
  ...more,
})
const value = (key: string, content: Raw): string => insert('cursorDiskKV', { key, value: content })
const isText = ({ text: words }: Raw): boolean => words !== ''
const results = number(bubbles, (bubble) => JSON.stringify(bubble).includes('"completed"'))
/** A call that runs when the user continues has no result. */
const calls = results + number(bubbles, (bubble) => JSON.stringify(bubble).includes('"started"'))
const blobs = {
  '11': { role: 'user', content: [{ type: 'text', text: '<user_query>\nCount the buoys.\n</user_query>' }] },
  '22': {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'Read', args: { path: 'buoys.md' } }],
  },
  '33': { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'Read', result: 'six buoys' }] },
  '44': { role: 'assistant', content: [{ type: 'text', text: 'There are six.' }] },
}
/** The root lists the messages in another order than the table. */
const root = Object.keys(blobs)
  .map((id) => `0a20${id.repeat(32)}`)
  .join('')
const meta = {
  agentId: 'f5a6',
  latestRootBlobId: 'ee',
  name: 'Buoys',
  createdAt: 1_790_000_000_000,
  blobEncryptionKey: 'k',
}

export const cursor: readonly WrittenTranscript[] = [
  {
    program: 'cursor',
    files: { 'home/.cursor/projects/srv-quay/agent-transcripts/c1d2/c1d2.jsonl': lines(transcript) },
    counts: [
      counted({
        sourceId: 'c1d2',
        messages: { user: number(transcript, isRole('user')), assistant: number(transcript, isRole('assistant')) },
        calls: JSON.stringify(transcript).split('"tool_use"').length - 1,
      }),
    ],
    leftOut: {},
    context: { has: ['Paint the hull', 'I look for paint', 'red paint'] },
  },
  {
    program: 'cursor',
    files: {
      'home/.cursor/projects/srv-quay/agent-transcripts/c1d2/subagents/e3f4.jsonl': lines(transcript.slice(0, 1)),
    },
    counts: [counted({ sourceId: 'e3f4', messages: { user: 1 }, parent: 'c1d2' })],
    leftOut: {},
    context: { has: ['Paint the hull'] },
  },
  {
    program: 'cursor',
    isDatabase: true,
    files: {
      'config/Cursor/User/globalStorage/state.vscdb': [
        'CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);',
        'CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);',
        value(
          'composerData:c-1',
          composer('c-1', {
            fullConversationHeadersOnly: bubbles.map(({ bubbleId, type }) => ({ bubbleId, type })),
            latestConversationSummary: {
              summary: { summary: 'Two flags were found.', truncationLastBubbleIdInclusive: 'b3' },
              lastBubbleId: 'b4',
            },
          }),
        ),
        ...bubbles.map((bubble) => value(`bubbleId:c-1:${String(bubble['bubbleId'])}`, bubble)),
        value(
          'composerData:c-2',
          composer('c-2', { conversation: [{ bubbleId: 'x1', type: 1, text: 'An older form.' }] }),
        ),
        value('composerData:c-3', composer('c-3', { fullConversationHeadersOnly: [] })),
      ].join('\n'),
    },
    counts: [
      counted({
        sourceId: 'c-1',
        messages: {
          user: number(bubbles, ({ type }) => type === 1),
          assistant: number(bubbles, (bubble) => bubble['type'] === 2 && isText(bubble)) + calls,
          tool: results,
        },
        calls,
        results,
        compactions: 1,
      }),
      counted({ sourceId: 'c-2', messages: { user: 1 } }),
    ],
    leftOut: { 'bubble without text': 1, 'running call': 1 },
    context: {
      has: ['Two flags were found.', 'Lower one.', 'One is lowered.', '{\\"run\\":\\"flag\\"}', 'Stop that.'],
      lacks: ['Which flags'],
    },
  },
  {
    program: 'cursor',
    isDatabase: true,
    files: {
      'home/.cursor/chats/0b1c/f5a6/store.db': [
        'CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB);',
        'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);',
        ...Object.entries(blobs)
          .toReversed()
          .map(([id, data]) => insert('blobs', { id: id.repeat(32), data })),
        `INSERT INTO blobs VALUES ('ee', X'${root}');`,
        insert('meta', { key: '0', value: Buffer.from(JSON.stringify(meta)).toString('hex') }),
      ].join('\n'),
    },
    counts: [counted({ sourceId: 'f5a6', messages: { user: 1, assistant: 2, tool: 1 }, calls: 1, results: 1 })],
    leftOut: {},
    context: { has: ['Count the buoys.', 'buoys.md', 'six buoys', 'There are six.'] },
  },
]
