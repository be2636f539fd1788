/**
 * The order in which the messages of a conversation answer a query: BM25 over terms, with what is particular about
 * conversations.
 *
 * - **An answer follows its question, and talk stays with its subject for some turns.** A message is read together with
 *   its neighbours, as long as the author changes from one to the next: their terms count for it, less with each step.
 *   Notes in a row by one author are on their own.
 * - **A short message leans on those around it, a long one says itself what it is about:** the longer of two neighbours
 *   is, the less of their terms they share.
 * - **One thing has several names.** A term of the query also finds what is alike or of its kind (`alike.ts`), for less.
 * - **A name in the query means what its bearer said,** not the messages that greet them.
 * - **What a user says is what is asked about later;** an assistant's answers repeat it at length. Where the other side
 *   has a name too, people talk with each other, and neither counts more.
 * - **A day, month or year in the query means messages of that time** (`asked-time.ts`).
 *
 * docs/decisions/0004 says what each rule was worth, by which conversations it was chosen, and what half or twice of each
 * figure below does.
 */
import { alikeTerms, type AlikeTerm } from './alike.js'
import { askedTime, timeFactor } from './asked-time.js'
import { isSingleLetter, isVague, termCounts } from './terms.js'

/** How soon a term's further occurrences stop counting, and how far a long text is held against it. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.7
/** A neighbour's terms count this much, and less by the second factor with every step. */
const NEIGHBOUR_WEIGHT = 0.4
const NEIGHBOUR_DECAY = 0.6
const NEIGHBOUR_REACH = 6
/** How far from a message with a term one may stand that is found by it alone. */
const FOUND_REACH = 2
const CLOSE_BY = 1
const HAS_IT = 2
/** Terms of a message that is still short: one of twice as many shares half as much with its neighbours. */
const SHORT_LENGTH = 40
/** Single letters of scripts without spaces say less than pairs. */
const LETTER_WEIGHT = 0.3
const VAGUE_WEIGHT = 0.4
const NAME_IN_TEXT_WEIGHT = 0.3
const SPEAKER_BOOST = 1
const USER_BOOST = 1

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

/** The author of what a model said that has no name. */
const ASSISTANT = 'assistant'

/** An author as one string, which `nameTerms` and `isUser` read again. */
export const authorOf = (role: string, name: string | undefined): string =>
  name === undefined ? role : [role, ...termCounts(name).counts.keys()].join(' ')

const nameTerms = (author: string): readonly string[] => author.split(' ').slice(1)
const isUser = (author: string): boolean => author === 'user' || author.startsWith('user ')

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
  // 0, CLOSE_BY or HAS_IT. What has a term neither itself nor close by is context of context: it would only follow at
  // the end of a list, and puzzle its reader.
  const near = new Uint8Array(size)
  const others = alikeOf(terms, corpus, isName)
  for (const { term, weight } of weightedTerms(terms, isName)) {
    const { postings, messages } = withAlike(term, others(term), corpus, spread)
    if (postings.length === 0) continue
    const idf = weight * rarity(corpus.total ?? size, messages)
    for (const at of spreadTerm(postings, corpus, spread, near)) {
      scores[at] = (scores[at] ?? 0) + idf * saturated(spread[at] ?? 0)
      spread[at] = 0
    }
  }
  const factorOf = timeFactor(askedTime(query))
  const hasModel = corpus.distinctAuthors.includes(ASSISTANT)
  const factorsOf = new Map(corpus.distinctAuthors.map((author) => [author, authorFactors(author, speakers, hasModel)]))
  const matching: number[] = []
  for (let at = 0; at < size; at += 1) {
    const score = scores[at] ?? 0
    if (score <= 0 || near[at] === 0) continue
    const { spoken = 1, saidIt = 1 } = factorsOf.get(authors[at] ?? '') ?? {}
    scores[at] = score * spoken * (near[at] === HAS_IT ? saidIt : 1) * factorOf(corpus.times[at] ?? 0)
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

interface AuthorFactors {
  /** For what the author said. */
  readonly spoken: number
  /** For what has a term of the query itself: beside one that has it, a user's message has no such claim. */
  readonly saidIt: number
}

const authorFactors = (author: string, speakers: ReadonlySet<string>, hasModel: boolean): AuthorFactors => ({
  spoken: nameTerms(author).some((term) => speakers.has(term)) ? 1 + SPEAKER_BOOST : 1,
  saidIt: hasModel && isUser(author) ? 1 + USER_BOOST : 1,
})

/**
 * What each term is looked for by beside itself. Where the postings hold not all messages they hold those of the query's
 * own terms, and how rare another one is nobody knows: there a term stands for itself alone.
 */
function alikeOf(
  terms: readonly string[],
  { frequency }: Corpus,
  isName: (term: string) => boolean,
): (term: string) => readonly AlikeTerm[] {
  if (frequency !== undefined) return () => []
  const own = new Set(terms)
  return (term) => (isName(term) ? [] : alikeTerms(term).filter((other) => !own.has(other.term) && !isName(other.term)))
}

interface Found {
  /** As in `Corpus`; not by place. */
  readonly postings: ArrayLike<number>
  /** How many messages its rarity is reckoned by. */
  readonly messages: number
}

/**
 * The postings of a term and of what it is looked for by, as those of one term: in a message the one that counts most.
 * It is as rare as lies between the term alone and all of them. `counts` is 0 for every message, and is left so.
 */
function withAlike(term: string, others: readonly AlikeTerm[], corpus: Corpus, counts: Float64Array): Found {
  const own = corpus.postings(term)
  const messages = corpus.frequency?.(term) ?? own.length / 2
  const places: number[] = []
  const add = (postings: ArrayLike<number>, weight: number): void => {
    for (let i = 0; i < postings.length; i += 2) {
      const at = postings[i] ?? 0
      const known = counts[at] ?? 0
      if (known === 0) places.push(at)
      counts[at] = Math.max(known, weight * (postings[i + 1] ?? 0))
    }
  }
  for (const other of others) add(corpus.postings(other.term), other.weight)
  if (places.length === 0) return { postings: own, messages }
  add(own, 1)
  const postings = new Float64Array(places.length * 2)
  for (const [i, at] of places.entries()) {
    postings[i * 2] = at
    postings[i * 2 + 1] = counts[at] ?? 0
    counts[at] = 0
  }
  return { postings, messages: (messages + places.length) / 2 }
}

/** The share of their terms that two neighbours count for each other. */
function leaning(length: number, other: number): number {
  const longer = length > other ? length : other
  return longer <= SHORT_LENGTH ? 1 : SHORT_LENGTH / longer
}

/**
 * Adds a term's counts to `spread`, for the messages that have it and their neighbours, and returns the places that it
 * touched. `near` marks the messages that have it and those close by.
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
