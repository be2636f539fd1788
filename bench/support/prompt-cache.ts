/**
 * A prompt cache as OpenAI documents it: the longest common prefix of a request with an earlier one, from 1,024 tokens
 * on, in steps of 128. A token is four characters here; no entry expires.
 */
import { either as E } from 'fp-ts'
import type { LanguageModel, LanguageModelRequest } from '../../src/ports/language-model.js'

const LEAST = 1_024
const STEP = 128
const CHARACTERS = 4

/** Length of the common prefix of two texts. */
function sharedLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

/** Length of the common prefix of two lists of texts. */
function sharedBeginning(a: readonly string[], b: readonly string[]): number {
  let shared = 0
  for (const [at, text] of a.entries()) {
    const otherText = b[at]
    if (otherText !== text) return shared + sharedLength(text, otherText ?? '')
    shared += text.length
  }
  return shared
}

/** The token usage of a request. */
export interface Reckoned {
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** Requests by their tools and messages, in order of arrival. */
export class PromptCache {
  private readonly earlierRequests: (readonly string[])[] = []

  constructor(private readonly remembered = 8) {}

  take(tools: readonly unknown[], messages: readonly unknown[]): Reckoned {
    const texts = [tools, ...messages].map((each) => JSON.stringify(each))
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    const shared = this.earlierRequests.reduce((most, before) => Math.max(most, sharedBeginning(texts, before)), 0)
    this.earlierRequests.push(texts)
    if (this.earlierRequests.length > this.remembered) this.earlierRequests.shift()
    const tokens = Math.floor(shared / CHARACTERS)
    return {
      promptTokens: Math.ceil(length / CHARACTERS),
      cachedTokens: tokens < LEAST ? 0 : LEAST + Math.floor((tokens - LEAST) / STEP) * STEP,
    }
  }
}

/**
 * A model that answers with a fixed text and a few words of the messages. It reports how much of each request was
 * cached.
 */
export function createCachedModel(cache: PromptCache, windowTokens: number): LanguageModel {
  return {
    provider: 'stub',
    model: 'stub-1',
    windowTokens,
    parameters: ({ temperature, maxOutputTokens }) => ({ temperature, max_tokens: maxOutputTokens }),
    complete: (request: LanguageModelRequest) => () => {
      const messages = [
        ...(request.system === undefined ? [] : [{ role: 'system', content: request.system }]),
        ...(request.messages ?? []),
        { role: 'user', content: request.prompt },
      ]
      // The ledger rejects a summary without words of its messages.
      const source = request.messages === undefined ? request.prompt : JSON.stringify(request.messages.slice(-4))
      const quoted = source.slice(source.length / 2, source.length / 2 + 60)
      const text = `Summary of "${quoted}": ${'a decision, and why it was made. '.repeat(10)}`
      const usage = {
        ...cache.take(request.tools ?? [], messages),
        completionTokens: Math.ceil(text.length / CHARACTERS),
      }
      return Promise.resolve(E.right({ text, usage }))
    },
  }
}
