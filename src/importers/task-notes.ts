/**
 * What stands beside the messages of a task of Cline or Roo: what the user was shown and when, what was left out of the
 * requests, and single blocks that were replaced in them. Only what tells of the messages is kept of it.
 */
import { z } from 'zod'
import { countIn, isFields, textIn, timeIn, type Fields } from './bodies.js'
import { taskFileOf } from './task-files.js'
import type { TranscriptRecord, Usage } from './transcript.js'

/** Messages from the one to the other, by their places, are sent no more. */
export type Range = readonly [number, number]

/** Something that the user was shown. */
interface Shown {
  readonly ts: number
  /** The place of the last message that there was. */
  readonly index: number | undefined
  readonly range: Range | undefined
  /** What a request took, as far as it was known. */
  readonly usage: Usage | undefined
  /** Cline's summary of the task, and whether the user asked for it. */
  readonly summary: { readonly text: string; readonly isManual: boolean } | undefined
  readonly compaction: Told | undefined
}

/** What Roo shows of a compaction. */
export interface Told {
  readonly id: string
  readonly ts: number
  readonly summary: string | undefined
  readonly tokensBefore: number | undefined
  readonly tokensAfter: number | undefined
  readonly cost: number | undefined
}

/** One block of one message was replaced in what is sent. */
export interface BlockEdit {
  readonly message: number
  readonly block: number
  readonly ts: number
  readonly text: string
  /** A file that was read again later, whose contents a notice replaces; otherwise the program rewrote the text. */
  readonly isRepeatedRead: boolean
}

/** What is known of a task from the files beside its messages. */
export interface Notes {
  title: string | undefined
  cwd: string | undefined
  programVersion: string | undefined
  parentId: string | undefined
  /** What is left out of the requests now. */
  range: Range | undefined
  shown: readonly Shown[]
  edits: readonly BlockEdit[]
}

/** Nothing is known yet. */
export const emptyNotes = (): Notes => ({
  title: undefined,
  cwd: undefined,
  programVersion: undefined,
  parentId: undefined,
  range: undefined,
  shown: [],
  edits: [],
})

const number = z.number().optional().catch(undefined)
const text = z.string().optional().catch(undefined)
const range = z.tuple([z.number(), z.number()]).optional().catch(undefined)
const fields = z.record(z.string(), z.unknown()).optional().catch(undefined)

const shownSchema = z.looseObject({
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

/** Usage as far as it is told; undefined where nothing is. */
export function usageFrom(told: Readonly<Record<keyof Usage, unknown>>): Usage | undefined {
  const counted = Object.entries(told).flatMap(([name, value]) => {
    const count = countIn(value)
    return count === undefined ? [] : [[name, count] as const]
  })
  return counted.length === 0 ? undefined : Object.fromEntries(counted)
}

function jsonIn(json: string | undefined): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json ?? '')
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function toldIn(given: Fields | undefined, idField: string, ts: number): Told | undefined {
  const id = textIn(given?.[idField])
  if (given === undefined || id === undefined) return undefined
  return {
    id,
    ts,
    summary: textIn(given['summary']),
    tokensBefore: countIn(given['prevContextTokens']),
    tokensAfter: countIn(given['newContextTokens']),
    cost: countIn(given['cost']),
  }
}

function shownIn(value: unknown): Shown | undefined {
  const parsed = shownSchema.safeParse(value)
  if (!parsed.success) return undefined
  const { ts, ask, say, contextCondense, contextTruncation } = parsed.data
  const request = say === 'api_req_started' ? jsonIn(parsed.data.text) : undefined
  const tool = say === 'tool' ? jsonIn(parsed.data.text) : undefined
  const asked = ask === 'condense' ? textIn(parsed.data.text) : undefined
  const summary = tool?.['tool'] === 'summarizeTask' ? textIn(tool['content']) : asked
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
    summary: summary === undefined ? undefined : { text: summary, isManual: asked !== undefined },
    compaction: toldIn(contextCondense, 'condenseId', ts) ?? toldIn(contextTruncation, 'truncationId', ts),
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

/** Takes what a file beside the messages tells of the task. */
export function note(notes: Notes, taskId: string, { value, where }: TranscriptRecord): void {
  const file = taskFileOf(value, where.file)
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  if (file === 'taskHistory.json')
    noteItem(
      notes,
      list.find((item) => isFields(item) && item['id'] === taskId),
    )
  if (file === 'history_item.json') noteItem(notes, value)
  if (file === 'ui_messages.json') notes.shown = list.flatMap((message) => shownIn(message) ?? [])
  if (file === 'context_history.json') notes.edits = list.flatMap(editsIn).toSorted((a, b) => a.ts - b.ts)
  const metadata = file === 'task_metadata.json' ? metadataSchema.safeParse(value).data : undefined
  const version = metadata?.environment_history.findLast((entry) => textIn(entry.cline_version) !== undefined)
  notes.programVersion = textIn(version?.cline_version) ?? notes.programVersion
}

/** When each message had been said, from what was shown next. Undefined behind what was shown last. */
export function timesOf(shown: readonly Shown[], count: number): readonly (string | undefined)[] {
  const times: (string | undefined)[] = []
  for (const { ts, index } of shown) {
    const known = Math.min((index ?? -1) + 1, count)
    while (times.length < known) times.push(timeIn(ts))
  }
  // The last answer was shown while it came, before it was kept.
  const last = shown.at(-1)
  if (last?.index === times.length - 1 && times.length < count) times.push(timeIn(last.ts))
  return times
}
