/**
 * What was given on the command line, read by name. yargs has checked the names and the choices; here are the types.
 */
import { InputError } from './errors.js'
import type { Flags } from './flags.js'

export interface Given {
  /** Everything, for the settings. */
  readonly flags: Flags
  /** True where `--json` asks for one document. */
  readonly json: boolean
  text(name: string): string | undefined
  /** The same, but an empty text counts as not given: it comes from a variable of the shell that is not set. */
  setting(name: string): string | undefined
  /** Of a word that yargs demands. */
  word(name: string): string
  words(name: string): readonly string[]
  /** Of a flag that may be given more than once. */
  several(name: string): readonly string[]
  is(name: string): boolean
  /** A whole number from 0. */
  whole(name: string): number | undefined
  /** A whole number from 1. */
  atLeastOne(name: string): number | undefined
  /** A number above 0. */
  positive(name: string): number | undefined
  /** One of these; the first where it is not given. */
  oneOf<Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice
}

/** Marks a word that begins with a dash and is no flag. No command line can hold this character. */
const WORD = '\0'

/** A word as it is handed to yargs, so that it is no flag though it begins with a dash. */
export const asWord = (word: string): string => (word.startsWith('-') ? `${WORD}${word}` : word)

const asTyped = (value: string): string => (value.startsWith(WORD) ? value.slice(WORD.length) : value)

/** Wraps what yargs made of the command line. */
export function givenBy(flags: Flags): Given {
  const text = (name: string): string | undefined => {
    // A flag that is given twice counts as it was given last. (yargs can do that by itself, but then keeps only the
    // last of several files as well.)
    const given = flags[name]
    const value: unknown = Array.isArray(given) ? given.at(-1) : given
    return typeof value === 'string' ? asTyped(value) : undefined
  }
  function whole(name: string): number | undefined {
    const value = text(name)
    if (value === undefined) return undefined
    if (!/^\d{1,15}$/u.test(value.trim()))
      throw new InputError('Usage', `--${name} must be a whole number, and is "${value}"`)
    return Number(value)
  }
  return {
    flags,
    json: flags['json'] === true,
    text,
    setting: (name) => (text(name)?.trim() === '' ? undefined : text(name)),
    word: (name) => text(name) ?? '',
    words(name) {
      const value = flags[name]
      return Array.isArray(value) ? value.map((word) => asTyped(String(word))) : []
    },
    several(name) {
      const value = flags[name]
      return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : []
    },
    is: (name) => flags[name] === true,
    whole,
    atLeastOne(name) {
      const number = whole(name)
      if (number === 0) throw new InputError('Usage', `--${name} must be at least 1`)
      return number
    },
    positive(name) {
      const value = text(name)
      if (value === undefined) return undefined
      const number = value.trim() === '' ? Number.NaN : Number(value)
      if (!Number.isFinite(number) || number <= 0)
        throw new InputError('Usage', `--${name} must be a number above 0, and is "${value}"`)
      return number
    },
    oneOf(name, choices) {
      return choices.find((choice) => choice === flags[name]) ?? choices[0]
    },
  }
}
