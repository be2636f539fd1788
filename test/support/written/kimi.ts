/** Sessions of Kimi CLI with events and contexts, of an older one with contexts only, and of Kimi Code. */
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const text = (words: string): Raw => ({ type: 'text', text: words })
let clock = 1_790_000_000
const event = (type: string, payload: Raw): Raw => {
  clock += 0.5
  return { timestamp: clock, message: { type, payload } }
}
const ask: Raw = { role: 'user', content: [text('Weigh the anchor.')] }
const answer: Raw = { role: 'assistant', content: [text('It weighs a ton.')] }
const summary: Raw = {
  role: 'user',
  content: [
    text('<system>Previous context has been compacted. Here is the compaction output:</system>'),
    text('The anchor was weighed.'),
  ],
}
const weighing: Raw = {
  role: 'assistant',
  content: [{ type: 'think', think: 'A scale.' }],
  tool_calls: [
    { type: 'function', id: 'tool_1', function: { name: 'Shell', arguments: '{"command":"scale anchor"}' } },
  ],
}
const weight: Raw = { role: 'tool', content: [text('1000 kg')], tool_call_id: 'tool_1' }
const next: Raw = { role: 'user', content: [text('Lower it.')] }

const contexts = {
  before: [{ role: '_checkpoint', id: 0 }, ask, weighing, weight, answer, next],
  after: [
    summary,
    answer,
    next,
    { role: '_usage', token_count: 90 },
    { role: 'assistant', content: [text('Lowered.')] },
  ],
}
const events: readonly Raw[] = [
  event('TurnBegin', { user_input: [text('Weigh the anchor.')] }),
  event('StepBegin', { n: 1 }),
  event('ContentPart', { type: 'think', think: 'A scale.' }),
  event('ToolCall', {
    type: 'function',
    id: 'tool_1',
    function: { name: 'Shell', arguments: '{"command":"scale anchor"}' },
  }),
  event('ToolResult', { tool_call_id: 'tool_1', return_value: { is_error: false, output: '1000 kg' } }),
  event('StepBegin', { n: 2 }),
  event('ContentPart', text('It weighs a ton.')),
  event('StatusUpdate', { token_usage: { input_other: 10, output: 4, input_cache_read: 80, input_cache_creation: 0 } }),
  event('TurnEnd', {}),
  event('TurnBegin', { user_input: 'Lower it.' }),
  event('CompactionBegin', {}),
  event('CompactionEnd', {}),
  event('StepBegin', { n: 1 }),
  event('ContentPart', text('Lowered.')),
  event('TurnEnd', {}),
]
const isEvent =
  (type: string) =>
  (each: Raw): boolean =>
    JSON.stringify(each).includes(`"type":"${type}"`)
const isRole =
  (role: string) =>
  (each: Raw): boolean =>
    each['role'] === role
const all = [...new Set([...contexts.before, ...contexts.after])]

const loop = (more: Raw): Raw => ({ type: 'context.append_loop_event', time: 1_790_000_000_000, event: more })
const records: readonly Raw[] = [
  { type: 'metadata', protocol_version: '1.5', created_at: 1_790_000_000_000 },
  { type: 'config.update', modelAlias: 'kimi-k2' },
  { type: 'turn.prompt', input: [text('Count the oars.')], origin: { kind: 'user' } },
  {
    type: 'context.append_message',
    message: { role: 'user', content: [text('Count the oars.')], toolCalls: [], origin: { kind: 'user' } },
  },
  loop({ type: 'step.begin', uuid: 's1' }),
  loop({ type: 'content.part', stepUuid: 's1', part: text('I count.') }),
  loop({ type: 'tool.call', stepUuid: 's1', toolCallId: 'c1', name: 'Bash', args: { command: 'ls oars' } }),
  loop({ type: 'tool.result', toolCallId: 'c1', result: { output: 'six', isError: false } }),
  loop({ type: 'step.end', uuid: 's1', usage: { inputOther: 5, output: 2, inputCacheRead: 0, inputCacheCreation: 0 } }),
  { type: 'context.apply_compaction', summary: 'Six oars.', compactedCount: 1, tokensBefore: 900, tokensAfter: 90 },
  {
    type: 'context.append_message',
    message: { role: 'user', content: [text('Burn them.')], toolCalls: [], origin: { kind: 'user' } },
  },
  { type: 'context.undo', count: 1 },
]
const isMessage = ({ type }: Raw): boolean => type === 'context.append_message'

export const kimi: readonly WrittenTranscript[] = [
  {
    program: 'kimi',
    files: {
      'kimi/sessions/5f2c/1b2c-uuid/context_1.jsonl': lines(contexts.before),
      'kimi/sessions/5f2c/1b2c-uuid/context.jsonl': lines(contexts.after),
      'kimi/sessions/5f2c/1b2c-uuid/wire.jsonl': lines(events),
    },
    counts: [
      counted({
        sourceId: '1b2c-uuid',
        messages: {
          user: number(events, isEvent('TurnBegin')),
          assistant: number(events, isEvent('StepBegin')),
          tool: number(events, isEvent('ToolResult')),
        },
        calls: number(events, isEvent('ToolCall')),
        results: number(events, isEvent('ToolResult')),
        compactions: number(events, isEvent('CompactionEnd')),
      }),
    ],
    leftOut: { StatusUpdate: 1, TurnEnd: 2, CompactionBegin: 1 },
    context: { has: ['The anchor was weighed', 'weighs a ton', 'Lower it.', 'Lowered.'], lacks: ['1000 kg'] },
  },
  {
    program: 'kimi',
    files: {
      'kimi/sessions/5f2c/older-uuid/context_1.jsonl': lines(contexts.before),
      'kimi/sessions/5f2c/older-uuid/context.jsonl': lines(contexts.after),
    },
    counts: [
      counted({
        sourceId: 'older-uuid',
        messages: {
          user: number(all, isRole('user')) - 1,
          assistant: number(all, isRole('assistant')),
          tool: number(all, isRole('tool')),
        },
        calls: number(all, (each) => 'tool_calls' in each),
        results: number(all, isRole('tool')),
        compactions: 1,
      }),
    ],
    leftOut: {},
    context: { has: ['The anchor was weighed', 'weighs a ton', 'Lower it.', 'Lowered.'], lacks: ['1000 kg'] },
  },
  {
    program: 'kimi',
    files: { 'kimi-code/sessions/wd_quay_0123456789ab/session_77aa/agents/main/wire.jsonl': lines(records) },
    counts: [
      counted({
        sourceId: '77aa',
        messages: {
          user: number(records, isMessage),
          assistant: number(records, isEvent('step.begin')),
          tool: number(records, isEvent('tool.result')),
        },
        calls: number(records, isEvent('tool.call')),
        results: number(records, isEvent('tool.result')),
        compactions: 1,
        withdrawn: 1,
      }),
    ],
    leftOut: { metadata: 1, 'config.update': 1, 'turn.prompt': 1 },
    context: { has: ['Six oars.', 'I count.', 'six'], lacks: ['Count the oars', 'Burn them'] },
  },
]
