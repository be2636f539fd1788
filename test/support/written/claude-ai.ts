/** An export of claude.ai: an attachment, a call whose result names no call, and a prompt that was edited. */
import { listOf } from '../raw-counts/raw-json.js'
import { counted, number, type Raw, type WrittenTranscript } from './written.js'

const root = '00000000-0000-4000-8000-000000000000'
const message = (uuid: string, parent: string, sender: string, content: readonly Raw[], more: Raw = {}): Raw => ({
  uuid,
  parent_message_uuid: parent,
  sender,
  text: '',
  content,
  created_at: `2026-10-05T08:00:0${uuid.slice(-1)}.000000Z`,
  attachments: [],
  files: [],
  ...more,
})
const text = (words: string): Raw => ({ type: 'text', text: words, citations: [] })
const chat: readonly Raw[] = [
  message('u1', root, 'human', [text('Sum up the tide table.')], {
    attachments: [{ file_name: 'tides.txt', extracted_content: 'High water 14:20' }],
  }),
  message('a2', 'u1', 'assistant', [text('It is high at twenty past two.')]),
  message('u3', 'a2', 'human', [text('And on Monday?')]),
  message('a4', 'u3', 'assistant', [text('I cannot say.')]),
  // The user edited the prompt u3.
  message('u5', 'a2', 'human', [text('And on Sunday?')]),
  message('a6', 'u5', 'assistant', [
    { type: 'thinking', thinking: 'A search.' },
    { type: 'tool_use', name: 'web_search', input: { query: 'tide sunday' } },
    { type: 'tool_result', name: 'web_search', content: [{ type: 'text', text: '15:05' }], is_error: false },
    text('Five past three.'),
  ]),
]
const blocks = chat.flatMap(({ content }) => listOf(content))
const isSender =
  (sender: string) =>
  (each: Raw): boolean =>
    each['sender'] === sender
const results = number(blocks, ({ type }) => type === 'tool_result')

export const claudeAi: WrittenTranscript = {
  program: 'claude-ai',
  files: {
    'claude-ai/conversations.json': JSON.stringify([
      { uuid: 'conv-1', name: 'Tides', created_at: '2026-10-05T08:00:00.000000Z', updated_at: '', chat_messages: chat },
      { uuid: 'conv-2', name: '', created_at: '2026-10-05T08:00:00.000000Z', updated_at: '', chat_messages: [] },
    ]),
  },
  counts: [
    counted({
      sourceId: 'conv-1',
      messages: {
        user: number(chat, isSender('human')),
        // An answer with a result in its middle is two messages.
        assistant: number(chat, isSender('assistant')) + results,
        tool: results,
      },
      calls: number(blocks, ({ type }) => type === 'tool_use'),
      results,
      withdrawn: 2,
    }),
  ],
  leftOut: {},
  context: {
    has: ['Sum up', 'High water', 'twenty past two', 'on Sunday', '15:05', 'Five past'],
    lacks: ['Monday', 'cannot say'],
  },
}
