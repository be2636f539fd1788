/**
 * Reads the records of opencode one by one, wherever they come from: an export, the files of the `storage/` tree, the
 * rows of the database, or the newer events. Of what it read it keeps ids, and the texts of summaries.
 *
 * A compaction is a user's message with a part `compaction`, and behind it an answer that is a summary. The program then
 * shows its model a question of its own, the summary, and the messages from `tail_start_id` on.
 */
import type { MessageBody } from '../domain/values/message.js'
import { isFields, refusalOf, textIn, timeIn, type Fields } from './bodies.js'
import {
  askedIn,
  infoSchema,
  isShown,
  recordOf,
  summaryIn,
  usageOf,
  type Asked,
  type Info,
  type Said,
  type Spoken,
} from './opencode-parts.js'
import { checkpointBody, eventIn, isV2Message, saidByV2, spokenByEvent, type OpencodeEvent } from './opencode-v2.js'
import type {
  CompactionItem,
  ContextEntry,
  ConversationItem,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Where,
} from './transcript.js'

/** What the program asks in the place of the part `compaction`. The file does not hold these words. */
const QUESTION: MessageBody = { role: 'user', content: 'What did we do so far?' }
/** What the program shows in the place of a pruned result. The file does not hold these words either. */
const PRUNED = '[Old tool result content cleared]'

/** A record that could not be read, in the place of what it would have said. */
export interface Unreadable {
  readonly unreadable: string
  readonly isCut: boolean
}

/** What the program shows to its model, in the order in which it was said. */
interface Shown {
  readonly recordId: string
  readonly entries: readonly ContextEntry[]
}

/** A record, with what it said: a later return to before it takes that back. */
interface Happened {
  readonly recordId: string
  readonly sourceId: string
  readonly what: 'message' | 'compaction' | 'nothing'
}

interface Pruning {
  readonly sourceId: string
  readonly part: number
  readonly at: number
}

interface Revert {
  readonly recordId: string
  /** Only parts of that record are taken back, and everything behind it. */
  readonly isInside: boolean
}

interface Session {
  readonly id: string
  /** How often a record of an id was read: a file that was cleaned may give one id to several. */
  readonly seen: Map<string, number>
  readonly happened: Happened[]
  readonly asked: Map<string, Asked>
  readonly shells: Map<string, string>
  shown: Shown[]
  prunings: Pruning[]
  /** Where somebody returned to, as long as the program has not thrown away what it took back. */
  reverted: Revert | undefined
  reason: CompactionItem['trigger']
  where: Where
}

const newSession = (id: string, where: Where): Session => ({
  id,
  seen: new Map(),
  happened: [],
  asked: new Map(),
  shells: new Map(),
  shown: [],
  prunings: [],
  reverted: undefined,
  reason: 'unknown',
  where,
})

const leftOut = (what: string, where: Where): TranscriptItem => ({ kind: 'left-out', what, where })

/** An id for a record, unique in its session. */
function uniqueId(session: Session, recordId: string): string {
  const before = session.seen.get(recordId) ?? 0
  session.seen.set(recordId, before + 1)
  return before === 0 ? recordId : `${recordId}#${String(before + 1)}`
}

const nameOf = ({ file }: Where): string => file.split(/[\\/]/u).at(-1) ?? file
const placeOf = (where: Where): string =>
  where.path ?? (where.line === undefined ? nameOf(where) : `line ${String(where.line)}`)

const editOf = ({ sourceId, part, at }: Pruning, where: Where): TranscriptItem => ({
  kind: 'edit',
  sourceId,
  part,
  content: PRUNED,
  why: 'pruned',
  at: timeIn(at),
  where,
})

/** The results that were pruned before a time, in the order in which they were. */
function* prunedUntil(session: Session, time: number, where: Where): Generator<TranscriptItem> {
  const due = session.prunings.filter(({ at }) => at <= time).toSorted((a, b) => a.at - b.at)
  if (due.length === 0) return
  session.prunings = session.prunings.filter(({ at }) => at > time)
  for (const pruning of due) yield editOf(pruning, where)
}

function revertIn(value: unknown): Revert | undefined {
  const recordId = isFields(value) ? (textIn(value['messageID']) ?? textIn(value['to'])) : undefined
  if (recordId === undefined || !isFields(value)) return undefined
  return { recordId, isInside: textIn(value['partID']) !== undefined }
}

/** What happened since the place that somebody returned to. */
function since(session: Session, { recordId, isInside }: Revert): readonly Happened[] {
  const at = session.happened.findIndex((happened) => happened.recordId === recordId)
  return at === -1 ? [] : session.happened.slice(isInside ? at + 1 : at)
}

/** What a return takes back. */
function* takenBack(session: Session, revert: Revert, where: Where): Generator<TranscriptItem> {
  const gone = since(session, revert)
  const ids = (what: Happened['what']): string[] =>
    gone.filter((happened) => happened.what === what).map((happened) => happened.sourceId)
  const compactions = ids('compaction').toReversed()
  const messages = ids('message')
  if (compactions.length > 0) yield { kind: 'undo', sourceIds: compactions, where }
  if (messages.length > 0) yield { kind: 'withdrawal', sourceIds: messages, where }
}

/** What can only be said at the end of a session. It changes nothing, so that records may follow. */
function* closing(session: Session): Generator<TranscriptItem> {
  for (const pruning of session.prunings.toSorted((a, b) => a.at - b.at)) yield editOf(pruning, session.where)
  if (session.reverted !== undefined) yield* takenBack(session, session.reverted, session.where)
}

/** Says the messages of a record, where the ledger can take them. */
function* say(
  session: Session,
  spoken: readonly Spoken[],
  sourceId: string,
  where: Where,
  answerId?: string,
): Generator<TranscriptItem, boolean> {
  let part = 0
  for (const { body, prunedAt, ...rest } of spoken) {
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

function* sayRecord(
  session: Session,
  said: Said,
  recordId: string,
  where: Where,
  rest: { readonly isShown: boolean; readonly whenEmpty: string; readonly at: string | undefined },
): Generator<TranscriptItem> {
  const sourceId = uniqueId(session, recordId)
  for (const what of said.leftOut) yield leftOut(what, where)
  const hasSaid = yield* say(session, said.messages, sourceId, where)
  if (!hasSaid) {
    session.happened.push({ recordId, sourceId, what: 'nothing' })
    if (said.messages.length === 0) yield leftOut(rest.whenEmpty, where)
    return
  }
  if (!rest.isShown) {
    session.happened.push({ recordId, sourceId, what: 'nothing' })
    session.prunings = session.prunings.filter((pruning) => pruning.sourceId !== sourceId)
    yield { kind: 'withdrawal', sourceIds: [sourceId], at: rest.at, where }
    return
  }
  session.happened.push({ recordId, sourceId, what: 'message' })
  session.shown.push({ recordId, entries: [{ kind: 'message', sourceId }] })
}

/** The context behind a compaction: what stands for what left, and then the tail. */
function contextBehind(
  session: Session,
  recordId: string,
  made: readonly ContextEntry[],
  tailStartId: string | undefined,
): Pick<CompactionItem, 'context' | 'unknown'> {
  // The request may hold words of the user as well. They stay with it.
  const own = session.shown.filter((shown) => shown.recordId === recordId).flatMap(({ entries }) => entries)
  const before = session.shown.filter((shown) => shown.recordId !== recordId)
  const entries = [...own, ...made]
  const start = tailStartId === undefined ? before.length : before.findIndex((shown) => shown.recordId === tailStartId)
  if (start === -1) {
    // The tail begins at a message that the file lacks: nobody can say which of the others are in it.
    session.shown = [...before, { recordId, entries }]
    const unknown = before.flatMap((shown) =>
      shown.entries.flatMap((entry) => (entry.kind === 'message' ? [entry.sourceId] : [])),
    )
    return { context: [...entries, { kind: 'missing', sourceId: tailStartId ?? '' }], unknown }
  }
  const tail = before.slice(start)
  session.shown = [...tail, { recordId, entries: entries.map(withoutMark) }]
  return { context: [...entries, ...tail.flatMap((shown) => shown.entries)] }
}

/** An earlier summary that stays in a tail is no longer the summary. */
const withoutMark = (entry: ContextEntry): ContextEntry =>
  entry.kind === 'inserted' ? { kind: 'inserted', body: entry.body } : entry

function* compact(session: Session, info: Info, parts: readonly unknown[], where: Where): Generator<TranscriptItem> {
  const sourceId = uniqueId(session, info.id ?? placeOf(where))
  const asked = session.asked.get(info.parentID ?? '')
  const text = summaryIn(parts)
  const { created, completed } = info.time ?? {}
  const made: readonly ContextEntry[] = [
    { kind: 'inserted', body: QUESTION },
    { kind: 'inserted', body: { role: 'assistant', content: text }, isSummary: true },
  ]
  session.happened.push({ recordId: info.id ?? sourceId, sourceId, what: 'compaction' })
  for (const part of parts) if (isFields(part) && part['type'] !== 'text') yield leftOut(String(part['type']), where)
  yield {
    kind: 'compaction',
    sourceId,
    at: timeIn(completed ?? created),
    trigger: asked?.trigger ?? 'unknown',
    summary: text === '' ? { kind: 'none' } : { kind: 'text', text },
    ...contextBehind(session, info.parentID ?? sourceId, made, asked?.tailStartId),
    // Without the request, the file begins in the middle.
    ...(asked === undefined ? { coversMissing: true } : {}),
    ...(created === undefined || completed === undefined ? {} : { durationMs: Math.max(0, completed - created) }),
    model: info.modelID,
    usage: usageOf(info.tokens, info.cost),
    where,
  }
}

function* takeMessage(
  session: Session,
  raw: Fields,
  parts: readonly unknown[],
  where: Where,
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
  const said = recordOf(info, parts, recordId)
  for (const [sessionId, callId] of said.children) onChild(sessionId, callId)
  const asked = info.role === 'user' ? askedIn(parts) : undefined
  if (asked !== undefined) session.asked.set(recordId, asked)
  yield* sayRecord(session, said, recordId, where, {
    isShown: isShown(info, parts),
    whenEmpty: asked === undefined ? (info.error?.name ?? `empty ${info.role} message`) : 'compaction request',
    at: timeIn(info.time?.completed),
  })
}

function* takeCheckpoint(
  session: Session,
  at: Pick<CompactionItem, 'at' | 'trigger'>,
  id: string,
  summary: string,
  recent: unknown,
  where: Where,
): Generator<TranscriptItem> {
  const sourceId = uniqueId(session, id)
  const made: readonly ContextEntry[] = [{ kind: 'inserted', body: checkpointBody(summary, recent), isSummary: true }]
  session.happened.push({ recordId: id, sourceId, what: 'compaction' })
  yield {
    kind: 'compaction',
    sourceId,
    ...at,
    summary: summary === '' ? { kind: 'none' } : { kind: 'text', text: summary },
    ...contextBehind(session, sourceId, made, undefined),
    where,
  }
}

const triggerOf = (reason: unknown): CompactionItem['trigger'] =>
  reason === 'auto' || reason === 'manual' ? reason : 'unknown'

function* takeV2Message(session: Session, raw: Fields, where: Where): Generator<TranscriptItem> {
  const recordId = textIn(raw['id']) ?? placeOf(where)
  const created = isFields(raw['time']) ? raw['time']['created'] : undefined
  yield* prunedUntil(session, typeof created === 'number' ? created : -1, where)
  if (raw['type'] === 'compaction') {
    const isDone = raw['status'] === undefined || raw['status'] === 'completed'
    const at = { at: timeIn(created), trigger: triggerOf(raw['reason']) }
    if (isDone) yield* takeCheckpoint(session, at, recordId, textIn(raw['summary']) ?? '', raw['recent'], where)
    else yield leftOut('unfinished summary', where)
    return
  }
  const whenEmpty = `empty ${textIn(raw['type']) ?? ''} message`
  yield* sayRecord(session, saidByV2(raw, recordId), recordId, where, { isShown: true, whenEmpty, at: undefined })
}

function* takeEvent(session: Session, event: OpencodeEvent, where: Where): Generator<TranscriptItem> {
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
    if (revert !== undefined) yield* takeBack(session, revert, where)
    return
  }
  if (name === 'compaction.started') session.reason = triggerOf(data['reason'])
  if (name === 'shell.started' && callId !== undefined) session.shells.set(callId, textIn(data['command']) ?? '')
  if (name === 'revert.staged') session.reverted = revertIn(data['revert'] ?? data)
  if (name === 'revert.cleared') session.reverted = undefined
  const said = spokenByEvent(event, session.shells)
  const recordId = said?.id ?? id
  // A prompt that waited is said twice: when it is typed, and when its turn comes.
  if (said === undefined || (said.spoken.body.role === 'user' && session.seen.has(recordId))) {
    yield leftOut(event.type, where)
    return
  }
  const sourceId = uniqueId(session, recordId)
  const hasSaid = yield* say(session, [said.spoken], sourceId, where, said.answerId)
  if (!hasSaid) return
  // A return names the answer, and not the events that it is said in.
  const of = said.answerId ?? recordId
  session.happened.push({ recordId: of, sourceId, what: 'message' })
  session.shown.push({ recordId: of, entries: [{ kind: 'message', sourceId }] })
}

/** Takes a return that cannot be taken back itself: what it took back is neither shown nor taken back again. */
function* takeBack(session: Session, revert: Revert, where: Where): Generator<TranscriptItem> {
  yield* takenBack(session, revert, where)
  const happened = since(session, revert)
  const gone = new Set(happened.map(({ sourceId }) => sourceId))
  session.happened.splice(session.happened.length - happened.length)
  session.shown = session.shown.filter(({ entries }) =>
    entries.every((entry) => entry.kind !== 'message' || !gone.has(entry.sourceId)),
  )
}

const isSession = (value: Fields): boolean =>
  textIn(value['id']) !== undefined &&
  value['role'] === undefined &&
  value['type'] === undefined &&
  (value['projectID'] !== undefined || value['directory'] !== undefined || value['title'] !== undefined)

const PART_FILE = /(?:^|[\\/])part[\\/](?<message>[^\\/]+)[\\/][^\\/]+\.json$/u
const MESSAGE_FILE = /(?:^|[\\/])message[\\/](?<session>[^\\/]+)[\\/][^\\/]+\.json$/u

/** Reads the records of opencode. */
export function opencodeReader(): TranscriptReader {
  let session: Session | undefined
  const callOfChild = new Map<string, string>()
  // Of the `storage/` tree: the parts of the message whose record comes next.
  const waiting = new Map<string, { readonly parts: unknown[]; readonly where: Where }>()

  const onChild = (sessionId: string, callId: string): void => {
    callOfChild.set(sessionId, callId)
  }

  function* begin(id: string, info: Fields, where: Where): Generator<TranscriptItem> {
    if (session !== undefined) yield* closing(session)
    session = newSession(id, where)
    const parent = textIn(info['parentID'])
    const callId = callOfChild.get(id)
    session.reverted = revertIn(info['revert'])
    const item: ConversationItem = {
      kind: 'conversation',
      sourceId: id,
      programVersion: textIn(info['version']),
      ...(parent === undefined
        ? {}
        : { parent: { sourceId: parent, how: 'sub-agent', ...(callId === undefined ? {} : { callId }) } }),
      title: textIn(info['title']),
      cwd: textIn(info['directory']),
      startedAt: timeIn(isFields(info['time']) ? info['time']['created'] : undefined),
      where,
    }
    yield item
    // Of a message that is taken back in part, all parts stay here.
    if (session.reverted?.isInside === true) yield leftOut('revert of parts', where)
  }

  /** The session that a record belongs to. Where the file does not name it, it is the one that is read. */
  function* inSession(id: string | undefined, where: Where): Generator<TranscriptItem, Session> {
    if (session !== undefined && (id === undefined || id === session.id)) {
      session.where = where
      return session
    }
    const name = id ?? nameOf(where)
    yield* begin(name, {}, where)
    // `begin` has just set it.
    return session ?? newSession(name, where)
  }

  function* takeInfo(info: Fields, where: Where): Generator<TranscriptItem> {
    const id = textIn(info['id']) ?? nameOf(where)
    if (session?.id === id) yield leftOut('session', where)
    else yield* begin(id, info, where)
  }

  function* takeOne(value: unknown, where: Where): Generator<TranscriptItem> {
    if (!isFields(value)) {
      yield leftOut(Array.isArray(value) ? 'list' : typeof value, where)
      return
    }
    if (typeof value['unreadable'] === 'string') {
      yield { kind: 'damage', detail: value['unreadable'], isCut: value['isCut'] === true, where }
      return
    }
    const { info, messages, parts } = value
    if (Array.isArray(messages)) {
      yield* takeInfo(isFields(info) ? info : value, where)
      for (const [at, message] of messages.entries())
        yield* takeOne(message, { ...where, path: `messages[${String(at)}]` })
      return
    }
    if (isFields(info)) {
      if (!Array.isArray(parts)) {
        yield* takeInfo(info, where)
        return
      }
      const current = yield* inSession(textIn(info['sessionID']), where)
      yield* takeMessage(current, info, parts, where, onChild)
      return
    }
    const event = eventIn(value)
    if (event !== undefined) {
      const sessionId = textIn(event.data['sessionID'])
      if (event.name === 'created' && isFields(event.data['info'])) yield* takeInfo(event.data['info'], where)
      else if (sessionId === undefined) yield leftOut(event.type, where)
      if (sessionId === undefined) return
      const current = yield* inSession(sessionId, where)
      yield* takeEvent(current, event, where)
      return
    }
    if (isV2Message(value)) {
      const current = yield* inSession(textIn(value['sessionID']), where)
      yield* takeV2Message(current, value, where)
      return
    }
    yield* takeFile(value, where)
  }

  /** A file of the `storage/` tree. */
  function* takeFile(value: Fields, where: Where): Generator<TranscriptItem> {
    const messageId = textIn(value['messageID']) ?? PART_FILE.exec(where.file)?.groups?.['message']
    if (typeof value['type'] === 'string' && messageId !== undefined) {
      const before = waiting.get(messageId)
      if (before === undefined) waiting.set(messageId, { parts: [value], where })
      else before.parts.push(value)
    } else if (typeof value['role'] === 'string') {
      const sessionId = textIn(value['sessionID']) ?? MESSAGE_FILE.exec(where.file)?.groups?.['session']
      const current = yield* inSession(sessionId, where)
      const id = textIn(value['id']) ?? ''
      const parts = waiting.get(id)?.parts ?? []
      waiting.delete(id)
      yield* takeMessage(current, value, parts, where, onChild)
    } else if (isSession(value)) yield* takeInfo(value, where)
    else yield leftOut(textIn(value['type']) ?? 'unknown', where)
  }

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (Array.isArray(value)) for (const one of value) yield* takeOne(one, where)
    else yield* takeOne(value, where)
  }

  function* end(): Generator<TranscriptItem> {
    if (session !== undefined) yield* closing(session)
    for (const { parts, where } of waiting.values())
      for (const part of parts)
        yield leftOut(`${String(isFields(part) ? part['type'] : 'part')} without its message`, where)
  }

  return { take, end }
}
