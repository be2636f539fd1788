/**
 * Reads the records of opencode one by one, from any source: an export, the files of the `storage/` tree, the rows of
 * the database, or the newer events. It stores only ids and the texts of summaries.
 *
 * A compaction is a user's message with a part `compaction`, followed by an answer that is a summary. The context after
 * it is a fixed question, the summary, and the messages from `tail_start_id` on.
 */
import { OWN_COMPACTOR, OWN_SUMMARY_BEGINNING } from '../../domain/values/own-compactor.js'
import { isRecord } from '../../lib/is-record.js'
import type { MessageBody } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { jsonText, refusalOf, timeIn, type Fields, linePlace } from './bodies.js'
import {
  compactionRequestIn,
  infoSchema,
  isShown,
  recordOf,
  summaryIn,
  usageOf,
  type CompactionRequest,
  type Info,
  type RecordContent,
  type RecordMessage,
} from './opencode-parts.js'
import { summaryFrom } from './message-items.js'
import { checkpointBody, eventIn, isV2Message, contentOfV2, messageOfEvent, type OpencodeEvent } from './opencode-v2.js'
import type {
  CompactionItem,
  ContextEntry,
  ConversationItem,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  SourceLocation,
} from './transcript.js'

/** The question that the program sends instead of the part `compaction`. The file does not contain it. */
const QUESTION: MessageBody = { role: 'user', content: 'What did we do so far?' }
/** The text that replaces a pruned result. The file does not contain it either. */
const PRUNED = '[Old tool result content cleared]'

/** A record that could not be read. */
export interface Unreadable {
  readonly unreadable: string
  readonly isCut: boolean
}

/** A record in the model's context. */
interface ContextRecord {
  readonly recordId: string
  readonly entries: readonly ContextEntry[]
}

/** A record with its effect, which a later revert to before it removes. */
interface RecordEffect {
  readonly recordId: string
  readonly sourceId: string
  readonly effect: 'message' | 'compaction' | 'nothing'
}

interface Pruning {
  readonly sourceId: string
  readonly part: number
  readonly at: number
}

interface Revert {
  readonly recordId: string
  /** The revert removes only parts of that record, and everything after it. */
  readonly isInside: boolean
}

interface Session {
  readonly id: string
  /** Number of records read per id: an anonymized file may use one id for several records. */
  readonly recordCounts: Map<string, number>
  readonly effects: RecordEffect[]
  readonly requests: Map<string, CompactionRequest>
  readonly shells: Map<string, string>
  context: ContextRecord[]
  prunings: Pruning[]
  /** The position to which the user reverted, until the program deletes the reverted records. */
  reverted: Revert | undefined
  reason: CompactionItem['trigger']
  where: SourceLocation
}

const newSession = (id: string, where: SourceLocation): Session => ({
  id,
  recordCounts: new Map(),
  effects: [],
  requests: new Map(),
  shells: new Map(),
  context: [],
  prunings: [],
  reverted: undefined,
  reason: 'unknown',
  where,
})

const leftOut = (what: string, where: SourceLocation): TranscriptItem => ({ kind: 'left-out', what, where })

/** A unique id for a record in its session. */
function uniqueId(session: Session, recordId: string): string {
  const before = session.recordCounts.get(recordId) ?? 0
  session.recordCounts.set(recordId, before + 1)
  return before === 0 ? recordId : `${recordId}#${String(before + 1)}`
}

const nameOf = ({ file }: SourceLocation): string => file.split(/[\\/]/u).at(-1) ?? file
const placeOf = (where: SourceLocation): string =>
  where.path ?? (where.line === undefined ? nameOf(where) : `line ${linePlace(where) ?? ''}`)

const editOf = ({ sourceId, part, at }: Pruning, where: SourceLocation): TranscriptItem => ({
  kind: 'edit',
  sourceId,
  part,
  content: PRUNED,
  why: 'pruned',
  at: timeIn(at),
  where,
})

/** Yields the results that were pruned before a time, in order. */
function* prunedUntil(session: Session, time: number, where: SourceLocation): Generator<TranscriptItem> {
  const due = session.prunings.filter(({ at }) => at <= time).toSorted((a, b) => a.at - b.at)
  if (due.length === 0) return
  session.prunings = session.prunings.filter(({ at }) => at > time)
  for (const pruning of due) yield editOf(pruning, where)
}

function revertIn(value: unknown): Revert | undefined {
  const recordId = isRecord(value) ? (textIn(value['messageID']) ?? textIn(value['to'])) : undefined
  if (recordId === undefined || !isRecord(value)) return undefined
  return { recordId, isInside: textIn(value['partID']) !== undefined }
}

/** The records after the position of a revert. */
function since(session: Session, { recordId, isInside }: Revert): readonly RecordEffect[] {
  const at = session.effects.findIndex((record) => record.recordId === recordId)
  return at === -1 ? [] : session.effects.slice(isInside ? at + 1 : at)
}

/** Yields the withdrawals of a revert. */
function* withdrawalsOf(session: Session, revert: Revert, where: SourceLocation): Generator<TranscriptItem> {
  const removed = since(session, revert)
  const ids = (effect: RecordEffect['effect']): string[] =>
    removed.filter((record) => record.effect === effect).map((record) => record.sourceId)
  const compactions = ids('compaction').toReversed()
  const messages = ids('message')
  if (compactions.length > 0) yield { kind: 'undo', sourceIds: compactions, where }
  if (messages.length > 0) yield { kind: 'withdrawal', sourceIds: messages, where }
}

/** Yields the final items of a session. It does not change the state, so that more records may follow. */
function* closing(session: Session): Generator<TranscriptItem> {
  for (const pruning of session.prunings.toSorted((a, b) => a.at - b.at)) yield editOf(pruning, session.where)
  if (session.reverted !== undefined) yield* withdrawalsOf(session, session.reverted, session.where)
}

/** Yields the messages of a record that the ledger accepts. */
function* emit(
  session: Session,
  messages: readonly RecordMessage[],
  sourceId: string,
  where: SourceLocation,
  answerId?: string,
): Generator<TranscriptItem, boolean> {
  let part = 0
  for (const { body, prunedAt, ...rest } of messages) {
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
      continue
    }
    yield { kind: 'message', sourceId, part, body, ...rest, ...(answerId === undefined ? {} : { answerId }), where }
    if (prunedAt !== undefined) session.prunings.push({ sourceId, part, at: prunedAt })
    part += 1
  }
  return part > 0
}

function* emitRecord(
  session: Session,
  content: RecordContent,
  recordId: string,
  where: SourceLocation,
  rest: { readonly isShown: boolean; readonly nameIfEmpty: string; readonly at: string | undefined },
): Generator<TranscriptItem> {
  const sourceId = uniqueId(session, recordId)
  for (const what of content.leftOut) yield leftOut(what, where)
  const hasEmitted = yield* emit(session, content.messages, sourceId, where)
  if (!hasEmitted) {
    session.effects.push({ recordId, sourceId, effect: 'nothing' })
    if (content.messages.length === 0) yield leftOut(rest.nameIfEmpty, where)
    return
  }
  if (!rest.isShown) {
    session.effects.push({ recordId, sourceId, effect: 'nothing' })
    session.prunings = session.prunings.filter((pruning) => pruning.sourceId !== sourceId)
    yield { kind: 'withdrawal', sourceIds: [sourceId], at: rest.at, where }
    return
  }
  session.effects.push({ recordId, sourceId, effect: 'message' })
  session.context.push({ recordId, entries: [{ kind: 'message', sourceId }] })
}

/** The context after a compaction: the replacement of the removed messages, followed by the tail. */
function contextAfter(
  session: Session,
  recordId: string,
  made: readonly ContextEntry[],
  tailStartId: string | undefined,
): Pick<CompactionItem, 'context' | 'unknown'> {
  // The request may contain text of the user as well, which stays with it.
  const fromRequest = session.context.filter((record) => record.recordId === recordId).flatMap(({ entries }) => entries)
  const before = session.context.filter((record) => record.recordId !== recordId)
  const entries = [...fromRequest, ...made]
  const start =
    tailStartId === undefined ? before.length : before.findIndex((record) => record.recordId === tailStartId)
  if (start === -1) {
    // The tail begins with a message that is not in the file, so the other messages in it are unknown.
    session.context = [...before, { recordId, entries }]
    const unknown = before.flatMap((record) =>
      record.entries.flatMap((entry) => (entry.kind === 'message' ? [entry.sourceId] : [])),
    )
    return { context: [...entries, { kind: 'missing', sourceId: tailStartId ?? '' }], unknown }
  }
  const tail = before.slice(start)
  session.context = [...tail, { recordId, entries: entries.map(withoutMark) }]
  return { context: [...entries, ...tail.flatMap((record) => record.entries)] }
}

/** An earlier summary that stays in the tail is no longer marked as the summary. */
const withoutMark = (entry: ContextEntry): ContextEntry =>
  entry.kind === 'inserted' ? { kind: 'inserted', body: entry.body } : entry

function* compact(
  session: Session,
  info: Info,
  parts: readonly unknown[],
  where: SourceLocation,
): Generator<TranscriptItem> {
  const sourceId = uniqueId(session, info.id ?? placeOf(where))
  const request = session.requests.get(info.parentID ?? '')
  const text = summaryIn(parts)
  const { created, completed } = info.time ?? {}
  const made: readonly ContextEntry[] = [
    { kind: 'inserted', body: QUESTION },
    ...(text.trim() === ''
      ? []
      : [{ kind: 'inserted' as const, body: { role: 'assistant' as const, content: text }, isSummary: true as const }]),
  ]
  session.effects.push({ recordId: info.id ?? sourceId, sourceId, effect: 'compaction' })
  for (const part of parts) if (isRecord(part) && part['type'] !== 'text') yield leftOut(jsonText(part['type']), where)
  yield {
    kind: 'compaction',
    sourceId,
    at: timeIn(completed ?? created),
    trigger: request?.trigger ?? 'unknown',
    summary: summaryFrom(text),
    ...contextAfter(session, info.parentID ?? sourceId, made, request?.tailStartId),
    // Without the request, the file begins in the middle of the session.
    ...(request === undefined ? { coversMissing: true } : {}),
    ...(created === undefined || completed === undefined ? {} : { durationMs: Math.max(0, completed - created) }),
    model: info.modelID,
    usage: usageOf(info.tokens, info.cost),
    // opencode does not write which plugin changed a text.
    ...(text.startsWith(OWN_SUMMARY_BEGINNING) ? { madeBy: OWN_COMPACTOR } : {}),
    where,
  }
}

function* takeMessage(
  session: Session,
  raw: Fields,
  parts: readonly unknown[],
  where: SourceLocation,
  onChild: (sessionId: string, callId: string) => void,
): Generator<TranscriptItem> {
  const parsed = infoSchema.safeParse(raw)
  if (!parsed.success || (parsed.data.role !== 'user' && parsed.data.role !== 'assistant')) {
    yield leftOut(`message of the role ${textIn(raw['role']) ?? 'unknown'}`, where)
    return
  }
  const info = parsed.data
  const recordId = info.id ?? placeOf(where)
  yield* prunedUntil(session, info.time?.created ?? -1, where)
  if (info.role === 'assistant' && info.summary === true) {
    if (info.finish !== undefined && info.error === undefined) yield* compact(session, info, parts, where)
    else yield leftOut(info.error === undefined ? 'unfinished summary' : 'failed summary', where)
    return
  }
  const content = recordOf(info, parts, recordId)
  for (const [sessionId, callId] of content.children) onChild(sessionId, callId)
  const request = info.role === 'user' ? compactionRequestIn(parts) : undefined
  if (request !== undefined) session.requests.set(recordId, request)
  yield* emitRecord(session, content, recordId, where, {
    isShown: isShown(info, parts),
    nameIfEmpty: request === undefined ? (info.error?.name ?? `empty ${info.role} message`) : 'compaction request',
    at: timeIn(info.time?.completed),
  })
}

function* takeCheckpoint(
  session: Session,
  made: Pick<CompactionItem, 'at' | 'trigger' | 'model' | 'usage'>,
  id: string,
  summary: string,
  recent: unknown,
  where: SourceLocation,
): Generator<TranscriptItem> {
  const sourceId = uniqueId(session, id)
  // A provider that compacts by itself leaves both texts empty: its items are not text.
  const body = checkpointBody(summary, recent)
  const entries: readonly ContextEntry[] = body === undefined ? [] : [{ kind: 'inserted', body, isSummary: true }]
  session.effects.push({ recordId: id, sourceId, effect: 'compaction' })
  yield {
    kind: 'compaction',
    sourceId,
    ...made,
    summary: summaryFrom(summary),
    ...contextAfter(session, sourceId, entries, undefined),
    where,
  }
}

const triggerOf = (reason: unknown): CompactionItem['trigger'] =>
  reason === 'auto' || reason === 'manual' ? reason : 'unknown'

function* takeV2Message(
  session: Session,
  raw: Fields,
  where: SourceLocation,
  onChild: (sessionId: string, callId: string) => void,
): Generator<TranscriptItem> {
  const recordId = textIn(raw['id']) ?? placeOf(where)
  const created = isRecord(raw['time']) ? raw['time']['created'] : undefined
  yield* prunedUntil(session, typeof created === 'number' ? created : -1, where)
  if (raw['type'] === 'compaction') {
    const isDone = raw['status'] === undefined || raw['status'] === 'completed'
    const checkpoint = {
      at: timeIn(created),
      trigger: triggerOf(raw['reason']),
      model: isRecord(raw['model']) ? textIn(raw['model']['id']) : undefined,
      usage: usageOf(raw['tokens'], raw['cost']),
    }
    if (isDone) yield* takeCheckpoint(session, checkpoint, recordId, textIn(raw['summary']) ?? '', raw['recent'], where)
    else yield leftOut(raw['status'] === 'failed' ? 'failed summary' : 'unfinished summary', where)
    return
  }
  const nameIfEmpty = `empty ${textIn(raw['type']) ?? ''} message`
  const content = contentOfV2(raw, recordId)
  for (const [sessionId, callId] of content.children) onChild(sessionId, callId)
  yield* emitRecord(session, content, recordId, where, { isShown: true, nameIfEmpty, at: undefined })
}

function* takeEvent(session: Session, event: OpencodeEvent, where: SourceLocation): Generator<TranscriptItem> {
  const { name, data } = event
  const id = event.id ?? placeOf(where)
  const callId = textIn(data['callID'])
  if (name === 'compaction.ended') {
    const at = {
      at: timeIn(data['timestamp']),
      trigger: data['reason'] === undefined ? session.reason : triggerOf(data['reason']),
    }
    yield* takeCheckpoint(
      session,
      at,
      textIn(data['messageID']) ?? id,
      textIn(data['text']) ?? '',
      data['recent'],
      where,
    )
    return
  }
  if (name === 'revert.committed') {
    const revert = revertIn(data) ?? session.reverted
    session.reverted = undefined
    if (revert !== undefined) yield* commitRevert(session, revert, where)
    return
  }
  if (name === 'compaction.started') session.reason = triggerOf(data['reason'])
  if (name === 'shell.started' && callId !== undefined) session.shells.set(callId, textIn(data['command']) ?? '')
  if (name === 'revert.staged') session.reverted = revertIn(data['revert'] ?? data)
  if (name === 'revert.cleared') session.reverted = undefined
  const eventMessage = messageOfEvent(event, session.shells)
  const recordId = eventMessage?.id ?? id
  // A queued prompt is recorded twice: when the user types it, and when its turn begins.
  if (eventMessage === undefined || (eventMessage.message.body.role === 'user' && session.recordCounts.has(recordId))) {
    yield leftOut(event.type, where)
    return
  }
  const sourceId = uniqueId(session, recordId)
  const hasEmitted = yield* emit(session, [eventMessage.message], sourceId, where, eventMessage.answerId)
  if (!hasEmitted) return
  // A revert names the answer, not its events.
  const ownerId = eventMessage.answerId ?? recordId
  session.effects.push({ recordId: ownerId, sourceId, effect: 'message' })
  session.context.push({ recordId: ownerId, entries: [{ kind: 'message', sourceId }] })
}

/**
 * Applies a committed revert, which is permanent: the removed records leave the context and cannot be removed again.
 */
function* commitRevert(session: Session, revert: Revert, where: SourceLocation): Generator<TranscriptItem> {
  yield* withdrawalsOf(session, revert, where)
  const effects = since(session, revert)
  const removed = new Set(effects.map(({ sourceId }) => sourceId))
  session.effects.splice(session.effects.length - effects.length)
  session.context = session.context.filter(({ entries }) =>
    entries.every((entry) => entry.kind !== 'message' || !removed.has(entry.sourceId)),
  )
}

const isSession = (value: Fields): boolean =>
  textIn(value['id']) !== undefined &&
  value['role'] === undefined &&
  value['type'] === undefined &&
  (value['projectID'] !== undefined || value['directory'] !== undefined || value['title'] !== undefined)

/** The session's title. The name of a session without one contains only the time at which it was created. */
const titleIn = (title: unknown): string | undefined => {
  const text = textIn(title)
  return text === undefined || /^(?:New|Child) session - \d{4}-\d{2}-\d{2}T[\d:.]+Z$/u.test(text) ? undefined : text
}

const PART_FILE = /(?:^|[\\/])part[\\/](?<message>[^\\/]+)[\\/][^\\/]+\.json$/u
const MESSAGE_FILE = /(?:^|[\\/])message[\\/](?<session>[^\\/]+)[\\/][^\\/]+\.json$/u

/** Reads records of every form, in the order in which they arrive. */
export class OpencodeReader implements TranscriptReader {
  #session: Session | undefined
  readonly #callOfChild = new Map<string, string>()
  /** For the `storage/` tree: parts that were read before their message. */
  readonly #waitingParts = new Map<string, { readonly parts: unknown[]; readonly where: SourceLocation }>()

  readonly #onChild = (sessionId: string, callId: string): void => {
    this.#callOfChild.set(sessionId, callId)
  };

  *#begin(id: string, info: Fields, where: SourceLocation): Generator<TranscriptItem, Session> {
    if (this.#session !== undefined) yield* closing(this.#session)
    const session = (this.#session = newSession(id, where))
    const caller = textIn(info['parentID'])
    const origin = textIn(info['forkedFromID'])
    const callId = this.#callOfChild.get(id)
    session.reverted = revertIn(info['revert'])
    const item: ConversationItem = {
      kind: 'conversation',
      sourceId: id,
      programVersion: textIn(info['version']),
      ...(caller === undefined
        ? origin === undefined
          ? {}
          : { parent: { sourceId: origin, how: 'fork' } }
        : { parent: { sourceId: caller, how: 'sub-agent', ...(callId === undefined ? {} : { callId }) } }),
      title: titleIn(info['title']),
      cwd: textIn(info['directory']),
      startedAt: timeIn(isRecord(info['time']) ? info['time']['created'] : undefined),
      where,
    }
    yield item
    // If a revert removes only some parts of a message, the importer keeps all of them.
    if (session.reverted?.isInside === true) yield leftOut('revert of parts', where)
    return session
  }

  /** The session of a record. A record without a session id belongs to the current session. */
  *#inSession(id: string | undefined, where: SourceLocation): Generator<TranscriptItem, Session> {
    const session = this.#session
    if (session !== undefined && (id === undefined || id === session.id)) {
      session.where = where
      return session
    }
    return yield* this.#begin(id ?? nameOf(where), {}, where)
  }

  *#takeInfo(info: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const id = textIn(info['id']) ?? nameOf(where)
    if (this.#session?.id !== id) yield* this.#begin(id, info, where)
    else {
      const title = titleIn(info['title'])
      if (title !== undefined) yield { kind: 'conversation', sourceId: id, title, where }
      yield leftOut('session', where)
    }
  }

  *#takeOne(value: unknown, where: SourceLocation): Generator<TranscriptItem> {
    if (!isRecord(value)) {
      yield leftOut(Array.isArray(value) ? 'list' : typeof value, where)
      return
    }
    if (typeof value['unreadable'] === 'string') {
      yield { kind: 'damage', detail: value['unreadable'], isCut: value['isCut'] === true, where }
      return
    }
    const { info, messages, parts } = value
    if (Array.isArray(messages)) {
      yield* this.#takeInfo(isRecord(info) ? info : value, where)
      for (const [at, message] of messages.entries())
        yield* this.#takeOne(message, { ...where, path: `messages[${String(at)}]` })
      return
    }
    if (isRecord(info)) {
      if (!Array.isArray(parts)) {
        yield* this.#takeInfo(info, where)
        return
      }
      const current = yield* this.#inSession(textIn(info['sessionID']), where)
      yield* takeMessage(current, info, parts, where, this.#onChild)
      return
    }
    const event = eventIn(value)
    if (event !== undefined) {
      const sessionId = textIn(event.data['sessionID'])
      if (event.name === 'created' && isRecord(event.data['info'])) yield* this.#takeInfo(event.data['info'], where)
      else if (sessionId === undefined) yield leftOut(event.type, where)
      if (sessionId === undefined) return
      const current = yield* this.#inSession(sessionId, where)
      yield* takeEvent(current, event, where)
      return
    }
    if (isV2Message(value)) {
      const current = yield* this.#inSession(textIn(value['sessionID']), where)
      yield* takeV2Message(current, value, where, this.#onChild)
      return
    }
    yield* this.#takeFile(value, where)
  }

  /** A file of the `storage/` tree. */
  *#takeFile(value: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const messageId = textIn(value['messageID']) ?? PART_FILE.exec(where.file)?.groups?.['message']
    if (typeof value['type'] === 'string' && messageId !== undefined) {
      const before = this.#waitingParts.get(messageId)
      if (before === undefined) this.#waitingParts.set(messageId, { parts: [value], where })
      else before.parts.push(value)
    } else if (typeof value['role'] === 'string') {
      const sessionId = textIn(value['sessionID']) ?? MESSAGE_FILE.exec(where.file)?.groups?.['session']
      const current = yield* this.#inSession(sessionId, where)
      const id = textIn(value['id']) ?? ''
      const parts = this.#waitingParts.get(id)?.parts ?? []
      this.#waitingParts.delete(id)
      yield* takeMessage(current, value, parts, where, this.#onChild)
    } else if (isSession(value)) yield* this.#takeInfo(value, where)
    else yield leftOut(textIn(value['type']) ?? 'unknown', where)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (Array.isArray(value)) for (const one of value) yield* this.#takeOne(one, where)
    else yield* this.#takeOne(value, where)
  }

  *end(): Generator<TranscriptItem> {
    if (this.#session !== undefined) yield* closing(this.#session)
    for (const { parts, where } of this.#waitingParts.values())
      for (const part of parts)
        yield leftOut(`${jsonText(isRecord(part) ? part['type'] : 'part')} without its message`, where)
  }
}
