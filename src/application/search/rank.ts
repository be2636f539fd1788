/**
 * Ranks the messages of a conversation for a query: BM25 over terms, adapted to conversations.
 *
 * - **Context of neighbours:** an answer follows its question, and a dialogue keeps its subject for some turns. The
 *   terms of neighbouring messages count for a message while the author alternates, less with each step. Consecutive
 *   messages by one author do not share terms.
 * - **Length:** a short message depends on its context, a long one does not: the longer of two neighbours is, the fewer
 *   terms they share.
 * - **Synonyms:** a query term also matches synonyms and members of its kind (`alike.ts`), with a lower weight.
 * - **Speakers:** a name in the query means messages by that person, not messages that address them.
 * - **Users:** questions are mostly about what the user said; the assistant's answers repeat it at length. If the other
 *   side has a name too, people talk with each other, and neither counts more.
 * - **Time:** a day, month or year in the query means messages of that time (`query-time.ts`).
 *
 * docs/decisions/0004 gives the effect of each rule, the conversations by which it was chosen, and the effect of
 * halving or doubling each constant below.
 */
import type { Corpus } from '../../ports/archive-index.js'
import { alikeTerms, type AlikeTerm } from './alike.js'
import { queryTime, timeFactor } from './query-time.js'
import { isSingleLetter, isVague } from '../../domain/text/terms.js'

/** BM25 parameters: how quickly further occurrences of a term stop counting, and how much long texts are penalized. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.7
/** The weight of a neighbour's terms, and the factor for each further step. */
const NEIGHBOUR_WEIGHT = 0.4
const NEIGHBOUR_DECAY = 0.6
const NEIGHBOUR_REACH = 6
/** The maximum distance from a message with a term to one that is found only through it. */
const FOUND_REACH = 2
const CLOSE_BY = 1
const HAS_IT = 2
/** The length in terms of a short message. Twice as long shares half as much with its neighbours. */
const SHORT_LENGTH = 40
/** Single letters of scripts without spaces carry less information than pairs. */
const LETTER_WEIGHT = 0.3
const VAGUE_WEIGHT = 0.4
const NAME_IN_TEXT_WEIGHT = 0.3
const SPEAKER_BOOST = 1
const USER_BOOST = 1

/** The author of unnamed messages by a model. */
const ASSISTANT = 'assistant'

const nameTerms = (author: string): readonly string[] => author.split(' ').slice(1)
const isUser = (author: string): boolean => author === 'user' || author.startsWith('user ')

/** The inverse document frequency of a term. */
export const rarity = (messages: number, withTerm: number): number =>
  Math.log(1 + Math.max(0, messages - withTerm + 0.5) / (withTerm + 0.5))

/** The length normalization: the same count means less in a long text. */
export const lengthNorm = (length: number, meanLength: number): number =>
  1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / Math.max(meanLength, 1)

/** The contribution of a count, already divided by `lengthNorm`, for a term of weight 1. */
export const saturated = (count: number): number => (count * (SATURATION + 1)) / (count + SATURATION)

export interface Weighted {
  readonly term: string
  readonly weight: number
}

/** The terms of a query with their weights, before rarity. */
export function weightedTerms(terms: readonly string[], isName: (term: string) => boolean): readonly Weighted[] {
  const onlyNames = terms.every(isName)
  return terms.map((term) => ({
    term,
    weight:
      (isSingleLetter(term) ? LETTER_WEIGHT : isVague(term) ? VAGUE_WEIGHT : 1) *
      (isName(term) && !onlyNames ? NAME_IN_TEXT_WEIGHT : 1),
  }))
}

/** Whether a term is part of the name of an author. */
export function namesIn({ distinctAuthors }: Corpus): (term: string) => boolean {
  const names = new Set(distinctAuthors.flatMap(nameTerms))
  return (term) => names.has(term)
}

export interface Ranked {
  readonly scores: Float64Array
  /** Indexes of the matching messages, best first; equal scores in the order of the conversation. */
  readonly order: readonly number[]
}

export interface RankOptions {
  /** The maximum number of results. */
  readonly most?: number
}

/** Ranks the messages of a corpus. `query` is read only for dates; `terms` are its terms. */
export function rank(
  query: string,
  terms: readonly string[],
  corpus: Corpus,
  { most = Infinity }: RankOptions = {},
): Ranked {
  const { size, authors } = corpus
  const isName = namesIn(corpus)
  const speakers = new Set(terms.filter(isName))
  const scores = new Float64Array(size)
  const spread = new Float64Array(size)
  // 0, CLOSE_BY or HAS_IT. A message that has no term and is not close to one would only follow at the end of a list
  // and confuse the reader.
  const near = new Uint8Array(size)
  const alikeTermsOf = alikeOf(terms, corpus, isName)
  for (const { term, weight } of weightedTerms(terms, isName)) {
    const { postings, messages } = withAlike(term, alikeTermsOf(term), corpus, spread)
    if (postings.length === 0) continue
    const idf = weight * rarity(corpus.total ?? size, messages)
    for (const at of spreadTerm(postings, corpus, spread, near)) {
      scores[at] = (scores[at] ?? 0) + idf * saturated(spread[at] ?? 0)
      spread[at] = 0
    }
  }
  const factorOf = timeFactor(queryTime(query))
  const hasModel = corpus.distinctAuthors.includes(ASSISTANT)
  const factorsOf = new Map(corpus.distinctAuthors.map((author) => [author, authorFactors(author, speakers, hasModel)]))
  const matching: number[] = []
  for (let at = 0; at < size; at += 1) {
    const score = scores[at] ?? 0
    if (score <= 0 || near[at] === 0) continue
    const { spoken = 1, matchBoost = 1 } = factorsOf.get(authors[at] ?? '') ?? {}
    scores[at] = score * spoken * (near[at] === HAS_IT ? matchBoost : 1) * factorOf(corpus.times[at] ?? 0)
    matching.push(at)
  }
  return { scores, order: best(matching, scores, most) }
}

/**
 * The first indexes by score. Sorting a long conversation would take longer than scoring it, so candidates that cannot
 * be among the first are dropped early.
 */
function best(matching: readonly number[], scores: Float64Array, most: number): readonly number[] {
  const byScore = (a: number, b: number): number => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b
  let candidates: number[] = []
  let least = -Infinity
  for (const at of matching) {
    if ((scores[at] ?? 0) < least) continue
    candidates.push(at)
    if (candidates.length < 2 * most) continue
    candidates = candidates.toSorted(byScore).slice(0, most)
    least = scores[candidates.at(-1) ?? 0] ?? 0
  }
  return candidates.toSorted(byScore).slice(0, most)
}

interface AuthorFactors {
  /** For all messages of the author. */
  readonly spoken: number
  /** For messages that have a query term themselves; the boost for users does not apply to their neighbours. */
  readonly matchBoost: number
}

const authorFactors = (author: string, speakers: ReadonlySet<string>, hasModel: boolean): AuthorFactors => ({
  spoken: nameTerms(author).some((term) => speakers.has(term)) ? 1 + SPEAKER_BOOST : 1,
  matchBoost: hasModel && isUser(author) ? 1 + USER_BOOST : 1,
})

/**
 * The synonyms of each term. If the postings are incomplete they contain only the query's own terms, and the frequency
 * of others is unknown, so no synonyms are used.
 */
function alikeOf(
  terms: readonly string[],
  { frequency }: Corpus,
  isName: (term: string) => boolean,
): (term: string) => readonly AlikeTerm[] {
  if (frequency !== undefined) return () => []
  const queryTerms = new Set(terms)
  return (term) =>
    isName(term) ? [] : alikeTerms(term).filter((other) => !queryTerms.has(other.term) && !isName(other.term))
}

interface Found {
  /** As in `Corpus`, but unordered. */
  readonly postings: ArrayLike<number>
  /** The number of messages for its rarity. */
  readonly messages: number
}

/**
 * Merges the postings of a term and its synonyms into one: for each message the largest weighted count. The rarity is
 * between that of the term alone and that of all. `counts` must be 0 for every message, and is reset to 0.
 */
function withAlike(term: string, others: readonly AlikeTerm[], corpus: Corpus, counts: Float64Array): Found {
  const ownPostings = corpus.postings(term)
  const messages = corpus.frequency?.(term) ?? ownPostings.length / 2
  const places: number[] = []
  const add = (postings: ArrayLike<number>, weight: number): void => {
    for (let i = 0; i < postings.length; i += 2) {
      const at = postings[i] ?? 0
      const known = counts[at] ?? 0
      if (known === 0) places.push(at)
      counts[at] = Math.max(known, weight * (postings[i + 1] ?? 0))
    }
  }
  for (const alikeTerm of others) add(corpus.postings(alikeTerm.term), alikeTerm.weight)
  if (places.length === 0) return { postings: ownPostings, messages }
  add(ownPostings, 1)
  const postings = new Float64Array(places.length * 2)
  for (const [i, at] of places.entries()) {
    postings[i * 2] = at
    postings[i * 2 + 1] = counts[at] ?? 0
    counts[at] = 0
  }
  return { postings, messages: (messages + places.length) / 2 }
}

/** The factor for terms that two neighbours share. */
function leaning(length: number, other: number): number {
  const longer = length > other ? length : other
  return longer <= SHORT_LENGTH ? 1 : SHORT_LENGTH / longer
}

/**
 * Adds a term's counts to `spread`, for the messages that have it and their neighbours, and returns the changed
 * indexes. Marks in `near` the messages that have the term and those close by.
 */
function spreadTerm(
  postings: ArrayLike<number>,
  { replies, lengths, meanLength, size }: Corpus,
  spread: Float64Array,
  near: Uint8Array,
): readonly number[] {
  const touched: number[] = []
  const add = (at: number, count: number): void => {
    const known = spread[at] ?? 0
    if (known === 0) touched.push(at)
    spread[at] = known + count
  }
  for (let i = 0; i < postings.length; i += 2) {
    const at = postings[i] ?? 0
    const length = lengths[at] ?? 0
    const count = (postings[i + 1] ?? 0) / lengthNorm(length, meanLength)
    add(at, count)
    near[at] = HAS_IT
    let lent = NEIGHBOUR_WEIGHT * count
    for (let to = at + 1; to <= at + NEIGHBOUR_REACH && to < size && replies[to] === 1; to += 1) {
      add(to, lent * leaning(length, lengths[to] ?? 0))
      if (to <= at + FOUND_REACH && near[to] === 0) near[to] = CLOSE_BY
      lent *= NEIGHBOUR_DECAY
    }
    lent = NEIGHBOUR_WEIGHT * count
    for (let to = at - 1; to >= at - NEIGHBOUR_REACH && to >= 0 && replies[to + 1] === 1; to -= 1) {
      add(to, lent * leaning(length, lengths[to] ?? 0))
      if (to >= at - FOUND_REACH && near[to] === 0) near[to] = CLOSE_BY
      lent *= NEIGHBOUR_DECAY
    }
  }
  return touched
}
