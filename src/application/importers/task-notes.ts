/**
 * Reads the companion files of a task of Cline or Roo: the messages in the user interface with their times, the range
 * that requests omit, and replaced blocks. Only the data about the messages is kept.
 */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { textIn } from '../../lib/text-in.js'
import { countIn, timeIn, type Fields } from './bodies.js'
import { taskFileOf } from './task-files.js'
import type { TranscriptRecord, Usage } from './transcript.js'

/** The first and the last index of messages that requests omit. */
export type Range = readonly [number, number]

/** A message in the user interface. */
interface UiMessage {
  readonly ts: number
  /** The index of the last message at that time. */
  readonly index: number | undefined
  readonly range: Range | undefined
  /** The usage of a request, as far as it is known. */
  readonly usage: Usage | undefined
  /** Cline's summary of the task, and whether the user requested it. */
  readonly summary: { readonly text: string; readonly isManual: boolean } | undefined
  readonly compaction: CompactionNotice | undefined
}

/** Roo's notice of a compaction in the user interface. */
export interface CompactionNotice {
  readonly id: string
  readonly ts: number
  readonly summary: string | undefined
  readonly tokensBefore: number | undefined
  readonly tokensAfter: number | undefined
  readonly cost: number | undefined
}

/** A block of a message that is replaced in requests. */
export interface BlockEdit {
  readonly message: number
  readonly block: number
  readonly ts: number
  readonly text: string
  /**
   * True if a notice replaces the content of a file that was read again later; false if the program rewrote the text.
   */
  readonly isRepeatedRead: boolean
}

/** The data about a task from its companion files. */
export interface Notes {
  title: string | undefined
  cwd: string | undefined
  programVersion: string | undefined
  parentId: string | undefined
  /** The range that requests currently omit. */
  range: Range | undefined
  uiMessages: readonly UiMessage[]
  edits: readonly BlockEdit[]
}

export const emptyNotes = (): Notes => ({
  title: undefined,
  cwd: undefined,
  programVersion: undefined,
  parentId: undefined,
  range: undefined,
  uiMessages: [],
  edits: [],
})

const number = z.number().optional().catch(undefined)
const text = z.string().optional().catch(undefined)
const range = z.tuple([z.number(), z.number()]).optional().catch(undefined)
const fields = z.record(z.string(), z.unknown()).optional().catch(undefined)

const uiMessageSchema = z.looseObject({
  ts: z.number(),
  ask: text,
  say: text,
  text,
  conversationHistoryIndex: number,
  conversationHistoryDeletedRange: range,
  contextCondense: fields,
  contextTruncation: fields,
})
const itemSchema = z.looseObject({
  id: z.string(),
  task: text,
  workspace: text,
  cwdOnTaskInitialization: text,
  parentTaskId: text,
  conversationHistoryDeletedRange: range,
})
const metadataSchema = z.looseObject({
  environment_history: z.array(z.looseObject({ cline_version: text })).catch([]),
})
const blockEditsSchema = z.array(
  z.tuple([z.number(), z.array(z.tuple([z.number(), z.string(), z.array(z.unknown())], z.unknown()))], z.unknown()),
)
const messageEditsSchema = z.tuple([z.number(), z.tuple([z.number(), blockEditsSchema], z.unknown())], z.unknown())

/** Usage with the reported fields; undefined if none is reported. */
export function usageFrom(present: Readonly<Record<keyof Usage, unknown>>): Usage | undefined {
  const counted = Object.entries(present).flatMap(([name, value]) => {
    const count = countIn(value)
    return count === undefined ? [] : [[name, count] as const]
  })
  return counted.length === 0 ? undefined : Object.fromEntries(counted)
}

function jsonIn(json: string | undefined): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json ?? '')
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function noticeIn(details: Fields | undefined, idField: string, ts: number): CompactionNotice | undefined {
  const id = textIn(details?.[idField])
  if (details === undefined || id === undefined) return undefined
  return {
    id,
    ts,
    summary: textIn(details['summary']),
    tokensBefore: countIn(details['prevContextTokens']),
    tokensAfter: countIn(details['newContextTokens']),
    cost: countIn(details['cost']),
  }
}

function uiMessageIn(value: unknown): UiMessage | undefined {
  const parsed = uiMessageSchema.safeParse(value)
  if (!parsed.success) return undefined
  const { ts, ask, say, contextCondense, contextTruncation } = parsed.data
  const request = say === 'api_req_started' ? jsonIn(parsed.data.text) : undefined
  const tool = say === 'tool' ? jsonIn(parsed.data.text) : undefined
  const condensePrompt = ask === 'condense' ? textIn(parsed.data.text) : undefined
  const summary = tool?.['tool'] === 'summarizeTask' ? textIn(tool['content']) : condensePrompt
  return {
    ts,
    index: parsed.data.conversationHistoryIndex,
    range: parsed.data.conversationHistoryDeletedRange,
    usage: usageFrom({
      inputTokens: request?.['tokensIn'],
      outputTokens: request?.['tokensOut'],
      cacheReadTokens: request?.['cacheReads'],
      cacheWriteTokens: request?.['cacheWrites'],
      reasoningTokens: undefined,
      cost: request?.['cost'],
    }),
    summary: summary === undefined ? undefined : { text: summary, isManual: condensePrompt !== undefined },
    compaction: noticeIn(contextCondense, 'condenseId', ts) ?? noticeIn(contextTruncation, 'truncationId', ts),
  }
}

function editsIn(value: unknown): readonly BlockEdit[] {
  const parsed = messageEditsSchema.safeParse(value)
  if (!parsed.success) return []
  const [message, [type, blocks]] = parsed.data
  return blocks.flatMap(([block, updates]) =>
    updates.flatMap(([ts, kind, [replacement]]) =>
      kind === 'text' && typeof replacement === 'string'
        ? [{ message, block, ts, text: replacement, isRepeatedRead: type > 1 }]
        : [],
    ),
  )
}

function noteItem(notes: Notes, value: unknown): void {
  const parsed = itemSchema.safeParse(value)
  if (!parsed.success) return
  const { task, workspace, cwdOnTaskInitialization, parentTaskId, conversationHistoryDeletedRange } = parsed.data
  notes.title = textIn(task) ?? notes.title
  notes.cwd = textIn(workspace) ?? textIn(cwdOnTaskInitialization) ?? notes.cwd
  notes.parentId = textIn(parentTaskId) ?? notes.parentId
  notes.range = conversationHistoryDeletedRange ?? notes.range
}

/** Reads a companion file of the task into `notes`. */
export function note(notes: Notes, taskId: string, { value, where }: TranscriptRecord): void {
  const file = taskFileOf(value, where.file)
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  if (file === 'taskHistory.json')
    noteItem(
      notes,
      list.find((item) => isRecord(item) && item['id'] === taskId),
    )
  if (file === 'history_item.json') noteItem(notes, value)
  if (file === 'ui_messages.json') notes.uiMessages = list.flatMap((message) => uiMessageIn(message) ?? [])
  if (file === 'context_history.json') notes.edits = list.flatMap(editsIn).toSorted((a, b) => a.ts - b.ts)
  const metadata = file === 'task_metadata.json' ? metadataSchema.safeParse(value).data : undefined
  const version = metadata?.environment_history.findLast((entry) => textIn(entry.cline_version) !== undefined)
  notes.programVersion = textIn(version?.cline_version) ?? notes.programVersion
}

/**
 * The time of each message, from the next message in the user interface. Undefined for messages after the last one
 * there.
 */
export function timesOf(uiMessages: readonly UiMessage[], count: number): readonly (string | undefined)[] {
  const times: (string | undefined)[] = []
  for (const { ts, index } of uiMessages) {
    const known = Math.min((index ?? -1) + 1, count)
    while (times.length < known) times.push(timeIn(ts))
  }
  // The user interface shows the last answer while it is streamed, before it is stored.
  const last = uiMessages.at(-1)
  if (last?.index === times.length - 1 && times.length < count) times.push(timeIn(last.ts))
  return times
}
