/**
 * The statements of the user, as items: each message in the user's own words, whole if it is not long, with a weight by its
 * content. Answers to questions and reasons for refused calls are statements too.
 */
import { hasCue } from '../../domain/text/cues.js'
import { collectIdentifiers } from '../../domain/text/identifiers.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { quote } from '../../domain/text/quote.js'
import { declines, refusalIn } from '../../domain/text/refusals.js'
import { statesRule } from '../../domain/text/rules.js'
import {
  aroundPasted,
  documentIn,
  isLong,
  isOutput,
  isSpoken,
  kindOfSentence,
  spokenSentences,
  withoutOutput,
  type PastedDocument,
} from '../../domain/text/speech.js'
import { answersIn, answerText } from '../../domain/text/question-answers.js'
import { FENCED } from '../loss-report/items.js'
import { tellingTerms } from '../loss-report/stretches.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import type { Work } from '../loss-report/tool-calls.js'
import type { NewItem } from '../../domain/conversation/state-editor.js'

/** Weights of statements. Without weight a statement is small talk, and is not kept. */
export const RULE = 90
export const CORRECTION = 80
export const DECISION = 70
export const VALUE = 65
export const REQUEST = 50
const DETAIL = 40
export const QUESTION = 35
const TOLD = 25
/** A plain yes. While the agent works, its next step shows it. */
const ASSENT = 60
const ASSENT_TO_WORK = 30

/** A longer message is shortened to its weightiest sentences. */
const MOST_CHARACTERS = 480
const MOST_BRIEF = 160
/** For a long message or answer. */
const MOST_OF_DOCUMENT = 1_200
const MOST_QUESTION = 160
/** An answer to a question is short. */
export const MOST_ANSWER = 120
const LEAST_TERMS = 2

const PARTS_ONLY = /^(?:\s*\[[\w -]{1,40}\])*\s*$/u
const TIME =
  /\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|april?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|monday|tuesday|wednesday|thursday|friday|saturday|sunday|yesterday|tonight|last (?:night|week|month|year|weekend)|ago)\b|\d+[年月日号號時时点시분월일]|昨天|上周|去年|昨日|先週|어제|gestern|hier|ayer|вчера/iu
const NAME = /(?<=[\p{Ll},;] )\p{Lu}\p{Ll}{2,}/u

/** `release-7`, `4f2a91c`, `v2`. */
const NAMED_WITH_DIGIT =
  /(?<![\p{L}\p{N}])(?=[a-z0-9_.-]*\d)(?=[a-z0-9_.-]*[a-z])[a-z0-9][a-z0-9_.-]+(?![\p{L}\p{N}])/iu

/** Whether a sentence has an exact value: a number, a name in code, a hash. */
const hasValue = (text: string): boolean => {
  const { files, identifiers } = collectIdentifiers(text)
  return (
    numbersIn(text).length + files.length + identifiers.length > 0 ||
    /https?:\/\//u.test(text) ||
    NAMED_WITH_DIGIT.test(text)
  )
}

// Wishes and feelings are no preferences: "I want", "I love it".
const PREFERS =
  /(?<![\p{L}\p{N}])(?:prefer\p{L}*|i(?:['’]d| would) rather|favou?rite|allergic|allergy|vegetarian|vegan|my (?:full )?name|call me|bevorzug\p{L}*|lieber|am liebsten|préfér\p{L}*|prefier\p{L}*|preferisco|prefiro|предпочита\p{L}*)(?![\p{L}\p{N}])|好み|苦手|アレルギー|偏好|更喜欢|过敏|過敏|선호|알레르기/iu

/** Words of consent, or by which the agent should go on. */
const ASSENTS =
  /^(?:yes|yep|yeah|yup|ok(?:ay)?|sure|agreed|alright|fine|perfect|great|good|go(?: ahead| on| for it)?|proceed|continue|do it|please|ja|oui|sí|si|да|はい|うん|ええ|お願い|進めて|続けて|そうして|好的?|可以|行|继续|是的?|对|네|예|응|좋아|진행|계속)(?![\p{Ll}\p{Lu}\p{N}])/iu
/** An assent with fewer telling words after it decides nothing. */
const LEAST_AFTER_ASSENT = 3

/** A sentence without the assent at its beginning; undefined if it has none. */
export function afterAssent(text: string): string | undefined {
  if (!ASSENTS.test(text)) return undefined
  return text
    .replace(ASSENTS, ' ')
    .trim()
    .replace(/^[\p{P}\s]+/u, '')
}

/** Whether a decision is only an assent, with a request perhaps: "ok, do a check". */
function isAssent(text: string, isWork: boolean): boolean {
  const rest = afterAssent(text)
  if (rest === undefined) return false
  return tellingTerms(rest).length < LEAST_AFTER_ASSENT || kindOfSentence('user', rest, isWork) === 'request'
}

/** A command to the agent program with its arguments: `/add src/a.ts`, `/model name`. */
const PROGRAM_COMMAND = /^\/[a-z][\w:-]*(?:\s+[\w./@:*=-]+){0,5}$/iu

/** The weight of a sentence of the user. */
export function weightOf(text: string, isWork: boolean): number {
  if (hasCue(text, 'filler')) return 0
  if (PROGRAM_COMMAND.test(text)) return TOLD
  const isTelling = tellingTerms(text).length >= LEAST_TERMS
  if (statesRule(text)) return RULE
  if (declines(text) && isTelling) return CORRECTION
  const kind = kindOfSentence('user', text, isWork)
  if (kind === 'decision')
    return isAssent(text, isWork) ? Math.max(REQUEST, weightOf(afterAssent(text) ?? '', isWork)) : DECISION
  const isQuestion = hasCue(text, 'question')
  if (!isQuestion && PREFERS.test(text)) return DECISION
  const isValue = hasValue(text)
  if (kind === 'request') return isQuestion || (!isTelling && !isValue) ? QUESTION : isValue ? REQUEST + 5 : REQUEST
  if (!isTelling) return 0
  if (isValue) return VALUE
  return TIME.test(text) || NAME.test(text) ? DETAIL : TOLD
}

/** The end of a sentence that asks for help or says a doubt: ", can you help me with that", "but I'm not sure how". */
const ASKING_END =
  /,?\s+(?:(?:and|but|so)\s+)?(?:(?:can|could|would|will|do|does|should) (?:you|i|it|this|that|we|these)|how (?:can|do|should|could|will)|what (?:should|do|are|can|would)|is (?:it|this|that|there)|are there|any (?:tips|ideas|advice)|i(?:['’]m| am| was)(?: just| also)? (?:not sure|wondering|unsure)|i wonder)(?!\p{L})[^]*$/iu
const LEAST_ESSENTIAL = 40

/** A sentence without an end that only asks. An end with a value stays. */
function essentialOf(sentence: string): string {
  const end = ASKING_END.exec(sentence)
  if (end === null || end.index < LEAST_ESSENTIAL) return sentence
  if (hasValue(end[0]) || NAME.test(end[0]) || statesRule(end[0])) return sentence
  return sentence.slice(0, end.index)
}

interface Weighed {
  readonly text: string
  readonly weight: number
  readonly at: number
}

const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** The length of a text in letters: a character of a script with a sign for each syllable or word counts twice. */
const lengthOf = (text: string): number => text.length + (text.match(DENSE)?.length ?? 0)

/** The sentences that fit, the weightiest first, in order. */
function chosenOf(sentences: readonly Weighed[], limit: number): string {
  let left = limit
  return sentences
    .toSorted((a, b) => b.weight - a.weight || a.at - b.at)
    .filter((sentence, rank) => {
      const length = lengthOf(sentence.text)
      const fits = length <= left || rank === 0
      if (fits) left -= length
      return fits
    })
    .toSorted((a, b) => a.at - b.at)
    .map((sentence) => sentence.text.slice(0, limit))
    .join(' … ')
    .replaceAll(/\s+/gu, ' ')
}

interface WeighedText {
  readonly text: string
  readonly brief: string
  readonly weight: number
}

/** A shorter message was typed, whatever marks it has. */
const MOST_TYPED = 480

/** The sentences of a message that may matter: of a longer one those in words, and rules with code or marks in them. */
export function sentencesOfUser(text: string): string[] {
  const sentences = spokenSentences(text.length <= MOST_TYPED ? text : withoutOutput(text)).filter(
    (sentence) => !isOutput(sentence),
  )
  if (text.length <= MOST_TYPED) return sentences
  return sentences.filter((sentence) => isSpoken(sentence) || statesRule(sentence) || declines(sentence))
}

/** A document after an announcement is the task itself: "Implement the following plan:". */
const isTask = ({ before }: PastedDocument): boolean => /[:：]$/u.test(before)

const MOST_HEADINGS = 6
const MOST_OUTLINE = 240

/** A request about a document: the user's words, and the document by its headings. */
function aboutDocument({ before, after, headings }: PastedDocument, isWork: boolean): WeighedText {
  const outline = quote(headings.slice(0, MOST_HEADINGS).join('; '), MOST_OUTLINE)
  const words = [before, after].filter((part) => part !== '').map((part) => weighed(part, isWork))
  const whole = (form: 'text' | 'brief', document: string): string =>
    [`[document “${document}”]`, ...words.map((part) => part[form])].join(' ')
  return {
    text: whole('text', outline),
    brief: whole('brief', quote(headings[0] ?? '', MOST_OUTLINE / 4)),
    weight: Math.max(REQUEST, ...words.map(({ weight }) => weight)),
  }
}

/**
 * A message with its weight: whole, or its weightiest sentences in order. A long message may have a plan or a document
 * between its first and its last paragraph. It is part of the task, but its imperatives are not rules for everything.
 * @param isAnswer the answer to a question: written for it, however long it is
 */
function weighed(text: string, isWork: boolean, isAnswer = false): WeighedText {
  const read = text.replaceAll(FENCED, ' [code] ').trim()
  const document = isAnswer ? undefined : documentIn(read)
  if (document !== undefined && !isTask(document)) return aboutDocument(document, isWork)
  const hasDocument = document !== undefined || (isLong(read) && !isAnswer)
  const limit = hasDocument || isLong(read) ? MOST_OF_DOCUMENT : MOST_CHARACTERS
  const around = hasDocument ? new Set(spokenSentences(aroundPasted(read))) : undefined
  const sentences = sentencesOfUser(read).map((sentence, at): Weighed => {
    // In a talk a request reports an event before it asks.
    const weight = weightOf(isWork ? sentence : essentialOf(sentence), isWork)
    return { text: sentence, weight: around?.has(sentence) === false ? Math.min(weight, VALUE - 1) : weight, at }
  })
  return {
    text: lengthOf(read) <= limit ? read.replaceAll(/\s+/gu, ' ') : chosenOf(sentences, limit),
    brief: chosenOf(
      isWork ? sentences : sentences.map((sentence) => ({ ...sentence, text: essentialOf(sentence.text) })),
      MOST_BRIEF,
    ),
    weight: sentences.reduce((highest, sentence) => Math.max(highest, sentence.weight), 0),
  }
}

/** The last question of a message of the agent. */
export function questionOf(message: ReportMessage | undefined): string | undefined {
  if (message?.role !== 'assistant' || (message.toolCalls ?? []).length > 0) return undefined
  const last = spokenSentences(message.ownText).at(-1)
  if (last === undefined || !hasCue(last, 'question')) return undefined
  return last.length <= MOST_QUESTION ? last : `… ${last.slice(1 - MOST_QUESTION).replace(/^\S*\s/u, '')}`
}

const MOST_BRIEF_QUESTION = 80

/** The end of a question, which names the choice. */
const endOf = (question: string): string =>
  question.length <= MOST_BRIEF_QUESTION
    ? question
    : `… ${question.slice(2 - MOST_BRIEF_QUESTION).replace(/^\S*\s/u, '')}`

export const isByUser = ({ role, byProgram, ownText }: ReportMessage): boolean =>
  role === 'user' && byProgram !== true && !PARTS_ONLY.test(ownText)

const statement = (text: string, weight: number, { revision, at }: ReportMessage, brief = ''): NewItem => ({
  kind: 'statement',
  by: 'user',
  text,
  sourceRevisions: [revision],
  weight,
  ...(brief === '' || brief.length >= text.length ? {} : { brief }),
  ...(at === undefined ? {} : { day: at.slice(0, 10) }),
})

/** The weight of an answer to the agent. A question in return decides nothing. */
function weightOfAnswer(text: string, weight: number, isWork: boolean): number {
  const rest = afterAssent(text)
  if (rest === '') return isWork ? ASSENT_TO_WORK : ASSENT
  if (isWork && rest !== undefined && weight > 0) return weight
  const onlyAsks = spokenSentences(text).every((sentence) => hasCue(sentence, 'question') && !ASSENTS.test(sentence))
  return isWork && onlyAsks && weight < DECISION ? Math.max(weight, QUESTION) : Math.max(weight, DECISION)
}

/** The statement of a message; undefined for small talk. */
function statementOf(
  message: ReportMessage,
  before: ReportMessage | undefined,
  name: string | undefined,
  isWork: boolean,
): NewItem | undefined {
  const { text, brief, weight } = weighed(message.ownText, isWork)
  const named = (words: string): string => (name === undefined || words === '' ? words : `${name}: ${words}`)
  const question = text.length <= MOST_ANSWER ? questionOf(before) : undefined
  if (question !== undefined && text !== '')
    return statement(
      answerText({ question, answer: named(text) }),
      name === undefined ? weightOfAnswer(text, weight, isWork) : weight,
      message,
      answerText({ question: endOf(question), answer: named(text) }),
    )
  return weight === 0 || text === '' ? undefined : statement(named(text), weight, message, named(brief))
}

/** The statements in the results of calls: refusals with their reasons, and answers to questions. */
function statementsInResults(works: readonly Work[]): NewItem[] {
  return works.flatMap(({ call, query, result }): NewItem[] => {
    if (result === undefined) return []
    const words = refusalIn(result.text)
    if (words !== undefined)
      return [statement(`refused ${call.name}(${query.subject}): ${words.slice(0, MOST_CHARACTERS)}`, RULE, result)]
    if (query.use !== 'ask' || result.isError === true) return []
    return answersIn(result.text).map(({ question, answer }) => {
      const { text, brief } = weighed(answer, true, true)
      return statement(
        answerText({ question, answer: text }),
        CORRECTION,
        result,
        answerText({ question, answer: brief }),
      )
    })
  })
}

/**
 * The statements of some messages, in order.
 * @param names the name of the speaker, by message id
 */
export function statementsIn(
  messages: readonly ReportMessage[],
  works: readonly Work[],
  names: ReadonlyMap<string, string>,
): NewItem[] {
  const isWork = works.length > 0
  const spoken = messages.flatMap((message, at): NewItem[] => {
    if (!isByUser(message)) return []
    const item = statementOf(message, messages[at - 1], names.get(message.messageId), isWork)
    return item === undefined ? [] : [item]
  })
  return [...spoken, ...statementsInResults(works)].toSorted(
    (a, b) => (a.sourceRevisions[0] ?? 0) - (b.sourceRevisions[0] ?? 0),
  )
}
