/**
 * JSON as it came over the wire: valid UTF-8, no key twice in an object, not nested too deep, no number that a double
 * does not hold. `JSON.parse` takes the last of two equal keys without a word, so that who checks a body and who reads it
 * could see different ones; and it rounds a whole number beyond 2^53, so that another one would be recorded than was sent.
 */
import { MOST_LEVELS } from '../domain/values/nesting.js'
import { Refused } from './problems.js'

// A message may be nested as deep as the ledger takes it, and stands in a list in an object.
const LEVELS = MOST_LEVELS + 4

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** The text of a body. */
export function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Refused('NotUtf8', 'the body is not UTF-8: nothing was recorded')
  }
}

/** What a text says as JSON. */
export function jsonOf(text: string): unknown {
  if (text.trim() === '') throw new Refused('MalformedJson', 'the body is empty, and JSON is wanted')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Refused('MalformedJson', `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  look(text)
  return value
}

const QUOTE = 34
const BACKSLASH = 92
const COMMA = 44
const COLON = 58
const MINUS = 45
const NUMBER = /-?\d+(?<fraction>[.eE][\d.eE+-]*)?/uy

/** Where the string that begins at `from` ends: the place of its closing quote. */
function endOf(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); ; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
}

/** Where the number that begins at `at` ends: the place of its last letter. */
function passNumber(text: string, at: number): number {
  NUMBER.lastIndex = at
  const found = NUMBER.exec(text)
  const digits = found?.[0] ?? ''
  const value = Number(digits)
  const isWhole = found?.groups?.['fraction'] === undefined
  // A program that counts in doubles writes 2^60 as 1152921504606847000: that comes to the same double, so it is held.
  const isHeld = Number.isFinite(value) && (!isWhole || String(value) === digits || BigInt(digits) === BigInt(value))
  if (!isHeld)
    throw new Refused(
      'NumberTooLarge',
      `the body has the number ${digits.slice(0, 50)}, and a double comes to ${String(value)}: send it as a string`,
    )
  return at + digits.length - 1
}

/** Looks for what `JSON.parse` takes and we do not, in a text that it took. */
function look(text: string): void {
  /** The keys of each object that is open; undefined for a list. */
  const open: (Set<string> | undefined)[] = []
  let awaitsKey = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = endOf(text, at)
      const keys = open.at(-1)
      if (awaitsKey && keys !== undefined) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a text between two quotes
        const key = JSON.parse(text.slice(at, end + 1)) as string
        if (keys.has(key))
          throw new Refused(
            'DoubledKey',
            `the body has the key "${key.slice(0, 200).toWellFormed()}" twice in one object`,
            { field: key.slice(0, 200).toWellFormed() },
          )
        keys.add(key)
        awaitsKey = false
      }
      at = end
    } else if (code === 123 || code === 91) {
      open.push(code === 123 ? new Set() : undefined)
      if (open.length > LEVELS) throw new Refused('TooDeep', `the body is nested deeper than ${String(LEVELS)} levels`)
      awaitsKey = code === 123
    } else if (code === 125 || code === 93) {
      open.pop()
      awaitsKey = false
    } else if (code === COMMA) awaitsKey = open.at(-1) !== undefined
    else if (code === COLON) awaitsKey = false
    else if (code === MINUS || (code >= 48 && code <= 57)) at = passNumber(text, at)
  }
}
