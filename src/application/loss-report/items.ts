/**
 * Finds the items that a reader may need again from the removed messages: requests, constraints and decisions in the
 * original words, errors with their resolution, files, identifiers, numbers, and calls that still ran.
 *
 * Tool results are searched only for failures, and code is skipped: both are full of names and numbers that never
 * matter again. Text that a program inserted under a role is skipped too.
 */
import { answersIn } from '../../domain/text/question-answers.js'
import { dashedNamesIn, namesIn } from '../../domain/text/names.js'
import { numbersIn } from '../../domain/text/numbers.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import { failuresIn } from './failures.js'
import { runningIn } from './running.js'
import type { ReportMessage } from './report-input.js'
import { ADDRESS, aroundPasted, isLong, isSpoken, kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import { tellingTerms } from './stretches.js'
import { isSamePath, nameOf, pathOf } from '../../domain/tools/call-query.js'
import type { Work } from './tool-calls.js'

/** Something that the removed messages contain. */
export interface Item {
  readonly kind: ItemKind
  /** Identifies the item: equal for the same item. */
  readonly key: string
  /** The original text. */
  readonly text: string
  /** The first message that contains it. */
  readonly message: ReportMessage
  /** The number of messages that contain it. */
  readonly mentions: number
  /** For a number: its sentence. */
  readonly around?: string | undefined
  /** For an answer of the user to a question: only the answer. */
  readonly answer?: string | undefined
  /** For an error: the call that resolved it. */
  readonly resolvedBy?: Work | undefined
  /** For an error or a running call: the call. */
  readonly work?: Work | undefined
}

/** Longer sentences are whole paragraphs or pasted logs. Summaries do not repeat them. */
const MOST_SENTENCE_CHARACTERS = 360
const LEAST_TERMS = 2

/** Code, and files that a program inserted into a message: not written by the author of the message. */
export const FENCED = /```[^]*?(?:```|$)|<(?<tag>content|file|file_content|document)(?: [^>\n]*)?>[^]*?<\/\k<tag>>/gu

/** Collects each item once. */
class Collector {
  readonly #items = new Map<string, { item: Item; last: ReportMessage; mentions: number }>()

  note(item: Omit<Item, 'mentions'>, by: ReportMessage = item.message): void {
    const id = `${item.kind} ${item.key}`
    const known = this.#items.get(id)
    if (known === undefined) this.#items.set(id, { item: { ...item, mentions: 1 }, last: by, mentions: 1 })
    else if (known.last !== by) {
      known.last = by
      known.mentions += 1
    }
  }

  all(): Item[] {
    return [...this.#items.values()].map(({ item, mentions }) => ({ ...item, mentions }))
  }
}

/** Distinct files: a path that is the end of a longer path is the same file. */
function distinctPaths(
  paths: readonly { readonly path: string; readonly message: ReportMessage }[],
): Omit<Item, 'mentions'>[] {
  const byName = new Map<string, Set<string>>()
  for (const { path } of paths) byName.set(nameOf(path), (byName.get(nameOf(path)) ?? new Set()).add(path))
  const wholes = new Map<string, string[]>()
  for (const [name, all] of byName) {
    const longest = [...all].toSorted((a, b) => b.length - a.length).slice(0, 200)
    wholes.set(
      name,
      longest.filter((path, at) => !longest.slice(0, at).some((longer) => isSamePath(longer, path))),
    )
  }
  return paths.flatMap(({ path, message }): Omit<Item, 'mentions'>[] => {
    const bearers = (wholes.get(nameOf(path)) ?? []).filter((whole) => isSamePath(whole, path))
    // Several files have this end, so the path is ambiguous.
    const [only] = bearers
    return only === undefined || bearers.length > 1 ? [] : [{ kind: 'file', key: only, text: only, message }]
  })
}

/** `x_1` and `H_i` are letters of a formula. */
const isName = (text: string): boolean => text.length > 3 && /[^\W_]{3}|\d{2}/u.test(text)

/** `.doc` alone is a file type, not a file. */
const ENDING =
  /^\.(?:docx?|pdf|txt|mdx?|[cm]?[jt]sx?|py|jsonl?|ya?ml|html?|css|csv|xlsx?|png|jpe?g|svg|sh|go|rs|env\.\w+)$/u

const isFile = (path: string): boolean =>
  !ENDING.test(nameOf(path)) &&
  /\.[a-z][A-Za-z0-9]{0,9}$|^(?:Makefile|Dockerfile|README|LICENSE)$/u.test(nameOf(path)) &&
  path.length < 300 &&
  // `main.ts/cli.ts` are two files.
  !/\.(?:[cm]?[jt]sx?|py|go|rs|md|json)\//u.test(path)

/** Notes the identifiers of a message and returns its files. */
function noteNames(message: ReportMessage, speech: string, items: Collector): string[] {
  const { files, identifiers } = namesIn(speech.replaceAll(ADDRESS, ' ').replaceAll('\\', '/'))
  for (const { key, text } of identifiers) if (isName(text)) items.note({ kind: 'identifier', key, text, message })
  for (const name of dashedNamesIn(speech)) items.note({ kind: 'identifier', key: name, text: name, message })
  return files.map(({ key }) => key).filter(isFile)
}

/** Notes the numbers and sentences of a message. */
function noteSentences(
  message: ReportMessage,
  speech: string,
  { isWork, onlyNumbers }: { readonly isWork: boolean; readonly onlyNumbers: boolean },
  items: Collector,
): void {
  const sentences = spokenSentences(speech).filter(isSpoken)
  const unpasted =
    message.role === 'user' && isLong(speech) ? new Set(spokenSentences(aroundPasted(speech))) : undefined
  for (const text of sentences) {
    for (const number of numbersIn(text))
      items.note({ kind: 'number', key: number.value, text: number.text, message, around: text })
    if (onlyNumbers || text.length > MOST_SENTENCE_CHARACTERS || tellingTerms(text).length < LEAST_TERMS) continue
    const kind = kindOfSentence(message.role, text, isWork)
    // A pasted plan can state constraints, but its other sentences are not requests of the user.
    if (kind === undefined || (kind !== 'constraint' && unpasted?.has(text) === false)) continue
    items.note({ kind, key: keyOfText(text), text, message })
  }
}

/** The same for texts that differ in letter case, spaces and marks. */
const keyOfText = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}/\\._-]+/gu, ' ')
    .replace(/[ .]+$/u, '')
    .trim()

/** Notes the user's answers to questions of a tool: each is a decision, although it is part of a tool result. */
function noteAnswers(works: readonly Work[], items: Collector): void {
  for (const { query, result } of works) {
    if (query.use !== 'ask' || result === undefined || result.isError === true) continue
    for (const { question, answer } of answersIn(result.text)) {
      if (answer.length > MOST_SENTENCE_CHARACTERS) continue
      const text = `${question} → ${answer}`
      items.note({ kind: 'decision', key: keyOfText(text), text, message: result, answer })
    }
  }
}

/**
 * @returns the items of the removed messages
 * @param works their calls
 * @param remaining remaining messages; they may have the answer of a call
 * @param options.withStatements false: without the sentences of the user. True by default.
 */
export function itemsOf(
  removed: readonly ReportMessage[],
  works: readonly Work[],
  remaining: readonly ReportMessage[],
  { withStatements = true }: { readonly withStatements?: boolean } = {},
): Item[] {
  const items = new Collector()
  const paths = works
    .filter(({ query }) => query.use === 'read' || query.use === 'write')
    .flatMap(({ query, by }) => query.files.filter(isFile).map((path) => ({ path, message: by })))
  for (const message of removed) {
    if (message.role === 'tool' || message.byProgram === true) continue
    const speech = message.ownText.replaceAll(FENCED, '\n')
    for (const path of noteNames(message, speech, items)) paths.push({ path: pathOf(path), message })
    const onlyNumbers = message.role === 'user' && !withStatements
    noteSentences(message, speech, { isWork: works.length > 0, onlyNumbers }, items)
  }
  if (withStatements) noteAnswers(works, items)
  for (const path of distinctPaths(paths)) items.note(path)
  for (const { work, text, resolvedBy } of failuresIn(works)) {
    const message = work.result ?? work.by
    items.note({ kind: 'error', key: keyOfText(text), text, message, work, resolvedBy })
  }
  for (const { work, kind } of runningIn(removed, works, remaining))
    items.note({
      kind,
      key: `${work.by.messageId} ${work.query.key}`,
      text: `${work.call.name}(${work.query.subject})`,
      message: work.by,
      work,
    })
  return items.all()
}
