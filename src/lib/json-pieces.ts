/**
 * Finds the JSON objects in a line that is not one JSON value: several records without a line feed between them, or a
 * record after the beginning of another one that was cut off. A nested object of a record that was cut off is not a
 * record.
 *
 * The text has one character for each byte (latin1). All characters with a meaning in JSON are ASCII, so this also works
 * if a multi-byte character was cut off.
 */

interface Piece {
  readonly isObject: boolean
  readonly from: number
  readonly to: number
}

/** A file system fills reserved space with zeros. */
const isBlankText = (text: string): boolean => text.replaceAll('\0', ' ').trim() === ''
const isBlank = (character: string | undefined): boolean => character !== undefined && ' \t\r\n'.includes(character)

/** The end of the string that begins with the quote at `from`; negative if the character at that offset cannot be in a string. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 34) return at + 1
    if (code < 32) return -at
    if (code !== 92) continue
    at += 1
    const escape = text[at]
    if (escape === undefined) return text.length + 1
    if (escape === 'u') {
      for (let digit = at + 1; digit <= at + 4; digit += 1)
        if (digit < text.length && !/[\da-f]/iu.test(text[digit] ?? '')) return -digit
      at += 4
    } else if (!'"\\/bfnrt'.includes(escape)) return -at
  }
  return text.length + 1
}

const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/uy

type Expected = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma'

interface Scan {
  /** Offset after the object; undefined if it is incomplete or invalid. */
  readonly end: number | undefined
  /** The first offset that cannot belong to the object; the length of the text if the text ends before the object. */
  readonly stop: number
  /** The last nested object, if it ends at `stop`. */
  readonly nested: number | undefined
}

/** Reads the object that begins at `from`, as far as it is valid. */
function scanObject(text: string, from: number): Scan {
  const open: { readonly at: number; readonly isObject: boolean }[] = []
  let expected: Expected = 'value'
  let closed: { readonly from: number; readonly to: number } | undefined
  let at = from
  const stopped = (stop: number): Scan => ({
    end: undefined,
    stop,
    nested: closed !== undefined && isBlankText(text.slice(closed.to, stop)) ? closed.from : undefined,
  })
  while (at < text.length) {
    const character = text[at] ?? ''
    const takesValue: boolean = expected === 'value' || expected === 'value or end'
    if (isBlank(character)) {
      at += 1
      continue
    }
    if ((character === '{' || character === '[') && takesValue) {
      open.push({ at, isObject: character === '{' })
      expected = character === '{' ? 'key or end' : 'value or end'
      at += 1
    } else if (character === '"' && (takesValue || expected === 'key' || expected === 'key or end')) {
      const end = endOfString(text, at)
      if (end < 0) return stopped(-end)
      if (end > text.length) return stopped(text.length)
      expected = takesValue ? 'comma' : 'colon'
      at = end
    } else if (character === ':' && expected === 'colon') {
      expected = 'value'
      at += 1
    } else if (character === ',' && expected === 'comma') {
      expected = open.at(-1)?.isObject === true ? 'key' : 'value'
      at += 1
    } else if (
      (character === '}' && open.at(-1)?.isObject === true && (expected === 'comma' || expected === 'key or end')) ||
      (character === ']' && open.at(-1)?.isObject === false && (expected === 'comma' || expected === 'value or end'))
    ) {
      const container = open.pop()
      at += 1
      if (open.length === 0) return { end: at, stop: at, nested: undefined }
      if (container?.isObject === true) closed = { from: container.at, to: at }
      expected = 'comma'
    } else {
      SCALAR.lastIndex = at
      if (!takesValue || !SCALAR.test(text)) return stopped(at)
      expected = 'comma'
      at = SCALAR.lastIndex
    }
  }
  return stopped(text.length)
}

/** The first two keys of an object, by which the records of one file resemble each other. */
const KEYS = /^\{\s*("(?:[^"\\]|\\.)*")\s*:(?:\s*(?:"(?:[^"\\]|\\.)*"|[^",{}[\]]*)\s*,\s*("(?:[^"\\]|\\.)*"))?/u
const KEYS_LENGTH = 2_000

function hasSameKeys(text: string, one: number, other: number): boolean {
  const [, first, second] = KEYS.exec(text.slice(one, one + KEYS_LENGTH)) ?? []
  const [, firstOther, secondOther] = KEYS.exec(text.slice(other, other + KEYS_LENGTH)) ?? []
  return first !== undefined && first === firstOther && (second === secondOther || second === undefined)
}

/**
 * Where the next object begins, after one that is valid only up to `stop`: at that place, or before it if a string that
 * was cut off took the first characters of the object, or at the last nested object if it resembles the whole one.
 */
function nextAfter(text: string, from: number, { stop, nested }: Scan, isEnded: boolean): number | undefined {
  const [swallowed] = /\{\s*"\s*$/u.exec(text.slice(Math.max(from + 1, stop - 20), stop)) ?? []
  if (stop < text.length && swallowed !== undefined && text[stop] !== '{') return stop - swallowed.length
  const isDecided = isEnded || stop < text.length
  if (nested !== undefined && isDecided && hasSameKeys(text, from, nested)) return nested
  return stop < text.length && text[stop] === '{' ? stop : undefined
}

/** Whether another record or the end of the line follows, so that this is no nested object. */
function endsRecord(text: string, end: number, isEnded: boolean): boolean {
  let next = end
  while (isBlank(text[next]) || text[next] === '\0') next += 1
  return text[next] === '{' || (isEnded && next >= text.length)
}

/** How often a text may be read again, in search of objects after text that is not JSON. */
const MOST_READINGS = 8

/**
 * The objects of a line, and the text between them.
 * @param isEnded whether the line has its line feed. Otherwise its end may be incomplete.
 */
export function jsonPieces(text: string, isEnded: boolean): readonly Piece[] {
  const pieces: Piece[] = []
  let unread = 0
  let readings = MOST_READINGS * text.length
  const addText = (to: number): void => {
    const between = text.slice(unread, to)
    if (between.includes('\0') || !isBlankText(between)) pieces.push({ isObject: false, from: unread, to })
  }
  let at = text.indexOf('{')
  let isGlued = isBlankText(text.slice(0, at))
  while (at !== -1 && readings >= 0) {
    const scan = scanObject(text, at)
    readings -= scan.stop - at
    // After text that is not JSON, an object may be nested in a record without its beginning.
    if (scan.end !== undefined && (isGlued || endsRecord(text, scan.end, isEnded))) {
      addText(at)
      pieces.push({ isObject: true, from: at, to: scan.end })
      unread = scan.end
      at = text.indexOf('{', unread)
      isGlued = isBlankText(text.slice(unread, at))
    } else {
      const next = scan.end === undefined ? nextAfter(text, at, scan, isEnded) : undefined
      isGlued = next !== undefined
      at = next ?? text.indexOf('{', Math.max(at + 1, scan.stop))
    }
  }
  addText(text.length)
  return pieces
}
