/**
 * Reads a task of Cline or Roo Code: one list of messages, which the program rewrites each time, and from which a
 * compaction deletes nothing. Companion files contain times, costs and replaced blocks.
 */
import { isRecord } from '../../lib/is-record.js'
import { basename, dirname } from 'node:path'
import { textIn } from '../../lib/text-in.js'
import { countIn, jsonText, refusalOf, timeIn } from './bodies.js'
import type { ContentId } from './content-id.js'
import type { RecordMessage } from './task-blocks.js'
import { entriesOf, messagesOf, summaryTextOf, type Entry, type TaskRecord } from './task-entries.js'
import { taskFileOf } from './task-files.js'
import { marksOf, type Mark } from './task-marks.js'
import { emptyNotes, note, timesOf, usageFrom, type BlockEdit, type Notes } from './task-notes.js'
import type {
  ContextEntry,
  Parent,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Usage,
  SourceLocation,
} from './transcript.js'

/** The complete context after a compaction, from a companion file. */
export interface RetainedContext {
  /** Number of messages at that time. */
  readonly count: number
  readonly messages: readonly unknown[]
  readonly at: string | undefined
  readonly sourceId: string
}

/** The files of a task. */
export interface Task {
  readonly messages: readonly unknown[]
  /** The path of the list in its file: empty or `messages`. */
  readonly path: string
  readonly where: SourceLocation
  readonly notes: Notes
  readonly retained?: RetainedContext | undefined
  readonly contentId: ContentId
}

/**
 * The usage of each answer, by its index. The user interface shows a request before the request's user message is
 * stored.
 */
function usagesOf(notes: Notes, entries: readonly (Entry | undefined)[]): ReadonlyMap<number, Usage> {
  const usages = new Map<number, Usage>()
  for (const { usage, index } of notes.uiMessages) {
    if (usage === undefined || index === undefined) continue
    let answer = Math.max(index + 1, 0)
    while (answer < entries.length && entries[answer]?.record.role !== 'assistant') answer += 1
    if (answer < entries.length) usages.set(answer, usage)
  }
  return usages
}

const insertedBy = ({ messages, isSummary }: Entry): readonly ContextEntry[] =>
  messages.map(({ body }, at) => ({ kind: 'inserted', body, ...(isSummary && at === 0 ? { isSummary: true } : {}) }))

/** A record with one block replaced; undefined if it does not have that block. */
function withBlock(record: TaskRecord, { block, text: replacement }: BlockEdit): TaskRecord | undefined {
  const content: readonly unknown[] = Array.isArray(record['content']) ? record['content'] : []
  const old = content[block]
  if (!isRecord(old) || old['type'] !== 'text') return undefined
  return { ...record, content: content.with(block, { ...old, text: replacement }) }
}

const keyOf = ({ messages }: Entry): string => jsonText(messages.map(({ body }) => body))

/**
 * Matches each record of a retained context with a record of the list; undefined for a record that the program
 * inserted. A retained context may have new ids, so the content is compared as well. The retained messages are the last
 * ones; among equal messages, the last ones match.
 */
function originals(retained: readonly Entry[], before: readonly Entry[]): readonly (Entry | undefined)[] {
  const byId = new Map(before.map((entry) => [entry.sourceId, entry]))
  const byKey = new Map<string, Entry[]>()
  for (const entry of before) byKey.set(keyOf(entry), [...(byKey.get(keyOf(entry)) ?? []), entry])
  return retained
    .toReversed()
    .map((entry) => (entry.isSummary ? undefined : (byId.get(entry.sourceId) ?? byKey.get(keyOf(entry))?.pop())))
    .toReversed()
}

/** Yields a compaction whose context is in a companion file. */
function* retainedItems(
  retained: RetainedContext,
  entries: readonly (Entry | undefined)[],
  { where, contentId }: Pick<Task, 'where' | 'contentId'>,
): Generator<TranscriptItem> {
  const records = entriesOf(retained.messages, contentId).flatMap((entry) => entry ?? [])
  const before = entries.slice(0, retained.count).flatMap((entry) => entry ?? [])
  const found = originals(records, before)
  const summary = records.find(({ isSummary }) => isSummary)
  yield {
    kind: 'compaction',
    sourceId: retained.sourceId,
    at: retained.at,
    trigger: 'unknown',
    summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: summaryTextOf(summary) },
    context: records.flatMap((record, at): readonly ContextEntry[] => {
      const original = found[at]
      return original === undefined ? insertedBy(record) : [{ kind: 'message', sourceId: original.sourceId }]
    }),
    tokensBefore: countIn(summary?.record.metadata?.['tokensBefore']),
    where,
  }
  for (const [at, record] of records.entries()) {
    const original = found[at]
    if (original !== undefined) yield* differences(original, record.messages, 'shortened', retained.at, where)
  }
}

/** Yields edits for the messages of a record whose content changed. */
function* differences(
  { sourceId, messages }: Entry,
  now: readonly RecordMessage[],
  why: 'pruned' | 'replaced' | 'shortened',
  at: string | undefined,
  where: SourceLocation,
): Generator<TranscriptItem> {
  for (const [part, { body }] of messages.entries()) {
    const content = now[part]?.body.content
    if (content !== undefined && jsonText(body.content) !== jsonText(content))
      yield { kind: 'edit', sourceId, part, content, why, at, where }
  }
}

/** The model and the usage of an answer. */
function answerOf({ modelInfo, metrics }: TaskRecord): {
  readonly model: string | undefined
  readonly usage: Usage | undefined
} {
  const tokens = isRecord(metrics?.['tokens']) ? metrics['tokens'] : {}
  return {
    model: textIn(modelInfo?.['id']) ?? textIn(modelInfo?.['modelId']),
    usage: usageFrom({
      inputTokens: metrics?.['inputTokens'] ?? tokens['prompt'],
      outputTokens: metrics?.['outputTokens'] ?? tokens['completion'],
      cacheReadTokens: metrics?.['cacheReadTokens'] ?? tokens['cached'],
      cacheWriteTokens: metrics?.['cacheWriteTokens'],
      reasoningTokens: undefined,
      cost: metrics?.['cost'],
    }),
  }
}

/** Data about an entry from other records. */
interface EntryDetails {
  readonly at: string | undefined
  readonly usage: Usage | undefined
  readonly answerId: string | undefined
  readonly where: SourceLocation
}

function* messageItems({ record, sourceId, messages }: Entry, details: EntryDetails): Generator<TranscriptItem> {
  const { at, answerId, where } = details
  const { model, usage } = answerOf(record)
  for (const [part, { body, byProgram, isError }] of messages.entries()) {
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: refusal, isCut: false, where }
      continue
    }
    const answer = body.role === 'assistant' ? { answerId, model, usage: usage ?? details.usage } : {}
    yield { kind: 'message', sourceId, part, at, body, byProgram, isError, ...answer, where }
  }
}

/** Tracks which messages requests contain, while a task is read. */
interface Live {
  readonly entries: readonly (Entry | undefined)[]
  /** Entry index → entry after its edits. */
  readonly edited: Map<number, Entry>
  readonly hidden: Set<number>
}

function* compactionItem(mark: Mark, { entries, hidden }: Live, where: SourceLocation): Generator<TranscriptItem> {
  if (mark.isWhole) hidden.clear()
  const before = entries.slice(0, mark.position + 1)
  for (const index of before.keys()) if (mark.hides(index)) hidden.add(index)
  const context = before.flatMap((entry, index): readonly ContextEntry[] => {
    if (entry === undefined || hidden.has(index) || entry.messages.length === 0) return []
    if (!entry.isSummary && !entry.isMarker) return [{ kind: 'message', sourceId: entry.sourceId }]
    return insertedBy(entry)
  })
  yield { kind: 'compaction', sourceId: mark.sourceId, ...mark.item, context, where }
}

function* editItems(edit: BlockEdit, { entries, edited }: Live, taskWhere: SourceLocation): Generator<TranscriptItem> {
  const where = { ...taskWhere, path: 'context_history.json' }
  const entry = edited.get(edit.message) ?? entries[edit.message]
  const record = entry === undefined ? undefined : withBlock(entry.record, edit)
  if (entry === undefined || record === undefined) {
    yield { kind: 'left-out', what: 'context_history.json', where }
    return
  }
  const messages = messagesOf(record, entry.sourceId)
  edited.set(edit.message, { ...entry, record, messages })
  yield* differences(entry, messages, edit.isRepeatedRead ? 'pruned' : 'replaced', timeIn(edit.ts), where)
}

/**
 * The index of the message that an edit follows: not before the last message in the user interface at that time, and
 * not before the edited message.
 */
function editPlace({ ts, message }: BlockEdit, { uiMessages }: Notes, count: number): number {
  const then = uiMessages.findLast((one) => one.ts <= ts && one.index !== undefined)?.index
  return Math.min(Math.max(then ?? count - 1, message), count - 1)
}

const groupedBy = <Item>(
  items: readonly Item[],
  position: (item: Item) => number,
): ReadonlyMap<number, readonly Item[]> => {
  const groups = new Map<number, Item[]>()
  for (const item of items) groups.set(position(item), [...(groups.get(position(item)) ?? []), item])
  return groups
}

/** The items of a task, in order. */
export function* itemsOf(task: Task): Generator<TranscriptItem> {
  const { messages, path, where, notes, retained } = task
  const entries = entriesOf(messages, task.contentId)
  const live: Live = { entries, edited: new Map(), hidden: new Set() }
  const times = timesOf(notes.uiMessages, entries.length)
  const usages = usagesOf(notes, entries)
  const marks = groupedBy(marksOf(entries, notes), ({ position }) => position)
  const edits = groupedBy(notes.edits, (edit) => editPlace(edit, notes, entries.length))
  const whereOf = (index: number): SourceLocation => ({ ...where, path: `${path}[${String(index)}]` })

  // Separate reasoning before an answer belongs to that answer.
  let reasoningId: string | undefined
  for (const [index, entry] of entries.entries()) {
    if (entry === undefined || entry.messages.length === 0)
      yield { kind: 'left-out', what: entry?.record.role ?? entry?.record.type ?? 'message', where: whereOf(index) }
    else if (!entry.isSummary && !entry.isMarker) {
      const isReasoning = entry.record.role === undefined
      const answerId = reasoningId ?? (isReasoning ? entry.sourceId : undefined)
      const at = timeIn(entry.record.ts) ?? times[index]
      yield* messageItems(entry, { at, usage: usages.get(index), answerId, where: whereOf(index) })
      reasoningId = isReasoning ? answerId : undefined
    }
    for (const edit of edits.get(index) ?? []) yield* editItems(edit, live, where)
    for (const mark of marks.get(index) ?? [])
      yield* compactionItem(mark, live, mark.entry === undefined ? where : whereOf(mark.entry))
    if (retained?.count === index + 1) yield* retainedItems(retained, entries, task)
  }
}

/** The message list of a file, and its path. */
function listIn(value: unknown): { readonly messages: readonly unknown[]; readonly path: string } {
  if (Array.isArray(value)) return { messages: value, path: '' }
  const messages = isRecord(value) ? value['messages'] : undefined
  return { messages: Array.isArray(messages) ? messages : [], path: 'messages' }
}

/**
 * Reads the files of a task, the messages last.
 * @param path the file with the messages, whose directory is named after the task, or a companion file
 */
export function createTaskReader(path: string, contentId: ContentId): TranscriptReader {
  const conversationId = basename(dirname(path.replaceAll('\\', '/')))
  const notes = emptyNotes()

  function* take(record: TranscriptRecord): Generator<TranscriptItem> {
    const { value, where } = record
    const file = taskFileOf(value, where.file)
    if (file !== 'messages') {
      note(notes, conversationId, record)
      // A companion file that is read alone contains no conversation.
      if (where.file === path) yield { kind: 'left-out', what: file ?? 'file', where }
      return
    }
    const { title, cwd, programVersion, parentId } = notes
    const parent: Parent | undefined = parentId === undefined ? undefined : { sourceId: parentId, how: 'sub-agent' }
    // The id of a task is its start time.
    const startedAt = timeIn(/^\d{13}$/u.test(conversationId) ? Number(conversationId) : notes.uiMessages[0]?.ts)
    yield { kind: 'conversation', sourceId: conversationId, programVersion, parent, title, cwd, startedAt, where }
    yield* itemsOf({ ...listIn(value), where, notes, contentId })
  }

  return { take, end: () => [] }
}
