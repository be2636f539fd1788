/** Where a text stands in others, whatever marks and spaces stand between its letters, and which of them have a word. */
import { stemOf } from '../../text-search/stem.js'
import type { Passage, Place } from './passages.js'

/** The letters and digits of a text alone. */
export const squash = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')

/** The words that a name is made of: `parseConfigFile`, `parse_config_file`. */
export const partsOfName = (name: string): string[] =>
  name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part.length > 1)

/** Finds the first of some texts that has some letters, whatever marks and spaces stand between them. */
export function finderOf(texts: readonly Passage[]): (letters: string) => Place | undefined {
  const squashed = texts.map(({ text }) => squash(text))
  const whole = squashed.join('\n')
  /** For each text where it begins. */
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
    return texts[low]?.place
  }
}

/** The stems of the words in some passages, those of names too, with the passages that have them. */
export function stemsIn(passages: readonly Passage[]): ReadonlyMap<string, ReadonlySet<number>> {
  const words = new Map<string, Set<number>>()
  for (const [at, { text }] of passages.entries())
    for (const part of partsOfName(text)) {
      const stem = stemOf(part)
      words.set(stem, (words.get(stem) ?? new Set()).add(at))
    }
  return words
}
