/**
 * Counts conversations of OpenHands: the events of the SDK, in a directory or one per line, and the trajectories of the
 * first version, which are one list. Each event is at most one message. A state without events is not a conversation,
 * and a single file does not contain its id.
 */
import { basename, dirname, join } from 'node:path'
import type { CountRaw, RawCounts } from './raw-counts.js'
import { isFolder, listOf, rawFile, rawFiles, rawLines, rawOf, wordOf, type Raw } from './raw-json.js'

type Role = keyof RawCounts['messages']

interface Event {
  readonly role?: Role | undefined
  readonly isCall?: boolean
  readonly isCompaction?: boolean
}

const roleOf = (role: unknown): Role =>
  role === 'assistant' || role === 'tool' ? role : role === 'system' || role === 'developer' ? 'instruction' : 'user'

/** An event of the SDK, by its class name. */
function eventOf(event: Raw): Event {
  switch (event['kind']) {
    case 'SystemPromptEvent':
      return { role: 'instruction' }
    case 'MessageEvent':
      return { role: roleOf(rawOf(event['llm_message'])['role']) }
    case 'ActionEvent':
      return { role: 'assistant', isCall: true }
    case 'ObservationEvent':
    case 'UserRejectObservation':
    case 'AgentErrorEvent':
      return { role: 'tool' }
    case 'Condensation':
      return { isCompaction: true }
    default:
      return {}
  }
}

/** An event of a trajectory: an action or its observation. */
function stepOf(event: Raw): Event {
  const { action, observation, source } = event
  const isTool = wordOf(rawOf(event['tool_call_metadata'])['tool_call_id']) !== undefined
  if (action === 'condensation') return { isCompaction: true }
  if (action === 'system') return { role: 'instruction' }
  if (action === 'message') return { role: source === 'user' ? 'user' : 'assistant' }
  if (wordOf(action) !== undefined && isTool) return { role: 'assistant', isCall: true }
  return wordOf(observation) !== undefined && isTool ? { role: 'tool' } : {}
}

/** The branch of the last event. An event without a parent follows the previous one. */
function branchOf(events: readonly Raw[]): ReadonlySet<Raw> {
  const places = new Map(events.map((event, at) => [wordOf(event['id']) ?? at, at]))
  const branch = new Set<Raw>()
  for (let at = events.length - 1; at >= 0;) {
    const event = events[at] ?? {}
    branch.add(event)
    const parent = places.get(wordOf(event['parent_id']) ?? '')
    at = parent !== undefined && parent < at ? parent : at - 1
  }
  return branch
}

function countsOf(sourceId: string | undefined, events: readonly Raw[], read: (event: Raw) => Event): RawCounts {
  const messages: Record<Role, number> = { instruction: 0, user: 0, assistant: 0, tool: 0 }
  const all = events.map((event) => ({ event, ...read(event) }))
  for (const { role } of all) if (role !== undefined) messages[role] += 1
  const branch = branchOf(events)
  return {
    sourceId,
    messages,
    calls: all.filter(({ isCall }) => isCall === true).length,
    results: messages.tool,
    compactions: all.filter(({ isCompaction }) => isCompaction === true).length,
    withdrawn: all.filter(({ event, role }) => role !== undefined && !branch.has(event)).length,
    edits: 0,
    parent: undefined,
  }
}

async function ofFolder(folder: string, base: unknown): Promise<readonly RawCounts[]> {
  const events = await rawFiles(join(folder, 'events'))
  return events.length === 0 ? [] : [countsOf(wordOf(rawOf(base)['id']) ?? basename(folder), events, eventOf)]
}

/** @param path the directory or base state of a conversation, a file with one event per line, or a trajectory */
export const countOpenhands: CountRaw = async (path) => {
  if (await isFolder(path)) {
    const folder = basename(path) === 'events' ? dirname(path) : path
    return await ofFolder(folder, await rawFile(join(folder, 'base_state.json')).catch(() => undefined))
  }
  if (path.endsWith('.jsonl')) return [countsOf(undefined, await rawLines(path), eventOf)]
  const value = await rawFile(path)
  return Array.isArray(value) ? [countsOf(undefined, listOf(value), stepOf)] : await ofFolder(dirname(path), value)
}
