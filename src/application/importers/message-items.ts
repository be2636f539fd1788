/** Numbers the messages of a record, and reports those that the ledger would reject. */
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, refusalOf } from './bodies.js'
import { argumentsOf, textPart, toContentPart, withDifferentCalls } from './content-part.js'
import type { ContextEntry, DamageItem, MessageItem, SourceLocation, Summary, Usage } from './transcript.js'

/** A message of a record, before it has an id. */
export interface NewMessage {
  readonly body: MessageBody
  readonly byProgram?: true | undefined
  readonly isError?: true | undefined
  readonly exitCode?: number | undefined
}

/** The fields that the messages of a record share. Model, usage and answer id belong to the assistant's messages only. */
export interface RecordFields {
  readonly sourceId: string
  readonly at?: string | undefined
  readonly answerId?: string | undefined
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
  readonly where: SourceLocation
}

/** @param firstPart number of messages of the record that were yielded before */
export function* messageItems(
  messages: readonly NewMessage[],
  { sourceId, at, answerId, model, usage, where }: RecordFields,
  firstPart = 0,
): Generator<MessageItem | DamageItem> {
  for (const [index, { body: read, byProgram, isError, exitCode }] of messages.entries()) {
    const body = withDifferentCalls(read)
    const refusal = refusalOf(body)
    if (refusal !== undefined) {
      yield { kind: 'damage', detail: `is a message that cannot be recorded: ${refusal}`, isCut: false, where }
      continue
    }
    yield {
      kind: 'message',
      sourceId,
      part: firstPart + index,
      at,
      body,
      byProgram,
      ...(body.role === 'assistant' ? { answerId, model, usage } : {}),
      isError,
      exitCode,
      where,
    }
  }
}

/** A call of a tool by its name. @param input arguments as text or as a value */
export const functionCall = (id: string, name: unknown, input: unknown): ToolCall => ({
  id,
  type: 'function',
  function: { name: textIn(name) ?? 'unknown', arguments: argumentsOf(input) },
})

/** An answer of the model; undefined if it has neither parts nor calls. */
export const assistantBody = (
  parts: readonly ContentPart[],
  toolCalls: readonly ToolCall[],
): MessageBody | undefined =>
  parts.length === 0 && toolCalls.length === 0
    ? undefined
    : {
        role: 'assistant',
        content: parts.length === 0 ? null : contentOf(parts),
        ...(toolCalls.length === 0 ? {} : { toolCalls }),
      }

/** An answer of the model with its thoughts, its text and its calls; undefined if it has none of them. */
export const answerBody = (
  thoughts: readonly unknown[],
  text: string | undefined,
  toolCalls: readonly ToolCall[],
): MessageBody | undefined =>
  assistantBody(
    [...thoughts.map(toContentPart), ...(text === undefined || text === '' ? [] : [textPart(text)])],
    toolCalls,
  )

/** The context after a compaction: the summary, if it is known, then the kept messages. */
export const contextAfter = (
  summary: MessageBody | undefined,
  keptIds: readonly string[] = [],
): readonly ContextEntry[] => [
  ...(summary === undefined ? [] : [{ kind: 'inserted', body: summary, isSummary: true } as const]),
  ...keptIds.map((sourceId) => ({ kind: 'message', sourceId }) as const),
]

/** The summary of a compaction from its text. Without a text it is unknown, since each program writes one. */
export const summaryFrom = (text: string | undefined): Summary =>
  text === undefined || text.trim() === '' ? { kind: 'opaque' } : { kind: 'text', text }

/** The usage with the counts that are known; undefined if none is. */
export function knownUsage(usage: Usage): Usage | undefined {
  const known = Object.entries(usage).filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : Object.fromEntries(known)
}
