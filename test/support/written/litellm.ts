/** Spend logs of LiteLLM: a session of three requests, of which the last one forgets a message, and a request for a title. */
import { counted, type Raw, type WrittenTranscript } from './written.js'

const system: Raw = { role: 'system', content: 'You keep the log.' }
const ask: Raw = { role: 'user', content: 'Log the wind.' }
const answer: Raw = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'wind', arguments: '{}' } }],
}
const result: Raw = { role: 'tool', tool_call_id: 'call_1', content: 'north, five' }
const windAnswer: Raw = { role: 'assistant', content: 'Wind from the north.' }
const row = (id: string, second: number, messages: unknown, message: Raw, more: Raw = {}): Raw => ({
  request_id: id,
  call_type: 'acompletion',
  startTime: `2026-10-08T08:00:0${String(second)}.000Z`,
  endTime: `2026-10-08T08:00:0${String(second)}.500Z`,
  model: 'gpt-x',
  spend: 0.01,
  prompt_tokens: 100,
  completion_tokens: 9,
  session_id: 'session-1',
  messages,
  response: { id, choices: [{ index: 0, finish_reason: 'stop', message }] },
  ...more,
})

export const litellm: WrittenTranscript = {
  program: 'litellm',
  files: {
    // The newest row comes first, as the proxy returns them.
    'litellm/spend.json': JSON.stringify([
      row(
        'q4',
        4,
        [system, { role: 'user', content: 'Log the rain.' }],
        { role: 'assistant', content: 'No rain.' },
        { session_id: 'session-2' },
      ),
      row('q3', 3, JSON.stringify([system, ask, answer, result, { role: 'user', content: 'Shorter.' }]), {
        role: 'assistant',
        content: 'North.',
      }),
      row('title', 2, [{ role: 'user', content: 'Name this chat.' }], { role: 'assistant', content: 'Wind' }),
      row('q2', 2, [system, ask, answer, result], windAnswer),
      row('q1', 1, [system, ask], answer),
      row('q0', 0, {}, {}, { messages: '{}', response: '{}' }),
    ]),
  },
  counts: [
    counted({
      sourceId: 'session-1',
      messages: { instruction: 1, user: 2, assistant: 3, tool: 1 },
      calls: 1,
      results: 1,
      withdrawn: [windAnswer].length,
    }),
    counted({ sourceId: 'session-1/title', messages: { user: 1, assistant: 1 }, parent: 'session-1' }),
    counted({ sourceId: 'session-2', messages: { instruction: 1, user: 1, assistant: 1 } }),
  ],
  leftOut: { 'request without prompts': 1 },
  context: { has: ['You keep', 'Log the wind.', 'north, five', 'Shorter.', 'North.'], lacks: ['from the north'] },
}
