/** A transcript of a Cursor agent with a sub-agent's own file, and a database with two conversations and a summary. */
import { insert } from '../sqlite-program.js'
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const said = (role: string, ...content: readonly Raw[]): Raw => ({ role, message: { content } })
const text = (words: string): Raw => ({ type: 'text', text: words })
const transcript: readonly Raw[] = [
  said('user', text('<user_query>\nPaint the hull.\n</user_query>')),
  said('assistant', text('I look for paint.'), { type: 'tool_use', name: 'Shell', input: { command: 'ls paint' } }),
  said('assistant', text('There is red paint.')),
  said('assistant', text('There is red paint.')),
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
const calls = number(bubbles, (bubble) => JSON.stringify(bubble).includes('"completed"'))

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
          tool: calls,
        },
        calls,
        results: calls,
        compactions: 1,
      }),
      counted({ sourceId: 'c-2', messages: { user: 1 } }),
    ],
    leftOut: { 'bubble without text': 1, 'bubble of an unfinished answer': 1 },
    context: { has: ['Two flags were found.', 'Lower one.', 'One is lowered.'], lacks: ['Which flags'] },
  },
]
