/**
 * What somebody may ask for again of the messages that left: requests, constraints and decisions in the words in which
 * they were said, errors with what resolved them, files, identifiers and numbers, and calls that still ran.
 *
 * Of tools' results only failures are looked at, and of code nothing: they are full of names and numbers that nobody
 * will ask for. What a program said in the place of a role is nobody's words.
 */
import { cuesOf, isConstraint } from '../../text/cues.js'
import { dashedNamesIn, namesIn } from '../../text/names.js'
import { numbersIn } from '../../text/numbers.js'
import { sentencesOf } from '../../text/sentences.js'
import { failuresIn } from './failures.js'
import { runningIn } from './running.js'
import type { Said } from './said.js'
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
/** Nobody types more than this at once. */
const MOST_SPOKEN_CHARACTERS = 3_000

const VERBS =
  'add|adjust|analy[sz]e|apply|build|change|check|clean|combine|commit|compare|configure|continue|convert|copy|create|debug|delete|deploy|describe|design|document|do|drop|enable|ensure|evaluate|explain|explore|extend|extract|figure|find|fix|generate|get|give|handle|implement|improve|include|increase|inspect|install|integrate|investigate|keep|limit|list|look|make|merge|migrate|modify|move|open|optimi[sz]e|organi[sz]e|plan|prepare|propose|publish|push|put|read|recommend|reduce|refactor|release|remember|remove|rename|replace|report|research|review|revert|rewrite|run|save|search|send|set|show|simplify|split|start|stop|store|suggest|summari[sz]e|support|switch|tell|test|translate|try|undo|update|upgrade|use|validate|verify|walk|write'
const ASKS = new RegExp(
  `(?:^|[.!?:;,]\\s+|(?<![\\p{L}\\p{N}])(?:and|then|also|now|so|ok|okay|alright|just|first|next|btw|please|but|instead|yes|no),?\\s+)(?:please\\s+)?(?:${VERBS})(?![\\p{L}\\p{N}])|(?<![\\p{L}\\p{N}])(?:please|pls|can (?:you|we|i)|could (?:you|we)|would you|will you|let'?s|help me|i(?:'d| would)? (?:want|need|like)|we (?:need|should|want)|you (?:should|need to)|how about|what about|bitte|kannst du|können wir|peux-tu|pouvez-vous|s'il (?:te|vous) pla[iî]t|por favor|puedes|пожалуйста|можешь)(?![\\p{L}\\p{N}])|请|請|帮我|幫我|帮忙|给我|麻烦|能不能|我想|我要|我需要|推荐|ください|下さい|お願い|してほしい|してくれ|しよう|したい|して[。!！\\s]*$|[いきしちにみりっえけせてねめれ]て[。!！\\s]*$|해 ?줘|해 ?주세요|주세요|하자|부탁|줘[.!\\s]*$|싶`,
  'iu',
)
const DECIDES =
  /(?<![\p{L}\p{N}])(?:(?:we|i|they|user)(?:'ve| have)? (?:decided|chose|agreed|opted|settled on|went with|switched to)|(?:^|[.;:]\s)(?:decided|decision(?=:)|going with|chose|chosen|agreed(?=:| on))(?=[ :])|the decision (?:is|was)|(?:we|i)(?:'ll| will|'re going to| am going to) (?:use|keep|go with|skip|drop|leave)|let'?s (?:go with|use|not|skip|drop|call it|stick with|switch to)|(?:wir haben|ich habe) (?:uns|mich)? ?entschieden|beschlossen|on a décidé|j'ai (?:décidé|choisi)|hemos decidido|he decidido|решили|решено)(?![\p{L}\p{N}])|决定|決定し|采用|採用|改用|改成|就用|就这样|に決め|にしましょう|にします|にしよう|ことにし|방침|결정했|결정하|하기로|채택/iu
// What is still open is no decision.
const UNDECIDED =
  /(?<![\p{L}\p{N}])(?:if|whether|unless|not sure|haven'?t|hasn'?t|undecided|should (?:i|we)|wonder(?:ing)?|would)(?![\p{L}\p{N}])|还没|還沒|尚未|未定|没有决定|まだ|未決|아직|안 ?정/iu
const INSTEAD =
  /(?<![\p{L}\p{N}])(?:i(?:'ll| will|'m going to)|we(?:'ll| will| should)|let'?s)(?![\p{L}\p{N}]).{0,120}(?<![\p{L}\p{N}])(?:instead of|rather than)(?![\p{L}\p{N}])/iu
// Who answers a proposal of an agent decides; in talk without any work a yes is small talk.
const ANSWERS =
  /^(?:yes|yep|yeah|yup|no|nope|nah|ok|okay|agreed|sure|fine)[,.!:;—-]?\s+\S|^(?:いや|いいえ|はい|うん|そうですね)[、,。]|^(?:아니요?|네|예|응)[,.]?\s|^(?:不|好的?|是的?|对|可以)[，,。]/iu
// Small talk is full of "I never" and "it must be": there a sentence binds where it is said to somebody.
const ORDERS =
  /(?:^|[,;:.!]\s+|(?<!\p{L})(?:and|but|so|also)\s+)(?:please\s+)?(?:always|never|don'?t|do not|make sure|ensure|avoid|only)(?!\p{L})|(?<!\p{L})(?:you|we) (?:must|should|have to|need to|can'?t|cannot|may not)(?!\p{L})/iu
const LATIN = /\p{sc=Latin}{3}/u
const INTERRUPT = /^\s*\[(?:Request|Response|Tool use) (?:was )?(?:interrupted|aborted|cancell?ed)/iu

const ADDRESS = /!?\[[^\]\n]{0,200}\]\([^)\s]{0,2000}\)|https?:\/\/\S+/gu

/** Whether words make up most of a text: code, a log, a table, an address and a path do not. */
function isSpoken(text: string): boolean {
  const read = text.replaceAll(ADDRESS, ' ').trim()
  const letters = read.match(/[\p{L}\s]/gu)?.length ?? 0
  const marks = read.match(/[{}<>=;$\\|│[\]]/gu)?.length ?? 0
  return (
    read.length > 1 &&
    letters / read.length > 0.6 &&
    marks / read.length < 0.04 &&
    !/^(?:at |\d+[:|]|[$>#]|\||[-+]{3}|\w*(?:Error|Exception)\b|Traceback|Caused by)/u.test(read)
  )
}

/** What a sentence of a message is, where it is something that somebody may ask for again. */
function kindOfSentence(
  role: Said['role'],
  text: string,
  isWork: boolean,
): 'request' | 'constraint' | 'decision' | undefined {
  const cues = cuesOf(text)
  // What ends so only introduces what comes next.
  if (cues.filler || /[:：]$/u.test(text)) return undefined
  const isDecided = DECIDES.test(text) || INSTEAD.test(text) || (role === 'user' && isWork && ANSWERS.test(text))
  if (isDecided && !cues.question && !UNDECIDED.test(text)) return 'decision'
  if (role === 'assistant') return undefined
  if (isConstraint(text) && (isWork || !LATIN.test(text) || ORDERS.test(text))) return 'constraint'
  return role === 'user' && (cues.question || ASKS.test(text)) ? 'request' : undefined
}

const isLong = (text: string): boolean => text.length > MOST_SPOKEN_CHARACTERS

/**
 * The first and the last of a long message's paragraphs: between them stands what was pasted, a plan
 * or a document, which is full of sentences that ask for something and are no request.
 */
function aroundPasted(text: string): string {
  const paragraphs = text.split(/\n\s*\n/u).filter((paragraph) => paragraph.trim() !== '')
  return paragraphs.length < 3 ? text : `${paragraphs[0] ?? ''}\n\n${paragraphs.at(-1) ?? ''}`
}

/** A paragraph in a script that writes no spaces is one line: its sentences are told by their marks. */
const spokenSentences = (text: string): string[] =>
  sentencesOf(text)
    .filter(({ code }) => !code)
    .flatMap(({ text: sentence }) => sentence.split(/(?<=[。！？])/u))
    .map((sentence) => sentence.trim())

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
