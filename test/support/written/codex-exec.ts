/** Events of `codex exec --json`: a thought, a command, a patch, a call of an MCP server, a search, and an error. */
import { counted, lines, number, type Raw, type WrittenTranscript } from './written.js'

const items: readonly Raw[] = [
  { id: 'item_0', type: 'reasoning', text: '**Looking at the moorings**' },
  {
    id: 'item_1',
    type: 'command_execution',
    command: "bash -lc 'ls moorings'",
    aggregated_output: 'mooring-3\n',
    exit_code: 0,
    status: 'completed',
  },
  { id: 'item_2', type: 'file_change', changes: [{ path: 'moorings.md', kind: 'update' }], status: 'failed' },
  {
    id: 'item_3',
    type: 'mcp_tool_call',
    server: 'harbour',
    tool: 'depth',
    arguments: { at: 'mooring-3' },
    result: { content: [{ type: 'text', text: 'nine metres' }], structured_content: null },
    error: null,
    status: 'completed',
  },
  { id: 'item_4', type: 'web_search', query: 'mooring depth', action: { type: 'search' } },
  { id: 'item_5', type: 'todo_list', items: [{ text: 'measure', completed: true }] },
  { id: 'item_6', type: 'error', message: 'a warning' },
  { id: 'item_7', type: 'agent_message', text: 'The third mooring is nine metres deep.' },
]
const WITH_RESULT = new Set(['command_execution', 'file_change', 'mcp_tool_call'])
const isCall = ({ type }: Raw): boolean => WITH_RESULT.has(String(type))

export const codexExec: WrittenTranscript = {
  program: 'codex-exec',
  files: {
    'codex/exec.jsonl': lines([
      { type: 'thread.started', thread_id: '0199a213-81c0-7800-8aa1-bbab2a035a53' },
      { type: 'turn.started' },
      { type: 'item.started', item: { ...items[1], status: 'in_progress', aggregated_output: '' } },
      ...items.map((item) => ({ type: 'item.completed', item })),
      { type: 'turn.completed', usage: { input_tokens: 900, cached_input_tokens: 400, output_tokens: 60 } },
    ]),
  },
  counts: [
    counted({
      sourceId: '0199a213-81c0-7800-8aa1-bbab2a035a53',
      messages: {
        assistant: number(items, ({ type }) => type !== 'todo_list' && type !== 'error'),
        tool: number(items, isCall),
      },
      calls: number(items, isCall) + number(items, ({ type }) => type === 'web_search'),
      results: number(items, isCall),
    }),
  ],
  leftOut: { 'turn.started': 1, 'item.started': 1, 'item todo_list': 1, 'item error': 1, 'turn.completed': 1 },
  context: { has: ['mooring-3', 'nine metres', 'The third mooring'] },
}
