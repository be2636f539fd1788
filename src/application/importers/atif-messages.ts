/** Converts a step of ATIF to the messages of a conversation. */
import { isRecord } from '../../lib/is-record.js'
import type { ContentPart, MessageBody } from '../../domain/values/message.js'
import { contentOf } from './bodies.js'
import { argumentsOf, textPart } from './content-part.js'
import { atifNoteSchema, type AtifContent, type AtifNote, type AtifResult, type AtifStep } from './atif-schema.js'

/** Key of the notes in `extra`. */
export const NOTE = 'context_ledger'

/** A message of a step. */
export interface AtifMessage {
  readonly body: MessageBody
  /** Undefined in a file of another program. */
  readonly note: AtifNote | undefined
  /** The message is the result with this index, or the step itself. */
  readonly result: number | undefined
}

const noteIn = (extra: Readonly<Record<string, unknown>> | undefined): AtifNote | undefined =>
  atifNoteSchema.safeParse(extra?.[NOTE]).data

const partsOf = (content: AtifContent | undefined): ContentPart[] =>
  content === undefined || content === ''
    ? []
    : typeof content === 'string'
      ? [textPart(content)]
      : content.map((part) =>
          part.type === 'text' ? textPart(part.text) : { type: 'image_url', image_url: { url: part.source.path } },
        )

/** The message of a step, without its results. */
export function bodyOfStep({
  source,
  message,
  reasoning_content: reasoning,
  tool_calls: calls = [],
}: AtifStep): MessageBody {
  if (source !== 'agent') return { role: source, content: contentOf(partsOf(message)) }
  const parts = [...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }]), ...partsOf(message)]
  return {
    role: 'assistant',
    content: parts.length === 0 ? (calls.length === 0 ? '' : null) : contentOf(parts),
    ...(calls.length === 0
      ? {}
      : {
          toolCalls: calls.map((call) => ({
            id: call.tool_call_id,
            type: 'function',
            function: { name: call.function_name, arguments: argumentsOf(call.arguments) },
          })),
        }),
  }
}

/** The message of a result. A result without a call is text of the environment. */
export const bodyOfResult = ({ source_call_id: id, content }: AtifResult): MessageBody =>
  id === undefined
    ? { role: 'user', content: contentOf(partsOf(content)) }
    : { role: 'tool', content: contentOf(partsOf(content)), toolCallId: id }

/** The body of a note, which has the form of an event. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ledger validates the body again when it is recorded
const noted = (note: AtifNote | undefined): MessageBody | undefined => note?.body as MessageBody | undefined

/** The messages of a step. */
export function messagesOfStep(step: AtifStep): AtifMessage[] {
  const ledgerNote = noteIn(step.extra)
  const results = (step.observation?.results ?? []).map((result, at): AtifMessage => {
    const note = noteIn(result.extra)
    return { body: noted(note) ?? bodyOfResult(result), note, result: at }
  })
  return [{ body: noted(ledgerNote) ?? bodyOfStep(step), note: ledgerNote, result: undefined }, ...results]
}

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
export const fieldIn = (extra: unknown, field: string): unknown => {
  const note = isRecord(extra) ? extra[NOTE] : undefined
  return isRecord(note) ? note[field] : undefined
}
