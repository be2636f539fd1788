/**
 * JSON of others, read so that nothing in it turns into something else without a word. `JSON.parse` rounds a whole
 * number beyond 2^53, makes `1e400` infinite, and of two equal keys takes the last. Who can be told gets a refusal
 * (`strictJson`); what a program wrote long ago, or asks of somebody else, keeps its digits (`exactJson`).
 */
import { either as E } from 'fp-ts'
import { sha256 } from '../values/hash.js'
import { MOST_LEVELS } from '../values/nesting.js'

/** Why a text is refused, as a sentence behind "the body" or "the line". */
export interface JsonProblem {
  readonly kind: 'MalformedJson' | 'DoubledKey' | 'TooDeep' | 'NumberTooLarge'
  readonly detail: string
  /** The key that stands there twice. */
  readonly field?: string
  /** The place in the text, where it is known. */
  readonly at?: number
}

// A message may be nested as deep as the ledger takes it, and stands in a list in an object.
const LEVELS = MOST_LEVELS + 4

const QUOTE = 34
const BACKSLASH = 92
const COMMA = 44
const COLON = 58
const MINUS = 45
/** The letters that stand in a number behind its first. */
const IN_NUMBER = new Set(Array.from('0123456789.eE+-', (letter) => letter.charCodeAt(0)))
/** Numbers of fewer digits are held by a double as they are written. */
const SHORT = 15

/** Hears what stands in a text. What it gives back ends the walk. */
interface Listener<Heard> {
  key?(text: string, open: Set<string>, at: number): Heard | undefined
  level?(count: number, at: number): Heard | undefined
  /** A number of many digits or with an exponent, which a double may not hold, and where it stands. */
  number(digits: string, at: number): Heard | undefined
}

/** Where the string that begins at `from` ends: the place of its closing quote. */
function endOf(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); ; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
}

/** Where the number that begins at `from` ends. A pattern that looked for it ran out of stack at millions of digits. */
function endOfNumber(text: string, from: number): number {
  let at = from + 1
  while (IN_NUMBER.has(text.charCodeAt(at))) at += 1
  return at
}

const isWhole = (digits: string): boolean => !['.', 'e', 'E'].some((mark) => digits.includes(mark))

/** A program that counts in doubles writes 2^60 as 1152921504606847000: that comes to the same double, so it is held. */
function isHeld(digits: string): boolean {
  const value = Number(digits)
  return Number.isFinite(value) && (!isWhole(digits) || String(value) === digits || BigInt(digits) === BigInt(value))
}

/** Walks through a text that `JSON.parse` took. */
function walk<Heard>(text: string, listener: Listener<Heard>): Heard | undefined {
  /** The keys of each object that is open; undefined for a list. */
  const open: (Set<string> | undefined)[] = []
  let awaitsKey = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    let heard: Heard | undefined
    if (code === QUOTE) {
      const end = endOf(text, at)
      const keys = open.at(-1)
      if (awaitsKey && keys !== undefined) heard = listener.key?.(text.slice(at, end + 1), keys, at)
      awaitsKey = false
      at = end
    } else if (code === 123 || code === 91) {
      open.push(code === 123 ? new Set() : undefined)
      heard = listener.level?.(open.length, at)
      awaitsKey = code === 123
    } else if (code === 125 || code === 93) {
      open.pop()
      awaitsKey = false
    } else if (code === COMMA) awaitsKey = open.at(-1) !== undefined
    else if (code === COLON) awaitsKey = false
    else if (code === MINUS || (code >= 48 && code <= 57)) {
      const end = endOfNumber(text, at)
      const digits = text.slice(at, end)
      if (digits.length > SHORT || !isWhole(digits)) heard = listener.number(digits, at)
      at = end - 1
    }
    if (heard !== undefined) return heard
  }
  return undefined
}

const strict: Listener<JsonProblem> = {
  key(text, open, at) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a text between two quotes
    const key = JSON.parse(text) as string
    const field = key.slice(0, 200).toWellFormed()
    if (open.has(key)) return { kind: 'DoubledKey', detail: `has the key "${field}" twice in one object`, field, at }
    open.add(key)
    return undefined
  },
  level: (count, at) =>
    count > LEVELS ? { kind: 'TooDeep', detail: `is nested deeper than ${String(LEVELS)} levels`, at } : undefined,
  number: (digits, at) =>
    isHeld(digits)
      ? undefined
      : {
          kind: 'NumberTooLarge',
          detail: `has the number ${digits.slice(0, 50)}, and a double comes to ${String(Number(digits))}: send it as a string`,
          at,
        },
}

/** The value of a text; a problem where it is no JSON, or where what is recorded of it would be something else. */
export function strictJson(text: string): E.Either<JsonProblem, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    const place = /position (\d+)/u.exec(said)?.[1]
    return E.left({
      kind: 'MalformedJson',
      detail: `is no JSON: ${said}`,
      ...(place === undefined ? {} : { at: Number(place) }),
    })
  }
  const problem = walk(text, strict)
  return problem === undefined ? E.right(value) : E.left(problem)
}

/** What a number looks like that a double may not hold. Most texts have none, and need no walk. */
const LONG = /\d{16}/u
const HUGE = /\d[eE]\+?\d{3,}(?:[\s,\]}]|$)/u

/** A number of more digits stays a text: a big integer of a million takes half a second to be written again. */
const MOST_DIGITS = 1_000

/**
 * The value of a text. A whole number that a double would write with other digits is a big integer in it; one of more
 * than 1,000 digits, and one like `1e400`, is the text of it. Only what is nested too deep for anybody to record
 * (thousands of levels) is as `JSON.parse` has it.
 * @throws SyntaxError where it is no JSON
 */
export function exactJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!LONG.test(text) && !HUGE.test(text)) return value
  // No text has its own hash in it.
  const mark = sha256(text)
  const pieces: string[] = []
  let from = 0
  walk<never>(text, {
    number(digits, at) {
      if (isWhole(digits) ? String(Number(digits)) === digits : Number.isFinite(Number(digits))) return undefined
      const isInteger = isWhole(digits) && digits.length <= MOST_DIGITS
      pieces.push(text.slice(from, at), isInteger ? `"${mark}${digits}"` : `"${digits}"`)
      from = at + digits.length
      return undefined
    },
  })
  if (pieces.length === 0) return value
  try {
    return JSON.parse([...pieces, text.slice(from)].join(''), (_key, item: unknown) =>
      typeof item === 'string' && item.startsWith(mark) ? BigInt(item.slice(mark.length)) : item,
    )
  } catch {
    return value
  }
}

/** The text of a value; big integers are texts of their digits, behind a mark. */
const withDigits = (value: unknown, mark: string): string =>
  JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? `${mark}${String(item)}` : item))

/** The text of a value; big integers are whole numbers in it. Undefined for what JSON has no word for. */
export function exactText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // Big integers stop it, and it says so once more where it was a cycle, or too deep.
  }
  const mark = sha256(withDigits(value, ''))
  const text = withDigits(value, mark)
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'gu'), '$1')
}

function hasBigInteger(value: unknown): boolean {
  const left = new Set([value])
  for (const next of left) {
    if (typeof next === 'bigint') return true
    if (typeof next !== 'object' || next === null) continue
    for (const item of Object.values(next))
      if (typeof item === 'bigint' || (typeof item === 'object' && item !== null)) left.add(item)
  }
  return false
}

/** A value as it can be recorded: big integers are the texts of their digits. */
export function recordable<Value>(value: Value): Value {
  if (!hasBigInteger(value)) return value
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is of no known type can be a big integer
  return JSON.parse(withDigits(value, '')) as Value
}
