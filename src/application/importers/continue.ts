/**
 * Continue: a JSON file for each session in `~/.continue/sessions/`. A result is in the state of its call, and a
 * compaction is a summary at the last message that it covers; the model receives the latest one. The command line replaces
 * the covered messages by their summary, in the same file. Written for `Session` and `ChatHistoryItem` in
 * `core/index.d.ts`, for `constructMessages`, and for `compaction.ts` of `cn`, of Continue 0.8 to 1.5. The files have no times.
 */
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import type { ToolCall } from '../../domain/values/message.js'
import type { ContentId } from './content-id.js'
import { contentParts, textPart, toContentPart } from './content-part.js'
import {
  assistantBody,
  contextAfter,
  functionCall,
  messageItems,
  summaryFrom,
  type NewMessage,
} from './message-items.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, type Fields, inside, listIn, pathOfUri } from './bodies.js'
import type { Head, Importer, Layout, SourceLocation, TranscriptItem, TranscriptRecord } from './transcript.js'

const FINAL = new Set(['done', 'errored', 'canceled'])

const textsOf = (items: unknown): string =>
  listIn(items)
    .flatMap((item) => textIn(inside(item, 'content')) ?? [])
    .join('\n\n')

function callsOf(message: Fields): readonly ToolCall[] {
  return listIn(message['toolCalls']).flatMap((call) => {
    const id = textIn(inside(call, 'id'))
    const called = inside(call, 'function')
    return id === undefined ? [] : [functionCall(id, inside(called, 'name'), inside(called, 'arguments') ?? '{}')]
  })
}

/** The message of an item; undefined if it is empty, or a result that the state of the call repeats. */
function messageOf(item: Fields, message: Fields, answered: ReadonlySet<string>): NewMessage | undefined {
  const { role, content } = message
  const parts = contentParts(content)
  if (role === 'user') {
    const files = listIn(item['contextItems']).flatMap((each) => textIn(inside(each, 'content')) ?? [])
    const all = [...files.map(textPart), ...parts]
    return all.length === 0 ? undefined : { body: { role, content: contentOf(all) } }
  }
  if (role === 'thinking') {
    const { signature } = message
    const thinking = textIn(content) ?? ''
    return { body: { role: 'assistant', content: [toContentPart({ type: 'thinking', thinking, signature })] } }
  }
  if (role === 'assistant') {
    const body = assistantBody(parts, callsOf(message))
    return body === undefined ? undefined : { body }
  }
  const toolCallId = textIn(message['toolCallId'])
  if (role === 'tool' && toolCallId !== undefined && !answered.has(toolCallId))
    return { body: { role, content: contentOf(parts), toolCallId } }
  return role === 'system' && parts.length > 0 ? { body: { role, content: contentOf(parts) } } : undefined
}

/** The results in the states of an answer's calls. */
function resultsOf(item: Fields): readonly (readonly [callId: string, message: NewMessage])[] {
  const states = [
    ...listIn(item['toolCallStates']),
    ...(item['toolCallState'] === undefined ? [] : [item['toolCallState']]),
  ]
  return states.flatMap((state) => {
    const toolCallId = textIn(inside(state, 'toolCallId'))
    const status = textIn(inside(state, 'status')) ?? ''
    if (toolCallId === undefined || !FINAL.has(status)) return []
    const content = textsOf(inside(state, 'output'))
    const isError = status === 'done' ? {} : { isError: true as const }
    return [[toolCallId, { body: { role: 'tool', content, toolCallId }, ...isError }] as const]
  })
}

/** One item of the history, and the ids of its messages. */
function* itemMessages(
  item: Fields,
  sourceId: string,
  answered: Set<string>,
  where: SourceLocation,
): Generator<TranscriptItem, readonly string[]> {
  const message = isRecord(item['message']) ? item['message'] : {}
  const found = messageOf(item, message, answered)
  const model = textIn(inside(listIn(item['promptLogs'])[0], 'modelTitle'))
  if (found === undefined) yield { kind: 'left-out', what: `empty ${textIn(message['role']) ?? 'item'}`, where }
  else yield* messageItems([found], { sourceId, answerId: sourceId, model, where })
  const ids = found === undefined ? [] : [sourceId]
  for (const [callId, result] of resultsOf(item)) {
    answered.add(callId)
    ids.push(`${sourceId}/${callId}`)
    yield* messageItems([result], { sourceId: `${sourceId}/${callId}`, where })
  }
  return ids
}

/** @param kept messages after the summary */
function compaction(text: string, sourceId: string, kept: readonly string[], where: SourceLocation): TranscriptItem {
  const content = `Previous conversation summary:\n\n ${text}`
  return {
    kind: 'compaction',
    sourceId: `summary-${sourceId}`,
    trigger: 'manual',
    summary: { kind: 'text', text },
    context: contextAfter({ role: 'system', content }, kept),
    where,
  }
}

/** Titles that the program gives to a session that has none. */
const PLACEHOLDERS = new Set(['New Session', 'Untitled Session'])

const titleIn = (title: unknown): string | undefined => {
  const text = textIn(title)
  return text === undefined || PLACEHOLDERS.has(text.trim()) ? undefined : text
}

const isOfSystem = (item: unknown): boolean => inside(item, 'message', 'role') === 'system'

/** The summary that replaced the covered messages: the first item, or the first one after the system message. */
function replacementIn(history: readonly unknown[]): { readonly at: number; readonly text: string } | undefined {
  const at = isOfSystem(history[0]) ? 1 : 0
  const text = textIn(inside(history[at], 'conversationSummary'))
  const isReplacement = text !== undefined && inside(history[at], 'message', 'content') === text
  return isReplacement ? { at, text } : undefined
}

/** The compaction that replaced the covered messages. @param kept ids of the messages before the summary */
function replacement(text: string, sourceId: string, kept: readonly string[], where: SourceLocation): TranscriptItem {
  const [summary] = contextAfter({ role: 'assistant', content: text })
  return {
    kind: 'compaction',
    sourceId,
    trigger: 'unknown',
    summary: summaryFrom(text),
    context: [...contextAfter(undefined, kept), ...(summary === undefined ? [] : [summary])],
    coversMissing: true,
    where,
  }
}

/** The messages and compactions of a session, in order. */
function* historyItems(
  history: readonly unknown[],
  contentId: ContentId,
  where: SourceLocation,
): Generator<TranscriptItem> {
  const replaced = replacementIn(history)
  // Items of the command line have no ids. After a compaction, the same index is another item.
  const era = replaced === undefined ? '' : `after-${contentId(replaced.text)}/`
  const answered = new Set<string>()
  const last = history.findLastIndex((item) => textIn(inside(item, 'conversationSummary')) !== undefined)
  let afterSummary: string[] = []
  let latest: { readonly text: string; readonly id: string; readonly where: SourceLocation } | undefined
  for (const [at, item] of history.entries()) {
    const location = { ...where, path: `history[${String(at)}]` }
    if (!isRecord(item)) {
      yield { kind: 'left-out', what: 'item', where: location }
      continue
    }
    if (at === replaced?.at) {
      yield replacement(replaced.text, `${era}summary`, afterSummary, location)
      continue
    }
    const isOfEra = replaced !== undefined && at > replaced.at
    const id = textIn(inside(item, 'message', 'id')) ?? `${isOfEra ? era : ''}${location.path}`
    afterSummary.push(...(yield* itemMessages(item, id, answered, location)))
    const text = textIn(item['conversationSummary'])
    if (text === undefined) continue
    afterSummary = []
    // The user may ask for a summary of an earlier message: the newest one is read last.
    if (at === last) latest = { text, id, where: location }
    else yield compaction(text, id, [], location)
  }
  if (latest !== undefined) yield compaction(latest.text, latest.id, afterSummary, latest.where)
}

function* take({ value, where }: TranscriptRecord, contentId: ContentId): Generator<TranscriptItem> {
  if (!isRecord(value)) {
    yield { kind: 'left-out', what: 'session', where }
    return
  }
  yield {
    kind: 'conversation',
    sourceId: textIn(value['sessionId']) ?? where.file,
    title: titleIn(value['title']),
    cwd: pathOfUri(textIn(value['workspaceDirectory']) ?? '') || undefined,
    where,
  }
  yield* historyItems(listIn(value['history']), contentId, where)
}

function recognize({ records, text }: Head): Layout | undefined {
  const [value] = records
  if (value === undefined)
    return /^\s*\{\s*"sessionId"\s*:\s*"[^"]+"\s*,\s*"title"\s*:(?=[^]*"workspaceDirectory"\s*:)/u.test(text)
      ? 'json'
      : undefined
  const isSession = isRecord(value) && typeof value['sessionId'] === 'string' && Array.isArray(value['history'])
  return isSession && listIn(value['history']).every((item) => isRecord(inside(item, 'message'))) ? 'json' : undefined
}

/** The importer of Continue. */
export const continueDev: Importer = {
  program: 'continue',
  title: 'Continue',
  homes: (environment, home) => [
    join(textIn(environment['CONTINUE_GLOBAL_DIR']) ?? join(home, '.continue'), 'sessions'),
  ],
  recognize,
  makesContentIds: true,
  read: (_path, contentId) => ({ take: (record) => take(record, contentId), end: () => [] }),
}
