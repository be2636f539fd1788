/**
 * A prompt cache as OpenAI documents it: what of a request's beginning stood at the beginning of a request before, from
 * 1,024 tokens on, in steps of 128. A token is four characters here; nothing leaves the cache.
 */
import { either as E } from 'fp-ts'
import type { LanguageModel, LanguageModelRequest } from '../../src/ports/language-model.js'

const LEAST = 1_024
const STEP = 128
const CHARACTERS = 4

const sharedLength = (a: string, b: string): number => {
  let [low, high] = [0, Math.min(a.length, b.length)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (a.startsWith(b.slice(0, middle))) low = middle
    else high = middle - 1
  }
  return low
}

/** What a request took. */
export interface Reckoned {
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** Requests by their tools and messages, in the order in which they came. */
export class PromptCache {
  private readonly seen: string[] = []

  constructor(private readonly remembered = 64) {}

  take(tools: readonly unknown[], messages: readonly unknown[]): Reckoned {
    // Without its end, which stands behind every message of a list.
    const text = [JSON.stringify(tools), ...messages.map((message) => JSON.stringify(message))].join('\n')
    const shared = this.seen.reduce((most, before) => Math.max(most, sharedLength(before, text)), 0)
    this.seen.push(text)
    if (this.seen.length > this.remembered) this.seen.shift()
    const tokens = Math.floor(shared / CHARACTERS)
    return {
      promptTokens: Math.ceil(text.length / CHARACTERS),
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
