/**
 * Reads a task, as Cline and Roo Code keep it: one list of messages that is written anew each time, and in which a
 * compaction deletes nothing. What stands beside the list tells of times, of costs and of what was replaced in it.
 */
import { basename, dirname } from 'node:path'
import { countIn, isFields, jsonText, refusalOf, textIn, timeIn } from './bodies.js'
import type { Said } from './task-blocks.js'
import { entriesOf, saidOf, summaryTextOf, type Entry, type Given } from './task-entries.js'
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
  Where,
} from './transcript.js'

/** Of a compaction that is kept beside the list, the whole context behind it. */
export interface KeptContext {
  /** How many messages there were. */
  readonly count: number
  readonly messages: readonly unknown[]
  readonly at: string | undefined
  readonly sourceId: string
}

/** What a task consists of. */
export interface Task {
  readonly messages: readonly unknown[]
  /** Where the list stands in its file: `` or `messages`. */
  readonly path: string
  readonly where: Where
  readonly notes: Notes
  readonly kept?: KeptContext | undefined
}

/** What each answer took, by its place: a request is shown before what the user says in it is kept. */
function usagesOf(notes: Notes, entries: readonly (Entry | undefined)[]): ReadonlyMap<number, Usage> {
  const usages = new Map<number, Usage>()
  for (const { usage, index } of notes.shown) {
    if (usage === undefined || index === undefined) continue
    let answer = Math.max(index + 1, 0)
    while (answer < entries.length && entries[answer]?.given.role !== 'assistant') answer += 1
    if (answer < entries.length) usages.set(answer, usage)
  }
  return usages
}

const insertedBy = ({ said, isSummary }: Entry): readonly ContextEntry[] =>
  said.map(({ body }, at) => ({ kind: 'inserted', body, ...(isSummary && at === 0 ? { isSummary: true } : {}) }))

/** A message with one block replaced, as far as it has that block. */
function withBlock(given: Given, { block, text: replacement }: BlockEdit): Given | undefined {
  const content: readonly unknown[] = Array.isArray(given['content']) ? given['content'] : []
  const old = content[block]
  if (!isFields(old) || old['type'] !== 'text') return undefined
  return { ...given, content: content.with(block, { ...old, text: replacement }) }
}

const keyOf = ({ said }: Entry): string => jsonText(said.map(({ body }) => body))

/**
 * Which record of the list each record of a kept context is, and undefined for what the program put there. The ids of a
 * kept context may be new ones, so that what is said tells as well. What was kept are the last messages, and of several
 * that say the same the last ones.
 */
function originals(kept: readonly Entry[], before: readonly Entry[]): readonly (Entry | undefined)[] {
  const byId = new Map(before.map((entry) => [entry.sourceId, entry]))
  const byKey = new Map<string, Entry[]>()
  for (const entry of before) byKey.set(keyOf(entry), [...(byKey.get(keyOf(entry)) ?? []), entry])
  return kept
    .toReversed()
    .map((entry) => (entry.isSummary ? undefined : (byId.get(entry.sourceId) ?? byKey.get(keyOf(entry))?.pop())))
    .toReversed()
}

/** A compaction whose context is kept beside the list. */
function* keptItems(
  kept: KeptContext,
  entries: readonly (Entry | undefined)[],
  where: Where,
): Generator<TranscriptItem> {
  const records = entriesOf(kept.messages).flatMap((entry) => entry ?? [])
  const before = entries.slice(0, kept.count).flatMap((entry) => entry ?? [])
  const found = originals(records, before)
  const summary = records.find(({ isSummary }) => isSummary)
  yield {
    kind: 'compaction',
    sourceId: kept.sourceId,
    at: kept.at,
    trigger: 'unknown',
    summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: summaryTextOf(summary) },
    context: records.flatMap((record, at): readonly ContextEntry[] => {
      const original = found[at]
      return original === undefined ? insertedBy(record) : [{ kind: 'message', sourceId: original.sourceId }]
    }),
    tokensBefore: countIn(summary?.given.metadata?.['tokensBefore']),
    where,
  }
  for (const [at, record] of records.entries()) {
    const original = found[at]
    if (original !== undefined) yield* differences(original, record.said, 'shortened', kept.at, where)
  }
}

/** The messages of a record that are given in another form from here on. */
function* differences(
  { sourceId, said }: Entry,
  now: readonly Said[],
  why: 'pruned' | 'replaced' | 'shortened',
  at: string | undefined,
  where: Where,
): Generator<TranscriptItem> {
  for (const [part, { body }] of said.entries()) {
    const content = now[part]?.body.content
    if (content !== undefined && jsonText(body.content) !== jsonText(content))
      yield { kind: 'edit', sourceId, part, content, why, at, where }
  }
}

/** What the messages say of the model that answered. */
function answerOf({ modelInfo, metrics }: Given): {
  readonly model: string | undefined
  readonly usage: Usage | undefined
} {
  const tokens = isFields(metrics?.['tokens']) ? metrics['tokens'] : {}
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

/** What is known of an entry from around it. */
interface Around {
  readonly at: string | undefined
  readonly usage: Usage | undefined
  readonly answerId: string | undefined
  readonly where: Where
}

function* messageItems({ given, sourceId, said }: Entry, around: Around): Generator<TranscriptItem> {
  const { at, answerId, where } = around
  const { model, usage } = answerOf(given)
  for (const [part, { body, byProgram, isError }] of said.entries()) {
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: refusal, isCut: false, where }
      continue
    }
    const answer = body.role === 'assistant' ? { answerId, model, usage: usage ?? around.usage } : {}
    yield { kind: 'message', sourceId, part, at, body, byProgram, isError, ...answer, where }
  }
}

/** Follows which messages are sent, while a task is read. */
interface Live {
  readonly entries: readonly (Entry | undefined)[]
  /** The entries that were edited, as they are now. */
  readonly edited: Map<number, Entry>
  readonly hidden: Set<number>
}

function* compactionItem(mark: Mark, { entries, hidden }: Live, where: Where): Generator<TranscriptItem> {
  if (mark.isWhole) hidden.clear()
  const before = entries.slice(0, mark.place + 1)
  for (const index of before.keys()) if (mark.hides(index)) hidden.add(index)
  const context = before.flatMap((entry, index): readonly ContextEntry[] => {
    if (entry === undefined || hidden.has(index) || entry.said.length === 0) return []
    if (!entry.isSummary && !entry.isMarker) return [{ kind: 'message', sourceId: entry.sourceId }]
    return insertedBy(entry)
  })
  yield { kind: 'compaction', sourceId: mark.sourceId, ...mark.item, context, where }
}

function* editItems(edit: BlockEdit, { entries, edited }: Live, taskWhere: Where): Generator<TranscriptItem> {
  const where = { ...taskWhere, path: 'context_history.json' }
  const entry = edited.get(edit.message) ?? entries[edit.message]
  const given = entry === undefined ? undefined : withBlock(entry.given, edit)
  if (entry === undefined || given === undefined) {
    yield { kind: 'left-out', what: 'context_history.json', where }
    return
  }
  const said = saidOf(given, entry.sourceId)
  edited.set(edit.message, { ...entry, given, said })
  yield* differences(entry, said, edit.isRepeatedRead ? 'pruned' : 'replaced', timeIn(edit.ts), where)
}

/** Behind which message an edit was made: not before the last one that had been shown, and not before its own. */
function editPlace({ ts, message }: BlockEdit, { shown }: Notes, count: number): number {
  const then = shown.findLast((one) => one.ts <= ts && one.index !== undefined)?.index
  return Math.min(Math.max(then ?? count - 1, message), count - 1)
}

const groupedBy = <Item>(
  items: readonly Item[],
  place: (item: Item) => number,
): ReadonlyMap<number, readonly Item[]> => {
  const groups = new Map<number, Item[]>()
  for (const item of items) groups.set(place(item), [...(groups.get(place(item)) ?? []), item])
  return groups
}

/** What a task says, in its order. */
export function* itemsOf({ messages, path, where, notes, kept }: Task): Generator<TranscriptItem> {
  const entries = entriesOf(messages)
  const live: Live = { entries, edited: new Map(), hidden: new Set() }
  const times = timesOf(notes.shown, entries.length)
  const usages = usagesOf(notes, entries)
  const marks = groupedBy(marksOf(entries, notes), ({ place }) => place)
  const edits = groupedBy(notes.edits, (edit) => editPlace(edit, notes, entries.length))
  const whereOf = (index: number): Where => ({ ...where, path: `${path}[${String(index)}]` })

  // A provider's reasoning that stands before an answer is of that answer.
  let reasoningId: string | undefined
  for (const [index, entry] of entries.entries()) {
    if (entry === undefined || entry.said.length === 0)
      yield { kind: 'left-out', what: entry?.given.role ?? entry?.given.type ?? 'message', where: whereOf(index) }
    else if (!entry.isSummary && !entry.isMarker) {
      const isReasoning = entry.given.role === undefined
      const answerId = reasoningId ?? (isReasoning ? entry.sourceId : undefined)
      const at = timeIn(entry.given.ts) ?? times[index]
      yield* messageItems(entry, { at, usage: usages.get(index), answerId, where: whereOf(index) })
      reasoningId = isReasoning ? answerId : undefined
    }
    for (const edit of edits.get(index) ?? []) yield* editItems(edit, live, where)
    for (const mark of marks.get(index) ?? [])
      yield* compactionItem(mark, live, mark.entry === undefined ? where : whereOf(mark.entry))
    if (kept?.count === index + 1) yield* keptItems(kept, entries, where)
  }
}

/** A list of messages that a file holds, and where it stands in it. */
function listIn(value: unknown): { readonly messages: readonly unknown[]; readonly path: string } {
  if (Array.isArray(value)) return { messages: value, path: '' }
  const messages = isFields(value) ? value['messages'] : undefined
  return { messages: Array.isArray(messages) ? messages : [], path: 'messages' }
}

/**
 * Reads the files of a task, the messages last.
 * @param path of the messages, whose folder has the id of the task, or of a file beside them
 */
export function createTaskReader(path: string): TranscriptReader {
  const conversationId = basename(dirname(path.replaceAll('\\', '/')))
  const notes = emptyNotes()

  function* take(record: TranscriptRecord): Generator<TranscriptItem> {
    const { value, where } = record
    const file = taskFileOf(value, where.file)
    if (file !== 'messages') {
      note(notes, conversationId, record)
      // Read for the messages that it stands beside, it is used; read alone, it holds no conversation.
      if (where.file === path) yield { kind: 'left-out', what: file ?? 'file', where }
      return
    }
    const { title, cwd, programVersion, parentId } = notes
    const parent: Parent | undefined = parentId === undefined ? undefined : { sourceId: parentId, how: 'sub-agent' }
    // The id of a task is the time at which it began.
    const startedAt = timeIn(/^\d{13}$/u.test(conversationId) ? Number(conversationId) : notes.shown[0]?.ts)
    yield { kind: 'conversation', sourceId: conversationId, programVersion, parent, title, cwd, startedAt, where }
    yield* itemsOf({ ...listIn(value), where, notes })
  }

  return { take, end: () => [] }
}
