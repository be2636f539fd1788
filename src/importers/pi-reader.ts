/**
 * Reads a session of pi. Its entries form a tree: each names the one that it follows, and the last one of the file is
 * where the conversation stands. Whoever goes back and says something else leaves a branch. The first version has
 * neither ids nor a tree: its entries are known by their place, and follow each other.
 */
import { messageHash, type MessageBody } from '../domain/values/message.js'
import { isTooDeep, MOST_LEVELS } from '../domain/values/nesting.js'
import { countIn, isFields, refusalOf, textIn, timeIn, type Fields } from './bodies.js'
import { linesAgain } from './pi-again.js'
import {
  branchText,
  compactionText,
  contentIn,
  customMessage,
  messageIn,
  usageOf,
  type PiMessage,
} from './pi-messages.js'
import type {
  CompactionItem,
  ContextEntry,
  ConversationItem,
  EditItem,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Where,
} from './transcript.js'

/** What is remembered of an entry. */
interface Entry {
  readonly id: string
  readonly parent: Entry | undefined
  readonly where: Where
  /** Among the records of the file, from 0. */
  readonly index: number
  kind: 'message' | 'compaction' | 'edit' | 'other'
  isSystem?: boolean
  /** By which a message is found that a compaction has kept as a text. */
  hash?: string
  /** Of a compaction: the messages that it kept. */
  kept?: readonly string[]
  /** Of an edit: what it edits. */
  target?: string
  /** It is said, and was not withdrawn. */
  isSaid?: boolean
}

interface State {
  readonly path: string
  id: string | undefined
  hasHeader: boolean
  records: number
  readonly entries: Map<string, Entry>
  tip: Entry | undefined
  /** The file begins behind the conversation's start. */
  isSliced: boolean
  /** An entry names one before it that the file does not hold. */
  hasGap: boolean
  model: string | undefined
}

const leftOut = (what: string, where: Where): TranscriptItem => ({ kind: 'left-out', what, where })
const tooDeep = (where: Where): TranscriptItem => ({
  kind: 'damage',
  detail: `is nested deeper than ${String(MOST_LEVELS)} levels`,
  isCut: false,
  where,
})

/** The id in the name of a session, `<time>_<id>.jsonl`; the whole name where it is called otherwise. */
function idInName(path: string): string {
  const name = path.replaceAll('\\', '/').split('/').at(-1) ?? ''
  const bare = name.replace(/\.jsonl$/u, '')
  return /^\d{4}-\d\d-\d\dT[\d-]+Z?_(.+)$/u.exec(bare)?.[1] ?? (bare === '' ? 'session' : bare)
}

function conversation(state: State, header: Fields | undefined, where: Where): ConversationItem {
  state.id ??= textIn(header?.['id']) ?? idInName(state.path)
  if (header === undefined) return { kind: 'conversation', sourceId: state.id, where }
  state.hasHeader = true
  const from = textIn(header['parentSession']) ?? textIn(header['branchedFrom'])
  return {
    kind: 'conversation',
    sourceId: state.id,
    parent: from === undefined ? undefined : { sourceId: idInName(from), how: 'fork' },
    cwd: textIn(header['cwd']),
    startedAt: timeIn(header['timestamp']),
    where,
  }
}

/** From the root to an entry. */
function pathTo(entry: Entry | undefined): readonly Entry[] {
  const path: Entry[] = []
  for (let at = entry; at !== undefined; at = at.parent) path.push(at)
  return path.toReversed()
}

const messagesOf = (path: readonly Entry[]): readonly Entry[] =>
  path.filter(({ kind, isSaid }) => kind === 'message' && isSaid === true)

/** The messages that the model is given at the end of a path. */
function liveAt(path: readonly Entry[]): readonly string[] {
  const last = path.findLastIndex(({ kind }) => kind === 'compaction')
  return [...(path[last]?.kept ?? []), ...messagesOf(path.slice(last + 1)).map(({ id }) => id)]
}

function told(entry: Entry, message: PiMessage, at: string | undefined): TranscriptItem {
  const { body, byProgram, isError, model, usage } = message
  const { where } = entry
  const refusal = refusalOf(body)
  if (refusal !== undefined)
    return { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
  entry.kind = 'message'
  entry.isSaid = true
  entry.isSystem = body.role === 'system'
  entry.hash = messageHash(body)
  return {
    kind: 'message',
    sourceId: entry.id,
    part: 0,
    at: at ?? message.at,
    body,
    ...(byProgram === true ? { byProgram } : {}),
    ...(model === undefined ? {} : { model }),
    ...(usage === undefined ? {} : { usage }),
    ...(isError === true ? { isError } : {}),
    where,
  }
}

interface Kept {
  readonly context: readonly ContextEntry[]
  readonly ids: readonly string[]
  readonly unknown: readonly string[]
}

const inserted = (body: MessageBody): ContextEntry[] =>
  refusalOf(body) === undefined ? [{ kind: 'inserted', body }] : []

const keeping = (entries: readonly Entry[], before: readonly ContextEntry[] = []): Kept => {
  // A prompt of the system from before is not kept: the compaction brings the whole one.
  const ids = entries.filter(({ isSystem }) => isSystem !== true).map(({ id }) => id)
  return { context: [...before, ...ids.map((sourceId) => ({ kind: 'message', sourceId }) as const)], ids, unknown: [] }
}

/** The end of the conversation as one generation wrote it into the compaction itself: messages, without their ids. */
function keptAsTexts(path: readonly Entry[], tail: readonly unknown[]): Kept {
  const before = [...messagesOf(path)]
  const ids: string[] = []
  const context = tail.toReversed().flatMap((value): ContextEntry[] => {
    const message = messageIn(value)
    if (message === undefined) return []
    const hash = messageHash(message.body)
    const at = before.findLastIndex((entry) => entry.hash === hash)
    const [entry] = at === -1 ? [] : before.splice(at)
    if (entry === undefined) return inserted(message.body)
    ids.push(entry.id)
    return [{ kind: 'message', sourceId: entry.id }]
  })
  return { context: context.toReversed(), ids: ids.toReversed(), unknown: [] }
}

/** Which messages a compaction kept. */
function keptBy(state: State, entry: Entry, value: Fields): Kept {
  const path = pathTo(entry.parent)
  const { retainedTail: tail, firstKeptEntryId: first, firstKeptEntryIndex: index } = value
  if (Array.isArray(tail)) return keptAsTexts(path, tail)
  const messages = messagesOf(path)
  const nobodyKnows: Kept = { context: [], ids: liveAt(path), unknown: liveAt(path) }
  if (typeof first === 'string') {
    if (first === entry.id) return keeping([])
    const from = path.findIndex(({ id }) => id === first)
    if (from !== -1) return keeping(messagesOf(path.slice(from)))
    if (state.entries.has(first)) return keeping([])
    // What the file lacks came before all that it has, unless it lacks something in between as well.
    return state.isSliced && !state.hasGap ? keeping(messages, [{ kind: 'missing', sourceId: first }]) : nobodyKnows
  }
  // An index counts the records of the file, its header among them. One behind the compaction is of another file.
  return typeof index === 'number' && index <= entry.index
    ? keeping(messages.filter((message) => message.index >= index))
    : nobodyKnows
}

function compaction(state: State, entry: Entry, value: Fields, at: string | undefined): CompactionItem {
  const kept = keptBy(state, entry, value)
  const coversMissing = state.isSliced && !pathTo(entry.parent).some(({ kind }) => kind === 'compaction')
  entry.kind = 'compaction'
  entry.isSaid = true
  entry.kept = kept.ids
  const summary = textIn(value['summary'])
  const system = messageIn(value['systemMessage'])
  const tokensBefore = countIn(value['tokensBefore'])
  const usage = usageOf(value['usage'])
  return {
    kind: 'compaction',
    sourceId: entry.id,
    at,
    trigger: 'unknown',
    summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: summary },
    context: [
      ...(system?.body.role === 'system' ? inserted(system.body) : []),
      ...(summary === undefined
        ? []
        : [{ kind: 'inserted', body: { role: 'user', content: compactionText(summary) }, isSummary: true } as const]),
      ...kept.context,
    ],
    ...(kept.unknown.length === 0 ? {} : { unknown: kept.unknown }),
    ...(coversMissing ? { coversMissing } : {}),
    ...(tokensBefore === undefined ? {} : { tokensBefore }),
    ...(state.model === undefined ? {} : { model: state.model }),
    ...(usage === undefined ? {} : { usage }),
    where: entry.where,
  }
}

/** What an edit puts in the place of a message; undefined where that cannot be a content. */
function replacementIn(value: unknown): EditItem['content'] | undefined {
  if (value === null) return null
  const content = contentIn(isFields(value) && 'content' in value ? value['content'] : value)
  return value !== undefined && refusalOf({ role: 'user', content }) === undefined ? content : undefined
}

function edit(state: State, entry: Entry, value: Fields, at: string | undefined): TranscriptItem {
  const target = state.entries.get(textIn(value['targetId']) ?? '')
  const content = replacementIn(value['replacement'])
  if (target?.kind !== 'message' || target.isSaid !== true || content === undefined)
    return leftOut('context_edit', entry.where)
  entry.kind = 'edit'
  entry.target = target.id
  const why = content === null ? 'pruned' : 'replaced'
  return { kind: 'edit', sourceId: target.id, part: 0, content, why, at, where: entry.where }
}

/** What an entry says at the tip of the conversation. */
function say(state: State, entry: Entry, value: Fields): TranscriptItem {
  const { where } = entry
  const type = textIn(value['type']) ?? 'unknown'
  const at = timeIn(value['timestamp'])
  state.tip = entry
  switch (type) {
    case 'message': {
      const message = messageIn(value['message'])
      state.model = message?.model ?? state.model
      if (message !== undefined) return told(entry, message, at)
      const role = isFields(value['message']) ? textIn(value['message']['role']) : undefined
      return leftOut(`message/${role ?? 'unknown'}`, where)
    }
    case 'custom_message':
      return told(entry, customMessage(value['content'], at), at)
    case 'branch_summary': {
      const summary = textIn(value['summary'])
      return summary === undefined ? leftOut(type, where) : told(entry, customMessage(branchText(summary), at), at)
    }
    case 'compaction':
      return compaction(state, entry, value, at)
    case 'context_edit':
      return edit(state, entry, value, at)
    case 'model_change':
      state.model = textIn(value['modelId']) ?? state.model
      return leftOut(type, where)
    case 'session_info': {
      const title = textIn(value['name'])
      return title === undefined || state.id === undefined
        ? leftOut(type, where)
        : { kind: 'conversation', sourceId: state.id, title, where }
    }
    default:
      return leftOut(type, where)
  }
}

/** The entries' own lines, for those that have one. */
function again(entries: readonly Entry[]): readonly (readonly [Entry, Fields])[] {
  const files = new Map<string, Entry[]>()
  for (const entry of entries) files.set(entry.where.file, [...(files.get(entry.where.file) ?? []), entry])
  const values = new Map<Entry, Fields>()
  for (const [file, of] of files) {
    const lines = linesAgain(file, new Set(of.flatMap(({ where }) => where.line ?? [])))
    for (const entry of of) {
      const value = entry.where.line === undefined ? undefined : lines.get(entry.where.line)
      if (isFields(value)) values.set(entry, value)
    }
  }
  return entries.flatMap((entry) => {
    const value = values.get(entry)
    return value === undefined ? [] : [[entry, value] as const]
  })
}

/** Edits of the branch that is left: each message has again what the branch that stays had made of it. */
function editsUndone(
  stays: readonly Entry[],
  left: readonly Entry[],
  at: string | undefined,
  where: Where,
): readonly TranscriptItem[] {
  const targets = new Set(left.flatMap(({ kind, target }) => (kind === 'edit' && target !== undefined ? [target] : [])))
  const sources = stays
    .filter(({ id }) => targets.has(id))
    .map((message) => ({
      message,
      source: stays.findLast(({ kind, target }) => kind === 'edit' && target === message.id) ?? message,
    }))
  const values = new Map(again(sources.map(({ source }) => source)))
  return sources.flatMap(({ message, source }): TranscriptItem[] => {
    const value = values.get(source)
    const content =
      source.kind === 'edit' ? replacementIn(value?.['replacement']) : messageIn(value?.['message'])?.body.content
    if (content === undefined) return []
    return [{ kind: 'edit', sourceId: message.id, part: 0, content, why: 'replaced', at, where }]
  })
}

const unreadable = (what: string, where: Where): TranscriptItem => ({
  kind: 'damage',
  detail: `goes on from a branch that was left, and which cannot be read once more: ${what}`,
  isCut: false,
  where,
})

/** Somebody goes to another place in the tree: what is not on the way there is said no more. */
function goTo(state: State, place: Entry | undefined, at: string | undefined, where: Where): TranscriptItem[] {
  const from = pathTo(state.tip)
  const to = pathTo(place)
  const shared = from.findIndex((entry, step) => to[step] !== entry)
  const left = shared === -1 ? [] : from.slice(shared)
  const back = to.slice(from.length - left.length)
  const stays = to.slice(0, to.length - back.length)
  const compactions = left.filter(({ kind, isSaid }) => kind === 'compaction' && isSaid === true)
  const messages = messagesOf(left)
  for (const entry of left) entry.isSaid = false
  state.tip = stays.at(-1)
  const items: TranscriptItem[] = []
  if (compactions.length > 0)
    items.push({ kind: 'undo', sourceIds: compactions.map(({ id }) => id).toReversed(), at, where })
  if (messages.length > 0) items.push({ kind: 'withdrawal', sourceIds: messages.map(({ id }) => id), at, where })
  try {
    items.push(...editsUndone(stays, left, at, where))
    const found = back.length === 0 ? [] : again(back)
    for (const [entry, value] of found) items.push(say(state, entry, value))
    if (found.length < back.length) items.push(unreadable(`${String(back.length - found.length)} of its lines`, where))
  } catch (error) {
    items.push(unreadable(error instanceof Error ? error.message : String(error), where))
  }
  state.tip = place
  return items
}

/** The entry that a new one follows. */
function parentOf(state: State, value: Fields): Entry | undefined {
  const parent = value['parentId']
  if (parent === null) return undefined
  if (typeof parent !== 'string') return state.tip
  const known = state.entries.get(parent)
  if (known !== undefined) return known
  // The line of its parent is damaged, or stands before the beginning of the file.
  if (state.entries.size === 0) state.isSliced = true
  else state.hasGap = true
  return state.tip
}

function take(state: State, { value, where }: TranscriptRecord): TranscriptItem[] {
  const index = state.records
  state.records += 1
  if (isTooDeep(value)) return [tooDeep(where)]
  const fields = isFields(value) ? value : {}
  const type = textIn(fields['type'])
  if (type === 'session') {
    if (state.hasHeader) return [leftOut(type, where)]
    return [conversation(state, fields, where)]
  }
  const first = state.id === undefined ? [conversation(state, undefined, where)] : []
  if (type === undefined) return [...first, leftOut('unknown', where)]
  const id = textIn(fields['id']) ?? `entry-${String(index)}`
  // An entry that is there twice says nothing new.
  if (state.entries.has(id)) return [...first, leftOut(type, where)]
  const parent = parentOf(state, fields)
  const moved = parent === state.tip ? [] : goTo(state, parent, timeIn(fields['timestamp']), where)
  const entry: Entry = { id, parent, where, index, kind: 'other' }
  state.entries.set(id, entry)
  return [...first, ...moved, say(state, entry, fields)]
}

/** Reads the session at a path. */
export function readSession(path: string): TranscriptReader {
  const state: State = {
    path,
    id: undefined,
    hasHeader: false,
    records: 0,
    entries: new Map(),
    tip: undefined,
    isSliced: false,
    hasGap: false,
    model: undefined,
  }
  return { take: (record) => take(state, record), end: () => [] }
}
