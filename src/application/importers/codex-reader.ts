/**
 * Reads a Codex rollout. The model's input and output are in the `response_item` records. The `event_msg` records
 * repeat them for display; the reader takes from them only what no other record contains. The oldest files have neither
 * wrapper nor events: each line is an item.
 *
 * A fork, and a sub-agent that began with its parent's context, contain a copy of the parent's lines. If the file says
 * where the copy ends, as a sub-agent's file does, the copy is skipped. Otherwise the copied messages count as messages
 * of this conversation too: they cannot be distinguished from its own, and they are its context.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { exactText } from '../../lib/json.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, refusalOf, timeIn, type Fields, linePlace } from './bodies.js'
import { damageIn } from './codex-compressed.js'
import {
  beginTurn,
  compactTo,
  compactToSummary,
  emptyHistory,
  rollBack,
  addMessage,
  type Compacted,
} from './codex-history.js'
import { messageOfItem, type CodexMessage } from './codex-items.js'
import type {
  CompactionItem,
  ConversationItem,
  EarlierUsage,
  MessageItem,
  Parent,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Usage,
  SourceLocation,
} from './transcript.js'

const lineSchema = z.looseObject({
  type: z.string(),
  timestamp: z.unknown().optional(),
  payload: z.looseObject({}),
})

interface Line {
  readonly type: string
  readonly at: string | undefined
  readonly payload: Fields
}

/** Item types that are separate lines in the oldest files. */
const BARE_ITEM = /^(?:message|reasoning|ghost_snapshot|\w+_call(?:_output)?)$/u

/** A record in the current line format; undefined if Codex does not write such records. */
export function lineOf(value: unknown): Line | undefined {
  const parsed = lineSchema.safeParse(value)
  if (parsed.success && isRecord(value) && isRecord(value['payload']))
    return { type: parsed.data.type, at: timeIn(parsed.data.timestamp), payload: value['payload'] }
  if (!isRecord(value)) return undefined
  const { type, id, timestamp } = value
  if (typeof type === 'string')
    return BARE_ITEM.test(type) ? { type: 'response_item', at: timeIn(timestamp), payload: value } : undefined
  return typeof id === 'string' && timeIn(timestamp) !== undefined && value['record_type'] === undefined
    ? { type: 'session_meta', at: timeIn(timestamp), payload: value }
    : undefined
}

/** The id in the name of a rollout, `rollout-<time>-<id>.jsonl`; the whole name if it has another form. */
function idInName(path: string): string {
  const name = path.replaceAll('\\', '/').split('/').at(-1) ?? ''
  const bare = name.replace(/\.jsonl(?:\.zst)?$/u, '')
  return /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)$/u.exec(bare)?.[1] ?? (bare === '' ? 'rollout' : bare)
}

/** The parent of a conversation, from its first record. */
function parentOf(meta: Fields, id: string): Parent | undefined {
  const source = isRecord(meta['source']) ? meta['source']['subagent'] : undefined
  const spawn = isRecord(source) && isRecord(source['thread_spawn']) ? source['thread_spawn'] : {}
  const base = isRecord(meta['history_base']) ? meta['history_base']['thread_id'] : undefined
  const caller = textIn(spawn['parent_thread_id']) ?? textIn(meta['parent_thread_id'])
  // A sub-agent has its caller's session id.
  const session = source === undefined ? undefined : textIn(meta['session_id'])
  const called = caller ?? (session === id ? undefined : session)
  if (called !== undefined) return { sourceId: called, how: 'sub-agent' }
  const forked = textIn(meta['forked_from_id']) ?? textIn(base)
  return forked === undefined ? undefined : { sourceId: forked, how: 'fork' }
}

/** The counts of a `token_count` event. Its input includes cached tokens. */
function usageOf(counts: Fields): Usage {
  const usage = {
    inputTokens: countIn(counts['input_tokens']),
    outputTokens: countIn(counts['output_tokens']),
    cacheReadTokens: countIn(counts['cached_input_tokens']),
    cacheWriteTokens: countIn(counts['cache_write_input_tokens']),
    reasoningTokens: countIn(counts['reasoning_output_tokens']),
  }
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined))
}

interface State {
  readonly path: string
  id: string | undefined
  /** Id of the program's own prompt, which precedes every context. */
  base: string | undefined
  /** The file begins after the start of the conversation, and no compaction has covered the missing messages. */
  isSliced: boolean
  /** Lines with a lower ordinal belong to the parent. */
  firstOwnOrdinal: number
  readonly ids: Set<string>
  records: number
  model: string | undefined
  answerId: string | undefined
  readonly history: ReturnType<typeof emptyHistory>
  compactions: number
  /** Whether a turn has begun, and whether it contains a message. */
  turn: 'none' | 'begun' | 'running'
  usage: {
    /** Counts that were reported before their answer. */
    pendingUsage: Usage | undefined
    lastTotal: string | undefined
    /** The answer whose counts have not been reported yet. */
    awaitingUsage: string | undefined
    /** Newer versions report the counts after the answer: the next message carries them. */
    isReportedLate: boolean
    /** Counts that were reported after their answer, for the next message. */
    earlier: EarlierUsage | undefined
    /** Total tokens of the last answer. */
    lastTokens: number | undefined
  }
}

const leftOut = (what: string, where: SourceLocation): TranscriptItem => ({ kind: 'left-out', what, where })

const PLACE = /^line-[\d.]+$/u

/** A unique id for a record: the program's id if it is not in use, otherwise its line. */
function ownId(state: State, id: unknown, where: SourceLocation): string {
  const programId = textIn(id)
  if (programId === undefined || PLACE.test(programId) || state.ids.has(programId))
    return `line-${linePlace(where) ?? String(state.records)}`
  state.ids.add(programId)
  return programId
}

function begin(
  state: State,
  meta: Fields | undefined,
  at: string | undefined,
  where: SourceLocation,
): TranscriptItem[] {
  const id = textIn(meta?.['id']) ?? textIn(meta?.['session_id']) ?? idInName(state.path)
  state.id = id
  state.firstOwnOrdinal = countIn(meta?.['subagent_history_start_ordinal']) ?? 0
  state.isSliced = meta === undefined || isRecord(meta['history_base'])
  const conversation: ConversationItem = {
    kind: 'conversation',
    sourceId: id,
    ...(meta === undefined
      ? {}
      : {
          programVersion: textIn(meta['cli_version']),
          parent: parentOf(meta, id),
          cwd: textIn(meta['cwd']),
          startedAt: timeIn(meta['timestamp']) ?? at,
        }),
    where,
  }
  const prompt = isRecord(meta?.['base_instructions']) ? textIn(meta['base_instructions']['text']) : undefined
  if (prompt === undefined) return [conversation]
  state.base = ownId(state, 'base_instructions', where)
  return [
    conversation,
    { kind: 'message', sourceId: state.base, part: 0, at, body: { role: 'system', content: prompt }, where },
  ]
}

function messageItem(
  state: State,
  payload: Fields,
  at: string | undefined,
  where: SourceLocation,
  message: CodexMessage,
): TranscriptItem {
  const { body, isAnswer, byProgram, isError, exitCode, opensTurn, key, turnId } = message
  const refusal = refusalOf(body)
  if (refusal !== undefined)
    return { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
  const id = ownId(state, payload['id'], where)
  state.answerId = isAnswer ? (state.answerId ?? id) : undefined
  const { usage } = state
  const counts = isAnswer ? usage.pendingUsage : undefined
  usage.pendingUsage = undefined
  const { earlier } = usage
  usage.earlier = undefined
  if (state.answerId === id && counts === undefined) usage.awaitingUsage = `answer-${id}`
  if (state.turn === 'begun' && (opensTurn || isAnswer)) state.turn = 'running'
  addMessage(state.history, {
    id,
    key,
    turnId,
    isContext: body.role === 'developer' || (byProgram === true && !opensTurn),
    opensTurn,
  })
  const item: MessageItem = {
    kind: 'message',
    sourceId: id,
    part: 0,
    at,
    body,
    ...(byProgram === true ? { byProgram } : {}),
    ...(isAnswer ? { answerId: `answer-${state.answerId ?? id}`, model: state.model } : {}),
    ...(counts === undefined ? {} : { usage: counts }),
    ...(earlier === undefined ? {} : { earlierUsage: earlier }),
    ...(isError === true ? { isError } : {}),
    ...(exitCode === undefined ? {} : { exitCode }),
    where,
  }
  return item
}

/** Whether context windows preceded the first compaction of a file. */
const hasEarlierWindow = (payload: Fields): boolean => {
  const previous = textIn(payload['previous_window_id'])
  return previous !== undefined && previous !== (textIn(payload['first_window_id']) ?? previous)
}

function compacted(state: State, payload: Fields, at: string | undefined, where: SourceLocation): CompactionItem {
  const { history, usage } = state
  const id = ownId(state, payload['window_id'], where)
  const message = typeof payload['message'] === 'string' ? payload['message'] : ''
  const replacement = payload['replacement_history']
  const result: Compacted = Array.isArray(replacement)
    ? compactTo(history, id, replacement, message)
    : compactToSummary(history, id, message, Array.isArray(payload['replacement_history_entries']))
  const coversMissing = state.isSliced || (state.compactions === 0 && hasEarlierWindow(payload))
  const tokensBefore = usage.lastTokens
  state.isSliced = false
  state.compactions += 1
  state.answerId = undefined
  usage.pendingUsage = undefined
  usage.lastTokens = undefined
  return {
    kind: 'compaction',
    sourceId: id,
    at,
    // A user cannot request a compaction while a turn runs. Before the prompt of a turn it may be either.
    trigger: state.turn === 'running' ? 'auto' : 'unknown',
    summary: result.summary,
    context: [
      ...(state.base === undefined ? [] : [{ kind: 'message', sourceId: state.base } as const]),
      ...result.context,
    ],
    ...(result.unknown.length === 0 ? {} : { unknown: result.unknown }),
    ...(coversMissing ? { coversMissing } : {}),
    ...(tokensBefore === undefined ? {} : { tokensBefore }),
    ...(state.model === undefined ? {} : { model: state.model }),
    where,
  }
}

/**
 * Records the counts of an answer. Old versions reported them before writing the answer's messages. Newer versions
 * report them after the messages, so the next message carries the counts. The first counts of a file show which version
 * wrote it.
 */
function countTokens(state: State, payload: Fields): void {
  const { usage } = state
  const info = isRecord(payload['info']) ? payload['info'] : {}
  const last = info['last_token_usage']
  const total = exactText(info['total_token_usage'])
  if (!isRecord(last) || total === usage.lastTotal) return
  usage.lastTotal = total
  const counts = usageOf(last)
  usage.lastTokens = countIn(last['total_tokens']) ?? usage.lastTokens
  const { awaitingUsage } = usage
  if (awaitingUsage !== undefined) usage.isReportedLate = true
  usage.awaitingUsage = undefined
  state.answerId = undefined
  if (!usage.isReportedLate) usage.pendingUsage = counts
  else if (awaitingUsage !== undefined) usage.earlier = { answerId: awaitingUsage, usage: counts }
}

function event(state: State, payload: Fields, at: string | undefined, where: SourceLocation): TranscriptItem[] {
  const type = textIn(payload['type']) ?? 'unknown'
  const out = [leftOut(`event_msg/${type}`, where)]
  switch (type) {
    case 'token_count':
      countTokens(state, payload)
      return out
    case 'task_started':
    case 'turn_started':
      beginTurn(state.history)
      state.turn = 'begun'
      state.answerId = undefined
      state.usage.pendingUsage = undefined
      return out
    case 'task_complete':
    case 'turn_complete':
    case 'turn_aborted':
      state.turn = 'none'
      state.answerId = undefined
      state.usage.pendingUsage = undefined
      return out
    case 'thread_name_updated': {
      const title = textIn(payload['thread_name'])
      const thread = textIn(payload['thread_id']) ?? state.id
      if (title === undefined || state.id === undefined || thread !== state.id) return out
      return [{ kind: 'conversation', sourceId: state.id, title, where }]
    }
    case 'thread_rolled_back': {
      const { compactions, messages } = rollBack(state.history, countIn(payload['num_turns']) ?? 0)
      state.answerId = undefined
      if (messages.length === 0) return out
      return [
        ...(compactions.length === 0 ? [] : [{ kind: 'undo', sourceIds: compactions, at, where } as const]),
        { kind: 'withdrawal', sourceIds: messages, at, where },
      ]
    }
    default:
      return out
  }
}

function read(state: State, { value, where }: TranscriptRecord): TranscriptItem[] {
  const line = lineOf(value)
  if (line === undefined) {
    const fields = isRecord(value) ? value : {}
    return [leftOut(textIn(fields['type']) ?? textIn(fields['record_type']) ?? 'unknown', where)]
  }
  const { type, at, payload } = line
  const ordinal = isRecord(value) ? countIn(value['ordinal']) : undefined
  if (ordinal !== undefined && ordinal < state.firstOwnOrdinal) {
    // A compaction covers the skipped lines as well.
    state.isSliced = true
    return [leftOut(`inherited/${type}`, where)]
  }
  switch (type) {
    case 'session_meta':
      return [leftOut('session_meta', where)]
    case 'turn_context':
      state.model = textIn(payload['model']) ?? state.model
      state.answerId = undefined
      return [leftOut('turn_context', where)]
    case 'response_item': {
      const message = messageOfItem(payload)
      if (message === undefined) return [leftOut(`response_item/${textIn(payload['type']) ?? 'unknown'}`, where)]
      return [messageItem(state, payload, at, where, message)]
    }
    case 'inter_agent_communication': {
      const message = messageOfItem({ ...payload, type: 'agent_message' })
      return message === undefined ? [leftOut(type, where)] : [messageItem(state, payload, at, where, message)]
    }
    case 'compacted':
      return [compacted(state, payload, at, where)]
    case 'event_msg':
      return event(state, payload, at, where)
    default:
      return [leftOut(type, where)]
  }
}

function take(state: State, record: TranscriptRecord): TranscriptItem[] {
  state.records += 1
  const { value, where } = record
  const damage = damageIn(value)
  if (damage !== undefined) return [{ kind: 'damage', ...damage, where }]
  if (isTooDeep(value))
    return [{ kind: 'damage', detail: `is nested deeper than ${String(MAX_LEVELS)} levels`, isCut: false, where }]
  if (state.id !== undefined) return read(state, record)
  // The first record identifies the conversation. Records of a parent may follow; only the first one counts.
  const line = lineOf(value)
  if (line?.type === 'session_meta') return begin(state, line.payload, line.at, where)
  return [...begin(state, undefined, undefined, where), ...read(state, record)]
}

export function readRollout(path: string): TranscriptReader {
  const state: State = {
    path,
    id: undefined,
    base: undefined,
    isSliced: false,
    firstOwnOrdinal: 0,
    ids: new Set(),
    records: 0,
    model: undefined,
    answerId: undefined,
    history: emptyHistory(),
    compactions: 0,
    turn: 'none',
    usage: {
      pendingUsage: undefined,
      lastTotal: undefined,
      awaitingUsage: undefined,
      isReportedLate: false,
      earlier: undefined,
      lastTokens: undefined,
    },
  }
  return { take: (record) => take(state, record), end: () => [] }
}
