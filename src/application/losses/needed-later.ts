/** Finds lost names, values and errors that the conversation needed after the compaction, and where. */
import { headOf } from '../../domain/text/clean-text.js'
import { failuresIn } from '../loss-report/failures.js'
import { findNames, type WantedName } from '../loss-report/find-names.js'
import { isEnoughOf } from '../loss-report/judge.js'
import type { JudgedItem } from '../loss-report/judged-item.js'
import { unescaped, type PassageSource } from '../loss-report/passages.js'
import { messageProof, type MessageProof } from '../loss-report/proofs.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { tellingTerms } from '../loss-report/stretches.js'
import type { Work } from '../loss-report/tool-calls.js'

interface SearchText {
  readonly text: string
  readonly source: PassageSource
}

/** The user's own words: a pasted text asks for nothing. */
const MOST_TYPED = 2_000
/** A shorter number is in many texts, unless it has marks like a time. */
const LEAST_DIGITS = 4
const LEAST_WITH_MARKS = 3
const LEAST_SHARED = 2
const AROUND = 60
const YEAR = /^(?:19|20)\d\d$/u

const typedTexts = (after: readonly ReportMessage[]): SearchText[] =>
  after
    .filter(({ role, byProgram, ownText }) => role === 'user' && byProgram !== true && ownText.length <= MOST_TYPED)
    .map((message) => ({ text: message.ownText, source: { kind: 'message', message } }))

const SEARCHES = new Set(['search', 'web', 'ask'])

/** The arguments of the calls that search. Reading a file may only be the next step of the work. */
const searchTexts = (works: readonly Work[]): SearchText[] =>
  works
    .filter(({ query: { use } }) => SEARCHES.has(use))
    .map(({ call, by }) => ({ text: unescaped(call.arguments), source: { kind: 'message', message: by } }))

/** As much of the results after the compaction is searched for values. */
const MOST_RESULTS = 400_000
const MOST_OF_RESULT = 20_000

/** The texts of the agent and the results after the compaction, in order. */
function textsAfter(after: readonly ReportMessage[]): SearchText[] {
  let left = MOST_RESULTS
  return after.flatMap((message): SearchText[] => {
    const source = { kind: 'message', message } as const
    if (message.role === 'tool') {
      const text = headOf(message.text, Math.min(MOST_OF_RESULT, left))
      left -= text.length
      return [{ text, source }]
    }
    return [message.text, ...(message.toolCalls ?? []).map((call) => unescaped(call.arguments))].map((text) => ({
      text,
      source,
    }))
  })
}

/** A commit, a version, a time or a large number. A year, or a number of a few digits, comes up again by chance. */
function isValue({ kind, text }: JudgedItem): boolean {
  if (kind === 'identifier') return /\d/u.test(text)
  const digits = text.replaceAll(/\D/gu, '').length
  return (
    kind === 'number' && digits >= (/\d[:.,/-]\d/u.test(text) ? LEAST_WITH_MARKS : LEAST_DIGITS) && !YEAR.test(text)
  )
}

/** Values that a result brought back before the agent wrote them: the agent had to find them again. */
function foundAgain(items: readonly JudgedItem[], after: readonly ReportMessage[]): [JudgedItem, MessageProof][] {
  if (items.length === 0) return []
  const texts = textsAfter(after)
  const first = finderIn(items, texts)
  const results = new Set(after.flatMap(({ role, messageId }) => (role === 'tool' ? [messageId] : [])))
  const brought = items.flatMap((item) => {
    const proof = first(item)
    return proof === undefined || !results.has(proof.messageId) ? [] : [[item, proof] as [JudgedItem, MessageProof]]
  })
  const written = finderIn(
    brought.map(([item]) => item),
    texts.filter(({ source }) => source.kind === 'message' && source.message.role === 'assistant'),
  )
  return brought.filter(([item]) => written(item) !== undefined)
}

/** The words around a name in a text. */
function around(text: string, name: string): string {
  const at = text.indexOf(name)
  return at < 0 ? name : text.slice(Math.max(0, at - AROUND), at + name.length + AROUND)
}

/** The names of a kind of which one of the texts asks. */
function finderIn(
  items: readonly JudgedItem[],
  texts: readonly SearchText[],
): (item: JudgedItem) => MessageProof | undefined {
  const wantedOf = ({ kind, text }: JudgedItem): WantedName => ({
    kind: kind === 'file' ? 'file' : kind === 'number' ? 'number' : 'identifier',
    key: text,
  })
  const files = items.flatMap(({ kind, text }) => (kind === 'file' ? [text] : []))
  const names = findNames(items.map(wantedOf), texts, isEnoughOf(files))
  return (item) => {
    const match = names.find(wantedOf(item))
    return match?.nearness === 'whole' && match.source.kind === 'message'
      ? messageProof(match.source.message, around(match.source.message.text, match.text))
      : undefined
  }
}

/** A plain number comes up again by chance, unless its sentences share words. */
function isSameSubject([{ kind, text, said }, proof]: readonly [JudgedItem, MessageProof]): boolean {
  if (kind !== 'number' || /[^\d.,]/u.test(text)) return true
  const terms = new Set(tellingTerms(said.text))
  return tellingTerms(proof.text).filter((term) => terms.has(term) && !/\d/u.test(term)).length >= LEAST_SHARED
}

/** The items of which one of the texts asks. */
function foundIn(items: readonly JudgedItem[], texts: readonly SearchText[]): [JudgedItem, MessageProof][] {
  if (items.length === 0) return []
  const find = finderIn(items, texts)
  return items.flatMap((item) => {
    const proof = find(item)
    return proof === undefined ? [] : [[item, proof] as [JudgedItem, MessageProof]]
  })
}

/** The errors with which a later call failed again. */
function failedAgain(errors: readonly JudgedItem[], works: readonly Work[]): [JudgedItem, MessageProof][] {
  if (errors.length === 0) return []
  const failureMessages = new Map(failuresIn(works).map(({ text, work }) => [text, work.result ?? work.by]))
  return errors.flatMap((item) => {
    const message = failureMessages.get(item.text)
    return message === undefined ? [] : [[item, messageProof(message, item.text)] as [JudgedItem, MessageProof]]
  })
}

/**
 * The lost items that were needed, with the message that needed them.
 * @param items lost names, values and errors
 * @param works the calls after the compaction
 */
export function neededLater(
  items: readonly JudgedItem[],
  after: readonly ReportMessage[],
  works: readonly Work[],
): ReadonlyMap<JudgedItem, MessageProof> {
  const needed = new Map<JudgedItem, MessageProof>()
  const note = (found: Iterable<readonly [JudgedItem, MessageProof]>): void => {
    for (const [item, proof] of found) if (!needed.has(item)) needed.set(item, proof)
  }
  const values = items.filter(isValue)
  note(foundIn(values, typedTexts(after)).filter(isSameSubject))
  note(foundAgain(values, after).filter(isSameSubject))
  note(foundIn([...values, ...items.filter(({ kind }) => kind === 'file')], searchTexts(works)))
  note(
    failedAgain(
      items.filter(({ kind }) => kind === 'error'),
      works,
    ),
  )
  return needed
}
