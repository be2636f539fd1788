/**
 * A prompt cache as OpenAI documents it: what of a request's beginning stood at the beginning of a request before, from
 * 1,024 tokens on, in steps of 128. A token is four characters here; nothing leaves the cache.
 */
import { either as E } from 'fp-ts'
import type { LanguageModel, LanguageModelRequest } from '../../src/ports/language-model.js'

const LEAST = 1_024
const STEP = 128
const CHARACTERS = 4

/** Characters that two texts begin with in common. */
function sharedLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

/** Characters that two lists of texts begin with in common. */
function sharedBeginning(a: readonly string[], b: readonly string[]): number {
  let shared = 0
  for (const [at, text] of a.entries()) {
    const other = b[at]
    if (other !== text) return shared + sharedLength(text, other ?? '')
    shared += text.length
  }
  return shared
}

/** What a request took. */
export interface Reckoned {
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** Requests by their tools and messages, in the order in which they came. */
export class PromptCache {
  private readonly seen: (readonly string[])[] = []

  constructor(private readonly remembered = 8) {}

  take(tools: readonly unknown[], messages: readonly unknown[]): Reckoned {
    const texts = [tools, ...messages].map((each) => JSON.stringify(each))
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    const shared = this.seen.reduce((most, before) => Math.max(most, sharedBeginning(texts, before)), 0)
    this.seen.push(texts)
    if (this.seen.length > this.remembered) this.seen.shift()
    const tokens = Math.floor(shared / CHARACTERS)
    return {
      promptTokens: Math.ceil(length / CHARACTERS),
      cachedTokens: tokens < LEAST ? 0 : LEAST + Math.floor((tokens - LEAST) / STEP) * STEP,
    }
  }
}

/** A model that summarizes by a fixed text, and says what each request took of the cache. */
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
      const text = `Summary of what was said: ${'a decision, and why it was made. '.repeat(12)}`
      const usage = {
        ...cache.take(request.tools ?? [], messages),
        completionTokens: Math.ceil(text.length / CHARACTERS),
      }
      return Promise.resolve(E.right({ text, usage }))
    },
  }
}
