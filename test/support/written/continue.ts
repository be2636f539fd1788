/** A session of Continue: a canceled tool, a result of its own, and a summary with messages after it. */
import { rawOf } from '../raw-counts/raw-json.js'
import { counted, number, type Raw, type WrittenTranscript } from './written.js'

const item = (id: string, message: Raw, more: Raw = {}): Raw => ({
  message: { id, ...message },
  contextItems: [],
  ...more,
})
const call = (id: string, args: string): Raw => ({
  id,
  type: 'function',
  function: { name: 'run_terminal_command', arguments: args },
})
const history: readonly Raw[] = [
  item(
    'h1',
    { role: 'user', content: [{ type: 'text', text: 'Check the hull.' }] },
    { contextItems: [{ content: 'hull.md: steel', name: 'hull.md' }] },
  ),
  item('h2', { role: 'thinking', content: 'Look first.' }),
  item(
    'h3',
    { role: 'assistant', content: '', toolCalls: [call('c1', '{"command":"ls"}'), call('c2', '{"command":"rm"}')] },
    {
      toolCallStates: [
        { toolCallId: 'c1', status: 'done', output: [{ name: 'out', content: 'hull.md' }] },
        { toolCallId: 'c2', status: 'canceled' },
      ],
      promptLogs: [{ modelTitle: 'model-x', prompt: '', completion: '' }],
    },
  ),
  item('h4', { role: 'tool', content: 'hull.md', toolCallId: 'c1' }),
  item('h5', { role: 'assistant', content: 'The hull is sound.' }, { conversationSummary: 'The hull was checked.' }),
  item('h6', { role: 'user', content: 'Thanks.' }),
]
const roleOf = (each: Raw): unknown => rawOf(each['message'])['role']
const states = JSON.stringify(history).split('"status"').length - 1

export const continueDev: WrittenTranscript = {
  program: 'continue',
  files: {
    'continue/sessions/9c0d.json': JSON.stringify({
      sessionId: '9c0d',
      title: 'Hull',
      workspaceDirectory: 'file:///srv/quay',
      history,
    }),
  },
  counts: [
    counted({
      sourceId: '9c0d',
      messages: {
        user: number(history, (each) => roleOf(each) === 'user'),
        assistant: number(history, (each) => roleOf(each) === 'assistant' || roleOf(each) === 'thinking'),
        tool: states,
      },
      calls: JSON.stringify(history).split('"function":').length - 1,
      results: states,
      compactions: number(history, (each) => 'conversationSummary' in each),
    }),
  ],
  leftOut: { 'empty tool': 1 },
  context: { has: ['The hull was checked.', 'Thanks.'], lacks: ['The hull is sound', 'steel'] },
}
