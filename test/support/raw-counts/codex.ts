/**
 * Counts a rollout of Codex CLI. A file is one conversation, that of its first `session_meta`; later ones are copies
 * from the parent conversation.
 *
 * Each `response_item` is one message: messages by their role, reasoning and calls as the model’s, outputs as tool
 * results, and messages of other agents as the user’s. A search or an image by the provider is a call that contains its
 * result, so no tool message follows it. The instructions in `session_meta` are one message. `event_msg` records repeat
 * others and do not count.
 */
import { basename } from 'node:path'
import { jsonLines, listOf, objectOf, textOf, type Json } from './json-lines.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

type CountedMessage = { readonly role: keyof RawCounts['messages']; readonly calls: number; readonly isTurn: boolean }

const CALLS = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'tool_search_call',
  'web_search_call',
  'image_generation_call',
])
const OUTPUTS = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'tool_search_output',
  'local_shell_call_output',
])
/** Prefixes of texts that the program adds with the role user. */
const HARNESS = ['<user_instructions>', '<environment_context>', '# AGENTS.md instructions', '<turn_aborted>']

const counted = (role: CountedMessage['role'], more: Partial<CountedMessage> = {}): CountedMessage => ({
  role,
  calls: 0,
  isTurn: false,
  ...more,
})

function countedMessageItem(item: Json): readonly CountedMessage[] {
  const first = textOf(objectOf(listOf(item['content'])[0])['text'])?.trimStart() ?? ''
  switch (item['role']) {
    case 'developer':
    case 'system':
      return [counted('instruction')]
    case 'assistant':
      return [counted('assistant')]
    case 'user':
      return [counted('user', { isTurn: !HARNESS.some((start) => first.startsWith(start)) })]
    default:
      return []
  }
}

function countedItem(item: Json): readonly CountedMessage[] {
  const type = textOf(item['type']) ?? ''
  if (type === 'message') return countedMessageItem(item)
  if (type === 'reasoning') return [counted('assistant')]
  if (type === 'agent_message') return [counted('user')]
  if (OUTPUTS.has(type)) return [counted('tool')]
  return CALLS.has(type) ? [counted('assistant', { calls: 1 })] : []
}

/**
 * The number of messages that a rollback of `turns` turns removes: all messages since the prompt of the first removed
 * turn.
 */
function rolledBack(all: readonly CountedMessage[], turns: number): number {
  const starts = all.flatMap(({ isTurn }, at) => (isTurn ? [at] : []))
  const start = turns <= 0 ? undefined : starts[Math.max(0, starts.length - turns)]
  return start === undefined ? 0 : all.length - start
}

function parentOf(meta: Json): string | undefined {
  const spawn = objectOf(objectOf(objectOf(meta['source'])['subagent'])['thread_spawn'])
  return (
    textOf(meta['forked_from_id']) ?? textOf(meta['parent_thread_id']) ?? textOf(spawn['parent_thread_id']) ?? undefined
  )
}

/** The oldest files contain items without a wrapper. */
const partsOf = (line: Json): { readonly type: string; readonly payload: Json } =>
  'payload' in line
    ? { type: textOf(line['type']) ?? '', payload: objectOf(line['payload']) }
    : { type: 'type' in line ? 'response_item' : 'session_meta', payload: line }

export const countCodex: CountRaw = async (path) => {
  const lines = (await jsonLines(path)).map((line) => ({ ...partsOf(line), ordinal: line['ordinal'] }))
  const meta = lines.find(
    ({ type, payload }) => type === 'session_meta' && textOf(payload['id']) !== undefined,
  )?.payload
  const firstOwnOrdinal = meta?.['subagent_history_start_ordinal']
  const instructions = textOf(objectOf(meta?.['base_instructions'])['text']) ?? textOf(meta?.['instructions'])
  const allMessages: CountedMessage[] = instructions === undefined ? [] : [counted('instruction')]
  let live: CountedMessage[] = []
  let withdrawn = 0
  let compactions = 0
  for (const { type, payload, ordinal } of lines) {
    if (typeof firstOwnOrdinal === 'number' && typeof ordinal === 'number' && ordinal < firstOwnOrdinal) continue
    if (type === 'compacted') compactions += 1
    if (type === 'response_item') {
      const items = countedItem(payload)
      allMessages.push(...items)
      live.push(...items)
    }
    if (type === 'event_msg' && payload['type'] === 'thread_rolled_back') {
      const count = rolledBack(live, Number(payload['num_turns']))
      withdrawn += count
      live = live.slice(0, live.length - count)
    }
  }
  const countOf = (role: CountedMessage['role']): number => allMessages.filter((each) => each.role === role).length
  return [
    {
      sourceId: textOf(meta?.['id']) ?? basename(path),
      messages: {
        instruction: countOf('instruction'),
        user: countOf('user'),
        assistant: countOf('assistant'),
        tool: countOf('tool'),
      },
      calls: allMessages.reduce((sum, { calls }) => sum + calls, 0),
      results: countOf('tool'),
      compactions,
      withdrawn,
      edits: 0,
      parent: meta === undefined ? undefined : parentOf(meta),
    },
  ]
}
