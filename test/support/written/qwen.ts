/** A session of Qwen Code: a failed tool, a rewind to an earlier record, a compression that keeps the newest contents. */
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const SESSION = '8f14e45f-ceea-4671-9a36-1c2d3e4f5a6b'
const record = (uuid: string, parentUuid: string | null, more: Raw): Raw => ({
  uuid,
  parentUuid,
  sessionId: SESSION,
  timestamp: `2026-10-01T08:00:${uuid.slice(1).padStart(2, '0')}.000Z`,
  cwd: '/srv/quay',
  version: '0.24.4',
  ...more,
})
const user = (text: string): Raw => ({ type: 'user', message: { role: 'user', parts: [{ text }] } })
const model = (parts: readonly Raw[]): Raw => ({
  type: 'assistant',
  model: 'qwen3-coder',
  message: { role: 'model', parts },
  usageMetadata: { promptTokenCount: 300, candidatesTokenCount: 20, cachedContentTokenCount: 100 },
})
const call: Raw = { functionCall: { id: 'call_1', name: 'run_shell_command', args: { command: 'ls ropes' } } }
const retained = model([{ text: 'The rope is twelve metres long.' }])

const records: readonly Raw[] = [
  record('r1', null, user('How long is the rope?')),
  record('r2', 'r1', model([{ text: 'I measure it.', thought: true }, call])),
  record('r3', 'r2', {
    type: 'tool_result',
    message: {
      role: 'user',
      parts: [
        { functionResponse: { id: 'call_1', name: 'run_shell_command', response: { error: 'no such directory' } } },
      ],
    },
    toolCallResult: { status: 'error' },
  }),
  record('r4', 'r3', { type: 'system', subtype: 'ui_telemetry', systemPayload: { uiEvent: {} } }),
  record('r5', 'r4', model([{ text: 'I cannot find it.' }])),
  record('r6', 'r5', user('Forget the rope.')),
  // A rewind to the answer r5.
  record('r7', 'r5', user('Look in the shed.')),
  record('r8', 'r7', retained),
  record('r9', 'r8', {
    type: 'system',
    subtype: 'chat_compression',
    systemPayload: {
      info: { originalTokenCount: 9_000, newTokenCount: 900 },
      compressedHistory: [
        { role: 'user', parts: [{ text: 'Summary: a rope was looked for.' }] },
        { role: 'model', parts: [{ text: 'Understood.' }] },
        retained['message'],
      ],
    },
  }),
  record('r10', 'r9', { type: 'system', subtype: 'custom_title', systemPayload: { customTitle: 'Ropes' } }),
  record('r11', 'r10', user('Thank you.')),
]
const isOf =
  (type: string) =>
  (each: Raw): boolean =>
    each['type'] === type
const text = JSON.stringify(records)

export const qwen: WrittenTranscript = {
  program: 'qwen',
  files: { [`qwen/chats/${SESSION}.jsonl`]: lines(records) },
  counts: [
    counted({
      sourceId: SESSION,
      messages: {
        user: number(records, isOf('user')),
        assistant: number(records, isOf('assistant')),
        tool: number(records, isOf('tool_result')),
      },
      calls: text.split('"functionCall"').length - 1,
      results: text.split('"functionResponse"').length - 1,
      compactions: number(records, (each) => each['subtype'] === 'chat_compression'),
      // The prompt whose successor names the same parent.
      withdrawn: 1,
    }),
  ],
  leftOut: { 'system/ui_telemetry': 1, 'system/custom_title': 1 },
  context: {
    has: ['Summary: a rope', 'Understood.', 'twelve metres', 'Thank you.'],
    lacks: ['How long is', 'Forget the rope', 'Look in the shed'],
  },
}
