/** The arguments of a command, read by name and type. yargs has already checked names and choices. */
import { LedgerError } from '../../lib/ledger-error.js'
import type { Flags } from './flags.js'

export interface CommandArgs {
  /** All flags, as input for the settings. */
  readonly flags: Flags

  readonly json: boolean
  text(name: string): string | undefined
  /** Like `text`, but returns undefined for an empty value, which an unset shell variable produces. */
  setting(name: string): string | undefined
  /** A required positional. */
  word(name: string): string
  words(name: string): readonly string[]
  /** All values of a repeatable flag. */
  several(name: string): readonly string[]
  is(name: string): boolean
  /** A whole number from 0. */
  whole(name: string): number | undefined
  /** A whole number from 1. */
  atLeastOne(name: string): number | undefined
  /** A number above 0. */
  positive(name: string): number | undefined
  /** One of the choices; the first is the default. */
  oneOf<Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice
}

/** Marks a word after `--` that begins with a dash. A command line cannot contain this character. */
const WORD = '\0'

/** Marks a word for yargs, so that a leading dash does not make it a flag. */
export const asWord = (word: string): string => (word.startsWith('-') ? `${WORD}${word}` : word)

const asTyped = (value: string): string => (value.startsWith(WORD) ? value.slice(WORD.length) : value)

export function readArgs(flags: Flags): CommandArgs {
  const text = (name: string): string | undefined => {
    // The last value of a repeated flag counts. (yargs has an option for this, but it would also drop all but the last
    // of several files.)
    const flag = flags[name]
    const value: unknown = Array.isArray(flag) ? flag.at(-1) : flag
    return typeof value === 'string' ? asTyped(value) : undefined
  }
  function whole(name: string): number | undefined {
    const value = text(name)
    if (value === undefined) return undefined
    if (!/^\d{1,15}$/u.test(value.trim()))
      throw new LedgerError('Usage', `--${name} must be a whole number; got "${value}"`)
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
      if (number === 0) throw new LedgerError('Usage', `--${name} must be at least 1`)
      return number
    },
    positive(name) {
      const value = text(name)
      if (value === undefined) return undefined
      const number = value.trim() === '' ? Number.NaN : Number(value)
      if (!Number.isFinite(number) || number <= 0)
        throw new LedgerError('Usage', `--${name} must be a number above 0; got "${value}"`)
      return number
    },
    oneOf(name, choices) {
      return choices.find((choice) => choice === flags[name]) ?? choices[0]
    },
  }
}
