/** Converts parts of another program's messages to content parts, without loss. */
import { isRecord } from '../../lib/is-record.js'
import { countValues, exactText, MOST_MESSAGE_VALUES } from '../../lib/json.js'
import { foreignMessage } from '../../domain/values/foreign-messages.js'
import type { ContentPart, MessageBody, ToolCall } from '../../domain/values/message.js'
import { MESSAGE_FIELDS } from '../../domain/values/parse-message.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'

/** Maximum nesting depth of a part, so that the content that contains it stays below the limit. */
const LEVELS = MAX_LEVELS - 10

const isPart = (value: unknown): value is ContentPart =>
  isRecord(value) && typeof value['type'] === 'string' && foreignMessage({ content: [value] }) === undefined

/** A value as JSON text; a fixed text if it is nested too deeply. */
export function textOfValue(value: unknown): string {
  try {
    return exactText(value) ?? 'null'
  } catch {
    return 'nested too deeply to be written as JSON'
  }
}

/** Whether a list has values that are no parts: the data that a tool gave, which a program sends as JSON. */
export const isData = (values: readonly unknown[]): boolean =>
  values.some((value) => typeof value !== 'string' && !(isRecord(value) && typeof value['type'] === 'string'))

/**
 * A value as a content part: unchanged if it is a valid part with a type, and its text or its JSON if it has no type. Any
 * other value is wrapped in a part of type `other`.
 */
export function toContentPart(value: unknown): ContentPart {
  if (isTooDeep(value, LEVELS)) return { type: 'other', json: textOfValue(value) }
  if (isPart(value)) return value
  if (typeof value === 'string') return textPart(value)
  return isData([value]) ? textPart(textOfValue(value)) : { type: 'other', value }
}

/** A text as a part. */
export const textPart = (text: string): ContentPart => ({ type: 'text', text })

/** Tool arguments as JSON text; a string is returned unchanged. */
export const argumentsOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : isTooDeep(value, LEVELS)
      ? JSON.stringify(textOfValue(value))
      : textOfValue(value ?? {})

/** The answer with calls of different ids: a program may give two calls of one answer the same. */
export function withDifferentCalls(body: MessageBody): MessageBody {
  const used = new Set<string>()
  const toolCalls = body.toolCalls?.map((call, at) => {
    const id = used.has(call.id) ? `${call.id}#${String(at + 1)}` : call.id
    used.add(id)
    return { ...call, id }
  })
  return toolCalls === undefined ? body : { ...body, toolCalls }
}

/** A value as a content part; of a text part, only the text. */
export const contentPart = (value: unknown): ContentPart =>
  isRecord(value) && value['type'] === 'text' && typeof value['text'] === 'string'
    ? textPart(value['text'])
    : toContentPart(value)

/** The parts of a content in the form of the chat API: a text, a list, or nothing. */
export function contentParts(content: unknown): readonly ContentPart[] {
  if (content === undefined || content === null || content === '') return []
  if (typeof content === 'string') return [textPart(content)]
  if (Array.isArray(content) && isData(content)) return [textPart(textOfValue(content))]
  return (Array.isArray(content) ? content : [content]).map(contentPart)
}

/** A value with more JSON values is written as a text if its message has too many. */
const MOST_VALUES_OF_PART = 100

const isLarge = (value: unknown): boolean => countValues(value, MOST_VALUES_OF_PART) > MOST_VALUES_OF_PART
const isTooLarge = (value: unknown): boolean => countValues(value, MOST_MESSAGE_VALUES / 4) > MOST_MESSAGE_VALUES / 4

const largeFieldsAsTexts = <Value extends object>(fields: Value): Value =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only fields of unknown type are large
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, isLarge(value) ? textOfValue(value) : value]),
  ) as Value

const asJsonPart = (value: unknown): ContentPart => ({ type: 'other', json: textOfValue(value) })

/** The same message with its large values as JSON texts, if it has more JSON values than a message may have. */
export function withinValues<Body extends Pick<MessageBody, 'content' | 'toolCalls' | 'extra'>>(body: Body): Body {
  if (countValues(body, MOST_MESSAGE_VALUES) <= MOST_MESSAGE_VALUES) return body
  const { content, toolCalls, extra } = body
  const parts =
    typeof content === 'string' ? content : content?.map((part) => (isLarge(part) ? asJsonPart(part) : part))
  const fields = extra === undefined ? undefined : largeFieldsAsTexts(extra)
  return {
    ...body,
    content: isTooLarge(parts) ? [asJsonPart(parts)] : (parts ?? null),
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map((call): ToolCall => largeFieldsAsTexts(call)) }),
    ...(fields === undefined ? {} : { extra: isTooLarge(fields) ? { json: textOfValue(fields) } : fields }),
  }
}

/** The same for a message in the form of the chat API. */
export function inputWithinValues(input: unknown): unknown {
  if (!isRecord(input) || countValues(input, MOST_MESSAGE_VALUES) <= MOST_MESSAGE_VALUES) return input
  const { content, tool_calls, attributes, ...fields } = input
  const isKnown = ([name]: readonly [string, unknown]): boolean => MESSAGE_FIELDS.includes(name)
  const extra = Object.fromEntries(Object.entries(fields).filter((field) => !isKnown(field)))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the message is validated afterwards
  const { extra: unknown, toolCalls, ...known } = withinValues({ content, toolCalls: tool_calls, extra } as MessageBody)
  return {
    ...Object.fromEntries(Object.entries(fields).filter(isKnown)),
    ...known,
    ...unknown,
    ...(tool_calls === undefined ? {} : { tool_calls: toolCalls }),
    ...(attributes === undefined
      ? {}
      : { attributes: isTooLarge(attributes) ? { json: textOfValue(attributes) } : attributes }),
  }
}
