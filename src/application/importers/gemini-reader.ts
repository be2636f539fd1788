/**
 * Reads a session of Gemini CLI in either form: one JSON object, or JSON Lines. In JSON Lines:
 * - A repeated message replaces the earlier one. Its additions (calls, results) become further messages of the same
 *   record, and a change becomes an edit.
 * - `$rewindTo` removes a message and everything after it.
 * - `$set.messages` replaces the whole message list. Gemini CLI has no record for a compression: it writes the new
 *   list. If the list lacks messages, it is a compaction, and its new messages are the replacement. If only contents
 *   differ, outputs were masked. The list may have new ids for messages that stay: they are recognized by their content
 *   and their calls. A result may have the id of the message that called.
 * - A resume into the same file writes the header again, then a list with only the first message, then the whole list.
 */
import { isRecord } from '../../lib/is-record.js'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { sha256 } from '../../domain/values/hash.js'
import { textIn } from '../../lib/text-in.js'
import { inside, refusalOf, timeIn, type Fields } from './bodies.js'
import { fingerprintOf, type GeminiMessage } from './gemini-messages.js'
import { answerBody, GeminiRecords, isTail, newRecordState, type RecordState, type Reply } from './gemini-records.js'
import type {
  ConversationItem,
  EarlierUsage,
  EditItem,
  Parent,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  SourceLocation,
} from './transcript.js'

const text = z.string().optional().catch(undefined)
const headerSchema = z.looseObject({
  sessionId: z.string().min(1),
  startTime: text,
  kind: text,
  summary: text,
  projectHash: text,
  /** A session that `handoff` wrote: the id of the message with the summary of older ones. */
  contextLedger: z.looseObject({ handover: text }).optional().catch(undefined),
})

type Why = EditItem['why']

/** A sub-agent's session is one folder deeper than others. */
const MOST_LEVELS = 2

/**
 * The directory of the project: the program writes it into a file above the sessions. Sessions that were copied without
 * that file name only its hash.
 */
function projectOf(path: string, projectHash: string | undefined): string | undefined {
  let folder = dirname(path)
  for (let level = 0; level < MOST_LEVELS; level += 1) {
    folder = dirname(folder)
    try {
      const root = readFileSync(join(folder, '.project_root'), 'utf8').trim()
      if (root !== '' && (projectHash === undefined || sha256(root) === projectHash)) return root
    } catch {
      // The file is in the next folder, or missing.
    }
  }
  return undefined
}

/** The caller of a sub-agent: its file is in a directory named after the caller's session. */
function parentOf(path: string, kind: string | undefined, sessionId: string): Parent | undefined {
  const folder = basename(dirname(path))
  if (kind !== 'subagent' || folder === 'chats' || folder === sessionId) return undefined
  return { sourceId: folder, how: 'sub-agent' }
}

class GeminiReader implements TranscriptReader {
  private readonly records = new GeminiRecords()
  private conversation: ConversationItem | undefined
  private handoverId: string | undefined
  /** The header was repeated, and no list followed yet. */
  private isResuming = false
  /** The first list of a resume, until the next record shows whether the whole list follows. */
  private firstList: { readonly messages: readonly unknown[]; readonly where: SourceLocation } | undefined
  /** Usage that was reported after its answer was emitted, for the next message. */
  private earlierUsage: EarlierUsage | undefined

  constructor(private readonly path: string) {}

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isRecord(value)) {
      yield { kind: 'left-out', what: 'record', where }
      return
    }
    const { $set: changes, $rewindTo: rewindTo } = value
    yield* this.endResume(isRecord(changes), Array.isArray(inside(changes, 'messages')))
    if (typeof rewindTo === 'string') {
      // Gemini CLI removes everything if it does not know the message.
      const id = this.records.idOf(rewindTo)
      yield* this.withdraw(this.records.live.slice(Math.max(this.records.live.indexOf(id), 0)), undefined, where)
    } else if (isRecord(changes)) {
      yield* this.ensureBegun(where)
      const { messages, summary, lastUpdated } = changes
      if (textIn(summary) !== undefined && this.conversation !== undefined)
        yield* this.begin({ sessionId: this.conversation.sourceId, summary }, where)
      const isFirst = this.isResuming && Array.isArray(messages) && this.records.isBeginning(messages)
      if (Array.isArray(messages)) this.isResuming = false
      if (isFirst) this.firstList = { messages, where }
      const items = Array.isArray(messages) && !isFirst ? [...this.replace(messages, timeIn(lastUpdated), where)] : []
      yield* items
      if (items.length === 0 && textIn(summary) === undefined) yield { kind: 'left-out', what: '$set', where }
    } else if (textIn(value['sessionId']) !== undefined && value['id'] === undefined) {
      yield* this.begin(value, where)
      const { messages } = value
      if (!Array.isArray(messages)) return
      for (const [index, one] of messages.entries())
        yield* this.record(one, 'replaced', { ...where, path: `messages[${String(index)}]` })
    } else {
      yield* this.ensureBegun(where)
      yield* this.record(value, 'replaced', where)
    }
  }

  end(): [] {
    return []
  }

  /** After the first list of a resume, another list replaces it, and a message continues it. */
  private *endResume(isChange: boolean, hasList: boolean): Generator<TranscriptItem> {
    const list = this.firstList
    if (list === undefined || (isChange && !hasList)) return
    this.firstList = undefined
    if (!hasList) yield* this.replace(list.messages, undefined, list.where)
  }

  private *begin(header: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const { sessionId, startTime, kind, summary, projectHash, contextLedger } = headerSchema.parse(header)
    this.handoverId = contextLedger?.handover ?? this.handoverId
    this.isResuming = this.conversation?.sourceId === sessionId && header['startTime'] !== undefined
    if (this.conversation?.sourceId === sessionId && (summary === undefined || this.conversation.title === summary)) {
      yield { kind: 'left-out', what: 'metadata', where }
      return
    }
    this.conversation = {
      kind: 'conversation',
      sourceId: sessionId,
      parent: parentOf(this.path, kind, sessionId) ?? this.conversation?.parent,
      title: textIn(summary),
      cwd: this.conversation?.cwd ?? projectOf(this.path, projectHash),
      startedAt: timeIn(startTime) ?? this.conversation?.startedAt,
      where,
    }
    yield this.conversation
  }

  private *ensureBegun(where: SourceLocation): Generator<TranscriptItem> {
    if (this.conversation === undefined)
      yield* this.begin({ sessionId: basename(this.path).replace(/\.jsonl?$/u, '') }, where)
  }

  /** Yields further messages of a record. */
  private *emit(message: GeminiMessage, replies: readonly Reply[], where: SourceLocation): Generator<TranscriptItem> {
    const state = this.records.known.get(message.id)
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
      state.hasMessage = true
      const answer = body.role === 'assistant' ? { answerId: id, model, usage } : {}
      if (body.role === 'assistant' && usage !== undefined) state.hasUsage = true
      const earlier = this.earlierUsage
      this.earlierUsage = undefined
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

  /** Yields the messages of a new record. */
  private *open(message: GeminiMessage, where: SourceLocation): Generator<TranscriptItem> {
    const state = newRecordState(message.role)
    this.records.known.set(message.id, state)
    yield* this.extend(message, state, where)
    if (state.parts > 0) this.records.live.push(message.id)
    else yield { kind: 'left-out', what: message.role === 'user' ? 'user' : 'gemini', where }
  }

  /** Yields the additions to a record. */
  private *extend(message: GeminiMessage, state: RecordState, where: SourceLocation): Generator<TranscriptItem> {
    const { role, content, calls } = message
    const fresh = calls.filter(({ call }) => !state.calls.has(call.id))
    for (const { call } of fresh) state.calls.set(call.id, undefined)
    const isFirst = state.parts === 0
    if (isFirst) state.content = message.fingerprint
    if (role === 'assistant') {
      const words = isFirst ? content : undefined
      if (words !== undefined || fresh.length > 0)
        yield* this.emit(message, [{ body: answerBody(words ?? null, fresh) }], where)
      yield* this.emit(message, this.records.results(message, state), where)
      return
    }
    const newResults = message.results.filter(({ callId }) => !this.records.answered.has(callId))
    for (const { callId } of newResults) {
      this.records.answered.add(callId)
      state.answers.push(callId)
    }
    const replies = newResults.map((result): Reply => ({
      body: { role: 'tool', content: result.content, toolCallId: result.callId },
      isError: result.isError,
    }))
    const words: readonly Reply[] = isFirst && content !== undefined ? [{ body: { role, content } }] : []
    yield* this.emit(message, [...replies, ...words], where)
  }

  /** Yields the changes of a known record. */
  private *update(
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
    for (const { call, result, isPart } of calls) {
      const before = state.calls.get(call.id)
      const now = result?.content ?? null
      if (before === undefined || isPart === true || fingerprintOf(now) === before.fingerprint) continue
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
    yield* this.extend(message, state, where)
    // The usage of a message may be in its second record.
    if (message.usage !== undefined && !before && !state.hasUsage && parts > 0) {
      state.hasUsage = true
      this.earlierUsage = { answerId: id, usage: message.usage }
    }
    if (parts === 0 && state.parts > 0) this.records.live.push(id)
  }

  /** Withdraws messages that the model no longer receives and that nothing replaces. */
  private *withdraw(ids: readonly string[], at: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    const removed = new Set(ids)
    this.records.live = this.records.live.filter((id) => !removed.has(id))
    const sourceIds = ids.filter((id) => this.records.hasMessage(id))
    const hasInserted = ids.some((id) => this.records.inserted.has(id))
    this.records.forget(ids)
    if (sourceIds.length > 0) yield { kind: 'withdrawal', sourceIds, at, where }
    // A summary cannot be withdrawn, because it is not a message: a compaction records the remaining context.
    if (hasInserted) yield this.records.compaction(undefined, at, where)
    if (ids.length === 0) yield { kind: 'left-out', what: '$rewindTo', where }
  }

  /** Replaces the message list. */
  private *replace(list: readonly unknown[], at: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    this.records.matchCopies(list.flatMap((value) => this.records.messageOf(value) ?? []))
    const messages = list.flatMap((value) => this.records.messageOf(value) ?? [])
    const ids = new Set(messages.map(({ id }) => id))
    const removed = this.records.live.filter((id) => !ids.has(id))
    const isNew = ({ id, content }: GeminiMessage): boolean => !this.records.known.has(id) && content !== undefined
    // If only the last messages are missing and nothing is new, the user took them back.
    const isCompaction = removed.length > 0 && (messages.some(isNew) || !isTail(removed, this.records.live))
    if (isCompaction) yield this.records.compaction(this.records.compress(messages, removed), at, where)
    else if (removed.length > 0) yield* this.withdraw(removed, at, where)
    for (const [index, value] of list.entries()) {
      const id = this.records.messageOf(value)?.id
      if (id === undefined || !this.records.inserted.has(id))
        yield* this.record(value, 'masked', { ...where, path: `$set.messages[${String(index)}]` })
    }
  }

  private *record(value: unknown, why: Why, where: SourceLocation): Generator<TranscriptItem> {
    const message = this.records.messageOf(value)
    if (message === undefined) {
      yield { kind: 'left-out', what: (isRecord(value) ? textIn(value['type']) : undefined) ?? 'record', where }
      return
    }
    const state = this.records.known.get(message.id)
    if (state === undefined && message.id === this.handoverId) {
      this.records.inserted.set(message.id, this.records.insert(message))
      this.records.live.push(message.id)
      yield { ...this.records.compaction(message, message.at, where), coversMissing: true }
      return
    }
    if (state === undefined) {
      yield* this.open(message, where)
      return
    }
    // A message that a compression inserted may get its results later.
    const items = this.records.inserted.has(message.id)
      ? [...this.emit(message, this.records.results(message, state), where)]
      : [...this.update(message, state, why, where)]
    yield* items
    // The record repeats an earlier one; at most its usage is new.
    if (items.length === 0) yield { kind: 'left-out', what: message.role === 'user' ? 'user' : 'gemini', where }
  }
}

/**
 * Reads one session.
 * @param path path of the session. The file name is the session id if no record has one.
 */
export const createGeminiReader = (path: string): TranscriptReader => new GeminiReader(path.replaceAll('\\', '/'))
