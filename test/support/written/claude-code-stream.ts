/** A stream of Claude Code: a sub-agent, a compaction with its summary, and messages that only a stream has. */
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const SESSION = '5b0e2f6a-1111-4222-8333-444455556666'
let count = 0
const line = (record: Raw): Raw => {
  count += 1
  return { session_id: SESSION, uuid: `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`, ...record }
}
const answer = (id: string, content: readonly Raw[], parent: string | null = null): Raw =>
  line({
    type: 'assistant',
    parent_tool_use_id: parent,
    message: { id, role: 'assistant', model: 'claude-x', content, usage: { input_tokens: 40, output_tokens: 7 } },
  })
const user = (content: unknown, parent: string | null = null, more: Raw = {}): Raw =>
  line({ type: 'user', parent_tool_use_id: parent, message: { role: 'user', content }, ...more })
const call = (id: string, name: string, input: Raw): Raw => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: string): Raw => ({ type: 'tool_result', tool_use_id: id, content })

const records: readonly Raw[] = [
  line({ type: 'system', subtype: 'init', cwd: '/srv/quay', claude_code_version: '2.1.332', tools: ['Bash'] }),
  user('Count the berths.'),
  answer('msg_1', [{ type: 'text', text: 'I count.' }]),
  answer('msg_1', [
    call('toolu_1', 'Bash', { command: 'ls berths' }),
    call('toolu_2', 'Agent', { prompt: 'Look for cranes.' }),
  ]),
  user([{ type: 'text', text: 'Look for cranes.' }], 'toolu_2'),
  answer('msg_2', [{ type: 'text', text: 'Two cranes.' }], 'toolu_2'),
  user([result('toolu_1', 'twelve')]),
  user([result('toolu_2', 'Two cranes.')]),
  line({ type: 'stream_event', event: { type: 'message_start' } }),
  line({
    type: 'system',
    subtype: 'compact_boundary',
    compact_metadata: { trigger: 'auto', pre_tokens: 150_000, post_tokens: 9_000 },
  }),
  user('This session continues: twelve berths and two cranes were counted.', null, { isSynthetic: true }),
  answer('msg_3', [{ type: 'text', text: 'Twelve berths.' }]),
  line({ type: 'result', subtype: 'success', result: 'Twelve berths.', num_turns: 3 }),
]

const isSide = (record: Raw): boolean => typeof record['parent_tool_use_id'] === 'string'
const isOf =
  (type: string, side: boolean) =>
  (record: Raw): boolean =>
    record['type'] === type && isSide(record) === side && record['isSynthetic'] !== true
const text = JSON.stringify

export const claudeCodeStream: WrittenTranscript = {
  program: 'claude-code-stream',
  files: { 'streams/run.jsonl': lines(records) },
  counts: [false, true].map((side) => {
    const results = number(records, (record) => isOf('user', side)(record) && text(record).includes('tool_result'))
    return counted({
      sourceId: side ? `${SESSION}/agent-toolu_2` : SESSION,
      messages: {
        user: number(records, isOf('user', side)) - results,
        assistant: number(records, isOf('assistant', side)),
        tool: results,
      },
      calls: side ? 0 : text(records).split('"tool_use"').length - 1,
      results,
      compactions: side ? 0 : number(records, (record) => record['subtype'] === 'compact_boundary'),
      parent: side ? SESSION : undefined,
    })
  }),
  leftOut: { 'system/init': 1, stream_event: 1, 'result/success': 1 },
  context: { has: ['twelve berths and two cranes', 'Twelve berths.'], lacks: ['I count.'] },
}
