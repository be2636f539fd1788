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

/**
 * Makes another estimator known in this process by its name, so that a ledger can be opened with it (`LedgerOptions.estimator`) and conversations
 * that count by it can be read. The same text has to cost the same for ever: a changed rule gets a new name. Throws a `RangeError` where another
 * estimator has the name: what is recorded by that one would be counted in another way.
 */
export function registerEstimator(estimator: Estimator): void {
  const there = estimators.get(estimator.name)
  if (there !== undefined && there !== estimator) throw new RangeError(`there is a token estimator "${estimator.name}" already: another rule needs a name of its own`)
  estimators.set(estimator.name, estimator)
}

/** The names of all that are known here. */
export const registeredEstimators = (): readonly string[] => [...estimators.keys()]

/** Whether the estimator of this name is known here. */
export const isRegisteredEstimator = (name: string): boolean => estimators.has(name)

/** A conversation counts by an estimator that this process does not know: numbers by another rule would not be the recorded ones. */
export class EstimatorNotRegistered extends Error {
  override readonly name = 'EstimatorNotRegistered'
  constructor(readonly estimator: string) {
    super(`token estimator "${estimator}" is not registered: only a program that calls registerEstimator with it can go on with this conversation`)
  }
}

/** The estimator of this name. Throws where it was never registered. */
export function estimatorNamed(name: string): Estimator {
  const estimator = estimators.get(name)
  if (estimator === undefined) throw new EstimatorNotRegistered(name)
  return estimator
}
