/**
 * How many tokens a text costs, roughly. The number is recorded with each message and triggers go by it, so an
 * estimator has a name, the name is recorded in the stream, and a changed rule gets a new name.
 */
import { IMAGE_TOKENS, jsonTokens, mediaTokens, type Media } from './media.js'
import { isTextPart, type ContentPart, type MessageBody, type ToolCall } from './message.js'

/** Tells how many tokens a text is. An exact tokenizer can take the default's place. */
export interface Estimator {
  /** Recorded in the stream's configuration. */
  readonly name: string
  /**
   * Tokens of a text: a whole number from 0 to 2,147,483,647. Anything else is refused (`EstimatorFailed`), and nothing
   * is recorded.
   */
  text(text: string): number
  /**
   * Tokens of a content part that is no text, a whole number >= 0: an image, a file, audio. Where it is left out, or
   * answers undefined, an image counts 1,000, a file 2,000 for each 50 kB and at least that, sound and film one for
   * each kB, and anything else its JSON without the data in it.
   * @param part as it was appended
   * @param media its kind, and its length, name and media type where the part says them
   */
  part?(part: ContentPart, media: Media): number | undefined
}

/** Finds an estimator by the name that a configuration records. Throws where nobody here knows one of that name. */
export type FindEstimator = (name: string) => Estimator

/**
 * The most that a text, a part, a message or a model's call may count. Sums of them stay whole numbers that every
 * column holds.
 */
export const MAX_TOKENS = 2 ** 31 - 1
/** What a message's role counts. */
export const ROLE_TOKENS = 2

// Chinese, Japanese, Korean and emoji: real tokenizers give about one token a code point there, so four characters a
// token was measured three to four times too low. Full-width forms and CJK punctuation go with them.
const ONE_A_CODE_POINT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Extended_Pictographic}\u3000-\u303f\uff00-\uffef]/gu
const SUSPECT = /[\u00a9-\uffff]/u

function textTokens(text: string): number {
  if (!SUSPECT.test(text)) return Math.ceil(text.length / 4)
  let apart = 0
  let units = 0
  for (const [point] of text.matchAll(ONE_A_CODE_POINT)) {
    apart += 1
    units += point.length
  }
  return apart + Math.ceil((text.length - units) / 4)
}

/**
 * Four UTF-16 units a token, and one token a code point in scripts where that is far off; what is no text counts by its
 * kind and length.
 */
export const defaultEstimator: Estimator = { name: 'characters-by-script-2', text: textTokens }

/**
 * The default until files counted by their kind: an image 1,000, every other part its JSON as text. What was recorded
 * by it is counted by it for ever.
 */
const countedJsonAsText: Estimator = {
  name: 'characters-by-script-1',
  text: textTokens,
  part: (part) => {
    if (part.type === 'text' && typeof part['text'] === 'string') return textTokens(part['text'])
    return part.type === 'image_url' || part.type === 'input_image' || part.type === 'image'
      ? IMAGE_TOKENS
      : textTokens(JSON.stringify(part))
  },
}

/** The estimators that need no registration: what was recorded by one of them can be read everywhere. */
export const builtInEstimators: readonly Estimator[] = [defaultEstimator, countedJsonAsText]

function partTokens(part: ContentPart, estimator: Estimator): number {
  // A text may come with fields of its API beside it (a mark for the cache), which cost nothing.
  if (isTextPart(part) && (estimator !== countedJsonAsText || part.type === 'text')) return estimator.text(part.text)
  return mediaTokens(part, estimator)
}

/**
 * Tokens of a content: text, or its parts. A part that is no text counts by its kind and length, never its base64 as
 * text.
 */
export function contentTokens(
  content: string | readonly ContentPart[] | null | undefined,
  estimator: Estimator,
): number {
  if (content === null || content === undefined) return 0
  if (typeof content === 'string') return estimator.text(content)
  return content.reduce((sum, part) => sum + partTokens(part, estimator), 0)
}

// Fields that we do not know may hold base64 too: the recorded sound of an answer.
const extraTokens = (extra: MessageBody['extra'], estimator: Estimator): number =>
  extra === undefined
    ? 0
    : estimator === countedJsonAsText
      ? estimator.text(JSON.stringify(extra))
      : jsonTokens(extra, estimator)

/** Tokens of tool calls: their names, ids and arguments as JSON. */
export function toolCallTokens(calls: readonly ToolCall[] | undefined, estimator: Estimator): number {
  return calls === undefined || calls.length === 0 ? 0 : estimator.text(JSON.stringify(calls))
}

/**
 * Tokens of a message: 2 for its role, its name and call id, its content, its tool calls, and unknown fields as JSON.
 */
export function messageTokens(message: MessageBody, estimator: Estimator): number {
  return (
    ROLE_TOKENS +
    (message.name === undefined ? 0 : estimator.text(message.name)) +
    (message.toolCallId === undefined ? 0 : estimator.text(message.toolCallId)) +
    contentTokens(message.content, estimator) +
    toolCallTokens(message.toolCalls, estimator) +
    extraTokens(message.extra, estimator)
  )
}
