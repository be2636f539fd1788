/**
 * Generated text, the same on every machine: sentences of made-up words with natural frequencies (the n-th word has a
 * share of 1/n).
 */

/** Pseudo-random numbers from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const SYLLABLES = [
  'ba',
  'cor',
  'del',
  'fin',
  'gra',
  'hul',
  'jen',
  'kip',
  'lom',
  'mer',
  'nus',
  'pol',
  'quar',
  'rid',
  'sta',
  'tev',
  'ush',
  'vin',
  'wex',
  'yar',
]
const WORDS = 20_000

/** The n-th word of the language, 0 the most frequent one. */
export function word(rank: number): string {
  let rest = rank
  let text = ''
  do {
    text += SYLLABLES[rest % SYLLABLES.length] ?? ''
    rest = Math.floor(rest / SYLLABLES.length)
  } while (rest > 0)
  // Without this ending, a word could be the stem of another one.
  return `${text}o`
}

const shares = (() => {
  const sums = new Float64Array(WORDS)
  let sum = 0
  for (let rank = 0; rank < WORDS; rank += 1) sums[rank] = sum += 1 / (rank + 1)
  return sums.map((each) => each / sum)
})()

function pick(random: () => number): number {
  const target = random()
  let low = 0
  let high = WORDS - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((shares[middle] ?? 1) < target) low = middle + 1
    else high = middle
  }
  return low
}

/** Sentences of that many characters. */
export function prose(random: () => number, characters: number): string {
  const words: string[] = []
  let length = 0
  while (length < characters) {
    const next = word(pick(random)) + (words.length % 12 === 11 ? '.' : '')
    words.push(next)
    length += next.length + 1
  }
  return words.join(' ').slice(0, characters)
}
