/**
 * Terms as codes of fixed width: the form in which the read model stores a text for search.
 *
 * A code is five characters (30 bits of a hash), and a text is its distinct codes separated by blanks. A stored text is
 * half as long as its words, has the same form in every language and needs no escaping, and a term is found by plain
 * string search: a match never crosses a blank. With 10,000 other words a term has the same code as one of them once in
 * 100,000 times; the cost is an extra hit. The count of a term is stored only as once or more than once: measured, a
 * full count does not improve results.
 */
export const CODE_LENGTH = 5
/** A code and the blank after it. */
export const CODE_STEP = CODE_LENGTH + 1

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** FNV-1a over the code units. The bits are mixed again because the low bits depend only on the last letter. */
function hash(term: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < term.length; at += 1) value = Math.imul(value ^ term.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}

/** The numeric value of a term's code. */
export const codeValueOf = (term: string): number => hash(term) & 0x3fffffff

const letters = Uint8Array.from(ALPHABET, (each) => each.charCodeAt(0))
const letter = (value: number): number => letters[value & 63] ?? 0

/** The code of a term. */
export function codeOf(term: string): string {
  const bits = codeValueOf(term)
  return String.fromCharCode(
    letter(bits),
    letter(bits >>> 6),
    letter(bits >>> 12),
    letter(bits >>> 18),
    letter(bits >>> 24),
  )
}

const values = new Uint8Array(128)
for (let value = 0; value < ALPHABET.length; value += 1) values[ALPHABET.charCodeAt(value)] = value

/** The numeric value of the code at an offset of a text. */
export function codeValueAt(text: string, place: number): number {
  let value = 0
  for (let at = CODE_LENGTH - 1; at >= 0; at -= 1) value = (value << 6) | (values[text.charCodeAt(place + at)] ?? 0)
  return value
}

/** A text as stored for search. */
export interface CodedText {
  /** Distinct codes separated by blanks; those of terms that occur more than once come first. */
  readonly terms: string
  /** The number of codes of terms that occur more than once. */
  readonly repeated: number
  /** Total number of terms of the text. */
  readonly length: number
}

/** The distinct terms of a text by the values of their codes, with their counts, and the total number of terms. */
export interface CodeCounts {
  readonly codes: readonly number[]
  readonly counts: readonly number[]
  readonly length: number
}

const BLANK = 0x20
// Written as bytes and converted to a string once, instead of one string for each code.
let written = Buffer.alloc(0)
// An open-addressing hash set of the codes already written, each stored plus 1. With a `Set`, a text of 400 characters
// took 2.7 µs instead of 1.6.
let places = new Int32Array(1_024)

/** The stored form of a text's terms. */
export function codedText({ codes, counts, length }: CodeCounts): CodedText {
  const termCount = codes.length
  if (written.length < termCount * CODE_STEP) written = Buffer.alloc(termCount * CODE_STEP * 2)
  let size = 64
  while (size < termCount * 2) size *= 2
  if (places.length < size) places = new Int32Array(size)
  else places.fill(0, 0, size)
  let end = 0
  function write(code: number): void {
    let at = code & (size - 1)
    while (places[at] !== 0) {
      if (places[at] === code + 1) return
      at = (at + 1) & (size - 1)
    }
    places[at] = code + 1
    written[end] = letter(code)
    written[end + 1] = letter(code >>> 6)
    written[end + 2] = letter(code >>> 12)
    written[end + 3] = letter(code >>> 18)
    written[end + 4] = letter(code >>> 24)
    written[end + CODE_LENGTH] = BLANK
    end += CODE_STEP
  }
  for (let at = 0; at < termCount; at += 1) if ((counts[at] ?? 0) > 1) write(codes[at] ?? 0)
  const repeated = end / CODE_STEP
  for (const code of codes) write(code)
  return { terms: written.toString('latin1', 0, Math.max(0, end - 1)), repeated, length }
}
