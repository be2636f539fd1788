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

/** The only name, if there is one. */
const only = ([name, ...more]: readonly string[]): string | undefined => (more.length === 0 ? name : undefined)

/**
 * The known name that was probably meant: one that is spelt differently or differs little, or else the only one that
 * begins with the input, or that contains it (`maxTokens` is in `modelMaxTokens`).
 */
export function nameMeant(input: string, known: readonly string[]): string | undefined {
  const near = respelt(input, known) ?? nearest(input, known)
  const sought = letters(input)
  if (near !== undefined || sought === '') return near
  const longer = known.filter((name) => letters(name).includes(sought))
  return (
    only(longer.filter((name) => letters(name).startsWith(sought))) ?? (sought.length < 4 ? undefined : only(longer))
  )
}

/**
 * The error for an unknown name, as a predicate: it suggests the closest known name (`is no option of search: did you
 * mean limit?`) or lists all.
 */
export function notKnown(given: string, known: readonly string[], what: string): string {
  const near = nameMeant(given, known)
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

/** A suffix for an error about an unknown name; empty without a suggestion. */
export const didYouMean = (near: string | undefined): string => (near === undefined ? '' : ` (did you mean ${near}?)`)
