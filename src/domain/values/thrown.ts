import { headOf } from '../text/clean-text.js'

/**
 * The text of a thrown value. JavaScript can throw anything, including a value without a text, or with a `toString`
 * that throws.
 */
export function thrownSentence(error: unknown): string {
  try {
    // The `message` of an error can be any value, too.
    const text: unknown = error instanceof Error ? error.message : error
    return headOf(String(text), MAX_CHARACTERS)
  } catch {
    return `a ${typeof error} without a text was thrown`
  }
}

/** The text is recorded and shown, but it may contain pasted data of any length. */
const MAX_CHARACTERS = 2_000
