/** A thread of Amp: a failed tool, a summary, and an answer that Amp is still writing. */
import { counted, number, type Raw, type WrittenTranscript } from './written.js'

const text = (words: string): Raw => ({ type: 'text', text: words })
const messages: readonly Raw[] = [
  { role: 'user', messageId: 0, content: [text('Where is the pilot?')], meta: { sentAt: 1_760_000_000_000 } },
  {
    role: 'assistant',
    messageId: 1,
    content: [
      { type: 'thinking', thinking: 'Two places.', signature: 's' },
      { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { cmd: 'find pilot' } },
      { type: 'tool_use', id: 'toolu_2', name: 'Bash', input: { cmd: 'cat log' } },
    ],
    usage: { model: 'claude-x', inputTokens: 4, outputTokens: 9, cacheReadInputTokens: 90, totalInputTokens: 94 },
    state: { type: 'complete', stopReason: 'tool_use' },
  },
  {
    role: 'user',
    messageId: 2,
    content: [
      {
        type: 'tool_result',
        toolUseID: 'toolu_1',
        run: { status: 'done', result: { output: 'on board', exitCode: 0 } },
      },
      { type: 'tool_result', toolUseID: 'toolu_2', run: { status: 'error', error: { message: 'no log' } } },
    ],
  },
  { role: 'assistant', messageId: 3, content: [text('The pilot is on board.')], state: { type: 'complete' } },
  {
    role: 'info',
    messageId: 4,
    content: [{ type: 'summary', summary: { type: 'message', summary: 'A pilot was sought.' } }],
  },
  { role: 'user', messageId: 5, content: [text('Call him.')] },
  { role: 'assistant', messageId: 6, content: [text('I am cal')], state: { type: 'streaming' } },
]
const all = JSON.stringify(messages)
const isRole =
  (role: string) =>
  (each: Raw): boolean =>
    each['role'] === role
const results = all.split('"toolUseID"').length - 1

export const amp: WrittenTranscript = {
  program: 'amp',
  files: {
    'amp/threads/T-5a1c.json': JSON.stringify({
      v: 41,
      id: 'T-5a1c',
      created: 1_760_000_000_000,
      title: 'Pilot',
      messages,
      env: { initial: { trees: [{ displayName: 'quay', uri: 'file:///srv/quay' }] } },
    }),
  },
  counts: [
    counted({
      sourceId: 'T-5a1c',
      messages: {
        user: number(messages, isRole('user')) - 1,
        assistant: number(messages, isRole('assistant')) - 1,
        tool: results,
      },
      calls: all.split('"tool_use",').length - 1,
      results,
      compactions: number(messages, isRole('info')),
    }),
  ],
  leftOut: { 'unfinished answer': 1 },
  context: { has: ['A pilot was sought.', 'Call him.'], lacks: ['Where is', 'on board', 'I am cal'] },
}
