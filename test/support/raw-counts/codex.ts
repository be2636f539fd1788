/**
 * What a rollout of Codex CLI holds. A file is one conversation, that of its first `session_meta`; further ones are
 * copies from the conversation that it comes from.
 *
 * Each `response_item` counts as one message: messages by their role; reasoning and calls as the model's; outputs as
 * results of tools; what another agent wrote as said in the user's place. A search or a picture of the provider is a call
 * that holds its result, so that no message of a tool follows it. The instructions in `session_meta` are one message. What `event_msg` says again is not
 * counted.
 */
import { basename } from 'node:path'
import { jsonLines, listOf, objectOf, textOf, type Json } from './json-lines.js'
import type { CountRaw, RawCounts } from './raw-counts.js'

type Said = { readonly role: keyof RawCounts['messages']; readonly calls: number; readonly isTurn: boolean }

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
/** What the program says in the user's place begins with one of these. */
const HARNESS = ['<user_instructions>', '<environment_context>', '# AGENTS.md instructions', '<turn_aborted>']

const said = (role: Said['role'], more: Partial<Said> = {}): Said => ({ role, calls: 0, isTurn: false, ...more })

function saidByMessage(item: Json): readonly Said[] {
  const first = textOf(objectOf(listOf(item['content'])[0])['text'])?.trimStart() ?? ''
  switch (item['role']) {
    case 'developer':
    case 'system':
      return [said('instruction')]
    case 'assistant':
      return [said('assistant')]
    case 'user':
      return [said('user', { isTurn: !HARNESS.some((start) => first.startsWith(start)) })]
    default:
      return []
  }
}

function saidBy(item: Json): readonly Said[] {
  const type = textOf(item['type']) ?? ''
  if (type === 'message') return saidByMessage(item)
  if (type === 'reasoning') return [said('assistant')]
  if (type === 'agent_message') return [said('user')]
  if (OUTPUTS.has(type)) return [said('tool')]
  return CALLS.has(type) ? [said('assistant', { calls: 1 })] : []
}

/** How many messages a rollback of so many turns takes away: those from the last turns' first words on. */
function rolledBack(all: readonly Said[], turns: number): number {
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

/** The oldest files have their items bare. */
const partsOf = (line: Json): { readonly type: string; readonly payload: Json } =>
  'payload' in line
    ? { type: textOf(line['type']) ?? '', payload: objectOf(line['payload']) }
    : { type: 'type' in line ? 'response_item' : 'session_meta', payload: line }

export const countCodex: CountRaw = async (path) => {
  const lines = (await jsonLines(path)).map((line) => ({ ...partsOf(line), ordinal: line['ordinal'] }))
  const meta = lines.find(
    ({ type, payload }) => type === 'session_meta' && textOf(payload['id']) !== undefined,
  )?.payload
  const ownFrom = meta?.['subagent_history_start_ordinal']
  const instructions = textOf(objectOf(meta?.['base_instructions'])['text']) ?? textOf(meta?.['instructions'])
  const ever: Said[] = instructions === undefined ? [] : [said('instruction')]
  let there: Said[] = []
  let withdrawn = 0
  let compactions = 0
  for (const { type, payload, ordinal } of lines) {
    if (typeof ownFrom === 'number' && typeof ordinal === 'number' && ordinal < ownFrom) continue
    if (type === 'compacted') compactions += 1
    if (type === 'response_item') {
      const items = saidBy(payload)
      ever.push(...items)
      there.push(...items)
    }
    if (type === 'event_msg' && payload['type'] === 'thread_rolled_back') {
      const count = rolledBack(there, Number(payload['num_turns']))
      withdrawn += count
      there = there.slice(0, there.length - count)
    }
  }
  const of = (role: Said['role']): number => ever.filter((each) => each.role === role).length
  return [
    {
      sourceId: textOf(meta?.['id']) ?? basename(path),
      messages: { instruction: of('instruction'), user: of('user'), assistant: of('assistant'), tool: of('tool') },
      calls: ever.reduce((sum, { calls }) => sum + calls, 0),
      results: of('tool'),
      compactions,
      withdrawn,
      edits: 0,
      parent: meta === undefined ? undefined : parentOf(meta),
    },
  ]
}
