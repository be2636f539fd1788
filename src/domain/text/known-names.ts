/**
 * Names that somebody gave, held against those that there are: who misspelt one is told which one may have been meant.
 */
import { nearest } from './edit-distance.js'

/**
 * `toolCalls`, `tool-calls` and `TOOL_CALLS` are one word. An underscore in front makes another one of it: `_id` is
 * what databases add.
 */
const letters = (name: string): string => name.replaceAll(/(?<=.)[-_ ]/gu, '').toLowerCase()

/** The known name that is the given one in another spelling: other capitals, underscores or dashes. */
export const respelt = (given: string, known: readonly string[]): string | undefined =>
  known.find((name) => letters(name) === letters(given))

/** The known name that somebody may have meant. */
export const meant = (given: string, known: readonly string[]): string | undefined =>
  respelt(given, known) ?? nearest(given, known)

/**
 * What is wrong with a name that is none of those known: `is no option of search: did you mean limit?`, or which there
 * are.
 */
export function notKnown(given: string, known: readonly string[], what: string): string {
  const near = meant(given, known)
  return near === undefined ? `is no ${what}; there are ${known.join(', ')}` : `is no ${what}: did you mean ${near}?`
}

/**
 * The first name of an object that is none of those known, with what is wrong with it. Undefined where all are known.
 */
export function unknownName(
  given: object,
  known: readonly string[],
  what: string,
): { readonly field: string; readonly detail: string } | undefined {
  const field = Object.keys(given).find((name) => !known.includes(name))
  return field === undefined ? undefined : { field, detail: notKnown(field, known, what) }
}

/**
 * The same for a name that people give (a conversation, a command, a file): the nearest one, else the only one that
 * begins with what was typed.
 */
export function nameMeant(given: string, known: readonly string[]): string | undefined {
  const begun = given === '' ? [] : known.filter((name) => name.startsWith(given))
  return nearest(given, known) ?? (begun.length === 1 ? begun[0] : undefined)
}

/** What to add to a sentence that says no to a name: the one that may have been meant, where there is one. */
export const didYouMean = (near: string | undefined): string => (near === undefined ? '' : ` (did you mean ${near}?)`)
