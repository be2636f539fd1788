/**
 * Estimates of the tokens of a text. Each message records its estimate, and triggers depend on it. So an estimator has
 * a name, the stream records the name, and a changed rule gets a new name.
 */
import type { Estimator } from './estimator.js'
import { IMAGE_TOKENS, jsonTokens, mediaTokens } from './media.js'
import { isTextPart, type ContentPart, type MessageBody, type ToolCall } from './message.js'

export type { Estimator, FindEstimator } from './estimator.js'

/**
 * Largest count of a text, a part, a message or a model call. Sums of such counts stay exact integers that every column
 * can hold.
 */
export const MAX_TOKENS = 2 ** 31 - 1
/** Tokens of the role of a message. */
export const ROLE_TOKENS = 2

// Chinese, Japanese, Korean and emoji: real tokenizers use about one token for each code point, and four characters a
// token was measured three to four times too low. Includes full-width forms and CJK punctuation.
const ONE_A_CODE_POINT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Extended_Pictographic}\u3000-\u303f\uff00-\uffef]/u
// Quick check whether a text may contain one. It ignores surrogate pairs: recorded numbers depend on this rule.
const SUSPECT = /[\u00a9-\uffff]/u

const UNKNOWN = 0
const QUARTER = 1
const WHOLE = 2
const kindOf = (point: string): number => (ONE_A_CODE_POINT.test(point) ? WHOLE : QUARTER)
/** The kind of each UTF-16 unit that is a code point by itself, filled when a text first has it. */
const kinds = new Uint8Array(0x10000)

function textTokens(text: string): number {
  if (!SUSPECT.test(text)) return Math.ceil(text.length / 4)
  let whole = 0
  let quarters = 0
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    const isPair = unit >= 0xd800 && unit < 0xdc00 && (text.codePointAt(at) ?? 0) > 0xffff
    if (isPair) {
      if (kindOf(text.slice(at, at + 2)) === WHOLE) whole += 1
      else quarters += 2
      at += 1
      continue
    }
    if (kinds[unit] === UNKNOWN) kinds[unit] = kindOf(String.fromCharCode(unit))
    if (kinds[unit] === WHOLE) whole += 1
    else quarters += 1
  }
  return whole + Math.ceil(quarters / 4)
}

/**
 * Four UTF-16 units a token, and one token a code point in scripts for which that is far too low. Other parts count by
 * kind and length.
 */
export const defaultEstimator: Estimator = { name: 'characters-by-script-2', text: textTokens }

/**
 * The default before parts were counted by kind: an image counts 1,000, any other part as its JSON text. Conversations
 * recorded with it keep it.
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

/** Estimators that need no registration: every process can read conversations that use them. */
export const builtInEstimators: readonly Estimator[] = [defaultEstimator, countedJsonAsText]

function partTokens(part: ContentPart, estimator: Estimator): number {
  // A text part may have other fields of its API (a cache mark), which cost nothing.
  if (isTextPart(part) && (estimator !== countedJsonAsText || part.type === 'text')) return estimator.text(part.text)
  return mediaTokens(part, estimator)
}

/** Tokens of a content: text, or its parts. Other parts count by kind and length; base64 is never counted as text. */
export function contentTokens(
  content: string | readonly ContentPart[] | null | undefined,
  estimator: Estimator,
): number {
  if (content === null || content === undefined) return 0
  if (typeof content === 'string') return estimator.text(content)
  return content.reduce((sum, part) => sum + partTokens(part, estimator), 0)
}

// Unknown fields may hold base64, too: for example the audio of an answer.
const extraTokens = (extra: MessageBody['extra'], estimator: Estimator): number =>
  extra === undefined
    ? 0
    : estimator === countedJsonAsText
      ? estimator.text(JSON.stringify(extra))
      : jsonTokens(extra, estimator)

/** Tokens of tool calls: names, ids and arguments as JSON. */
export function toolCallTokens(calls: readonly ToolCall[] | undefined, estimator: Estimator): number {
  return calls === undefined || calls.length === 0 ? 0 : estimator.text(JSON.stringify(calls))
}

/** Tokens of a message: 2 for the role, plus name, call id, content, tool calls, and unknown fields as JSON. */
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
