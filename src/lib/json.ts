/**
 * Reads JSON from outside without silent changes. `JSON.parse` rounds integers beyond 2^53, turns `1e400` into infinity
 * and keeps the last of two equal keys. `strictJson` rejects such texts. `exactJson` keeps the digits, for data that a
 * program recorded earlier or sends to a third party.
 */
import { either as E } from 'fp-ts'
import { hash } from 'node:crypto'
import { MAX_LEVELS } from './nesting.js'

/** Why a text is rejected, as a predicate for a subject such as "the body" or "the line". */
export interface JsonProblem {
  readonly kind: 'MalformedJson' | 'DoubledKey' | 'TooDeep' | 'NumberTooLarge'
  readonly detail: string
  /** The duplicate key. */
  readonly field?: string
  /** The offset in the text, if known. */
  readonly at?: number
}

// A message may have MOST_LEVELS levels. It is inside an object inside a list.
const LEVELS = MAX_LEVELS + 4

const QUOTE = 34
const BACKSLASH = 92
const COMMA = 44
const COLON = 58
const MINUS = 45
/** The characters that may follow the first one of a number. */
const IN_NUMBER = new Set(Array.from('0123456789.eE+-', (letter) => letter.charCodeAt(0)))
/** A double represents all numbers of up to this many digits exactly. */
const SHORT = 15

/** Called for parts of a text. A returned result ends the walk. */
interface Visitor<Heard> {
  key?(text: string, open: Set<string>, at: number): Heard | undefined
  level?(count: number, at: number): Heard | undefined
  /** A number with many digits or an exponent, which a double may not represent, and its offset. */
  number(digits: string, at: number): Heard | undefined
}

/** Whether a quote is part of a string. */
function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
  return slashes % 2 === 1
}

/** The offset of the closing quote of the string that begins at `from`. */
function endOf(text: string, from: number): number {
  let at = text.indexOf('"', from + 1)
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at
}

/** The end of the number that begins at `from`. A regular expression ran out of stack at millions of digits. */
function endOfNumber(text: string, from: number): number {
  let at = from + 1
  while (IN_NUMBER.has(text.charCodeAt(at))) at += 1
  return at
}

const isWhole = (digits: string): boolean => !['.', 'e', 'E'].some((mark) => digits.includes(mark))

/**
 * Whether a double represents the number. A program that uses doubles writes 2^60 as 1152921504606847000, which is the
 * same double.
 */
function isExact(digits: string): boolean {
  const value = Number(digits)
  return Number.isFinite(value) && (!isWhole(digits) || String(value) === digits || BigInt(digits) === BigInt(value))
}

/** Walks through a text that `JSON.parse` accepts. */
function walk<Heard>(text: string, listener: Visitor<Heard>): Heard | undefined {
  /** The keys of each open object; undefined for a list. */
  const open: (Set<string> | undefined)[] = []
  let awaitsKey = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    let result: Heard | undefined
    if (code === QUOTE) {
      const end = endOf(text, at)
      const keys = open.at(-1)
      if (awaitsKey && keys !== undefined) result = listener.key?.(text.slice(at, end + 1), keys, at)
      awaitsKey = false
      at = end
    } else if (code === 123 || code === 91) {
      open.push(code === 123 ? new Set() : undefined)
      result = listener.level?.(open.length, at)
      awaitsKey = code === 123
    } else if (code === 125 || code === 93) {
      open.pop()
      awaitsKey = false
    } else if (code === COMMA) awaitsKey = open.at(-1) !== undefined
    else if (code === COLON) awaitsKey = false
    else if (code === MINUS || (code >= 48 && code <= 57)) {
      const end = endOfNumber(text, at)
      const digits = text.slice(at, end)
      if (digits.length > SHORT || !isWhole(digits)) result = listener.number(digits, at)
      at = end - 1
    }
    if (result !== undefined) return result
  }
  return undefined
}

const strict: Visitor<JsonProblem> = {
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
    isExact(digits)
      ? undefined
      : {
          kind: 'NumberTooLarge',
          detail: `has the number ${digits.slice(0, 50)}, and a double comes to ${String(Number(digits))}: send it as a string`,
          at,
        },
}

/** The JSON values of a request, unless its byte limit allows more. The work for a request grows with them. */
export const MOST_VALUES = 65_536

/**
 * The JSON values of a message, keys not counted. Each step of its recording and of every later reading walks through
 * all of them without a pause.
 */
export const MOST_MESSAGE_VALUES = 10_000

/**
 * Whether a text has more JSON values than this, keys not counted. It takes 4 ms for a megabyte, and accepts texts that are
 * no JSON.
 */
export function hasMoreValues(text: string, most: number): boolean {
  if (text.length <= most) return false
  let values = 1
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = text.indexOf('"', at + 1)
      while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1)
      if (at === -1) return false
    } else if (code === COMMA || code === 123 || code === 91) {
      values += 1
      if (values > most) return true
    }
  }
  return false
}

/** The number of JSON values in a value, keys not counted; more than `most` if there are more. */
export function countValues(value: unknown, most: number): number {
  let values = 1
  const open = [value]
  for (let next = open.pop(); next !== undefined && values <= most; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const items: readonly unknown[] = Array.isArray(next) ? next : Object.values(next)
    values += items.length
    for (const item of items) if (typeof item === 'object' && item !== null) open.push(item)
  }
  return values
}

/** The value of a text as `JSON.parse` reads it, or why it is not JSON. */
export function parsedJson(text: string): E.Either<JsonProblem, unknown> {
  try {
    return E.right(JSON.parse(text))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const position = /position (\d+)/u.exec(message)?.[1]
    return E.left({
      kind: 'MalformedJson',
      detail: `is no JSON: ${message}`,
      ...(position === undefined ? {} : { at: Number(position) }),
    })
  }
}

/** Why a text that is JSON would be recorded with other content than it has; undefined if it would not. */
export const recordingProblem = (text: string): JsonProblem | undefined => walk(text, strict)

/** The value of a text, or a problem if it is not JSON or would be recorded with other content. */
export function strictJson(text: string): E.Either<JsonProblem, unknown> {
  const parsed = parsedJson(text)
  const problem = E.isLeft(parsed) ? parsed.left : recordingProblem(text)
  return problem === undefined ? parsed : E.left(problem)
}

/** Patterns of numbers that a double may not represent. Most texts have none and need no walk. */
const LONG = /\d{16}/u
const HUGE = /\d[eE]\+?\d{3,}(?:[\s,\]}]|$)/u

/**
 * A number with more digits stays a string: converting a big integer of a million digits back to text takes half a
 * second.
 */
const MOST_DIGITS = 1_000

/**
 * The value of a text. An integer that a double would write with other digits becomes a big integer. A number of more
 * than 1,000 digits, or one like `1e400`, becomes a string. A text that is nested too deep to be recorded (thousands of
 * levels) is returned as `JSON.parse` returns it.
 * @throws SyntaxError if the text is not JSON
 */
export function exactJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!LONG.test(text) && !HUGE.test(text)) return value
  // A text cannot contain its own hash.
  const mark = hash('sha256', text, 'hex')
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

/** The text of a value. Big integers become strings of their digits after a mark. */
const withDigits = (value: unknown, mark: string): string =>
  JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? `${mark}${String(item)}` : item))

/** The text of a value. Big integers become integers. Undefined for a value that JSON cannot represent. */
export function exactText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // Fails for big integers. The second attempt throws again for a cycle or too many levels.
  }
  const mark = hash('sha256', withDigits(value, ''), 'hex')
  const text = withDigits(value, mark)
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'gu'), '$1')
}

function hasBigInteger(value: unknown): boolean {
  const pending = new Set([value])
  for (const next of pending) {
    if (typeof next === 'bigint') return true
    if (typeof next !== 'object' || next === null) continue
    for (const item of Object.values(next))
      if (typeof item === 'bigint' || (typeof item === 'object' && item !== null)) pending.add(item)
  }
  return false
}

/** A value that can be recorded: big integers become strings of their digits. */
export function recordable<Value>(value: Value): Value {
  if (!hasBigInteger(value)) return value
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is of no known type can be a big integer
  return JSON.parse(withDigits(value, '')) as Value
}
