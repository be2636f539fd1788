/**
 * Reads a session of pi. Its entries form a tree: each names its parent, and the last entry of the file is the current
 * one. A user who returns to an earlier entry abandons a branch. The first version has neither ids nor a tree: its
 * entries are identified by their index and follow each other.
 */
import { isRecord } from '../../lib/is-record.js'
import { sentenceOf } from '../../ports/store-error.js'
import { OWN_COMPACTOR } from '../../domain/values/own-compactor.js'
import { messageHash, type MessageBody } from '../../domain/values/message.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, refusalOf, timeIn, type Fields } from './bodies.js'
import { summaryFrom } from './message-items.js'
import { readLines } from './reread-lines.js'
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
  SourceLocation,
} from './transcript.js'

/** The state of an entry. */
interface Entry {
  readonly id: string
  readonly parent: Entry | undefined
  readonly where: SourceLocation
  /** Index in the records of the file, from 0. */
  readonly index: number
  kind: 'message' | 'compaction' | 'edit' | 'other'
  isSystem?: boolean
  /** Identifies a message that a compaction stored as text. */
  hash?: string
  /** For a compaction: the ids of the retained messages. */
  retained?: readonly string[]
  /** For an edit: the id of the edited message. */
  target?: string
  /** It was emitted and is not withdrawn. */
  isEmitted?: boolean
}

interface State {
  readonly path: string
  id: string | undefined
  hasHeader: boolean
  records: number
  readonly entries: Map<string, Entry>
  tip: Entry | undefined
  /** The file begins after the start of the conversation. */
  isSliced: boolean
  /** An entry names a parent that is not in the file. */
  hasGap: boolean
  model: string | undefined
}

const leftOut = (what: string, where: SourceLocation): TranscriptItem => ({ kind: 'left-out', what, where })
const tooDeep = (where: SourceLocation): TranscriptItem => ({
  kind: 'damage',
  detail: `is nested deeper than ${String(MAX_LEVELS)} levels`,
  isCut: false,
  where,
})

/** The id in the name of a session, `<time>_<id>.jsonl`; the whole name if it has another form. */
function idInName(path: string): string {
  const name = path.replaceAll('\\', '/').split('/').at(-1) ?? ''
  const bare = name.replace(/\.jsonl$/u, '')
  return /^\d{4}-\d\d-\d\dT[\d-]+Z?_(.+)$/u.exec(bare)?.[1] ?? (bare === '' ? 'session' : bare)
}

function conversation(state: State, header: Fields | undefined, where: SourceLocation): ConversationItem {
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

/** The path from the root to an entry. */
function pathTo(entry: Entry | undefined): readonly Entry[] {
  const path: Entry[] = []
  for (let at = entry; at !== undefined; at = at.parent) path.push(at)
  return path.toReversed()
}

const messagesOf = (path: readonly Entry[]): readonly Entry[] =>
  path.filter(({ kind, isEmitted }) => kind === 'message' && isEmitted === true)

/** The messages in the model's context at the end of a path. */
function liveAt(path: readonly Entry[]): readonly string[] {
  const last = path.findLastIndex(({ kind }) => kind === 'compaction')
  return [...(path[last]?.retained ?? []), ...messagesOf(path.slice(last + 1)).map(({ id }) => id)]
}

function messageItem(entry: Entry, message: PiMessage, at: string | undefined): TranscriptItem {
  const { body, byProgram, isError, exitCode, model, usage } = message
  const { where } = entry
  const refusal = refusalOf(body)
  if (refusal !== undefined)
    return { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
  entry.kind = 'message'
  entry.isEmitted = true
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
    ...(exitCode === undefined ? {} : { exitCode }),
    where,
  }
}

interface Retained {
  readonly context: readonly ContextEntry[]
  readonly ids: readonly string[]
  readonly unknown: readonly string[]
}

const inserted = (body: MessageBody): ContextEntry[] =>
  refusalOf(body) === undefined ? [{ kind: 'inserted', body }] : []

const retainEntries = (entries: readonly Entry[], before: readonly ContextEntry[] = []): Retained => {
  // Earlier system prompts are not retained: the compaction contains the complete one.
  const ids = entries.filter(({ isSystem }) => isSystem !== true).map(({ id }) => id)
  return { context: [...before, ...ids.map((sourceId) => ({ kind: 'message', sourceId }) as const)], ids, unknown: [] }
}

/** One version writes the end of the conversation into the compaction itself: messages without their ids. */
function retainedTexts(path: readonly Entry[], tail: readonly unknown[]): Retained {
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

/** The messages that a compaction retained. */
function retainedBy(state: State, entry: Entry, value: Fields): Retained {
  const path = pathTo(entry.parent)
  const { retainedTail: tail, firstKeptEntryId: first, firstKeptEntryIndex: index } = value
  if (Array.isArray(tail)) return retainedTexts(path, tail)
  const messages = messagesOf(path)
  const unknown: Retained = { context: [], ids: liveAt(path), unknown: liveAt(path) }
  if (typeof first === 'string') {
    if (first === entry.id) return retainEntries([])
    const from = path.findIndex(({ id }) => id === first)
    if (from !== -1) return retainEntries(messagesOf(path.slice(from)))
    if (state.entries.has(first)) return retainEntries([])
    // The missing entry precedes all entries of the file, unless there is a gap in the file as well.
    return state.isSliced && !state.hasGap ? retainEntries(messages, [{ kind: 'missing', sourceId: first }]) : unknown
  }
  // An index counts the records of the file, including its header. An index after the compaction refers to another
  // file.
  return typeof index === 'number' && index <= entry.index
    ? retainEntries(messages.filter((message) => message.index >= index))
    : unknown
}

/** The details of a compaction with a summary by an extension of this package. */
const ownDetails = (details: unknown): Fields | undefined =>
  isRecord(details) && details['madeBy'] === OWN_COMPACTOR ? details : undefined

/** pi does not write why it compacted; the details of our extension have it. */
function triggerOf(details: Fields | undefined): CompactionItem['trigger'] {
  switch (details?.['reason']) {
    case 'manual':
      return 'manual'
    case 'threshold':
      return 'auto'
    case 'overflow':
      return 'overflow'
    default:
      return 'unknown'
  }
}

function compaction(state: State, entry: Entry, value: Fields, at: string | undefined): CompactionItem {
  const retained = retainedBy(state, entry, value)
  const coversMissing = state.isSliced && !pathTo(entry.parent).some(({ kind }) => kind === 'compaction')
  entry.kind = 'compaction'
  entry.isEmitted = true
  entry.retained = retained.ids
  const summary = textIn(value['summary'])
  const system = messageIn(value['systemMessage'])
  const tokensBefore = countIn(value['tokensBefore'])
  const usage = usageOf(value['usage'])
  const details = ownDetails(value['details'])
  return {
    kind: 'compaction',
    sourceId: entry.id,
    at,
    trigger: triggerOf(details),
    summary: summaryFrom(summary),
    context: [
      ...(system?.body.role === 'system' ? inserted(system.body) : []),
      ...(summary === undefined
        ? []
        : [{ kind: 'inserted', body: { role: 'user', content: compactionText(summary) }, isSummary: true } as const]),
      ...retained.context,
    ],
    ...(retained.unknown.length === 0 ? {} : { unknown: retained.unknown }),
    ...(coversMissing ? { coversMissing } : {}),
    ...(tokensBefore === undefined ? {} : { tokensBefore }),
    ...(state.model === undefined ? {} : { model: state.model }),
    ...(usage === undefined ? {} : { usage }),
    ...(details === undefined ? {} : { durationMs: countIn(details['durationMs']) }),
    ...(value['fromHook'] === true ? { madeBy: details === undefined ? 'extension' : OWN_COMPACTOR } : {}),
    where: entry.where,
  }
}

/** The content that replaces an edited message; undefined if it is not valid. */
function replacementIn(value: unknown): EditItem['content'] | undefined {
  if (value === null) return null
  const content = contentIn(isRecord(value) && 'content' in value ? value['content'] : value)
  return value !== undefined && refusalOf({ role: 'user', content }) === undefined ? content : undefined
}

function edit(state: State, entry: Entry, value: Fields, at: string | undefined): TranscriptItem {
  const target = state.entries.get(textIn(value['targetId']) ?? '')
  const content = replacementIn(value['replacement'])
  if (target?.kind !== 'message' || target.isEmitted !== true || content === undefined)
    return leftOut('context_edit', entry.where)
  entry.kind = 'edit'
  entry.target = target.id
  const why = content === null ? 'pruned' : 'replaced'
  return { kind: 'edit', sourceId: target.id, part: 0, content, why, at, where: entry.where }
}

/** The item of an entry at the tip of the conversation. */
function itemOf(state: State, entry: Entry, value: Fields): TranscriptItem {
  const { where } = entry
  const type = textIn(value['type']) ?? 'unknown'
  const at = timeIn(value['timestamp'])
  state.tip = entry
  switch (type) {
    case 'message': {
      const message = messageIn(value['message'])
      state.model = message?.model ?? state.model
      if (message !== undefined) return messageItem(entry, message, at)
      const role = isRecord(value['message']) ? textIn(value['message']['role']) : undefined
      return role === 'toolResult'
        ? { kind: 'damage', detail: 'is a result that names no call', isCut: false, where }
        : leftOut(`message/${role ?? 'unknown'}`, where)
    }
    case 'custom_message':
      return messageItem(entry, customMessage(value['content'], at), at)
    case 'branch_summary': {
      const summary = textIn(value['summary'])
      return summary === undefined
        ? leftOut(type, where)
        : messageItem(entry, customMessage(branchText(summary), at), at)
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

/** Reads the lines of entries again; entries without a readable line are omitted. */
function reread(entries: readonly Entry[]): readonly (readonly [Entry, Fields])[] {
  const files = new Map<string, Entry[]>()
  for (const entry of entries) files.set(entry.where.file, [...(files.get(entry.where.file) ?? []), entry])
  const values = new Map<Entry, Fields>()
  for (const [file, fileEntries] of files) {
    const lines = readLines(file, new Set(fileEntries.flatMap(({ where }) => where.line ?? [])))
    for (const entry of fileEntries) {
      const { line, record = 1 } = entry.where
      const value = line === undefined ? undefined : lines.get(line)?.[record - 1]
      if (isRecord(value)) values.set(entry, value)
    }
  }
  return entries.flatMap((entry) => {
    const value = values.get(entry)
    return value === undefined ? [] : [[entry, value] as const]
  })
}

/** Reverts the edits of an abandoned branch: each message gets the content that it has on the remaining branch. */
function editsUndone(
  stays: readonly Entry[],
  left: readonly Entry[],
  at: string | undefined,
  where: SourceLocation,
): readonly TranscriptItem[] {
  const targets = new Set(left.flatMap(({ kind, target }) => (kind === 'edit' && target !== undefined ? [target] : [])))
  const sources = stays
    .filter(({ id }) => targets.has(id))
    .map((message) => ({
      message,
      source: stays.findLast(({ kind, target }) => kind === 'edit' && target === message.id) ?? message,
    }))
  const values = new Map(reread(sources.map(({ source }) => source)))
  return sources.flatMap(({ message, source }): TranscriptItem[] => {
    const value = values.get(source)
    const content =
      source.kind === 'edit' ? replacementIn(value?.['replacement']) : messageIn(value?.['message'])?.body.content
    if (content === undefined) return []
    return [{ kind: 'edit', sourceId: message.id, part: 0, content, why: 'replaced', at, where }]
  })
}

const unreadable = (what: string, where: SourceLocation): TranscriptItem => ({
  kind: 'damage',
  detail: `goes on from a branch that was left, and which cannot be read once more: ${what}`,
  isCut: false,
  where,
})

/** Switches to another entry of the tree. Messages that are not on its path are withdrawn. */
function goTo(
  state: State,
  target: Entry | undefined,
  at: string | undefined,
  where: SourceLocation,
): TranscriptItem[] {
  const from = pathTo(state.tip)
  const to = pathTo(target)
  const shared = from.findIndex((entry, step) => to[step] !== entry)
  const left = shared === -1 ? [] : from.slice(shared)
  const back = to.slice(from.length - left.length)
  const stays = to.slice(0, to.length - back.length)
  const compactions = left.filter(({ kind, isEmitted }) => kind === 'compaction' && isEmitted === true)
  const messages = messagesOf(left)
  for (const entry of left) entry.isEmitted = false
  state.tip = stays.at(-1)
  const items: TranscriptItem[] = []
  if (compactions.length > 0)
    items.push({ kind: 'undo', sourceIds: compactions.map(({ id }) => id).toReversed(), at, where })
  if (messages.length > 0) items.push({ kind: 'withdrawal', sourceIds: messages.map(({ id }) => id), at, where })
  try {
    items.push(...editsUndone(stays, left, at, where))
    const found = back.length === 0 ? [] : reread(back)
    for (const [entry, value] of found) items.push(itemOf(state, entry, value))
    if (found.length < back.length) items.push(unreadable(`${String(back.length - found.length)} of its lines`, where))
  } catch (error) {
    items.push(unreadable(sentenceOf(error), where))
  }
  state.tip = target
  return items
}

/** The parent of a new entry. */
function parentOf(state: State, value: Fields): Entry | undefined {
  const parent = value['parentId']
  if (parent === null) return undefined
  if (typeof parent !== 'string') return state.tip
  const known = state.entries.get(parent)
  if (known !== undefined) return known
  // The line of the parent is damaged, or precedes the beginning of the file.
  if (state.entries.size === 0) state.isSliced = true
  else state.hasGap = true
  return state.tip
}

function take(state: State, { value, where }: TranscriptRecord): TranscriptItem[] {
  const index = state.records
  state.records += 1
  if (isTooDeep(value)) return [tooDeep(where)]
  const fields = isRecord(value) ? value : {}
  const type = textIn(fields['type'])
  if (type === 'session') {
    if (state.hasHeader) return [leftOut(type, where)]
    return [conversation(state, fields, where)]
  }
  const first = state.id === undefined ? [conversation(state, undefined, where)] : []
  if (type === undefined) return [...first, leftOut('unknown', where)]
  const id = textIn(fields['id']) ?? `entry-${String(index)}`
  // A repeated entry is skipped.
  if (state.entries.has(id)) return [...first, leftOut(type, where)]
  const parent = parentOf(state, fields)
  const switchItems = parent === state.tip ? [] : goTo(state, parent, timeIn(fields['timestamp']), where)
  const entry: Entry = { id, parent, where, index, kind: 'other' }
  state.entries.set(id, entry)
  return [...first, ...switchItems, itemOf(state, entry, fields)]
}

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
