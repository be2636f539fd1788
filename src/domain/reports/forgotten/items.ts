/**
 * What somebody may ask for again of the messages that left: requests, constraints and decisions in the words in which
 * they were said, errors with what resolved them, files, identifiers and numbers, and calls that still ran.
 *
 * Of tools' results only failures are looked at, and of code nothing: they are full of names and numbers that nobody
 * will ask for. What a program said in the place of a role is nobody's words.
 */
import { dashedNamesIn, namesIn } from '../../text/names.js'
import { numbersIn } from '../../text/numbers.js'
import { failuresIn } from './failures.js'
import { runningIn } from './running.js'
import type { Said } from './said.js'
import { ADDRESS, aroundPasted, isLong, isSpoken, kindOfSentence, spokenSentences } from './speech.js'
import { tellingTerms } from './stretches.js'
import { isSamePath, nameOf, pathOf, type Work } from './works.js'

export const ITEM_KINDS = [
  'request',
  'constraint',
  'decision',
  'error',
  'file',
  'identifier',
  'number',
  'openCall',
  'subAgent',
] as const
export type ItemKind = (typeof ITEM_KINDS)[number]

/** What people call several of a kind. */
export const ITEM_NAMES: Readonly<Record<ItemKind, string>> = {
  request: 'requests of the user',
  constraint: 'constraints',
  decision: 'decisions',
  error: 'errors',
  file: 'files',
  identifier: 'identifiers',
  number: 'numbers',
  openCall: 'open calls',
  subAgent: 'running sub-agents',
}

/** Something that messages which left say. */
export interface Item {
  readonly kind: ItemKind
  /** The same for the same thing. */
  readonly key: string
  /** As it was said. */
  readonly text: string
  /** The first message that says it. */
  readonly said: Said
  /** How many messages say it. */
  readonly mentions: number
  /** The sentence that it stands in, of a number. */
  readonly around?: string | undefined
  /** Of what the user answered to a question: the answer alone. */
  readonly answer?: string | undefined
  /** What resolved an error. */
  readonly resolvedBy?: Work | undefined
  /** The call, of an error or of one that still runs. */
  readonly work?: Work | undefined
}

/** Longer sentences are whole paragraphs or pasted logs, and nobody's summary repeats them. */
const MOST_SENTENCE_CHARACTERS = 360
const LEAST_TERMS = 2

const INTERRUPT = /^\s*\[(?:Request|Response|Tool use) (?:was )?(?:interrupted|aborted|cancell?ed)/iu

const FENCED = /```[^]*?(?:```|$)/gu

/** Collects items, each once. */
class Collector {
  readonly #items = new Map<string, { item: Item; last: Said; mentions: number }>()

  note(item: Omit<Item, 'mentions'>, by: Said = item.said): void {
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

/** Paths that are files of their own: one that a longer one ends with is that file, said in short. */
function distinctPaths(paths: readonly { readonly path: string; readonly said: Said }[]): Omit<Item, 'mentions'>[] {
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
  return paths.flatMap(({ path, said }): Omit<Item, 'mentions'>[] => {
    const bearers = (wholes.get(nameOf(path)) ?? []).filter((whole) => isSamePath(whole, path))
    // Several files end so: which one is meant is not known.
    const [only] = bearers
    return only === undefined || bearers.length > 1 ? [] : [{ kind: 'file', key: only, text: only, said }]
  })
}

/** `x_1` and `H_i` are letters of a formula. */
const isName = (text: string): boolean => text.length > 3 && /[^\W_]{3}|\d{2}/u.test(text)

/** `.doc` says of what kind files are. */
const ENDING =
  /^\.(?:docx?|pdf|txt|mdx?|[cm]?[jt]sx?|py|jsonl?|ya?ml|html?|css|csv|xlsx?|png|jpe?g|svg|sh|go|rs|env\.\w+)$/u

const isFile = (path: string): boolean =>
  !ENDING.test(nameOf(path)) &&
  /\.[a-z][A-Za-z0-9]{0,9}$|^(?:Makefile|Dockerfile|README|LICENSE)$/u.test(nameOf(path)) &&
  path.length < 300

/** Names that a message says, of files apart. */
function noteNames(said: Said, speech: string, items: Collector): string[] {
  const { files, identifiers } = namesIn(speech.replaceAll(ADDRESS, ' ').replaceAll('\\', '/'))
  for (const { key, text } of identifiers) if (isName(text)) items.note({ kind: 'identifier', key, text, said })
  for (const name of dashedNamesIn(speech)) items.note({ kind: 'identifier', key: name, text: name, said })
  return files.map(({ key }) => key).filter(isFile)
}

/** What a message says in words. */
function noteSentences(said: Said, speech: string, isWork: boolean, items: Collector): void {
  const sentences = spokenSentences(speech).filter(isSpoken)
  const own = said.role === 'user' && isLong(speech) ? new Set(spokenSentences(aroundPasted(speech))) : undefined
  for (const text of sentences) {
    for (const number of numbersIn(text))
      items.note({ kind: 'number', key: number.value, text: number.text, said, around: text })
    if (text.length > MOST_SENTENCE_CHARACTERS || tellingTerms(text).length < LEAST_TERMS) continue
    const kind = kindOfSentence(said.role, text, isWork)
    // What a pasted plan says that must be, binds; what else it says is no request.
    if (kind === undefined || (kind !== 'constraint' && own?.has(text) === false)) continue
    items.note({ kind, key: text.toLowerCase().replaceAll(/\s+/gu, ' '), text, said })
  }
}

// How a program tells the answer to each of its questions.
const ANSWERED = /"([^"\n]{1,400})"\s*=\s*"([^"\n]{1,400})"/gu

/** What the user answered to questions of a tool: each a decision, though it stands in a result. */
function noteAnswers(works: readonly Work[], items: Collector): void {
  for (const { asked, result } of works) {
    if (asked.use !== 'ask' || result === undefined || result.isError === true) continue
    for (const [, question = '', answer = ''] of result.text.matchAll(ANSWERED)) {
      const text = `${question} → ${answer}`
      items.note({ kind: 'decision', key: text.toLowerCase(), text, said: result, answer })
    }
  }
}

/**
 * What messages say that left.
 * @param works their calls
 * @param stayed where the answer of a call may stand
 */
export function itemsOf(left: readonly Said[], works: readonly Work[], stayed: readonly Said[]): Item[] {
  const items = new Collector()
  const paths = works
    .filter(({ asked }) => asked.use === 'read' || asked.use === 'write')
    .flatMap(({ asked, by }) => asked.files.filter(isFile).map((path) => ({ path, said: by })))
  for (const said of left) {
    if (said.role === 'tool' || said.byProgram === true || INTERRUPT.test(said.text)) continue
    const speech = said.text.replaceAll(FENCED, '\n')
    for (const path of noteNames(said, speech, items)) paths.push({ path: pathOf(path), said })
    noteSentences(said, speech, works.length > 0, items)
  }
  noteAnswers(works, items)
  for (const path of distinctPaths(paths)) items.note(path)
  for (const { work, text, resolvedBy } of failuresIn(works)) {
    const said = work.result ?? work.by
    items.note({ kind: 'error', key: `${work.asked.key} ${text}`, text, said, work, resolvedBy })
  }
  for (const { work, kind } of runningIn(left, works, stayed))
    items.note({ kind, key: work.call.id, text: `${work.call.name}(${work.asked.subject})`, said: work.by, work })
  return items.all()
}
