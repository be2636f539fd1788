/**
 * The order in which the messages of a conversation answer a query: BM25 over terms, with what is particular about
 * conversations.
 *
 * - **An answer follows its question.** A message is read together with its neighbours, as long as the author changes
 * from one to the
 *   next: their terms count for it, less with each step. Notes in a row by one author are on their own.
 * - **A name in the query means what its bearer said,** not the messages that greet them.
 * - **What a user says is what is asked about later;** an assistant's answers repeat it at length.
 * - **A month or year in the query means messages of that time.**
 *
 * Every figure below lies on a plateau: half or twice of it moves recall@10 by less than 0.03 in each of four groups of
 * conversations (two-person dialogues, user and assistant, notes, fact questions; 1,133 questions), and none was chosen
 * by one group alone.
 */
import { isSingleLetter, isVague, termCounts } from './terms.js'

/** How soon a term's further occurrences stop counting, and how far a long text is held against it. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.7
/** A neighbour's terms count this much, and less by the second factor with every step. */
const NEIGHBOUR_WEIGHT = 0.3
const NEIGHBOUR_DECAY = 0.5
const NEIGHBOUR_REACH = 3
/** Single letters of scripts without spaces say less than pairs. */
const LETTER_WEIGHT = 0.3
const VAGUE_WEIGHT = 0.5
const NAME_IN_TEXT_WEIGHT = 0.3
const SPEAKER_BOOST = 1
const USER_BOOST = 0.25
const TIME_BOOST = 0.6

/**
 * What ranking knows of messages beside their terms, in the order of the conversation; column `i` of each is one
 * message.
 */
export interface Corpus {
  readonly size: number
  /** Role and name; a change of it is a change of author. */
  readonly authors: readonly string[]
  /** Every author once. */
  readonly distinctAuthors: readonly string[]
  /** Milliseconds since 1970. */
  readonly times: ArrayLike<number>
  /** Terms in all. */
  readonly lengths: ArrayLike<number>
  readonly meanLength: number
  /** 1 where the message directly follows the one before it in its conversation, and another author says it; else 0. */
  readonly replies: ArrayLike<number>
  /** Pairs of a message's place and the term's count in it, by place; empty for an unknown term. */
  readonly postings: (term: string) => ArrayLike<number>
  /** In how many messages a term is, where `postings` do not hold them all. */
  readonly frequency?: (term: string) => number
  /** Messages that the frequencies are of, where they are not `size`. */
  readonly total?: number
}

/** An author as one string, which `nameTerms` and `isUser` read again. */
export const authorOf = (role: string, name: string | undefined): string =>
  name === undefined ? role : [role, ...termCounts(name).counts.keys()].join(' ')

const nameTerms = (author: string): readonly string[] => author.split(' ').slice(1)
const isUser = (author: string): boolean => author === 'user' || author.startsWith('user ')

const MONTHS = 'january february march april may june july august september october november december'
const monthTerms = MONTHS.split(' ').map((month) => [...termCounts(month).counts.keys()][0] ?? month)

interface AskedTime {
  readonly months: ReadonlySet<number>
  readonly years: ReadonlySet<number>
}

/** Months and years that a query names: English names, `2023`, `5月`, `2023年`, `2023-05`. */
export function askedTime(query: string, terms: readonly string[]): AskedTime {
  const named = monthTerms.flatMap((term, month) => (terms.includes(term) ? [month] : []))
  const numbered = [...query.matchAll(/(?<!\d)(\d{1,2})月|(?<=(?:19|20)\d\d-)(\d\d)(?!\d)/gu)].map(
    ([, month, iso]) => Number(month ?? iso) - 1,
  )
  const years = [...query.matchAll(/(?<!\d)(?:19|20)\d\d(?!\d)/gu)].map(([year]) => Number(year))
  return { months: new Set([...named, ...numbered]), years: new Set(years) }
}

const timeFactor = ({ months, years }: AskedTime, time: number): number => {
  if (months.size === 0 && years.size === 0) return 1
  const date = new Date(time)
  return (months.has(date.getUTCMonth()) ? 1 + TIME_BOOST : 1) * (years.has(date.getUTCFullYear()) ? 1 + TIME_BOOST : 1)
}

/** Weight of a term by how few messages have it. */
export const rarity = (messages: number, withTerm: number): number =>
  Math.log(1 + Math.max(0, messages - withTerm + 0.5) / (withTerm + 0.5))

/** What a text of this length makes of a count: the same count says less in a long text. */
export const lengthNorm = (length: number, meanLength: number): number =>
  1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / Math.max(meanLength, 1)

/** What a count, already divided by `lengthNorm`, adds for a term of weight 1. */
export const saturated = (count: number): number => (count * (SATURATION + 1)) / (count + SATURATION)

export interface Weighted {
  readonly term: string
  readonly weight: number
}

/** The terms of a query with what they weigh, before rarity, and the names among them. */
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
  /** Places of the messages that match, best first; equal scores in the order of the conversation. */
  readonly order: readonly number[]
}

export interface RankOptions {
  /** How many places are ordered; more are not looked for. */
  readonly most?: number
}

/** Ranks the messages of a corpus. `query` is only read for dates; `terms` are its terms. */
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
  // What has a term neither itself nor next to it is context of context: it would only follow at the end of a list, and
  // puzzle its reader.
  const near = new Uint8Array(size)
  for (const { term, weight } of weightedTerms(terms, isName)) {
    const postings = corpus.postings(term)
    if (postings.length === 0) continue
    const idf = weight * rarity(corpus.total ?? size, corpus.frequency?.(term) ?? postings.length / 2)
    for (const at of spreadTerm(postings, corpus, spread, near)) {
      scores[at] = (scores[at] ?? 0) + idf * saturated(spread[at] ?? 0)
      spread[at] = 0
    }
  }
  const asked = askedTime(query, terms)
  const factorOf = new Map(corpus.distinctAuthors.map((author) => [author, authorFactor(author, speakers)]))
  const matching: number[] = []
  for (let at = 0; at < size; at += 1) {
    const score = scores[at] ?? 0
    if (score <= 0 || near[at] !== 1) continue
    scores[at] = score * (factorOf.get(authors[at] ?? '') ?? 1) * timeFactor(asked, corpus.times[at] ?? 0)
    matching.push(at)
  }
  return { scores, order: best(matching, scores, most) }
}

/**
 * The first places by score. Sorting all of a long conversation would take longer than scoring it, so what cannot be
 * among them is left out first.
 */
function best(matching: readonly number[], scores: Float64Array, most: number): readonly number[] {
  const byScore = (a: number, b: number): number => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b
  let kept: number[] = []
  let least = -Infinity
  for (const at of matching) {
    if ((scores[at] ?? 0) < least) continue
    kept.push(at)
    if (kept.length < 2 * most) continue
    kept = kept.toSorted(byScore).slice(0, most)
    least = scores[kept.at(-1) ?? 0] ?? 0
  }
  return kept.toSorted(byScore).slice(0, most)
}

const authorFactor = (author: string, speakers: ReadonlySet<string>): number =>
  (nameTerms(author).some((term) => speakers.has(term)) ? 1 + SPEAKER_BOOST : 1) * (isUser(author) ? 1 + USER_BOOST : 1)

/**
 * Adds a term's counts to `spread`, for the messages that have it and their neighbours, and returns the places that it
 * touched. `near` marks the messages that have it and their direct neighbours.
 */
function spreadTerm(
  postings: ArrayLike<number>,
  corpus: Corpus,
  spread: Float64Array,
  near: Uint8Array,
): readonly number[] {
  const touched: number[] = []
  const add = (at: number, count: number): void => {
    if (spread[at] === 0) touched.push(at)
    spread[at] = (spread[at] ?? 0) + count
  }
  const { replies, lengths, meanLength, size } = corpus
  for (let i = 0; i < postings.length; i += 2) {
    const at = postings[i] ?? 0
    const count = (postings[i + 1] ?? 0) / lengthNorm(lengths[at] ?? 0, meanLength)
    add(at, count)
    near[at] = 1
    if (replies[at] === 1) near[at - 1] = 1
    if (replies[at + 1] === 1) near[at + 1] = 1
    let weight = NEIGHBOUR_WEIGHT
    for (let next = at + 1; next <= at + NEIGHBOUR_REACH && next < size && replies[next] === 1; next += 1) {
      add(next, weight * count)
      weight *= NEIGHBOUR_DECAY
    }
    weight = NEIGHBOUR_WEIGHT
    for (let step = at; step > at - NEIGHBOUR_REACH && step > 0 && replies[step] === 1; step -= 1) {
      add(step - 1, weight * count)
      weight *= NEIGHBOUR_DECAY
    }
  }
  return touched
}
