/**
 * Pieces of text that were read before, each with the term that it stands for, found by the letters as they stand in a text.
 *
 * Conversations repeat their words, so what a word means is worked out once. All of it lies in a few arrays of numbers: with a string for each word
 * that is looked up, and an object for each that is known, most of the time of reading a text went into making the one and waiting for the memory of the other.
 */
import { codeValueOf } from './codes.js'

/** What the hash of a piece begins with, and what each of its code units makes of it. */
export const HASH_START = 0x811c9dc5 | 0
export const hashed = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193)

export interface Vocabulary {
  /** Begins a text; numbers of terms hold until the next one begins. */
  begin(): void
  /** The number of the term that a piece of a text with this hash stands for, or 0. */
  termAt(text: string, from: number, to: number, hash: number): number
  text(term: number): string
  /** The number that the term's code stands for. */
  code(term: number): number
}

// What is known is forgotten above so many pieces, which take some 14 MB.
const KEPT_PIECES = 100_000
const SLOTS = 0x10000

// A piece is four numbers: hash, the next piece of its slot, where its letters begin, its term.
const NEXT = 1
const LETTERS = 2
const TERM = 3
const PIECE = 4

export const int32 = (length: number): Int32Array<ArrayBuffer> => new Int32Array(length)
const uint16 = (length: number): Uint16Array<ArrayBuffer> => new Uint16Array(length)

/** The array, or a longer one with the same numbers where this index is beyond it. */
export function holding<Numbers extends Int32Array | Uint16Array>(array: Numbers, index: number, empty: (length: number) => Numbers): Numbers {
  if (index < array.length) return array
  const longer = empty(index * 2)
  longer.set(array)
  return longer
}

/** @param meaningOf the term that letters stand for, '' for none */
export function createVocabulary(meaningOf: (letters: string) => string): Vocabulary {
  const slots = new Int32Array(SLOTS)
  let pieces = int32(0x10000)
  let nextPiece = PIECE
  // Each piece's length and its letters.
  let letters = uint16(0x20000)
  let nextLetter = 0
  const numbers = new Map<string, number>()
  let texts = ['']
  let codes = [0]

  function numberOf(term: string): number {
    if (term === '') return 0
    const known = numbers.get(term)
    if (known !== undefined) return known
    const number = texts.length
    numbers.set(term, number)
    texts.push(term)
    codes.push(codeValueOf(term))
    return number
  }

  function isPiece(place: number, text: string, from: number, to: number): boolean {
    if (letters[place] !== to - from) return false
    let letter = place
    for (let at = from; at < to; at += 1) if (letters[(letter += 1)] !== text.charCodeAt(at)) return false
    return true
  }

  function added(text: string, from: number, to: number, hash: number, slot: number): number {
    // Through a copy: a slice would keep the whole text in memory for as long as the term is known.
    const term = numberOf(Buffer.from(meaningOf(text.slice(from, to)), 'utf16le').toString('utf16le'))
    pieces = holding(pieces, nextPiece + PIECE, int32)
    pieces.set([hash, slots[slot] ?? 0, nextLetter, term], nextPiece)
    slots[slot] = nextPiece
    nextPiece += PIECE
    letters = holding(letters, nextLetter + to - from, uint16)
    letters[nextLetter] = to - from
    for (let at = from; at < to; at += 1) letters[nextLetter + 1 + at - from] = text.charCodeAt(at)
    nextLetter += 1 + to - from
    return term
  }

  return {
    begin() {
      if (nextPiece < KEPT_PIECES * PIECE) return
      slots.fill(0)
      nextPiece = PIECE
      nextLetter = 0
      numbers.clear()
      texts = ['']
      codes = [0]
    },
    termAt(text, from, to, hash) {
      const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1)
      for (let piece = slots[slot] ?? 0; piece !== 0; piece = pieces[piece + NEXT] ?? 0) {
        if (pieces[piece] === hash && isPiece(pieces[piece + LETTERS] ?? 0, text, from, to)) return pieces[piece + TERM] ?? 0
      }
      return added(text, from, to, hash, slot)
    },
    text: (term) => texts[term] ?? '',
    code: (term) => codes[term] ?? 0,
  }
}
