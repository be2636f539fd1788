/** Lines for fine-tuning with `messages`, and one request of a batch. */
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const call = { id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{"quay":"north"}' } }
const chats: readonly (readonly Raw[])[] = [
  [
    { role: 'system', content: 'You watch the harbour.' },
    { role: 'user', content: 'When is high water at the northern quay?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '14:20' },
    { role: 'assistant', content: 'At twenty past two.' },
  ],
  [
    { role: 'user', content: 'And tomorrow?' },
    { role: 'assistant', content: 'An hour later.', weight: 0 },
  ],
]

const roles = (chat: readonly Raw[], role: string): number => number(chat, (message) => message['role'] === role)

export const openaiMessages: WrittenTranscript = {
  program: 'openai-messages',
  files: {
    'openai/tuning.jsonl': lines([
      { messages: chats[0], tools: [] },
      {
        custom_id: 'batch-7',
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'gpt-x', messages: chats[1] },
      },
    ]),
  },
  counts: chats.map((chat, at) =>
    counted({
      sourceId: at === 1 ? 'batch-7' : undefined,
      messages: {
        instruction: roles(chat, 'system'),
        user: roles(chat, 'user'),
        assistant: roles(chat, 'assistant'),
        tool: roles(chat, 'tool'),
      },
      calls: number(chat, (message) => 'tool_calls' in message),
      results: roles(chat, 'tool'),
    }),
  ),
  leftOut: {},
  context: { has: ['You watch', 'northern quay', '14:20', 'twenty past two'] },
}
