/**
 * Text shortened in the middle, saying how much is left out and where the whole of it can be read. The log keeps it
 * whole.
 */
import { mediaOf } from '../values/media.js'
import { contentText, isTextPart, type ContentPart, type MessageBody, type ToolCall } from '../values/message.js'
import { contentTokens, toolCallTokens, type Estimator } from '../values/tokens.js'

const mark = (characters: number, where: string): string =>
  `\n[... ${String(characters)} characters left out to fit the model's window; the whole text: ${where} ...]\n`

/** Cuts so that no surrogate pair is torn. */
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
 * The text in at most `maxTokens`, its start and its end, with a mark between them.
 * @param where what the mark names as the place of the whole text
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
    // A text of several scripts has dense stretches; a quarter less each time ends soon.
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

/** About what a mark takes by itself. */
const SMALLEST_STRING_TOKENS = 32

/** Arguments of a call, shortened and still valid JSON. */
export function shortenArguments(text: string, maxTokens: number, where: string, estimator: Estimator): string {
  if (estimator.text(text) <= maxTokens) return text
  try {
    const whole: unknown = JSON.parse(text)
    // Several long strings share the room: each gets half as much until all of them fit; below the length of a mark
    // nothing is won.
    for (let each = Math.floor(maxTokens / 2); each >= SMALLEST_STRING_TOKENS; each = Math.floor(each / 2)) {
      const shortened = JSON.stringify(shortenStrings(whole, each, where, estimator))
      if (estimator.text(shortened) <= maxTokens) return shortened
    }
  } catch {
    // No JSON as it came: what is shown is JSON all the same, and says what it is.
  }
  return JSON.stringify({ shortened: shorten(text, Math.max(1, Math.floor(maxTokens / 2)), where, estimator) })
}

/** A text in the place of a part that is none: what it was, and where it can be read. */
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
 * Parts that are at most so many tokens together: each gets half as much until all of them fit. A part that is no text
 * is whole, or a text says what it was.
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
  let shown = parts
  for (let each = maxTokens; each >= SMALLEST_STRING_TOKENS / 2; each = Math.floor(each / 2)) {
    shown = parts.map((part) => shorter(part, each))
    if (contentTokens(shown, estimator) <= maxTokens) return shown
  }
  // Very many of them: their text in one.
  const one = [{ type, text: shorten(contentText(parts), maxTokens, where, estimator) }]
  return contentTokens(one, estimator) < contentTokens(shown, estimator) ? one : shown
}

// A call of a form that we do not know keeps its names and its id.
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
 * A message whose content and whose calls are at most `maxTokens` each, as far as that goes: a part that is no text
 * gives way as a whole, and the text beside it stays.
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

/** Characters of a message, to say how much is left out: of its texts, and of what is no text as JSON. */
export const textLength = ({ content, toolCalls }: MessageBody): number =>
  (typeof content === 'string'
    ? content.length
    : (content ?? []).reduce((sum, part) => sum + (isTextPart(part) ? part.text : JSON.stringify(part)).length, 0)) +
  (toolCalls ?? []).reduce((sum, call) => sum + (call.function?.arguments ?? JSON.stringify(call)).length, 0)
