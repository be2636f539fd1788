/** Suggestions for unknown names: compares an input with the known names. */
import { nearest } from './edit-distance.js'

/**
 * `toolCalls`, `tool-calls` and `TOOL_CALLS` are equal. A leading underscore makes a different name: databases add
 * `_id`.
 */
const letters = (name: string): string => name.replaceAll(/(?<=.)[-_ ]/gu, '').toLowerCase()

/** The known name that differs only in capitals, underscores or dashes. */
export const respelt = (given: string, known: readonly string[]): string | undefined =>
  known.find((name) => letters(name) === letters(given))

/** The known name that was probably meant. */
export const meant = (given: string, known: readonly string[]): string | undefined =>
  respelt(given, known) ?? nearest(given, known)

/** The only known name that contains the input: `maxTokens` is in `modelMaxTokens`. */
function containing(given: string, known: readonly string[]): string | undefined {
  const sought = letters(given)
  const found = sought.length < 4 ? [] : known.filter((name) => letters(name).includes(sought))
  return found.length === 1 ? found[0] : undefined
}

/**
 * The error for an unknown name, as a predicate: it suggests the closest known name (`is no option of search: did you
 * mean limit?`) or lists all.
 */
export function notKnown(given: string, known: readonly string[], what: string): string {
  const near = meant(given, known) ?? containing(given, known)
  return near === undefined ? `is no ${what}; there are ${known.join(', ')}` : `is no ${what}: did you mean ${near}?`
}

/** The first unknown key of an object, with the error. Undefined if all keys are known. */
export function unknownName(
  given: object,
  known: readonly string[],
  what: string,
): { readonly field: string; readonly detail: string } | undefined {
  const field = Object.keys(given).find((name) => !known.includes(name))
  return field === undefined ? undefined : { field, detail: notKnown(field, known, what) }
}

/**
 * The closest known name for a name typed by a person (a conversation, a command, a file), or else the only one that
 * begins with the input.
 */
export function nameMeant(given: string, known: readonly string[]): string | undefined {
  const completions = given === '' ? [] : known.filter((name) => name.startsWith(given))
  return nearest(given, known) ?? (completions.length === 1 ? completions[0] : undefined)
}

/** A suffix for an error about an unknown name; empty without a suggestion. */
export const didYouMean = (near: string | undefined): string => (near === undefined ? '' : ` (did you mean ${near}?)`)
