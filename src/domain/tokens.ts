/**
 * How many tokens a text costs, roughly. The number is recorded with each message and triggers go by it, so an estimator has a name,
 * the name is recorded in the stream, and a changed rule gets a new name.
 */
import type { ContentPart, MessageBody, ToolCall } from './message.js'

/** Tells how many tokens a text is. An exact tokenizer can take the default's place. */
export interface Estimator {
  /** Recorded in the stream's configuration. */
  readonly name: string
  /** Tokens of a text, a whole number >= 0. */
  text(text: string): number
}

/** What an image counts, whatever its size. */
export const IMAGE_TOKENS = 1000
/** What a message's role counts. */
export const ROLE_TOKENS = 2

// Chinese, Japanese, Korean and emoji: real tokenizers give about one token a code point there, so four characters a token was
// measured three to four times too low. Full-width forms and CJK punctuation go with them.
const ONE_A_CODE_POINT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Extended_Pictographic}\u3000-\u303f\uff00-\uffef]/gu
const SUSPECT = /[\u00a9-\uffff]/u

/** Four UTF-16 units a token, and one token a code point in scripts where that is far off. */
export const defaultEstimator: Estimator = {
  name: 'characters-by-script-1',
  text(text) {
    if (!SUSPECT.test(text)) return Math.ceil(text.length / 4)
    let apart = 0
    let units = 0
    for (const [point] of text.matchAll(ONE_A_CODE_POINT)) {
      apart += 1
      units += point.length
    }
    return apart + Math.ceil((text.length - units) / 4)
  },
}

function partTokens(part: ContentPart, estimator: Estimator): number {
  if (part.type === 'text' && typeof part['text'] === 'string') return estimator.text(part['text'])
  if (part.type === 'image_url' || part.type === 'input_image' || part.type === 'image') return IMAGE_TOKENS
  return estimator.text(JSON.stringify(part))
}

/** Tokens of a content: text, or its parts (an image counts 1,000; an unknown part counts its JSON). */
export function contentTokens(content: string | readonly ContentPart[] | null | undefined, estimator: Estimator): number {
  if (content === null || content === undefined) return 0
  if (typeof content === 'string') return estimator.text(content)
  return content.reduce((sum, part) => sum + partTokens(part, estimator), 0)
}

/** Tokens of tool calls: their names, ids and arguments as JSON. */
export function toolCallTokens(calls: readonly ToolCall[] | undefined, estimator: Estimator): number {
  return calls === undefined || calls.length === 0 ? 0 : estimator.text(JSON.stringify(calls))
}

/** Tokens of a message: 2 for its role, its name and call id, its content, its tool calls, and unknown fields as JSON. */
export function messageTokens(message: MessageBody, estimator: Estimator): number {
  return (
    ROLE_TOKENS +
    (message.name === undefined ? 0 : estimator.text(message.name)) +
    (message.toolCallId === undefined ? 0 : estimator.text(message.toolCallId)) +
    contentTokens(message.content, estimator) +
    toolCallTokens(message.toolCalls, estimator) +
    (message.extra === undefined ? 0 : estimator.text(JSON.stringify(message.extra)))
  )
}

const estimators = new Map([[defaultEstimator.name, defaultEstimator]])

/** Makes another estimator known by its name, so that streams recorded with it can be read. */
export function registerEstimator(estimator: Estimator): void {
  estimators.set(estimator.name, estimator)
}

/** Whether the estimator of this name is known here. */
export const isRegisteredEstimator = (name: string): boolean => estimators.has(name)

/** The estimator of this name. Throws where it was never registered: numbers by another rule would not be the recorded ones. */
export function estimatorNamed(name: string): Estimator {
  const estimator = estimators.get(name)
  if (estimator === undefined) throw new Error(`token estimator "${name}" is not registered: call registerEstimator before reading this conversation`)
  return estimator
}
