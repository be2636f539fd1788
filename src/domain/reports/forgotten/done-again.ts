/**
 * Work that was done again: a call behind a split that asks what a call before it had asked, where the answer is the
 * same and had left the context.
 *
 * It is done again only where all of that is sure. The same file is not the same question once it was written to; a
 * status, a build or tests are not the same question once anything was written or run for its effect. Where the answer
 * is another one, or may have changed and changed back, it is *unknown*; what waits for something, and what is run for
 * its effect, is not looked at.
 */
import { termCounts } from '../../text-search/terms.js'
import { sentencesOf } from '../../text/sentences.js'
import { cuesOf } from '../../text/cues.js'
import { comparedAnswer, isNoAnswer, sharedBy, type ComparedAnswer, type Shared } from './answers.js'
import { messageProof, quote, type MessageProof } from './quote.js'
import type { Said } from './said.js'
import { addCosts, costOf, isSamePath, millisecondsBetween, nameOf, NO_COST, type Cost, type Work } from './works.js'

/** Why it is not known whether work was done again. */
type WhyUnknown =
  /** The answer is another one. */
  | 'otherAnswer'
  /** The answer is the same, and something that it hangs on was changed in between. */
  | 'changedBetween'
  /** Nothing was answered, or the answer is not recorded. */
  | 'noAnswer'
  /** Both failed. */
  | 'failed'

/** A call, and the earlier one that had the answer. */
export interface AgainPair {
  readonly verdict: 'doneAgain' | 'unknown'
  readonly why?: WhyUnknown
  readonly use: 'read' | 'command' | 'search' | 'web' | 'question' | 'other'
  readonly tool: string
  readonly subject: string
  /** How much of the answer the earlier one has: 1 for all of it. */
  readonly share: number
  readonly first: MessageProof
  readonly again: MessageProof
  readonly cost: Cost
}

// Of a file's lines so many have to be in what was read before; what differs then is where a range begins and ends.
const ENOUGH_OF_A_FILE = 0.9
const ENOUGH_OF_A_SEARCH = 0.95
const MOST_EARLIER = 24

/** What is looked at; a call that is made for its effect, or to wait, asks nothing. */
function useOf({ asked }: Work): AgainPair['use'] | undefined {
  if (asked.answer === 'acts' || asked.answer === 'waits') return undefined
  switch (asked.use) {
    case 'read':
    case 'search':
    case 'web':
    case 'other':
      return asked.use
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

/** Calls by what they ask: a file by its name, since one call may write its path in full and the next one in short. */
class Index {
  readonly #works = new Map<string, Work[]>()

  static keyOf({ asked }: Work): string {
    return asked.use === 'read' && asked.files[0] !== undefined ? `file ${nameOf(asked.files[0])}` : asked.key
  }

  add(work: Work): void {
    if (work.result === undefined || useOf(work) === undefined) return
    const key = Index.keyOf(work)
    const known = this.#works.get(key)
    if (known === undefined) this.#works.set(key, [work])
    else known.push(work)
  }

  /** Those that asked the same, newest first. */
  like(work: Work): readonly Work[] {
    const path = work.asked.files[0]
    return (this.#works.get(Index.keyOf(work)) ?? [])
      .slice(-MOST_EARLIER)
      .filter(
        (other) => path === undefined || other.asked.files[0] === undefined || isSamePath(path, other.asked.files[0]),
      )
      .toReversed()
  }
}

/** What was changed where, to be asked whether something was changed between two places. */
interface Changes {
  /** Whether a file was written to. */
  file(path: string, from: number, to: number): boolean
  /** Whether anything was written, or run for its effect. */
  any(from: number, to: number): boolean
}

/** Where the first of some rising numbers stands that is no smaller than another one. */
function firstFrom(rising: readonly number[], least: number): number {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((rising[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return low
}

/** All that calls changed. A call that failed changed nothing. */
function changesOf(works: readonly Work[]): Changes {
  const acted: number[] = []
  const written = new Map<string, { readonly path: string; readonly place: number }[]>()
  for (const { asked, place, result } of works) {
    if (result?.isError === true) continue
    if (
      asked.use === 'write' ||
      asked.use === 'agent' ||
      ((asked.use === 'shell' || asked.use === 'other') && asked.answer === 'acts')
    )
      acted.push(place)
    if (asked.answer !== 'acts') continue
    for (const path of asked.files) {
      const known = written.get(nameOf(path)) ?? []
      known.push({ path, place })
      written.set(nameOf(path), known)
    }
  }
  return {
    file: (path, from, to) =>
      (written.get(nameOf(path)) ?? []).some(
        (write) => write.place >= from && write.place <= to && isSamePath(write.path, path),
      ),
    any: (from, to) => (acted[firstFrom(acted, from)] ?? Infinity) <= to,
  }
}

/** What every comparison shares: results are made ready once. */
export interface Ground {
  readonly changes: Changes
  readonly answer: (message: Said) => ComparedAnswer
}

export function createGround(works: readonly Work[]): Ground {
  const known = new Map<Said, ComparedAnswer>()
  return {
    changes: changesOf(works),
    answer: (message) => {
      const before = known.get(message)
      if (before !== undefined) return before
      const made = comparedAnswer(message.text)
      known.set(message, made)
      return made
    },
  }
}

/** How much of an answer has to be in the earlier one. */
const enoughFor = (work: Work): number =>
  work.asked.use === 'read' ? ENOUGH_OF_A_FILE : work.asked.answer === 'files' ? ENOUGH_OF_A_SEARCH : 1

function isUnchanged(first: Work, again: Work, { changes }: Ground): boolean {
  const path = again.asked.files[0]
  if (again.asked.use === 'read' && path !== undefined) return !changes.file(path, first.place, again.place)
  return again.asked.use === 'web' || again.asked.use === 'ask' || !changes.any(first.place, again.place)
}

interface Best extends Shared {
  readonly first: Work
}

/** The earlier call that had most of the answer; the newest of those that had as much. */
function bestOf(again: Work, earlier: readonly Work[], ground: Ground): Best | undefined {
  const { result } = again
  if (result === undefined) return undefined
  // Most of what is the same is so letter for letter, and need not be made ready.
  const same = earlier.find((first) => first.result?.text === result.text)
  if (same !== undefined) return { first: same, share: 1, isWhole: true }
  const answer = ground.answer(result)
  let best: Best | undefined
  for (const first of earlier) {
    if (first.result === undefined) continue
    const shared = sharedBy(answer, ground.answer(first.result))
    if (best === undefined || shared.share > best.share) best = { first, ...shared }
    if (shared.share === 1) break
  }
  return best
}

function verdictOf(
  first: Work,
  again: Work,
  { share, isWhole }: Shared,
  ground: Ground,
): { verdict: AgainPair['verdict']; why?: WhyUnknown } {
  if (first.result === undefined || again.result === undefined) return { verdict: 'unknown', why: 'noAnswer' }
  if (isNoAnswer(first.result.text) || isNoAnswer(again.result.text)) return { verdict: 'unknown', why: 'noAnswer' }
  if (share < enoughFor(again) || !isWhole) return { verdict: 'unknown', why: 'otherAnswer' }
  if (first.result.isError === true || again.result.isError === true) return { verdict: 'unknown', why: 'failed' }
  return isUnchanged(first, again, ground) ? { verdict: 'doneAgain' } : { verdict: 'unknown', why: 'changedBetween' }
}

/** What may be asked again, and what of it nobody has to ask. */
export interface Known {
  /** Calls that had the answers. */
  readonly earlier: readonly Work[]
  /** Calls whose answers are still in the context. */
  readonly context: readonly Work[]
  /** Messages that a program put into the context: it may have read a file anew for the model. */
  readonly attached: readonly Said[]
}

// Programs attach a handful of files.
const MOST_ATTACHED = 40

/** How much of an answer stands in what a program attached. */
function attachedShare(again: Work, attached: readonly Said[], ground: Ground): number {
  const path = again.asked.files[0]
  const { result } = again
  if (path === undefined || result === undefined) return 0
  const shares = attached
    .filter(({ text }) => text.includes(nameOf(path)))
    .map((message) => sharedBy(ground.answer(result), ground.answer(message)))
    .map(({ share, isWhole }) => (isWhole ? share : 0))
  return Math.max(0, ...shares)
}

/**
 * The calls that ask again what others had asked, in their order.
 * @param later calls that may ask again
 */
export function callsAgain({ earlier, context, attached }: Known, later: readonly Work[], ground: Ground): AgainPair[] {
  const [gone, there] = [new Index(), new Index()]
  for (const work of earlier) gone.add(work)
  for (const work of context) there.add(work)
  const files = attached.slice(0, MOST_ATTACHED)
  const pairs: AgainPair[] = []
  for (const again of later) {
    const use = useOf(again)
    if (use === undefined) continue
    const best = bestOf(again, gone.like(again), ground)
    const known = best === undefined ? undefined : bestOf(again, there.like(again), ground)
    there.add(again)
    if (best === undefined || again.result === undefined) continue
    // Who asks what the context says repeats itself, and forgot nothing.
    if (known !== undefined && known.isWhole && known.share >= Math.min(best.share, enoughFor(again))) continue
    if (attachedShare(again, files, ground) >= enoughFor(again)) continue
    const path = again.asked.files[0]
    if (again.asked.use === 'read' && path !== undefined && ground.changes.file(path, best.first.place, again.place))
      continue
    const { first, share } = best
    pairs.push({
      ...verdictOf(first, again, best, ground),
      use,
      tool: again.call.name,
      subject: again.asked.subject,
      share: Math.round(share * 1_000) / 1_000,
      first: messageProof(
        first.by,
        `${first.call.name}(${first.asked.subject}) → ${quote(first.result?.text ?? '', 60)}`,
      ),
      again: messageProof(again.by, `${again.call.name}(${again.asked.subject}) → ${quote(again.result.text, 60)}`),
      cost: costOf(again),
    })
  }
  return pairs
}

/** A question that the assistant asked in words, and what the user said to it. */
interface Question {
  readonly key: string
  readonly text: string
  readonly by: Said
  readonly answer: Said
}

const LEAST_TERMS = 5
const keyOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** Questions that end a message of the assistant, with the user's next message. */
function questionsIn(messages: readonly Said[]): Question[] {
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
      .filter(({ text, code }) => !code && cuesOf(text).question && termCounts(text).counts.size >= LEAST_TERMS)
      .map(({ text }) => ({ key: keyOf(text), text, by, answer }))
  })
}

/** Questions that were put to the user again, in the same words. */
export function questionsAgain(
  earlier: readonly Said[],
  context: readonly Said[],
  later: readonly Said[],
): AgainPair[] {
  const first = new Map(questionsIn(earlier).map((question) => [question.key, question]))
  const there = new Set(questionsIn(context).map(({ key }) => key))
  const pairs: AgainPair[] = []
  for (const again of questionsIn(later)) {
    const before = first.get(again.key)
    if (before === undefined || there.has(again.key)) continue
    there.add(again.key)
    const same = keyOf(before.answer.text) === keyOf(again.answer.text)
    pairs.push({
      ...(same ? { verdict: 'doneAgain' } : { verdict: 'unknown', why: 'otherAnswer' }),
      use: 'question',
      tool: '',
      subject: quote(again.text, 110),
      share: same ? 1 : 0,
      first: messageProof(before.by, before.text),
      again: messageProof(again.by, again.text),
      cost: {
        calls: 1,
        tokens: again.by.tokens + again.answer.tokens,
        milliseconds: millisecondsBetween(again.by, again.answer),
      },
    })
  }
  return pairs
}

/** What the pairs that are sure took together. */
export const costOfAgain = (pairs: readonly AgainPair[]): Cost =>
  pairs.filter(({ verdict }) => verdict === 'doneAgain').reduce((sum, { cost }) => addCosts(sum, cost), NO_COST)
