/**
 * Reads a session of Gemini CLI in either form: one JSON object, or JSON Lines. In JSON Lines:
 * - A repeated message replaces the earlier one. Its additions (calls, results) become further messages of the same
 *   record, and a change becomes an edit.
 * - `$rewindTo` removes a message and everything after it.
 * - `$set.messages` replaces the whole message list. Gemini CLI has no record for a compression: it writes the new
 *   list. If the list lacks messages, it is a compaction, and its new messages are the replacement. If only contents
 *   differ, outputs were masked.
 */
import { basename, dirname } from 'node:path'
import { z } from 'zod'
import { contentText, type MessageBody } from '../domain/values/message.js'
import { isFields, refusalOf, textIn, timeIn, type Fields } from './bodies.js'
import { messageIn, fingerprintOf, type Call, type GeminiMessage } from './gemini-messages.js'
import type {
  ConversationItem,
  ContextEntry,
  EarlierUsage,
  EditItem,
  Parent,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  SourceLocation,
} from './transcript.js'

const text = z.string().optional().catch(undefined)
const headerSchema = z.looseObject({ sessionId: z.string().min(1), startTime: text, kind: text, summary: text })

/** The state of a record: fingerprints of its content, not the content itself. */
interface RecordState {
  content: string | undefined
  /** The results of its calls; undefined while a call has no result. */
  readonly calls: Map<string, { readonly part: number; fingerprint: string } | undefined>
  /** Number of messages emitted for it. */
  parts: number
  /** Ids of the calls that have their result in this record. */
  readonly answers: string[]
  /** Whether its usage has been reported. */
  hasUsage: boolean
}

const newRecordState = (): RecordState => ({
  content: undefined,
  calls: new Map(),
  parts: 0,
  answers: [],
  hasUsage: false,
})

type Why = EditItem['why']

interface Reply {
  readonly body: MessageBody
  readonly isError?: boolean | undefined
}

const answerBody = (content: MessageBody['content'], calls: readonly Call[]): MessageBody => ({
  role: 'assistant',
  content,
  ...(calls.length === 0 ? {} : { toolCalls: calls.map(({ call }) => call) }),
})

/** The caller of a sub-agent: its file is in a directory named after the caller's session. */
function parentOf(path: string, kind: string | undefined, sessionId: string): Parent | undefined {
  const folder = basename(dirname(path))
  if (kind !== 'subagent' || folder === 'chats' || folder === sessionId) return undefined
  return { sourceId: folder, how: 'sub-agent' }
}

/**
 * Reads one session.
 * @param givenPath path of the session. The file name is the session id if no record has one.
 */
export function createGeminiReader(givenPath: string): TranscriptReader {
  const path = givenPath.replaceAll('\\', '/')
  const known = new Map<string, RecordState>()
  /** Calls that have a result in any record. */
  const answered = new Set<string>()
  /** Ids of the records in the model's context, in order. */
  let live: string[] = []
  /** Record id → messages that a compression inserted. */
  let inserted = new Map<string, readonly MessageBody[]>()
  let conversation: ConversationItem | undefined
  let snapshots = 0
  /** Usage that was reported after its answer was emitted, for the next message. */
  let earlierUsage: EarlierUsage | undefined

  function* begin(header: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const { sessionId, startTime, kind, summary } = headerSchema.parse(header)
    if (conversation?.sourceId === sessionId && (summary === undefined || conversation.title === summary)) {
      yield { kind: 'left-out', what: 'metadata', where }
      return
    }
    conversation = {
      kind: 'conversation',
      sourceId: sessionId,
      parent: parentOf(path, kind, sessionId) ?? conversation?.parent,
      title: textIn(summary),
      startedAt: timeIn(startTime) ?? conversation?.startedAt,
      where,
    }
    yield conversation
  }

  function* ensureBegun(where: SourceLocation): Generator<TranscriptItem> {
    if (conversation === undefined) yield* begin({ sessionId: basename(path).replace(/\.jsonl?$/u, '') }, where)
  }

  /** Yields further messages of a record. */
  function* emit(message: GeminiMessage, replies: readonly Reply[], where: SourceLocation): Generator<TranscriptItem> {
    const state = known.get(message.id)
    if (state === undefined) return
    for (const { body, isError } of replies) {
      const part = state.parts
      state.parts += 1
      const refusal = refusalOf(body)
      if (refusal !== undefined) {
        yield { kind: 'damage', detail: refusal, isCut: false, where }
        continue
      }
      const { id, at, model, usage } = message
      const answer = body.role === 'assistant' ? { answerId: id, model, usage } : {}
      if (body.role === 'assistant' && usage !== undefined) state.hasUsage = true
      const earlier = earlierUsage
      earlierUsage = undefined
      yield {
        kind: 'message',
        sourceId: id,
        part,
        at,
        body,
        ...(message.isByProgram && body.role === 'user' ? { byProgram: true } : {}),
        ...(isError === true ? { isError } : {}),
        ...answer,
        ...(earlier === undefined ? {} : { earlierUsage: earlier }),
        where,
      }
    }
  }

  /** The results that are new. */
  function results(message: GeminiMessage, state: RecordState): readonly Reply[] {
    const first = state.parts
    return message.calls
      .filter(
        ({ call, result }) => result !== undefined && state.calls.get(call.id) === undefined && !answered.has(call.id),
      )
      .map(({ call, result }, at) => {
        const content = result?.content ?? ''
        state.calls.set(call.id, { part: first + at, fingerprint: fingerprintOf(content) })
        answered.add(call.id)
        state.answers.push(call.id)
        return { body: { role: 'tool', content, toolCallId: call.id }, isError: result?.isError }
      })
  }

  /** Yields the messages of a new record. */
  function* open(message: GeminiMessage, where: SourceLocation): Generator<TranscriptItem> {
    const state = newRecordState()
    known.set(message.id, state)
    yield* extend(message, state, where)
    if (state.parts > 0) live.push(message.id)
    else yield { kind: 'left-out', what: message.role === 'user' ? 'user' : 'gemini', where }
  }

  /** Yields the additions to a record. */
  function* extend(message: GeminiMessage, state: RecordState, where: SourceLocation): Generator<TranscriptItem> {
    const { role, content, calls } = message
    const fresh = calls.filter(({ call }) => !state.calls.has(call.id))
    for (const { call } of fresh) state.calls.set(call.id, undefined)
    const isFirst = state.parts === 0
    if (isFirst) state.content = message.fingerprint
    if (role === 'assistant') {
      const words = isFirst ? content : undefined
      if (words !== undefined || fresh.length > 0)
        yield* emit(message, [{ body: answerBody(words ?? null, fresh) }], where)
      yield* emit(message, results(message, state), where)
      return
    }
    const newResults = message.results.filter(({ callId }) => !answered.has(callId))
    for (const { callId } of newResults) {
      answered.add(callId)
      state.answers.push(callId)
    }
    const replies = newResults.map((result): Reply => ({
      body: { role: 'tool', content: result.content, toolCallId: result.callId },
      isError: result.isError,
    }))
    const words: readonly Reply[] = isFirst && content !== undefined ? [{ body: { role, content } }] : []
    yield* emit(message, [...replies, ...words], where)
  }

  /** Yields the changes of a known record. */
  function* update(
    message: GeminiMessage,
    state: RecordState,
    why: Why,
    where: SourceLocation,
  ): Generator<TranscriptItem> {
    const { id, at, content, fingerprint, calls } = message
    if (state.parts > 0 && fingerprint !== state.content) {
      state.content = fingerprint
      yield { kind: 'edit', sourceId: id, part: 0, content: content ?? null, why, at, where }
    }
    for (const { call, result } of calls) {
      const before = state.calls.get(call.id)
      const now = result?.content ?? null
      if (before === undefined || fingerprintOf(now) === before.fingerprint) continue
      before.fingerprint = fingerprintOf(now)
      yield {
        kind: 'edit',
        sourceId: id,
        part: before.part,
        content: now,
        why: now === null ? 'pruned' : why,
        at,
        where,
      }
    }
    const parts = state.parts
    const before = state.hasUsage
    yield* extend(message, state, where)
    // The usage of a message may be in its second record.
    if (message.usage !== undefined && !before && !state.hasUsage && parts > 0) {
      state.hasUsage = true
      earlierUsage = { answerId: id, usage: message.usage }
    }
    if (parts === 0 && state.parts > 0) live.push(id)
  }

  /** Forgets records, so that they are emitted again if they return. */
  function forget(ids: readonly string[]): void {
    for (const id of ids) {
      for (const callId of known.get(id)?.answers ?? []) answered.delete(callId)
      known.delete(id)
      inserted.delete(id)
    }
  }

  /** Withdraws messages that the model no longer receives and that nothing replaces. */
  function* withdraw(ids: readonly string[], at: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    const removed = new Set(ids)
    live = live.filter((id) => !removed.has(id))
    const sourceIds = ids.filter((id) => !inserted.has(id))
    forget(ids)
    if (sourceIds.length > 0) yield { kind: 'withdrawal', sourceIds, at, where }
    // A summary cannot be withdrawn, because it is not a message: a compaction records the remaining context.
    if (sourceIds.length < ids.length) yield compaction(undefined, at, where)
    if (ids.length === 0) yield { kind: 'left-out', what: '$rewindTo', where }
  }

  /** A compaction with the current context. @param summary the record that replaces the removed messages */
  function compaction(
    summary: GeminiMessage | undefined,
    at: string | undefined,
    where: SourceLocation,
  ): TranscriptItem {
    snapshots += 1
    return {
      kind: 'compaction',
      sourceId: `$set-${String(snapshots)}`,
      at,
      trigger: 'unknown',
      summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: contentText(summary.content) },
      context: live.flatMap((id): readonly ContextEntry[] => {
        const bodies = inserted.get(id)
        if (bodies === undefined) return [{ kind: 'message', sourceId: id }]
        return bodies.map((body, part) => ({
          kind: 'inserted',
          body,
          ...(id === summary?.id && part === 0 ? { isSummary: true } : {}),
        }))
      }),
      where,
    }
  }

  /** The messages of a record that a compression inserted, with the results of its calls. */
  function bodiesOf({ role, content, calls, results: responses }: GeminiMessage): readonly MessageBody[] {
    const tools = [
      ...calls.map(({ call, result }) => ({ callId: call.id, result })),
      ...responses.map((result) => ({ callId: result.callId, result })),
    ]
    const answers = tools.flatMap(({ callId, result }): readonly MessageBody[] => {
      if (result === undefined || answered.has(callId)) return []
      answered.add(callId)
      return [{ role: 'tool', content: result.content, toolCallId: callId }]
    })
    if (role === 'user') return [...answers, ...(content === undefined ? [] : [{ role, content }])]
    return [...(content === undefined && calls.length === 0 ? [] : [answerBody(content ?? null, calls)]), ...answers]
  }

  /** Replaces the message list. */
  function* replace(
    list: readonly unknown[],
    at: string | undefined,
    where: SourceLocation,
  ): Generator<TranscriptItem> {
    const messages = list.flatMap((value) => messageIn(value) ?? [])
    const ids = new Set(messages.map(({ id }) => id))
    const removed = live.filter((id) => !ids.has(id))
    const isNew = ({ id, content }: GeminiMessage): boolean => !known.has(id) && content !== undefined
    // If only the last messages are missing and nothing is new, the user took them back.
    const isCompaction = removed.length > 0 && (messages.some(isNew) || !isTail(removed, live))
    if (removed.length > 0 && !isCompaction) yield* withdraw(removed, at, where)
    if (isCompaction) {
      const bodies = messages.map(
        (one) => [one.id, inserted.get(one.id) ?? (known.has(one.id) ? [] : bodiesOf(one))] as const,
      )
      inserted = new Map(bodies.filter(([, messageBodies]) => messageBodies.length > 0))
      for (const id of inserted.keys()) known.set(id, newRecordState())
      live = messages.map(({ id }) => id).filter((id) => inserted.has(id) || (known.get(id)?.parts ?? 0) > 0)
      yield compaction(
        messages.find(({ id, role, content }) => inserted.has(id) && role === 'user' && content !== undefined),
        at,
        where,
      )
    }
    for (const [index, value] of list.entries()) {
      const id = messageIn(value)?.id
      if (id === undefined || !inserted.has(id))
        yield* record(value, 'masked', { ...where, path: `$set.messages[${String(index)}]` })
    }
  }

  function* record(value: unknown, why: Why, where: SourceLocation): Generator<TranscriptItem> {
    const message = messageIn(value)
    if (message === undefined) {
      yield { kind: 'left-out', what: (isFields(value) ? textIn(value['type']) : undefined) ?? 'record', where }
      return
    }
    const state = known.get(message.id)
    if (state === undefined) {
      yield* open(message, where)
      return
    }
    const items = inserted.has(message.id) ? [] : [...update(message, state, why, where)]
    yield* items
    // The record repeats an earlier one; at most its usage is new.
    if (items.length === 0) yield { kind: 'left-out', what: message.role === 'user' ? 'user' : 'gemini', where }
  }

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isFields(value)) {
      yield { kind: 'left-out', what: 'record', where }
      return
    }
    const { $set: changes, $rewindTo: rewindTo } = value
    if (typeof rewindTo === 'string') {
      // Gemini CLI removes everything if it does not know the message.
      yield* withdraw(live.slice(Math.max(live.indexOf(rewindTo), 0)), undefined, where)
    } else if (isFields(changes)) {
      yield* ensureBegun(where)
      const { messages, summary, lastUpdated } = changes
      if (textIn(summary) !== undefined && conversation !== undefined)
        yield* begin({ sessionId: conversation.sourceId, summary }, where)
      const items = Array.isArray(messages) ? [...replace(messages, timeIn(lastUpdated), where)] : []
      yield* items
      if (items.length === 0 && textIn(summary) === undefined) yield { kind: 'left-out', what: '$set', where }
    } else if (textIn(value['sessionId']) !== undefined && value['id'] === undefined) {
      yield* begin(value, where)
      const { messages } = value
      if (!Array.isArray(messages)) return
      for (const [index, one] of messages.entries())
        yield* record(one, 'replaced', { ...where, path: `messages[${String(index)}]` })
    } else {
      yield* ensureBegun(where)
      yield* record(value, 'replaced', where)
    }
  }

  return { take, end: () => [] }
}

/** Whether `tail` is the end of `all`. */
const isTail = (tail: readonly string[], all: readonly string[]): boolean =>
  tail.every((id, at) => all[all.length - tail.length + at] === id)
