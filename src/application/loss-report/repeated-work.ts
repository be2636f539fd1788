/**
 * Finds repeated work: a call after a compaction that asks what an earlier call had asked, if the answer is the same
 * and was removed from the context.
 *
 * A call counts as repeated only if all of that is certain. Reading a file is not repeated if the file was written in
 * between; a status, build or test run is not repeated if anything was written or run for its effect in between. If the
 * answer differs, or may have changed and changed back, the verdict is `unknown`. Calls that wait, and calls made for
 * their effect, are ignored.
 */
import { termCounts } from '../../domain/text/terms.js'
import { sentencesOf } from '../../domain/text/sentences.js'
import { hasCue } from '../../domain/text/cues.js'
import { normalizeResult, isNoAnswer, overlapWith, type NormalizedResult, type Shared } from './answers.js'
import { quote } from '../../domain/text/quote.js'
import { isSamePath, nameOf } from '../../domain/tools/call-query.js'
import { messageProof, type MessageProof } from './proofs.js'
import type { ReportMessage } from './report-input.js'
import { addCosts, costOf, millisecondsBetween, NO_COST, type Cost, type Work } from './tool-calls.js'

/** Why it is not known whether the work was repeated. */
type WhyUnknown =
  /** The answer differs. */
  | 'otherAnswer'
  /** The answer is the same, but something that it depends on changed in between. */
  | 'changedBetween'
  /** The answer is empty or not recorded. */
  | 'noAnswer'
  /** Both calls failed. */
  | 'failed'

/** A call, and the earlier one that had the answer. */
export interface RepeatedPair {
  readonly verdict: 'doneAgain' | 'unknown'
  readonly why?: WhyUnknown
  readonly use: 'read' | 'command' | 'search' | 'web' | 'question' | 'other'
  readonly tool: string
  readonly subject: string
  /** The share of the answer that the earlier answer has; 1 for all of it. */
  readonly share: number
  readonly first: MessageProof
  readonly again: MessageProof
  readonly cost: Cost
}

// The share of a file's lines that the earlier answer must have. The rest allows for different line ranges.
const ENOUGH_OF_A_FILE = 0.9
const ENOUGH_OF_A_SEARCH = 0.95
const MOST_EARLIER = 24

/** The use of a call, or undefined for a call that is ignored because it was made for its effect or to wait. */
function useOf({ query }: Work): RepeatedPair['use'] | undefined {
  if (query.answer === 'acts' || query.answer === 'waits') return undefined
  switch (query.use) {
    case 'read':
    case 'search':
    case 'web':
    case 'other':
      return query.use
    case 'shell':
      return 'command'
    case 'ask':
      return 'question'
    case 'write':
    case 'agent':
    case 'wait':
    case 'note':
      return undefined
  }
}

/** Calls by query. A file is indexed by its name, since one call may give the full path and the next a shorter one. */
class Index {
  readonly #works = new Map<string, Work[]>()

  static keyOf({ query }: Work): string {
    return query.use === 'read' && query.files[0] !== undefined ? `file ${nameOf(query.files[0])}` : query.key
  }

  add(work: Work): void {
    if (work.result === undefined || useOf(work) === undefined) return
    const key = Index.keyOf(work)
    const known = this.#works.get(key)
    if (known === undefined) this.#works.set(key, [work])
    else known.push(work)
  }

  /** Calls with the same query, newest first. */
  like(work: Work): readonly Work[] {
    const path = work.query.files[0]
    return (this.#works.get(Index.keyOf(work)) ?? [])
      .slice(-MOST_EARLIER)
      .filter(
        (other) => path === undefined || other.query.files[0] === undefined || isSamePath(path, other.query.files[0]),
      )
      .toReversed()
  }
}

/** Answers whether something changed between two positions. */
interface ChangeLog {
  /** Whether a file was written to. */
  file(path: string, from: number, to: number): boolean
  /** Whether anything was written, or run for its effect. */
  any(from: number, to: number): boolean
}

/** The index of the first number that is at least `least`, in an ascending list. */
function firstFrom(rising: readonly number[], least: number): number {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((rising[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return low
}

/** All changes made by calls. A failed call changed nothing. */
function changesOf(works: readonly Work[]): ChangeLog {
  const acted: number[] = []
  const written = new Map<string, { readonly path: string; readonly position: number }[]>()
  for (const { query, position, result } of works) {
    if (result?.isError === true) continue
    if (
      query.use === 'write' ||
      query.use === 'agent' ||
      ((query.use === 'shell' || query.use === 'other') && query.answer === 'acts')
    )
      acted.push(position)
    if (query.answer !== 'acts') continue
    for (const path of query.files) {
      const known = written.get(nameOf(path)) ?? []
      known.push({ path, position })
      written.set(nameOf(path), known)
    }
  }
  return {
    file: (path, from, to) =>
      (written.get(nameOf(path)) ?? []).some(
        (write) => write.position >= from && write.position <= to && isSamePath(write.path, path),
      ),
    any: (from, to) => (acted[firstFrom(acted, from)] ?? Infinity) <= to,
  }
}

/** State shared by all comparisons: each result is prepared once. */
export interface Comparison {
  readonly changes: ChangeLog
  readonly answer: (message: ReportMessage) => NormalizedResult
}

export function createGround(works: readonly Work[]): Comparison {
  const known = new Map<ReportMessage, NormalizedResult>()
  return {
    changes: changesOf(works),
    answer: (message) => {
      const before = known.get(message)
      if (before !== undefined) return before
      const made = normalizeResult(message.text)
      known.set(message, made)
      return made
    },
  }
}

/** The share of an answer that the earlier answer must have. */
const enoughFor = (work: Work): number =>
  work.query.use === 'read' ? ENOUGH_OF_A_FILE : work.query.answer === 'files' ? ENOUGH_OF_A_SEARCH : 1

function isUnchanged(first: Work, repeat: Work, { changes }: Comparison): boolean {
  const path = repeat.query.files[0]
  if (repeat.query.use === 'read' && path !== undefined) return !changes.file(path, first.position, repeat.position)
  return repeat.query.use === 'web' || repeat.query.use === 'ask' || !changes.any(first.position, repeat.position)
}

interface Best extends Shared {
  readonly first: Work
}

/** The earlier call that had the largest part of the answer; the newest of equal ones. */
function bestOf(repeat: Work, earlier: readonly Work[], ground: Comparison): Best | undefined {
  const { result } = repeat
  if (result === undefined) return undefined
  // Most equal answers are equal byte for byte and need no preparation.
  const same = earlier.find((first) => first.result?.text === result.text)
  if (same !== undefined) return { first: same, share: 1, isContiguous: true }
  const answer = ground.answer(result)
  let best: Best | undefined
  for (const first of earlier) {
    if (first.result === undefined) continue
    const shared = overlapWith(answer, ground.answer(first.result))
    if (best === undefined || shared.share > best.share) best = { first, ...shared }
    if (shared.share === 1) break
  }
  return best
}

function verdictOf(
  first: Work,
  repeat: Work,
  { share, isContiguous }: Shared,
  ground: Comparison,
): { verdict: RepeatedPair['verdict']; why?: WhyUnknown } {
  if (first.result === undefined || repeat.result === undefined) return { verdict: 'unknown', why: 'noAnswer' }
  if (isNoAnswer(first.result.text) || isNoAnswer(repeat.result.text)) return { verdict: 'unknown', why: 'noAnswer' }
  if (share < enoughFor(repeat) || !isContiguous) return { verdict: 'unknown', why: 'otherAnswer' }
  if (first.result.isError === true || repeat.result.isError === true) return { verdict: 'unknown', why: 'failed' }
  return isUnchanged(first, repeat, ground) ? { verdict: 'doneAgain' } : { verdict: 'unknown', why: 'changedBetween' }
}

/** Calls and messages that a later call is compared with. */
export interface Known {
  /** Calls with removed answers. */
  readonly earlier: readonly Work[]
  /** Calls with answers that are still in the context. */
  readonly context: readonly Work[]
  /** Messages that a program inserted into the context: it may have read a file again for the model. */
  readonly attached: readonly ReportMessage[]
}

// Programs attach a handful of files.
const MOST_ATTACHED = 40

/** The share of an answer that program-inserted messages have. */
function attachedShare(repeat: Work, attached: readonly ReportMessage[], ground: Comparison): number {
  const path = repeat.query.files[0]
  const { result } = repeat
  if (path === undefined || result === undefined) return 0
  const shares = attached
    .filter(({ text }) => text.includes(nameOf(path)))
    .map((message) => overlapWith(ground.answer(result), ground.answer(message)))
    .map(({ share, isContiguous }) => (isContiguous ? share : 0))
  return Math.max(0, ...shares)
}

/**
 * The calls that repeat an earlier query, in order.
 * @param later calls that may be repetitions
 */
export function repeatedCalls(
  { earlier, context, attached }: Known,
  later: readonly Work[],
  ground: Comparison,
): RepeatedPair[] {
  const [removedAnswers, currentAnswers] = [new Index(), new Index()]
  for (const work of earlier) removedAnswers.add(work)
  for (const work of context) currentAnswers.add(work)
  const files = attached.slice(0, MOST_ATTACHED)
  const pairs: RepeatedPair[] = []
  for (const repeat of later) {
    const use = useOf(repeat)
    if (use === undefined) continue
    const best = bestOf(repeat, removedAnswers.like(repeat), ground)
    const known = best === undefined ? undefined : bestOf(repeat, currentAnswers.like(repeat), ground)
    currentAnswers.add(repeat)
    if (best === undefined || repeat.result === undefined) continue
    // If the answer is still in the context, the compaction is not the cause of the repetition.
    if (known !== undefined && known.isContiguous && known.share >= Math.min(best.share, enoughFor(repeat))) continue
    if (attachedShare(repeat, files, ground) >= enoughFor(repeat)) continue
    const path = repeat.query.files[0]
    if (
      repeat.query.use === 'read' &&
      path !== undefined &&
      ground.changes.file(path, best.first.position, repeat.position)
    )
      continue
    const { first, share } = best
    pairs.push({
      ...verdictOf(first, repeat, best, ground),
      use,
      tool: repeat.call.name,
      subject: repeat.query.subject,
      share: Math.round(share * 1_000) / 1_000,
      first: messageProof(
        first.by,
        `${first.call.name}(${first.query.subject}) → ${quote(first.result?.text ?? '', 60)}`,
      ),
      again: messageProof(repeat.by, `${repeat.call.name}(${repeat.query.subject}) → ${quote(repeat.result.text, 60)}`),
      cost: costOf(repeat),
    })
  }
  return pairs
}

/** A question that the assistant asked in words, and the user's answer. */
interface Question {
  readonly key: string
  readonly text: string
  readonly by: ReportMessage
  readonly answer: ReportMessage
}

const LEAST_TERMS = 5
const keyOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** Questions at the end of an assistant message, with the user's next message. */
function questionsIn(messages: readonly ReportMessage[]): Question[] {
  return messages.flatMap((by, at): Question[] => {
    const answer = messages[at + 1]
    if (
      by.role !== 'assistant' ||
      (by.toolCalls?.length ?? 0) > 0 ||
      answer?.role !== 'user' ||
      answer.byProgram === true
    )
      return []
    return sentencesOf(by.text.slice(-1_200))
      .filter(({ text, code }) => !code && hasCue(text, 'question') && termCounts(text).counts.size >= LEAST_TERMS)
      .map(({ text }) => ({ key: keyOf(text), text, by, answer }))
  })
}

/** Questions that the assistant asked again in the same words. */
export function repeatedQuestions(
  earlier: readonly ReportMessage[],
  context: readonly ReportMessage[],
  later: readonly ReportMessage[],
): RepeatedPair[] {
  const first = new Map(questionsIn(earlier).map((question) => [question.key, question]))
  const currentQuestions = new Set(questionsIn(context).map(({ key }) => key))
  const pairs: RepeatedPair[] = []
  for (const repeat of questionsIn(later)) {
    const before = first.get(repeat.key)
    if (before === undefined || currentQuestions.has(repeat.key)) continue
    currentQuestions.add(repeat.key)
    const same = keyOf(before.answer.ownText) === keyOf(repeat.answer.ownText)
    pairs.push({
      ...(same ? { verdict: 'doneAgain' } : { verdict: 'unknown', why: 'otherAnswer' }),
      use: 'question',
      tool: '',
      subject: quote(repeat.text, 110),
      share: same ? 1 : 0,
      first: messageProof(before.by, before.text),
      again: messageProof(repeat.by, repeat.text),
      cost: {
        calls: 1,
        tokens: repeat.by.tokens + repeat.answer.tokens,
        milliseconds: millisecondsBetween(repeat.by, repeat.answer),
      },
    })
  }
  return pairs
}

/** The total cost of the pairs that are certain. */
export const costOfRepeated = (pairs: readonly RepeatedPair[]): Cost =>
  pairs.filter(({ verdict }) => verdict === 'doneAgain').reduce((sum, { cost }) => addCosts(sum, cost), NO_COST)
