/**
 * Reads a Codex rollout. What the model got and gave stands in `response_item` records; the `event_msg` records beside
 * them say the same again for people, and of those only what nothing else tells is taken. The oldest files have neither
 * wrapper nor events: each line is an item.
 *
 * A fork, and a sub-agent that began with its parent's context, have the parent's lines copied into their file. Where the
 * file tells how far they go, as that of a sub-agent does, they are left to the parent. Elsewhere they are given as
 * messages of this conversation too: nothing tells them from its own, and they are its context.
 */
import { z } from 'zod'
import { exactText } from '../domain/text/json.js'
import { isTooDeep, MOST_LEVELS } from '../domain/values/nesting.js'
import { countIn, isFields, refusalOf, textIn, timeIn, type Fields } from './bodies.js'
import { damageIn } from './codex-compressed.js'
import { beginTurn, compactTo, compactToSummary, emptyHistory, rollBack, say, type Compacted } from './codex-history.js'
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
  Where,
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

/** Items that the oldest files have as lines of their own. */
const BARE_ITEM = /^(?:message|reasoning|ghost_snapshot|\w+_call(?:_output)?)$/u

/** A record as today's lines are; undefined where it is none that Codex writes. */
export function lineOf(value: unknown): Line | undefined {
  const parsed = lineSchema.safeParse(value)
  if (parsed.success && isFields(value) && isFields(value['payload']))
    return { type: parsed.data.type, at: timeIn(parsed.data.timestamp), payload: value['payload'] }
  if (!isFields(value)) return undefined
  const { type, id, timestamp } = value
  if (typeof type === 'string')
    return BARE_ITEM.test(type) ? { type: 'response_item', at: timeIn(timestamp), payload: value } : undefined
  return typeof id === 'string' && timeIn(timestamp) !== undefined && value['record_type'] === undefined
    ? { type: 'session_meta', at: timeIn(timestamp), payload: value }
    : undefined
}

/** The id in the name of a rollout, `rollout-<time>-<id>.jsonl`; the whole name where it is called otherwise. */
function idInName(path: string): string {
  const name = path.replaceAll('\\', '/').split('/').at(-1) ?? ''
  const bare = name.replace(/\.jsonl(?:\.zst)?$/u, '')
  return /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)$/u.exec(bare)?.[1] ?? (bare === '' ? 'rollout' : bare)
}

/** Where a conversation comes from, by its first record. */
function parentOf(meta: Fields, id: string): Parent | undefined {
  const source = isFields(meta['source']) ? meta['source']['subagent'] : undefined
  const spawn = isFields(source) && isFields(source['thread_spawn']) ? source['thread_spawn'] : {}
  const base = isFields(meta['history_base']) ? meta['history_base']['thread_id'] : undefined
  const caller = textIn(spawn['parent_thread_id']) ?? textIn(meta['parent_thread_id'])
  // A sub-agent has the session of the one that called it.
  const session = source === undefined ? undefined : textIn(meta['session_id'])
  const called = caller ?? (session === id ? undefined : session)
  if (called !== undefined) return { sourceId: called, how: 'sub-agent' }
  const forked = textIn(meta['forked_from_id']) ?? textIn(base)
  return forked === undefined ? undefined : { sourceId: forked, how: 'fork' }
}

/** The counts of a `token_count` event. Its input holds what was in the cache. */
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
  /** The prompt of the program itself, which stands before every context. */
  base: string | undefined
  /** The file begins behind the conversation's start, and no compaction has covered what is missing. */
  isSliced: boolean
  /** Lines with a lower ordinal are the parent's. */
  ownFrom: number
  readonly ids: Set<string>
  records: number
  model: string | undefined
  answerId: string | undefined
  readonly history: ReturnType<typeof emptyHistory>
  compactions: number
  /** A turn runs, and something was said in it. */
  turn: 'none' | 'begun' | 'running'
  usage: {
    /** Counts that were told before the answer that they are of. */
    told: Usage | undefined
    lastTotal: string | undefined
    /** The answer that was said and whose counts were not told yet. */
    owedBy: string | undefined
    /** Newer versions tell the counts behind the answer: the message that follows takes them along. */
    comesLate: boolean
    /** Counts that were told behind their answer, for the next message. */
    earlier: EarlierUsage | undefined
    /** What the last answer took in all. */
    lastTokens: number | undefined
  }
}

const leftOut = (what: string, where: Where): TranscriptItem => ({ kind: 'left-out', what, where })

const PLACE = /^line-\d+$/u

/** An id of its own for a record: the program's where it has one that is not taken, else its line. */
function ownId(state: State, given: unknown, where: Where): string {
  const wanted = textIn(given)
  if (wanted === undefined || PLACE.test(wanted) || state.ids.has(wanted))
    return `line-${String(where.line ?? state.records)}`
  state.ids.add(wanted)
  return wanted
}

function begin(state: State, meta: Fields | undefined, at: string | undefined, where: Where): TranscriptItem[] {
  const id = textIn(meta?.['id']) ?? textIn(meta?.['session_id']) ?? idInName(state.path)
  state.id = id
  state.ownFrom = countIn(meta?.['subagent_history_start_ordinal']) ?? 0
  state.isSliced = meta === undefined || isFields(meta['history_base'])
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
  const prompt = isFields(meta?.['base_instructions']) ? textIn(meta['base_instructions']['text']) : undefined
  if (prompt === undefined) return [conversation]
  state.base = ownId(state, 'base_instructions', where)
  return [
    conversation,
    { kind: 'message', sourceId: state.base, part: 0, at, body: { role: 'system', content: prompt }, where },
  ]
}

function told(
  state: State,
  payload: Fields,
  at: string | undefined,
  where: Where,
  message: CodexMessage,
): TranscriptItem {
  const { body, isAnswer, byProgram, isError, opensTurn, key, turnId } = message
  const refusal = refusalOf(body)
  if (refusal !== undefined)
    return { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
  const id = ownId(state, payload['id'], where)
  state.answerId = isAnswer ? (state.answerId ?? id) : undefined
  const { usage } = state
  const counts = isAnswer ? usage.told : undefined
  usage.told = undefined
  const { earlier } = usage
  usage.earlier = undefined
  if (state.answerId === id && counts === undefined) usage.owedBy = `answer-${id}`
  if (state.turn === 'begun' && (opensTurn || isAnswer)) state.turn = 'running'
  say(state.history, {
    id,
    key,
    turnId,
    isBeside: body.role === 'developer' || (byProgram === true && !opensTurn),
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
    where,
  }
  return item
}

/** Whether windows came before the first compaction of a file. */
const hasEarlierWindow = (payload: Fields): boolean => {
  const previous = textIn(payload['previous_window_id'])
  return previous !== undefined && previous !== (textIn(payload['first_window_id']) ?? previous)
}

function compacted(state: State, payload: Fields, at: string | undefined, where: Where): CompactionItem {
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
  usage.told = undefined
  usage.lastTokens = undefined
  return {
    kind: 'compaction',
    sourceId: id,
    at,
    // Nobody can ask for one while a turn runs; before the prompt of a turn it may be either.
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
 * The counts of an answer. Old versions told them before its messages were written, newer ones tell them behind: then
 * the messages are given already, and the next one takes the counts along. The first counts of a file show which it is.
 */
function countTokens(state: State, payload: Fields): void {
  const { usage } = state
  const info = isFields(payload['info']) ? payload['info'] : {}
  const last = info['last_token_usage']
  const total = exactText(info['total_token_usage'])
  if (!isFields(last) || total === usage.lastTotal) return
  usage.lastTotal = total
  const counts = usageOf(last)
  usage.lastTokens = countIn(last['total_tokens']) ?? usage.lastTokens
  const { owedBy } = usage
  if (owedBy !== undefined) usage.comesLate = true
  usage.owedBy = undefined
  state.answerId = undefined
  if (!usage.comesLate) usage.told = counts
  else if (owedBy !== undefined) usage.earlier = { answerId: owedBy, usage: counts }
}

function event(state: State, payload: Fields, at: string | undefined, where: Where): TranscriptItem[] {
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
      state.usage.told = undefined
      return out
    case 'task_complete':
    case 'turn_complete':
    case 'turn_aborted':
      state.turn = 'none'
      state.answerId = undefined
      state.usage.told = undefined
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
    const fields = isFields(value) ? value : {}
    return [leftOut(textIn(fields['type']) ?? textIn(fields['record_type']) ?? 'unknown', where)]
  }
  const { type, at, payload } = line
  const ordinal = isFields(value) ? countIn(value['ordinal']) : undefined
  if (ordinal !== undefined && ordinal < state.ownFrom) {
    // A compaction covers what is not taken here as well.
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
      return [told(state, payload, at, where, message)]
    }
    case 'inter_agent_communication': {
      const message = messageOfItem({ ...payload, type: 'agent_message' })
      return message === undefined ? [leftOut(type, where)] : [told(state, payload, at, where, message)]
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
    return [{ kind: 'damage', detail: `is nested deeper than ${String(MOST_LEVELS)} levels`, isCut: false, where }]
  if (state.id !== undefined) return read(state, record)
  // The first record tells whose file it is; those of a parent may follow it, and only it counts.
  const line = lineOf(value)
  if (line?.type === 'session_meta') return begin(state, line.payload, line.at, where)
  return [...begin(state, undefined, undefined, where), ...read(state, record)]
}

/** Reads the rollout at a path. */
export function readRollout(path: string): TranscriptReader {
  const state: State = {
    path,
    id: undefined,
    base: undefined,
    isSliced: false,
    ownFrom: 0,
    ids: new Set(),
    records: 0,
    model: undefined,
    answerId: undefined,
    history: emptyHistory(),
    compactions: 0,
    turn: 'none',
    usage: {
      told: undefined,
      lastTotal: undefined,
      owedBy: undefined,
      comesLate: false,
      earlier: undefined,
      lastTokens: undefined,
    },
  }
  return { take: (record) => take(state, record), end: () => [] }
}
