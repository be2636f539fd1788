/**
 * Counts the terms of texts by the runs of letters ("pieces") in them.
 *
 * Conversations repeat their words, so the term of a piece is computed once. Everything about a piece is stored in
 * consecutive entries of one integer array, and everything about a term in another. With a string for each lookup and
 * an object for each entry, most of the time went into allocating the strings and waiting for the memory of the
 * objects.
 */
import { codeValueOf } from './codes.js'

/** The initial hash of a piece, and the hash after one more code unit. */
export const HASH_START = 0x811c9dc5 | 0
export const hashed = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193)

/**
 * The distinct terms of a text by number, in order of first occurrence, with their counts, and the total number of
 * terms.
 */
export interface Counted {
  readonly terms: readonly number[]
  readonly counts: readonly number[]
  readonly length: number
}

export interface Vocabulary {
  /** Begins a text. Numbers of terms are valid until the next text begins. */
  begin(): void
  /** Counts the term of a piece of the text. `hash` is the hash of the piece. */
  count(text: string, from: number, to: number, hash: number): void
  /** The counts since the text began. */
  counted(): Counted
  text(term: number): string
  /** The value of the term's code. */
  code(term: number): number
}

// The cache is cleared when the pieces take this many integers: about 100,000 words of eight letters.
const KEPT_NUMBERS = 1_200_000
const SLOTS = 0x10000

// Layout of a piece: its hash, the next piece in its slot, its term, its length, its letters.
const NEXT = 1
const TERM = 2
const LENGTH = 3
const LETTERS = 4

// Layout of a term: its code, the number of the text in which it was counted last, and its index among that text's
// terms.
const TEXT = 1
const PLACE = 2
const TERM_NUMBERS = 4
const MOST_TEXTS = 0x7fffffff

type Numbers = Int32Array<ArrayBuffer>
const numbers = (length: number): Numbers => new Int32Array(length)

/** The array, or a longer copy if the index is out of range. */
function holding(array: Numbers, index: number): Numbers {
  if (index < array.length) return array
  const longer = numbers(index * 2)
  longer.set(array)
  return longer
}

/**
 * @param meaningOf returns the term of some letters, '' for none
 * @param mostDistinct the maximum number of distinct terms of a text; further ones are not counted
 */
export function createVocabulary(meaningOf: (letters: string) => string, mostDistinct: number): Vocabulary {
  const slots = numbers(SLOTS)
  let pieces = numbers(0x20000)
  let nextPiece = LETTERS
  let known = numbers(0x20000)
  const numberOfTerm = new Map<string, number>()
  let texts = ['']
  let text = 0
  let terms: number[] = []
  let counts: number[] = []
  let length = 0

  function forget(): void {
    slots.fill(0)
    nextPiece = LETTERS
    known.fill(0)
    numberOfTerm.clear()
    texts = ['']
    text = 0
  }

  function numberOf(term: string): number {
    if (term === '') return 0
    const knownNumber = numberOfTerm.get(term)
    if (knownNumber !== undefined) return knownNumber
    const number = texts.length
    numberOfTerm.set(term, number)
    texts.push(term)
    known = holding(known, (number + 1) * TERM_NUMBERS)
    known[number * TERM_NUMBERS] = codeValueOf(term)
    return number
  }

  function isPiece(piece: number, given: string, from: number, to: number): boolean {
    if (pieces[piece + LENGTH] !== to - from) return false
    const letters = piece + LETTERS - from
    for (let at = from; at < to; at += 1) if (pieces[letters + at] !== given.charCodeAt(at)) return false
    return true
  }

  function added(given: string, from: number, to: number, hash: number, slot: number): number {
    // Copied, because a slice would keep the whole text in memory as long as the term is cached.
    const term = numberOf(Buffer.from(meaningOf(given.slice(from, to)), 'utf16le').toString('utf16le'))
    const piece = nextPiece
    nextPiece += LETTERS + to - from
    pieces = holding(pieces, nextPiece)
    pieces[piece] = hash
    pieces[piece + NEXT] = slots[slot] ?? 0
    pieces[piece + TERM] = term
    pieces[piece + LENGTH] = to - from
    for (let at = from; at < to; at += 1) pieces[piece + LETTERS + at - from] = given.charCodeAt(at)
    slots[slot] = piece
    return term
  }

  function termAt(given: string, from: number, to: number, hash: number): number {
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1)
    for (let piece = slots[slot] ?? 0; piece !== 0; piece = pieces[piece + NEXT] ?? 0) {
      if (pieces[piece] === hash && isPiece(piece, given, from, to)) return pieces[piece + TERM] ?? 0
    }
    return added(given, from, to, hash, slot)
  }

  return {
    begin() {
      if (nextPiece > KEPT_NUMBERS || text === MOST_TEXTS) forget()
      text += 1
      terms = []
      counts = []
      length = 0
    },
    count(given, from, to, hash) {
      const term = termAt(given, from, to, hash)
      if (term === 0) return
      const at = term * TERM_NUMBERS
      if (known[at + TEXT] === text) {
        const index = known[at + PLACE] ?? 0
        counts[index] = (counts[index] ?? 0) + 1
      } else if (terms.length < mostDistinct) {
        known[at + TEXT] = text
        known[at + PLACE] = terms.length
        terms.push(term)
        counts.push(1)
      } else return
      length += 1
    },
    counted: () => ({ terms, counts, length }),
    text: (term) => texts[term] ?? '',
    code: (term) => known[term * TERM_NUMBERS] ?? 0,
  }
}
