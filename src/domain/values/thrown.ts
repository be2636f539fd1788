import { headOf } from '../text/clean-text.js'

/** What was thrown, in words. Somebody may throw anything, also what has no text, or a text that itself throws. */
export function thrownSentence(error: unknown): string {
  try {
    // By hand, because an error's message may be anything as well.
    const text: unknown = error instanceof Error ? error.message : error
    return headOf(String(text), MOST_CHARACTERS)
  } catch {
    return `a ${typeof error} without a text was thrown`
  }
}

/** A sentence is recorded and shown: what somebody pasted into an error need not be. */
const MOST_CHARACTERS = 2_000
