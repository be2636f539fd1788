/**
 * Splits a message into sentences, without code and pasted text, and classifies them as requests, constraints or
 * decisions. The cue words are English, Chinese, Japanese and Korean, with a few in other languages. A sentence without
 * cue words is not an item; only its names and numbers are.
 */
import { hasCue, reportsError } from './cues.js'
import { statesRule } from './rules.js'
import { sentencesOf } from './sentences.js'
import type { Role } from '../values/message.js'

/** Longer messages contain pasted text. */
const MOST_SPOKEN_CHARACTERS = 3_000

const VERBS =
  'add|adjust|analy[sz]e|apply|build|change|check|clean|combine|commit|compare|configure|continue|convert|copy|create|debug|delete|deploy|describe|design|document|do|drop|enable|ensure|evaluate|explain|explore|extend|extract|figure|find|fix|generate|get|give|handle|implement|improve|include|increase|inspect|install|integrate|investigate|keep|limit|list|look|make|merge|migrate|modify|move|open|optimi[sz]e|organi[sz]e|plan|prepare|propose|publish|push|put|read|recommend|reduce|refactor|release|remember|remove|rename|replace|report|research|review|revert|rewrite|run|save|search|send|set|show|simplify|split|start|stop|store|suggest|summari[sz]e|support|switch|tell|test|translate|try|undo|update|upgrade|use|validate|verify|walk|write'
const ASKS = new RegExp(
  `(?:^|[.!?:;,]\\s+|(?<![\\p{L}\\p{N}])(?:and|then|also|now|so|ok|okay|alright|just|first|next|btw|please|but|instead|yes|no),?\\s+)(?:please\\s+)?(?:${VERBS})(?![\\p{L}\\p{N}])|(?<![\\p{L}\\p{N}])(?:please|pls|can (?:you|we|i)|could (?:you|we)|would you|will you|let'?s|help me|i(?:'d| would)? (?:want|need|like)|we (?:need|should|want)|you (?:should|need to)|how about|what about|bitte|kannst du|können wir|peux-tu|pouvez-vous|s'il (?:te|vous) pla[iî]t|por favor|puedes|пожалуйста|можешь)(?![\\p{L}\\p{N}])|请|請|帮我|幫我|帮忙|给我|麻烦|能不能|我想|我要|我需要|推荐|ください|下さい|お願い|してほしい|してくれ|しよう|したい|して[。!！\\s]*$|[いきしちにみりっえけせてねめれ]て[。!！\\s]*$|해 ?줘|해 ?주세요|주세요|하자|부탁|줘[.!\\s]*$|싶`,
  'iu',
)
const DECIDES =
  /(?<![\p{L}\p{N}])(?:(?:we|i|they|user)(?:'ve| have)? (?:decided|chose|agreed|opted|settled on|went with|switched to)|(?:^|[.;:]\s)(?:decided|decision(?=:)|going with|chose|chosen|agreed(?=:| on))(?=[ :])|the decision (?:is|was)|(?:we|i)(?:'ll| will|'re going to| am going to) (?:use|keep|go with|skip|drop|leave)|let'?s (?:go with|use|not|skip|drop|call it|stick with|switch to)|(?:wir haben|ich habe) (?:uns|mich)? ?entschieden|beschlossen|on a décidé|j'ai (?:décidé|choisi)|hemos decidido|he decidido|решили|решено)(?![\p{L}\p{N}])|决定|決定し|采用|採用|改用|改成|就用|就这样|に決め|にしましょう|にします|にしよう|ことにし|방침|결정했|결정하|하기로|채택/iu
// An open question is not a decision.
const UNDECIDED =
  /(?<![\p{L}\p{N}])(?:if|whether|unless|not sure|haven'?t|hasn'?t|undecided|should (?:i|we)|wonder(?:ing)?|would)(?![\p{L}\p{N}])|还没|還沒|尚未|未定|没有决定|まだ|未決|아직|안 ?정/iu
const INSTEAD =
  /(?<![\p{L}\p{N}])(?:i(?:'ll| will|'m going to)|we(?:'ll| will| should)|let'?s)(?![\p{L}\p{N}]).{0,120}(?<![\p{L}\p{N}])(?:instead of|rather than)(?![\p{L}\p{N}])/iu
// A reply to an agent's proposal is a decision. Without tool calls in the conversation a yes is small talk.
const ANSWERS =
  /^(?:yes|yep|yeah|yup|no|nope|nah|ok|okay|agreed|sure|fine)[,.!:;—-]?\s+\S|^(?:いや|いいえ|はい|うん|そうですね)[、,。]|^(?:아니요?|네|예|응)[,.]?\s|^(?:不|好的?|是的?|对|可以)[，,。]/iu

/** Web addresses and links. */
export const ADDRESS = /!?\[[^\]\n]{0,200}\]\([^)\s]{0,2000}\)|https?:\/\/\S+/gu

const OUTPUT = /^(?:at |\d+[:|]|[$>#]|\||[-+]{3}|\w*(?:Error|Exception)\b|Traceback|Caused by)/u
/** A level at the beginning of a line, or after the time, the name of a program, or a tag in brackets. */
const LOG_LEVEL =
  /^(?:(?:\[[^\]\n]{1,60}\]|\d{4}-\d\d-\d\d\S{0,30}|\d\d:\d\d:\d\d\S{0,12}|[\w./-]{1,40}(?:\[\d+\])?:|npm|yarn|pnpm)\s+){0,4}\[?(?:ERROR|WARN(?:ING)?|INFO|FATAL|DEBUG|NOTICE)\b/u
/** A line with the time of a log. */
const LOG_TIME = /^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d/u

/** Whether a line is the output of a program: an error, a log, a stack. */
export const isOutput = (line: string): boolean => [OUTPUT, LOG_LEVEL, LOG_TIME].some((form) => form.test(line.trim()))

const LEAST_OUTPUT_LINES = 5
const LIST_LINE = /^\s*(?:[-*+>]|\d+[.)]|#{1,6}|\|)\s/u
/** A line that a person wrote: an end of a sentence, or a run of small words. */
const PROSE_LINE = /[.!?。！？…:：,，、][)"'”’」]?\s*$|(?:(?<![\p{L}\p{N}])\p{Ll}+[ ,]+){5,}/u
const MOST_PROSE = 0.3

/** Whether lines are the output of a program: many lines of which few are prose or a list. */
const isOutputBlock = (lines: readonly string[]): boolean =>
  lines.length >= LEAST_OUTPUT_LINES &&
  lines.filter((line) => LIST_LINE.test(line) || (PROSE_LINE.test(line) && !isOutput(line))).length <=
    lines.length * MOST_PROSE

/** Of pasted output: its first and last line if a person wrote them, and lines that report an error, two at most. */
function shortenedOutput(lines: readonly string[]): string {
  const errors = new Set(lines.filter(reportsError).slice(0, 2))
  return lines
    .filter((line, at) => {
      const isTyped = PROSE_LINE.test(line.replace(/\\$/u, '')) && !isOutput(line)
      return errors.has(line) || (isTyped && (at === 0 || at === lines.length - 1))
    })
    .join('\n')
}

/** A text without the output of programs that is pasted into it. */
export const withoutOutput = (text: string): string =>
  text
    .split(/\n[^\S\n]*\n/u)
    .map((paragraph) => {
      const lines = paragraph.split('\n').filter((line) => line.trim() !== '')
      return isOutputBlock(lines) ? shortenedOutput(lines) : paragraph
    })
    .join('\n\n')

/** Whether a text is mostly words. Code, logs, tables, addresses and paths are not. */
export function isSpoken(text: string): boolean {
  const read = text.replaceAll(ADDRESS, ' ').trim()
  const letters = read.match(/[\p{L}\s]/gu)?.length ?? 0
  const marks = read.match(/[{}<>=;$\\|│[\]]/gu)?.length ?? 0
  return read.length > 1 && letters / read.length > 0.6 && marks / read.length < 0.04 && !OUTPUT.test(read)
}

/**
 * The kind of a sentence if it may be needed again.
 * @param isWork whether an agent works in the conversation
 */
export function kindOfSentence(
  role: Role,
  text: string,
  isWork: boolean,
): 'request' | 'constraint' | 'decision' | undefined {
  // Such a sentence only introduces the next one.
  if (hasCue(text, 'filler') || /[:：]$/u.test(text)) return undefined
  const isQuestion = hasCue(text, 'question')
  const isDecided = DECIDES.test(text) || INSTEAD.test(text) || (role === 'user' && isWork && ANSWERS.test(text))
  if (isDecided && !isQuestion && !UNDECIDED.test(text)) return 'decision'
  if (role === 'assistant') return undefined
  if (statesRule(text)) return 'constraint'
  return role === 'user' && (isQuestion || ASKS.test(text)) ? 'request' : undefined
}

/** Whether a message is longer than people type. */
export const isLong = (text: string): boolean => text.length > MOST_SPOKEN_CHARACTERS

const HEADING = /^#{1,6} (?<title>\S.*)$/gmu
const TAG_LINE = /^<\/?[a-z][\w-]*>$/gmu
/** A paragraph of a document: headings, lists, tables, tags, links. */
const OF_DOCUMENT = /^(?:#{1,6} |[-*+>|]|\d+[.)] |<|```)|\]\(/mu
const LEAST_DOCUMENT = 1_200
const LEAST_HEADINGS = 2
const MOST_REQUEST = 400
const MOST_PARAGRAPHS = 3

/** A document in a message, with the words before and after it. */
export interface PastedDocument {
  readonly before: string
  readonly after: string
  /** Its headings, the title first. */
  readonly headings: readonly string[]
}

/** The last paragraphs that are plain requests. */
function requestAfter(document: string): string {
  const paragraphs = document.split(/\n\s*\n/u).filter((paragraph) => paragraph.trim() !== '')
  const plain = paragraphs
    .slice(1)
    .slice(-MOST_PARAGRAPHS)
    .map((paragraph) => paragraph.trim())
  const from = plain.findLastIndex((paragraph) => paragraph.length > MOST_REQUEST || OF_DOCUMENT.test(paragraph)) + 1
  return plain.slice(from).join('\n\n')
}

/**
 * The document in a message of the user: from its first heading to the last paragraphs that are plain requests. The
 * request is about it, and its sentences are no statements of the user.
 * @returns undefined if there is none, or if the document is the whole message: the user may have written it
 */
export function documentIn(message: string): PastedDocument | undefined {
  if (message.length < LEAST_DOCUMENT) return undefined
  const text = message.replaceAll('\r\n', '\n')
  const headings = Array.from(text.matchAll(HEADING))
  const [first] = headings
  if (first === undefined || headings.length + (text.match(TAG_LINE)?.length ?? 0) < LEAST_HEADINGS) return undefined
  const before = text.slice(0, first.index).trim()
  const after = requestAfter(text.slice(first.index))
  if (before === '' && after === '') return undefined
  return { before, after, headings: headings.map(({ groups }) => (groups?.['title'] ?? '').trim()) }
}

/**
 * The words around pasted text: a plan or a document, full of imperative sentences that are not requests. Of a long
 * message without headings, the first and the last paragraph.
 */
export function aroundPasted(text: string): string {
  const document = documentIn(text)
  if (document !== undefined) return `${document.before}\n\n${document.after}`.trim()
  if (!isLong(text)) return text
  const paragraphs = text.split(/\n\s*\n/u).filter((paragraph) => paragraph.trim() !== '')
  return paragraphs.length < 3 ? text : `${paragraphs[0] ?? ''}\n\n${paragraphs.at(-1) ?? ''}`
}

/** The sentences of a text without code. Scripts without spaces are also split at their punctuation. */
export const spokenSentences = (text: string): string[] =>
  sentencesOf(text)
    .filter(({ code }) => !code)
    .flatMap(({ text: sentence }) => sentence.split(/(?<=[。！？])/u))
    .map((sentence) => sentence.trim())
