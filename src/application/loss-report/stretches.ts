/**
 * Finds the stretch of the remaining context (a passage and the next) that is most likely about the same thing as a
 * removed sentence, by the number of its significant words; rare words count more.
 */
import { isSingleLetter, isVague, termCounts } from '../../domain/text/terms.js'
import type { Passage } from './passages.js'

export interface Found {
  /** The share of the words, by their weight, that one stretch has. */
  readonly share: number
  /** How many of them it has. */
  readonly words: number
  /** The passages of the stretch; empty if no stretch has any of the words. */
  readonly passages: readonly Passage[]
  /** The passage with the largest number of the words. */
  readonly best: Passage | undefined
  /** The share of the words that the whole context has. */
  readonly anywhere: number
  /** More stretches have the words than were checked. */
  readonly isCut: boolean
}

export interface Stretches {
  find(terms: readonly string[]): Found
}

/** Pairs of hiragana are endings and particles. */
export const isEnding = (term: string): boolean => /^\p{Script=Hiragana}+$/u.test(term)
const ADDRESS = /https?:\/\/\S+/gu
// The folders of a path name a location, and every line about a neighbouring file has them.
const FOLDERS = /(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+(?=[\w.@-]+\.[A-Za-z])/gu
// `pi-skill-creator` and `find-line.ts` are one name each, not three words.
const IN_NAMES =
  /(?<=[A-Za-z0-9][\w-]*[-_]\w*)[-_](?=[A-Za-z0-9])|(?<=[A-Za-z0-9])[-_](?=[A-Za-z0-9]+[-_][A-Za-z0-9])|(?<=\w)\.(?=(?:[cm]?[jt]sx?|json|mdx?|py|go|rs|java|ya?ml|toml|sh|css|html)(?!\w))/gu

/** The significant words of a sentence; all words if it has none. */
export function tellingTerms(text: string): readonly string[] {
  const read = text.replaceAll(ADDRESS, ' ').replaceAll(FOLDERS, '').replaceAll(IN_NAMES, '')
  const terms = [...termCounts(read).counts.keys()].filter((term) => !isSingleLetter(term))
  const telling = terms.filter((term) => !isVague(term) && !isEnding(term))
  return telling.length === 0 ? terms : telling
}

// A stretch with enough of the words has at least one of the rarest, so only those select candidates.
const RAREST = 8
// Words in more stretches than this carry little information and would make the search as long as the context.
const MOST_CANDIDATES = 3_000

/** The weight of a term, from the number of passages that have it. */
type Weigh = (term: string) => number

export interface Weights {
  readonly weigh: Weigh
  /** Whether few passages have the term: a sentence without such a word may be about anything. */
  readonly isRare: (term: string) => boolean
}

const RARE_SHARE = 0.03

/** @param removed terms of the removed sentences: words that are common in them carry little information too */
export function weightsOf(passages: readonly Passage[], removed: readonly (readonly string[])[]): Weights {
  const counts = new Map<string, number>()
  const count = (terms: readonly string[]): void => {
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
  }
  for (const { text } of passages) count(tellingTerms(text))
  for (const terms of removed) count(terms)
  const all = passages.length + removed.length
  return {
    weigh: (term) => Math.max(0.5, Math.log((all + 1) / ((counts.get(term) ?? 0) + 1))),
    isRare: (term) => (counts.get(term) ?? 0) <= Math.max(3, all * RARE_SHARE),
  }
}

export function createStretches(passages: readonly Passage[], weigh: Weigh): Stretches {
  /** The stretches that have each term, by the index of their first passage. */
  const having = new Map<string, Set<number>>()
  for (const [at, passage] of passages.entries()) {
    // A stretch does not cross the end of a message.
    const before = passages[at - 1]
    const joins =
      before !== undefined &&
      (before.source.kind === 'line'
        ? passage.source.kind === 'line'
        : passage.source.kind === 'message' && before.source.message === passage.source.message)
    for (const term of tellingTerms(passage.text)) {
      const known = having.get(term) ?? new Set()
      if (joins) known.add(at - 1)
      having.set(term, known.add(at))
    }
  }
  return {
    find(given) {
      const terms = given
        .map((term) => ({ stretches: having.get(term), weight: weigh(term) }))
        .toSorted((a, b) => (a.stretches?.size ?? 0) - (b.stretches?.size ?? 0))
      const total = terms.reduce((sum, { weight }) => sum + weight, 0)
      const foundTerms = terms.flatMap(({ stretches, weight }) =>
        stretches === undefined ? [] : [{ stretches, weight }],
      )
      const candidates = new Set<number>()
      let isCut = false
      for (const { stretches } of foundTerms.slice(0, RAREST)) {
        isCut = candidates.size + stretches.size > MOST_CANDIDATES
        if (isCut) break
        for (const at of stretches) candidates.add(at)
      }
      let best = { at: -1, weight: 0, words: 0 }
      for (const at of candidates) {
        let weight = 0
        let words = 0
        for (const term of foundTerms)
          if (term.stretches.has(at)) {
            weight += term.weight
            words += 1
          }
        if (weight > best.weight || (weight === best.weight && at < best.at)) best = { at, weight, words }
      }
      const found = best.at < 0 ? [] : passages.slice(best.at, best.at + 2)
      const wordsIn = ({ text }: Passage): number => {
        const known = new Set(tellingTerms(text))
        return given.filter((term) => known.has(term)).length
      }
      return {
        best: found.toSorted((a, b) => wordsIn(b) - wordsIn(a))[0],
        share: total === 0 ? 0 : best.weight / total,
        words: best.words,
        passages: found,
        isCut,
        anywhere: total === 0 ? 0 : foundTerms.reduce((sum, { weight }) => sum + weight, 0) / total,
      }
    },
  }
}
