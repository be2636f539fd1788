/**
 * The literal texts of a regular expression of which every match contains at least one. A sentence that contains none
 * of them needs no search, and most sentences contain none.
 */

/** The texts that one part of an expression matches. */
interface Part {
  /** All texts that the part matches, if these are few. */
  readonly exact?: readonly string[] | undefined
  /** Texts of which every match contains one. */
  readonly needed?: readonly string[] | undefined
}

const MOST_TEXTS = 160
/** How many texts two parts after each other may make. */
const MOST_JOINED = 16
const EMPTY: Part = { exact: [''] }
const UNKNOWN: Part = {}
const ESCAPES_OF_CLASSES = /[pPdDwWsSuUxk]/u
const isWide = (character: string): boolean => character > '\u2E80'

/** The length of the shortest text. A Chinese or Japanese character says as much as three Latin letters. */
const shortest = (texts: readonly string[]): number =>
  Math.min(...texts.map((text) => Array.from(text.trim()).reduce((sum, one) => sum + (isWide(one) ? 3 : 1), 0)))

/** Few long texts are rare in a sentence, many short ones are not. */
const rarity = (texts: readonly string[]): number => Math.min(shortest(texts), 6) - Math.log2(texts.length) / 2

const better = (a: readonly string[] | undefined, b: readonly string[] | undefined): readonly string[] | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  return rarity(b) > rarity(a) ? b : a
}

const neededOf = ({ exact, needed }: Part): readonly string[] | undefined =>
  exact === undefined ? needed : exact.every((text) => text.trim() !== '') ? exact : needed

function sequence(parts: readonly Part[]): Part {
  let run: readonly string[] = ['']
  let best: readonly string[] | undefined
  let isExact = true
  for (const part of parts) {
    const { exact } = part
    if (exact !== undefined && exact.length * run.length <= MOST_JOINED) {
      run = run.flatMap((head) => exact.map((tail) => head + tail))
      continue
    }
    isExact = false
    best = better(better(best, neededOf({ exact: run })), neededOf(part))
    run = exact !== undefined && exact.length <= MOST_TEXTS ? exact : ['']
  }
  return isExact ? { exact: run } : { needed: better(best, neededOf({ exact: run })) }
}

function choice(parts: readonly Part[]): Part {
  if (parts.length === 1) return parts[0] ?? UNKNOWN
  const exact = parts.flatMap((part) => part.exact ?? [])
  if (parts.every((part) => part.exact !== undefined) && exact.length <= MOST_TEXTS)
    return { exact: [...new Set(exact)] }
  const needs = parts.map(neededOf)
  return needs.includes(undefined) ? UNKNOWN : { needed: [...new Set(needs.flatMap((texts) => texts ?? []))] }
}

/** Reads the source of an expression. It must be valid, with groups without names and references. */
class Reader {
  #index = 0
  readonly #source: string

  constructor(source: string) {
    this.#source = source
  }

  choice(): Part {
    const parts: Part[] = []
    do parts.push(this.#sequence())
    while (this.#skip('|'))
    return choice(parts)
  }

  #skip(text: string): boolean {
    if (!this.#source.startsWith(text, this.#index)) return false
    this.#index += text.length
    return true
  }

  #next(): string {
    const character = String.fromCodePoint(this.#source.codePointAt(this.#index) ?? 0)
    this.#index += character.length
    return character
  }

  #sequence(): Part {
    const parts: Part[] = []
    while (this.#index < this.#source.length && !'|)'.includes(this.#source.charAt(this.#index)))
      parts.push(this.#repeated(this.#part()))
    return sequence(parts)
  }

  #repeated(part: Part): Part {
    const [marks, fewest] = /(?:([*?])|\+|\{(\d+)(?:,\d*)?\})\??/uy[Symbol.match](this.#source.slice(this.#index)) ?? []
    if (marks === undefined) return part
    this.#index += marks.length
    if (marks === '?' || marks === '??')
      return part.exact === undefined ? UNKNOWN : { exact: [...new Set([...part.exact, ''])] }
    const isOptional = fewest !== undefined || marks.startsWith('{0')
    return isOptional ? UNKNOWN : { needed: neededOf(part) }
  }

  #part(): Part {
    const character = this.#next()
    if (character === '(') return this.#group()
    if (character === '[') return this.#class()
    if (character === '\\') return this.#escape()
    if (character === '^' || character === '$') return EMPTY
    return character === '.' ? UNKNOWN : { exact: [character] }
  }

  #group(): Part {
    const isLookaround = ['?=', '?!', '?<=', '?<!'].some((mark) => this.#skip(mark))
    if (!isLookaround) this.#skip('?:')
    const part = this.choice()
    this.#skip(')')
    return isLookaround ? EMPTY : part
  }

  #class(): Part {
    const characters: string[] = []
    let isSimple = true
    while (!this.#skip(']')) {
      const character = this.#next()
      if (character === '\\') {
        isSimple = false
        this.#escape()
      } else if (character === '^' || character === '-') isSimple = false
      else characters.push(character)
    }
    return isSimple ? { exact: characters } : UNKNOWN
  }

  #escape(): Part {
    const character = this.#next()
    if (character === 'b' || character === 'B') return EMPTY
    if (!ESCAPES_OF_CLASSES.test(character)) return { exact: [character] }
    if (this.#skip('{')) while (!this.#skip('}')) this.#next()
    return UNKNOWN
  }
}

/** The texts of which every match of the expression contains one, or `undefined` if they are unknown or too short. */
export const literalsOf = (source: string): readonly string[] | undefined => {
  const needed = neededOf(new Reader(source).choice())
  return needed === undefined || shortest(needed) < 2 ? undefined : needed
}

interface Node {
  readonly next: Map<number, Node>
  readonly numbers: number[]
}

const createNode = (): Node => ({ next: new Map(), numbers: [] })

const HASHES = 0xff_ff
/** Hashes of the first two, three and four characters of a text. The hash of one is its code. */
const hashOf = (first: number, second: number, third = 0, fourth = 0): number =>
  (first * 961 + second * 131 + third * 17_011 + fourth * 7351 + 5) & HASHES
/** Marks in the table of hashes: of how many characters a hash is. */
const [OF_ONE, OF_TWO, OF_THREE, OF_FOUR] = [1, 2, 4, 8]

/** Finds which of many sets of texts have a text in a sentence, in one pass. */
export class LiteralIndex {
  readonly #root = createNode()
  /** Marks of the hashes of the first characters of the texts: nearly every place of a sentence fails here. */
  readonly #heads = new Uint8Array(HASHES + 1)

  add(texts: readonly string[], number: number): void {
    for (const text of texts) {
      this.#addHead(text)
      let node = this.#root
      for (let index = 0; index < text.length; index += 1) {
        const code = text.charCodeAt(index)
        let next = node.next.get(code)
        if (next === undefined) node.next.set(code, (next = createNode()))
        node = next
      }
      if (!node.numbers.includes(number)) node.numbers.push(number)
    }
  }

  #addHead(text: string): void {
    const first = text.charCodeAt(0)
    const second = text.charCodeAt(1)
    const third = text.charCodeAt(2)
    if (text.length > 3) this.#mark(hashOf(first, second, third, text.charCodeAt(3)), OF_FOUR)
    else if (text.length > 2) this.#mark(hashOf(first, second, third), OF_THREE)
    else if (text.length > 1) this.#mark(hashOf(first, second), OF_TWO)
    else this.#mark(first & HASHES, OF_ONE)
  }

  #mark(hash: number, mark: number): void {
    this.#heads[hash] = (this.#heads[hash] ?? 0) | mark
  }

  /** The numbers of the sets that have a text in the sentence, in the order of the texts. */
  find(text: string): readonly number[] {
    const found: number[] = []
    const heads = this.#heads
    const has = (hash: number, mark: number): boolean => ((heads[hash] ?? 0) & mark) !== 0
    let [first, second, third] = [text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2)]
    for (let start = 0; start < text.length; start += 1) {
      const fourth = text.charCodeAt(start + 3)
      if (
        has(hashOf(first, second, third, fourth), OF_FOUR) ||
        has(hashOf(first, second, third), OF_THREE) ||
        has(hashOf(first, second), OF_TWO) ||
        has(first & HASHES, OF_ONE)
      )
        this.#findAt(text, start, found)
      first = second
      second = third
      third = fourth
    }
    return found
  }

  #findAt(text: string, start: number, found: number[]): void {
    let node = this.#root.next.get(text.charCodeAt(start))
    for (let index = start + 1; node !== undefined; index += 1) {
      for (const number of node.numbers) if (!found.includes(number)) found.push(number)
      node = index < text.length ? node.next.get(text.charCodeAt(index)) : undefined
    }
  }
}
