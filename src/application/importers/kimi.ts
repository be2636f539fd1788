/**
 * Kimi CLI and Kimi Code. Kimi CLI writes the events of a session to `wire.jsonl` and its context to `context.jsonl`; the
 * events are read, with the summaries of the contexts. Without events, the contexts are. Kimi Code has only a `wire.jsonl`
 * for each agent, with other records. Written for `kimi_cli/wire` and `kimi_cli/soul/context.py` of Kimi CLI 0.60 to 1.x,
 * and for `agent-core/src/agent/records/types.ts` of Kimi Code (protocol 1.5).
 */
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isRecord } from '../../lib/is-record.js'
import { contentText, type ContentPart, type MessageBody, type ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, type Fields, inside, jsonText, unixTime } from './bodies.js'
import { KimiContexts } from './kimi-context.js'
import { contentPart, contentParts } from './content-part.js'
import {
  assistantBody,
  contextAfter,
  functionCall,
  knownUsage,
  messageItems,
  summaryFrom,
  type NewMessage,
} from './message-items.js'
import { kimiCall, kimiMessage } from './kimi-parts.js'
import { withoutRepeats } from './repeats.js'
import type {
  CompactionItem,
  ConversationItem,
  Head,
  Importer,
  Layout,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Usage,
} from './transcript.js'

/** Messages that a compaction of Kimi CLI keeps, with the results after them. */
const KEPT_MESSAGES = 2

const CONTEXT_ROLES = new Set(['_checkpoint', '_usage', '_system_prompt'])

/** Kimi CLI records seconds, Kimi Code milliseconds. */
const timeOf = ({ timestamp, time, created_at }: Fields): string | undefined =>
  unixTime(timestamp ?? time ?? created_at)

/** The ids in the path of a session's file. */
function sessionOf(path: string): { readonly sessionId: string; readonly agent: string | undefined } {
  const parts = path.split(/[\\/]/u)
  if (parts.at(-3) === 'agents') {
    const agent = parts.at(-2)
    return { sessionId: (parts.at(-4) ?? path).replace(/^session_/u, ''), agent: agent === 'main' ? undefined : agent }
  }
  const isNamed = /^(?:wire|context(?:_\d+)?)\.jsonl$/u.test(parts.at(-1) ?? '')
  return { sessionId: (isNamed ? parts.at(-2) : parts.at(-1)?.replace(/\.jsonl$/u, '')) ?? path, agent: undefined }
}

const usageOf = (usage: unknown): Usage | undefined => {
  const count = (...names: readonly string[]): number | undefined =>
    names.map((name) => countIn(inside(usage, name))).find((each) => each !== undefined)
  const read = count('inputCacheRead', 'input_cache_read')
  const written = count('inputCacheCreation', 'input_cache_creation')
  const uncached = count('inputOther', 'input_other')
  return knownUsage({
    inputTokens: uncached === undefined ? undefined : uncached + (read ?? 0) + (written ?? 0),
    outputTokens: count('output'),
    cacheReadTokens: read,
    cacheWriteTokens: written,
  })
}

/** An answer that the program is writing. */
interface OpenAnswer {
  readonly id: string
  parts: ContentPart[]
  calls: ToolCall[]
  /** Messages that were yielded for it. */
  yielded: number
}

/** One message of the context: its record, or undefined for an inserted one. */
interface HistoryEntry {
  readonly id: string | undefined
  readonly role: MessageBody['role']
  readonly isPrompt: boolean
}

class KimiReader implements TranscriptReader {
  private readonly contexts = new KimiContexts()
  private readonly opening: Omit<ConversationItem, 'where'>
  private hasBegun = false
  private hasEvents = false
  private history: HistoryEntry[] = []
  private answer: OpenAnswer | undefined
  private count = 0
  private compactions = 0
  private model: string | undefined

  constructor(path: string) {
    const { sessionId, agent } = sessionOf(path)
    this.opening = {
      kind: 'conversation',
      sourceId: agent === undefined ? sessionId : `${sessionId}/${agent}`,
      ...(agent === undefined ? {} : { parent: { sourceId: sessionId, how: 'sub-agent' } }),
    }
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isRecord(value)) {
      yield { kind: 'left-out', what: 'record', where }
      return
    }
    if (typeof value['role'] === 'string') {
      if (!CONTEXT_ROLES.has(value['role'])) this.contexts.add(value, where)
      return
    }
    this.hasEvents = true
    yield* this.begin(value, where)
    const payload = inside(value, 'message', 'payload')
    const items = isRecord(payload)
      ? this.event(textIn(inside(value, 'message', 'type')) ?? 'event', payload, value, where)
      : this.record(value, where)
    yield* items
  }

  *end(): Generator<TranscriptItem> {
    if (this.hasEvents) return
    for (const item of this.contexts.items()) {
      yield* this.begin({}, item.where)
      yield item
    }
  }

  private *begin(record: Fields, where: SourceLocation): Generator<TranscriptItem> {
    if (this.hasBegun) return
    this.hasBegun = true
    yield { ...this.opening, startedAt: timeOf(record), where }
  }

  /** An event of Kimi CLI. */
  private *event(type: string, payload: Fields, record: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const at = timeOf(record)
    if (type === 'TurnBegin') {
      yield* this.flush(at, where)
      yield* this.message(
        { body: { role: 'user', content: contentOf(contentParts(payload['user_input'])) } },
        at,
        where,
      )
    } else if (type === 'StepBegin') {
      yield* this.flush(at, where)
      this.answer = this.newAnswer()
    } else if (type === 'ContentPart') this.openAnswer().parts.push(contentPart(payload))
    else if (type === 'ToolCall') {
      const call = kimiCall(payload)
      if (call !== undefined) this.openAnswer().calls.push(call)
    } else if (type === 'ToolResult') {
      yield* this.flush(at, where, false)
      yield* this.message(resultOf(payload['tool_call_id'], payload['return_value']), at, where)
    } else if (type === 'CompactionEnd') yield this.cliCompaction(at, where)
    else {
      if (type === 'TurnEnd' || type === 'CompactionBegin') yield* this.flush(at, where)
      if (type === 'StatusUpdate') yield* this.flush(at, where, false, usageOf(payload['token_usage']))
      yield { kind: 'left-out', what: type, where }
    }
  }

  /** A record of Kimi Code. */
  private *record(record: Fields, where: SourceLocation): Generator<TranscriptItem> {
    const at = timeOf(record)
    const { type, message, event } = record
    this.model = textIn(record['modelAlias']) ?? textIn(record['model']) ?? this.model
    if (type === 'context.append_message' && isRecord(message)) {
      const converted = kimiMessage(message)
      if (converted === undefined) yield { kind: 'left-out', what: `message of ${jsonText(message['role'])}`, where }
      else yield* this.message(converted, at, where, converted.body.role === 'user' && converted.byProgram !== true)
    } else if (type === 'context.append_loop_event' && isRecord(event)) yield* this.loopEvent(event, at, where)
    else if (type === 'context.apply_compaction') {
      const text = textIn(record['summary']) ?? ''
      const retained = this.history.slice(countIn(record['compactedCount']) ?? this.history.length)
      yield this.compaction({ role: 'assistant', content: text }, retained, { at, where }, record)
    } else if (type === 'context.clear') yield this.compaction(undefined, [], { at, where })
    else if (type === 'context.undo') yield* this.undo(countIn(record['count']) ?? 0, at, where)
    else yield { kind: 'left-out', what: textIn(type) ?? 'record', where }
  }

  private *loopEvent(event: Fields, at: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    const { type } = event
    if (type === 'step.begin') this.answer = this.newAnswer(textIn(event['uuid']))
    else if (type === 'content.part') this.openAnswer().parts.push(contentPart(event['part']))
    else if (type === 'tool.call') {
      const id = textIn(event['toolCallId'])
      if (id !== undefined) this.openAnswer().calls.push(functionCall(id, event['name'], event['args'] ?? {}))
    } else if (type === 'tool.result') {
      yield* this.flush(at, where, false)
      yield* this.message(resultOf(event['toolCallId'], event['result']), at, where)
    } else if (type === 'step.end') yield* this.flush(at, where, true, usageOf(event['usage']))
    else yield { kind: 'left-out', what: `loop event ${jsonText(type)}`, where }
  }

  private newAnswer(id?: string): OpenAnswer {
    this.count += 1
    return { id: id ?? `message-${String(this.count)}`, parts: [], calls: [], yielded: 0 }
  }

  private openAnswer(): OpenAnswer {
    this.answer ??= this.newAnswer()
    return this.answer
  }

  /** Yields what the program wrote of an answer since the last time. @param ends whether the answer is complete */
  private *flush(at: string | undefined, where: SourceLocation, ends = true, usage?: Usage): Generator<TranscriptItem> {
    const { answer } = this
    if (answer === undefined) return
    const body = assistantBody(answer.parts, answer.calls)
    answer.parts = []
    answer.calls = []
    if (ends) this.answer = undefined
    if (body === undefined) return
    const fields = { sourceId: answer.id, at, answerId: answer.id, model: this.model, usage, where }
    yield* messageItems([{ body }], fields, answer.yielded)
    if (answer.yielded === 0) this.history.push({ id: answer.id, role: 'assistant', isPrompt: false })
    answer.yielded += 1
  }

  private *message(
    message: NewMessage,
    at: string | undefined,
    where: SourceLocation,
    isPrompt = false,
  ): Generator<TranscriptItem> {
    this.count += 1
    const id = `message-${String(this.count)}`
    this.history.push({ id, role: message.body.role, isPrompt })
    yield* messageItems([message], { sourceId: id, at, where })
  }

  /** Kimi CLI keeps the last two messages of the user or the model. The summary is in the next context file. */
  private cliCompaction(at: string | undefined, where: SourceLocation): TranscriptItem {
    const summary = this.contexts.summaries()[this.compactions]
    const places = this.history.flatMap(({ role }, index) => (role === 'user' || role === 'assistant' ? [index] : []))
    const retained = this.history.slice(places.at(-KEPT_MESSAGES) ?? this.history.length)
    return this.compaction(summary, retained, { at, where })
  }

  private compaction(
    summary: MessageBody | undefined,
    kept: readonly HistoryEntry[],
    { at, where }: { readonly at: string | undefined; readonly where: SourceLocation },
    record: Fields = {},
  ): CompactionItem {
    this.compactions += 1
    this.history = [...(summary === undefined ? [] : [{ id: undefined, role: summary.role, isPrompt: false }]), ...kept]
    return {
      kind: 'compaction',
      sourceId: `compaction-${String(this.compactions)}`,
      at,
      trigger: 'unknown',
      summary: summaryFrom(summary === undefined ? undefined : contentText(summary.content)),
      context: contextAfter(
        summary,
        kept.flatMap(({ id }) => id ?? []),
      ),
      tokensBefore: countIn(record['tokensBefore']),
      tokensAfter: countIn(record['tokensAfter']),
      where,
    }
  }

  /** Removes the last prompts and what followed them. */
  private *undo(prompts: number, at: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    const places = this.history.flatMap(({ isPrompt }, index) => (isPrompt ? [index] : []))
    const from = places.at(-prompts)
    const removed = from === undefined || prompts === 0 ? [] : this.history.splice(from)
    const sourceIds = removed.flatMap(({ id }) => id ?? [])
    if (sourceIds.length > 0) yield { kind: 'withdrawal', sourceIds, at, where }
    else yield { kind: 'left-out', what: 'context.undo', where }
  }
}

function resultOf(callId: unknown, result: unknown): NewMessage {
  const toolCallId = textIn(callId)
  const failed = inside(result, 'is_error') === true || inside(result, 'isError') === true
  const output = contentParts(inside(result, 'output'))
  const content = output.length === 0 ? (textIn(inside(result, 'message')) ?? '') : contentOf(output)
  const isError = failed ? { isError: true as const } : {}
  // A result without a call is recorded as a text.
  if (toolCallId === undefined) return { body: { role: 'user', content }, byProgram: true, ...isError }
  return { body: { role: 'tool', content, toolCallId }, ...isError }
}

const EVENTS = /^(?:TurnBegin|StepBegin|StatusUpdate|ContentPart|ToolCall|ToolResult|TurnEnd)$/u

function isOfKimi(record: unknown): boolean {
  if (!isRecord(record)) return false
  if (CONTEXT_ROLES.has(textIn(record['role']) ?? '')) return true
  if (EVENTS.test(textIn(inside(record, 'message', 'type')) ?? '')) return countIn(record['timestamp']) !== undefined
  return /^context\.(?:append_message|append_loop_event|apply_compaction)$/u.test(textIn(record['type']) ?? '')
}

const recognize = ({ records }: Head): Layout | undefined => (records.some(isOfKimi) ? 'lines' : undefined)

/** The files of a session of Kimi CLI: its contexts, oldest first, and its events. */
async function sessionFiles(path: string): Promise<readonly string[]> {
  const folder = dirname(path)
  const names = await readdir(folder)
  const isContext = (name: string): boolean => /^context(?:_\d+)?\.jsonl$/u.test(name)
  if (!isContext(basename(path)) && basename(path) !== 'wire.jsonl') return [path]
  const placeOf = (name: string): number => Number(/_(\d+)/u.exec(name)?.[1] ?? Infinity)
  const contexts = names.filter(isContext).toSorted((a, b) => placeOf(a) - placeOf(b))
  const events = names.filter((name) => name === 'wire.jsonl')
  return [...contexts, ...events].map((name) => join(folder, name))
}

/** The importer of Kimi CLI and Kimi Code. */
export const kimi: Importer = {
  program: 'kimi',
  title: 'Kimi CLI',
  homes: (environment, home) => [
    join(textIn(environment['KIMI_SHARE_DIR']) ?? join(home, '.kimi'), 'sessions'),
    join(home, '.kimi-code', 'sessions'),
  ],
  recognize,
  siblings: sessionFiles,
  read: (path) => withoutRepeats(new KimiReader(path), { times: ['timestamp', 'time'] }),
}
