/**
 * Batches among messages, in one ranked list.
 *
 * A batch repeats its messages, so it matches whatever any of them matches; and as a hit it names all of them at once.
 * So one that only repeats them stands behind all messages, and one that says something of the query that none of them
 * says has that alone as its score. (Standing right behind the messages that made it match, it pushed other messages
 * out of the first ten: recall 0.43 instead of 0.47 for notes, whose words are seldom in more than one message.)
 *
 * Who spoke and when a batch says in words, and a message has beside its text. So names of authors and numbers are
 * nothing that a batch says itself: a question with a date in it had eight batches among its first ten hits.
 */
import { lengthNorm, namesIn, rarity, saturated, type Corpus, type Ranked, type Weighted } from './rank.js'

/** A batch, and the places of the messages that it covers: `from` to before `to`. */
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

/** Batches that have a term of the query, best first, by what they say themselves. */
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
  const placesOf = new Map(terms.map(({ term }) => [term, evenEntries(corpus.postings(term))]))
  const least = messages.at(-1)?.score ?? 1
  const isName = namesIn(corpus)
  const placed = matchedTerms(terms, batches, corpus).flatMap((matched, at): Entry[] => {
    const batch = batches[at]
    if (batch === undefined || matched.length === 0) return []
    const repeats = ({ term }: Matched): boolean =>
      isName(term) ||
      /^\d+$/u.test(term) ||
      (placesOf.get(term) ?? []).some((place) => place >= batch.from && place < batch.to)
    const own = sum(matched.filter((each) => !repeats(each)))
    const all = sum(matched)
    return [{ kind: 'batch', at, score: own > 0 ? own : (least * all) / (all + 1) }]
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
  const places: number[] = []
  for (let i = 0; i < postings.length; i += 2) places.push(postings[i] ?? 0)
  return places
}

// Messages before batches where scores are equal, then in the order given: the same question has the same answer on
// every machine.
const sorted = (entries: readonly Entry[]): readonly Entry[] =>
  entries.toSorted(
    (a, b) => b.score - a.score || Number(a.kind === 'batch') - Number(b.kind === 'batch') || a.at - b.at,
  )
