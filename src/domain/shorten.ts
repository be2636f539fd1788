/** Text shortened in the middle, saying how much is left out and where the whole of it can be read. The log keeps it whole. */
import { contentText, type ContentPart, type MessageBody, type ToolCall } from './message.js'
import { contentTokens, toolCallTokens, type Estimator } from './tokens.js'

const mark = (characters: number, where: string): string => `\n[... ${String(characters)} characters left out to fit the model's window; the whole text: ${where} ...]\n`

/** Cuts so that no surrogate pair is torn. */
function head(text: string, length: number): string {
  return text.slice(0, length).isWellFormed() || !text.isWellFormed() ? text.slice(0, length) : text.slice(0, length - 1)
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
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortenStrings(item, maxTokens, where, estimator)]))
  }
  return value
}

/** About what a mark takes by itself. */
const SMALLEST_STRING_TOKENS = 32

/** Arguments of a call, shortened and still valid JSON. */
function shortenArguments(text: string, maxTokens: number, where: string, estimator: Estimator): string {
  if (estimator.text(text) <= maxTokens) return text
  try {
    const whole: unknown = JSON.parse(text)
    // Several long strings share the room: each gets half as much until all of them fit; below the length of a mark nothing is won.
    for (let each = Math.floor(maxTokens / 2); each >= SMALLEST_STRING_TOKENS; each = Math.floor(each / 2)) {
      const shortened = JSON.stringify(shortenStrings(whole, each, where, estimator))
      if (estimator.text(shortened) <= maxTokens) return shortened
    }
  } catch {
    // No JSON as it came: what is shown is JSON all the same, and says what it is.
  }
  return JSON.stringify({ shortened: shorten(text, Math.max(1, Math.floor(maxTokens / 2)), where, estimator) })
}

/** A message whose texts are at most `maxTokens` each. Parts that are no text pass as they are. */
export function shortenMessage<Message extends MessageBody>(message: Message, maxTokens: number, where: string, estimator: Estimator): Message {
  const content: Message['content'] =
    contentTokens(message.content, estimator) <= maxTokens ? message.content
    : typeof message.content === 'string' ? shorten(message.content, maxTokens, where, estimator)
    : (message.content ?? []).map((part): ContentPart => (typeof part['text'] === 'string' ? { ...part, text: shorten(part['text'], maxTokens, where, estimator) } : part))
  if (message.toolCalls === undefined || toolCallTokens(message.toolCalls, estimator) <= maxTokens) return { ...message, content }
  const share = Math.max(32, Math.floor(maxTokens / message.toolCalls.length))
  const toolCalls = message.toolCalls.map((call): ToolCall =>
    call.function === undefined ? call : { ...call, function: { ...call.function, arguments: shortenArguments(call.function.arguments, share, where, estimator) } },
  )
  return { ...message, content, toolCalls }
}

/** Characters of a message's texts, to say how much is left out. */
export const textLength = (message: MessageBody): number =>
  contentText(message.content).length + (message.toolCalls ?? []).reduce((sum, call) => sum + (call.function?.arguments.length ?? 0), 0)
