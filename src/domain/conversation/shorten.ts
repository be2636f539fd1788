/**
 * Shortens text in the middle. A mark gives the number of omitted characters and the location of the full text in the
 * log.
 */
import { mediaOf } from '../values/media.js'
import { contentText, isTextPart, type ContentPart, type MessageBody, type ToolCall } from '../values/message.js'
import { contentTokens, toolCallTokens, type Estimator } from '../values/tokens.js'

const mark = (characters: number, where: string): string =>
  `\n[... ${String(characters)} characters left out to fit the model's window; the whole text: ${where} ...]\n`

/** Does not split a surrogate pair. */
function head(text: string, length: number): string {
  return text.slice(0, length).isWellFormed() || !text.isWellFormed()
    ? text.slice(0, length)
    : text.slice(0, length - 1)
}
function tail(text: string, length: number): string {
  if (length === 0) return ''
  const end = text.slice(-length)
  return end.isWellFormed() || !text.isWellFormed() ? end : end.slice(1)
}

/**
 * The beginning and the end of the text in at most `maxTokens`, with a mark between them.
 * @param where location of the full text, for the mark
 */
export function shorten(text: string, maxTokens: number, where: string, estimator: Estimator): string {
  const tokens = estimator.text(text)
  if (tokens <= maxTokens) return text
  const frame = estimator.text(mark(text.length, where)) + 1
  let characters = Math.floor((text.length * Math.max(0, maxTokens - frame)) / tokens)
  for (;;) {
    const start = head(text, Math.ceil(characters / 2))
    const end = tail(text, Math.floor(characters / 2))
    const shortened = `${start}${mark(text.length - start.length - end.length, where)}${end}`
    if (estimator.text(shortened) <= maxTokens || characters === 0) return shortened
    // A text in several scripts has dense passages. Reducing by a quarter each time ends soon.
    characters = Math.floor(characters * 0.75)
  }
}

function shortenStrings(value: unknown, maxTokens: number, where: string, estimator: Estimator): unknown {
  if (typeof value === 'string') return shorten(value, maxTokens, where, estimator)
  if (Array.isArray(value)) return value.map((item) => shortenStrings(item, maxTokens, where, estimator))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, shortenStrings(item, maxTokens, where, estimator)]),
    )
  }
  return value
}

/** Approximate tokens of a mark. */
const SMALLEST_STRING_TOKENS = 32

/** Shortens the arguments of a call. The result is valid JSON. */
export function shortenArguments(text: string, maxTokens: number, where: string, estimator: Estimator): string {
  if (estimator.text(text) <= maxTokens) return text
  try {
    const whole: unknown = JSON.parse(text)
    // Long strings share the limit: halve the limit of each until all of them fit. Strings shorter than a mark gain
    // nothing.
    for (let each = Math.floor(maxTokens / 2); each >= SMALLEST_STRING_TOKENS; each = Math.floor(each / 2)) {
      const shortened = JSON.stringify(shortenStrings(whole, each, where, estimator))
      if (estimator.text(shortened) <= maxTokens) return shortened
    }
  } catch {
    // The recorded arguments are not JSON. The result is JSON that states this.
  }
  return JSON.stringify({ shortened: shorten(text, Math.max(1, Math.floor(maxTokens / 2)), where, estimator) })
}

/** A text that replaces a part of another type; it names the type and the location of the part. */
function inPlaceOf(part: ContentPart, type: string, where: string): ContentPart {
  const { kind, name, mediaType, bytes } = mediaOf(part)
  const what = [
    kind === 'other' ? part.type : kind,
    name,
    mediaType,
    bytes === undefined ? undefined : `${String(bytes)} bytes`,
  ]
    .filter((said) => said !== undefined)
    .join(', ')
  return { type, text: `[${what}: left out to fit the model's window; the log has it in ${where}]` }
}

/**
 * Shortens parts to a total number of tokens: halves the limit of each until all of them fit. A part other than text is
 * kept in full, or replaced with a description.
 */
function shortenParts(
  parts: readonly ContentPart[],
  maxTokens: number,
  where: string,
  estimator: Estimator,
): readonly ContentPart[] {
  const cost = (part: ContentPart): number => contentTokens([part], estimator)
  const type = parts.find(isTextPart)?.type ?? 'text'
  const shorter = (part: ContentPart, each: number): ContentPart => {
    if (cost(part) <= each) return part
    const short = isTextPart(part)
      ? { ...part, text: shorten(part.text, each, where, estimator) }
      : inPlaceOf(part, type, where)
    return cost(short) < cost(part) ? short : part
  }
  let shortened = parts
  for (let each = maxTokens; each >= SMALLEST_STRING_TOKENS / 2; each = Math.floor(each / 2)) {
    shortened = parts.map((part) => shorter(part, each))
    if (contentTokens(shortened, estimator) <= maxTokens) return shortened
  }
  // Too many parts for that: join their texts.
  const one = [{ type, text: shorten(contentText(parts), maxTokens, where, estimator) }]
  return contentTokens(one, estimator) < contentTokens(shortened, estimator) ? one : shortened
}

// A call of unknown form keeps its names and its id.
const shortenCall = (call: ToolCall, maxTokens: number, where: string, estimator: Estimator): ToolCall => {
  if (call.function !== undefined)
    return {
      ...call,
      function: { ...call.function, arguments: shortenArguments(call.function.arguments, maxTokens, where, estimator) },
    }
  const rest = Object.entries(call).map(([key, value]) => [
    key,
    key === 'id' || key === 'type' ? value : shortenStrings(value, maxTokens, where, estimator),
  ])
  return { ...call, ...Object.fromEntries(rest) }
}

/**
 * Shortens the content and the calls of a message to at most `maxTokens` each, if possible. A part other than text is
 * omitted as a whole before texts are.
 */
export function shortenMessage(
  message: MessageBody,
  maxTokens: number,
  where: string,
  estimator: Estimator,
): MessageBody {
  const content: MessageBody['content'] =
    contentTokens(message.content, estimator) <= maxTokens
      ? message.content
      : typeof message.content === 'string'
        ? shorten(message.content, maxTokens, where, estimator)
        : shortenParts(message.content ?? [], maxTokens, where, estimator)
  if (message.toolCalls === undefined || toolCallTokens(message.toolCalls, estimator) <= maxTokens)
    return { ...message, content }
  const share = Math.max(SMALLEST_STRING_TOKENS, Math.floor(maxTokens / message.toolCalls.length))
  return { ...message, content, toolCalls: message.toolCalls.map((call) => shortenCall(call, share, where, estimator)) }
}

/** Number of characters of a message, to report how many are omitted: its texts, and other parts as JSON. */
export const textLength = ({ content, toolCalls }: MessageBody): number =>
  (typeof content === 'string'
    ? content.length
    : (content ?? []).reduce((sum, part) => sum + (isTextPart(part) ? part.text : JSON.stringify(part)).length, 0)) +
  (toolCalls ?? []).reduce((sum, call) => sum + (call.function?.arguments ?? JSON.stringify(call)).length, 0)
