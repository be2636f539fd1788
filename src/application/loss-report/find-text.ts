/** Finds a text in others, ignoring punctuation and spaces, and indexes words by passage. */
import { stemOf } from '../../domain/text/stem.js'
import type { Passage, PassageSource } from './passages.js'

/** The letters and digits of a text alone. */
export const squash = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')

/** The words that a name is made of: `parseConfigFile`, `parse_config_file`. */
export const partsOfName = (name: string): string[] =>
  name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part.length > 1)

/** Returns a function that finds the first text that contains some letters, ignoring punctuation and spaces. */
export function finderOf(texts: readonly Passage[]): (letters: string) => PassageSource | undefined {
  const squashed = texts.map(({ text }) => squash(text))
  const whole = squashed.join('\n')
  /** The offset at which each text begins. */
  const starts: number[] = []
  let start = 0
  for (const text of squashed) {
    starts.push(start)
    start += text.length + 1
  }
  return (letters) => {
    const at = letters === '' ? -1 : whole.indexOf(letters)
    if (at < 0) return undefined
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((starts[middle] ?? 0) <= at) low = middle
      else high = middle - 1
    }
    return texts[low]?.source
  }
}

/** The stems of all words in the passages, including the parts of names, with the indexes of the passages. */
export function stemsIn(passages: readonly Passage[]): ReadonlyMap<string, ReadonlySet<number>> {
  const words = new Map<string, Set<number>>()
  for (const [at, { text }] of passages.entries())
    for (const part of partsOfName(text)) {
      const stem = stemOf(part)
      words.set(stem, (words.get(stem) ?? new Set()).add(at))
    }
  return words
}
