/**
 * Ranks batches among messages, in one list.
 *
 * A batch repeats its messages, so it matches every query that one of them matches, and one hit covers all of them. A
 * batch that only repeats its messages is therefore ranked after all messages; a batch with query terms that none of
 * its messages has is scored by these terms alone. (When batches were ranked directly after the messages that they
 * repeat, they displaced other messages from the first ten: recall 0.43 instead of 0.47 for notes, whose words are
 * seldom in more than one message.)
 *
 * A batch states authors and times in words, whereas a message has them outside its text. So author names and numbers
 * do not count as a batch's own terms: a question with a date had eight batches among its first ten hits.
 */
import type { Corpus } from '../../ports/archive-index.js'
import { lengthNorm, namesIn, rarity, saturated, type Ranked, type Weighted } from './rank.js'

/** A batch, and the indexes of the messages that it covers: `from` (inclusive) to `to` (exclusive). */
export interface BatchInCorpus {
  readonly length: number
  readonly count: (term: string) => number
  readonly from: number
  readonly to: number
}

export type Entry = { readonly kind: 'message' | 'batch'; readonly at: number; readonly score: number }

interface Matched {
  readonly term: string
  readonly gain: number
}

/** Batches that have a query term, best first. */
export function rankBatches(
  terms: readonly Weighted[],
  batches: readonly BatchInCorpus[],
  corpus: Corpus,
): readonly Entry[] {
  return sorted(
    matchedTerms(terms, batches, corpus).flatMap((matched, at) =>
      matched.length === 0 ? [] : [{ kind: 'batch', at, score: sum(matched) }],
    ),
  )
}

/** Messages and batches in one list, best first. */
export function placeBatches(
  ranked: Ranked,
  terms: readonly Weighted[],
  batches: readonly BatchInCorpus[],
  corpus: Corpus,
): readonly Entry[] {
  const messages = ranked.order.map((at): Entry => ({ kind: 'message', at, score: ranked.scores[at] ?? 0 }))
  const indexesOf = new Map(terms.map(({ term }) => [term, evenEntries(corpus.postings(term))]))
  const least = messages.at(-1)?.score ?? 1
  const isName = namesIn(corpus)
  const placed = matchedTerms(terms, batches, corpus).flatMap((matched, at): Entry[] => {
    const batch = batches[at]
    if (batch === undefined || matched.length === 0) return []
    const repeats = ({ term }: Matched): boolean =>
      isName(term) ||
      /^\d+$/u.test(term) ||
      (indexesOf.get(term) ?? []).some((place) => place >= batch.from && place < batch.to)
    const ownGain = sum(matched.filter((each) => !repeats(each)))
    const all = sum(matched)
    return [{ kind: 'batch', at, score: ownGain > 0 ? ownGain : (least * all) / (all + 1) }]
  })
  return sorted([...messages, ...placed])
}

function matchedTerms(
  terms: readonly Weighted[],
  batches: readonly BatchInCorpus[],
  corpus: Corpus,
): readonly (readonly Matched[])[] {
  const mean = batches.reduce((all, { length }) => all + length, 0) / Math.max(batches.length, 1)
  const idf = terms.map(
    ({ term, weight }) =>
      weight * rarity(corpus.total ?? corpus.size, corpus.frequency?.(term) ?? corpus.postings(term).length / 2),
  )
  return batches.map((batch) => {
    const norm = lengthNorm(batch.length, mean)
    return terms.flatMap(({ term }, place) => {
      const count = batch.count(term)
      return count === 0 ? [] : [{ term, gain: (idf[place] ?? 0) * saturated(count / norm) }]
    })
  })
}

const sum = (matched: readonly { readonly gain: number }[]): number => matched.reduce((all, { gain }) => all + gain, 0)

function evenEntries(postings: ArrayLike<number>): readonly number[] {
  const indexes: number[] = []
  for (let i = 0; i < postings.length; i += 2) indexes.push(postings[i] ?? 0)
  return indexes
}

// If scores are equal, messages come before batches, then the input order applies, so that the result is the same on
// every machine.
const sorted = (entries: readonly Entry[]): readonly Entry[] =>
  entries.toSorted(
    (a, b) => b.score - a.score || Number(a.kind === 'batch') - Number(b.kind === 'batch') || a.at - b.at,
  )
