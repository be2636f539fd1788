/**
 * Finds the statements of the user in the removed messages, and the open tasks of the agent. The rules and weights are those
 * of the working state, so that both decide alike what matters. A statement is one item, with the sentences that are
 * searched in the context.
 */
import type { StateItem } from '../../domain/events/index.js'
import { hasCue } from '../../domain/text/cues.js'
import { refusalIn } from '../../domain/text/refusals.js'
import { answerText, readAnswerText } from '../../domain/text/question-answers.js'
import { aroundPasted, kindOfSentence } from '../../domain/text/speech.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import { FENCED, type Item } from '../loss-report/items.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { tellingTerms } from '../loss-report/stretches.js'
import type { Work } from '../loss-report/tool-calls.js'
import {
  afterAssent,
  CORRECTION,
  isByUser,
  MOST_ANSWER,
  QUESTION,
  questionOf,
  DECISION,
  REQUEST,
  RULE,
  sentencesOfUser,
  statementsIn,
  VALUE,
  weightOf,
} from '../working-state/statements.js'
import { todoListOf } from '../working-state/todo-list.js'
import { endsTurn, OPEN } from '../working-state/work-items.js'
import { shortened } from './shortened.js'

/** A sentence of a statement. */
export interface Part {
  readonly text: string
  readonly weight: number
  /** For an answer to a question of a tool: only the answer. */
  readonly answer?: string
}

/** A statement of the user, or an open task. */
export interface StatedItem extends Item {
  readonly weight: number
  /** The sentences with the most weight. */
  readonly parts: readonly Part[]
  /** The words before the user's: the refused call, or the question of the agent. */
  readonly lead: string
  /** The whole words of the user, in one line. */
  readonly words: string
  /** Its loss matters: it is no finished request, plain assent, answered question or small talk. */
  readonly matters: boolean
}

const MOST_COMMAND = 80
const LEAST_TERMS = 3
/** More new words make an assent a decision of its own. */
const MOST_NEW_TERMS = 2

/** The first heading of a document: what follows was pasted. */
const HEADING = /^#{1,6} \S/gmu
const QUOTED_LINE = /^>.*$|<!--[^]*?-->/gmu

const PROSE = /^[\p{Ll}\p{Lu}\p{Lo}@"'“(]/u

/** The user's own words of a message: without code, quotations and a document after them. */
function ownWords({ ownText }: ReportMessage): string {
  const text = ownText.replaceAll(FENCED, '\n[code]\n').replaceAll(QUOTED_LINE, '')
  const headings = Array.from(text.matchAll(HEADING), ({ index }) => index)
  const before = text.slice(0, headings[0] ?? text.length).trim()
  if (headings.length === 0 || (headings.length === 1 && before === '')) return text.trim()
  const last = text.slice(text.lastIndexOf('\n\n') + 1).trim()
  return before === '' || !PROSE.test(last) ? before : `${before}\n\n${last}`
}

const flat = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()

/** The sentences of a text with their weights. */
function partsOf(text: string, isWork: boolean): Part[] {
  return sentencesOfUser(aroundPasted(text))
    .map((sentence) => ({ text: flat(sentence), weight: weightOf(sentence, isWork) }))
    .filter(({ weight }) => weight > 0)
}

/** Whether a sentence only asks: the answer followed. */
const isQuestion = ({ text, weight }: Part): boolean => weight < RULE && hasCue(text, 'question')

/** Whether an answer only agrees to the question, in few words that the question does not have. */
function isAssent(answer: string, question: string): boolean {
  const rest = afterAssent(answer)
  if (rest === undefined) return false
  const questionTerms = new Set(tellingTerms(question))
  return tellingTerms(rest).filter((term) => !questionTerms.has(term)).length <= MOST_NEW_TERMS
}

/** Whether a sentence describes a wish that outlasts the turn. */
const isLasting = ({ text }: Part): boolean => hasCue(text, 'constraint') || hasCue(text, 'preference')

const kindOf = (weight: number, isRefused: boolean): ItemKind => {
  if (isRefused) return 'refusal'
  if (weight >= RULE) return 'constraint'
  if (weight >= DECISION) return 'decision'
  return weight >= VALUE ? 'statement' : 'request'
}

const keyOf = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')

type Words = Pick<StatedItem, 'weight' | 'parts' | 'lead' | 'words' | 'matters'>

const itemOf = (kind: ItemKind, message: ReportMessage, words: Words): StatedItem => ({
  ...words,
  kind,
  key: `${kind} ${keyOf(words.lead + words.words)}`,
  text: `${words.lead}${words.words}`,
  message,
  mentions: 1,
})

/** The sentences that decide whether the statement is lost: those of the most weight, and others with lasting weight. */
function weightiest(parts: readonly Part[]): Part[] {
  const highestWeight = parts.reduce((highest, { weight }) => Math.max(highest, weight), 0)
  return parts.filter(({ weight }) => weight >= Math.min(highestWeight, VALUE))
}

/** The turns of a conversation that decide whether a request is finished. */
interface Turns {
  readonly isWork: boolean
  /** The last statement of the user, if the agent has not reported on it. */
  readonly open: ReportMessage | undefined
  /** The first statement of the conversation: its goal. */
  readonly first: ReportMessage | undefined
}

/** A message of the user; undefined if it says nothing that may be needed. */
function statedIn(message: ReportMessage, question: string | undefined, turns: Turns): StatedItem | undefined {
  const words = flat(ownWords(message))
  const all = partsOf(ownWords(message), turns.isWork)
  const statements = all.filter((part) => !isQuestion(part))
  const ownWeight = statements.reduce((highest, { weight }) => Math.max(highest, weight), 0)
  const isAgreed = isAssent(words, question ?? '')
  const isDecided =
    question !== undefined &&
    !isAgreed &&
    statements.some(
      ({ text }) =>
        tellingTerms(text).length >= LEAST_TERMS && kindOfSentence('user', text, turns.isWork) !== 'request',
    )
  const weight = isDecided ? Math.max(ownWeight, DECISION) : ownWeight
  const parts = weight >= REQUEST ? weightiest(statements) : all.filter(isQuestion)
  if (parts.length === 0) return undefined
  const isOpen = message === turns.open || message === turns.first
  const isWanted = weight >= DECISION || (turns.isWork ? parts.some(isLasting) : weight >= VALUE)
  return itemOf(kindOf(weight, weight === CORRECTION), message, {
    weight: Math.max(weight, QUESTION),
    parts,
    lead: question === undefined ? '' : answerText({ question, answer: '' }),
    words,
    matters: isOpen || (weight >= REQUEST && isWanted && !(isAgreed && weight < RULE)),
  })
}

/** The statement in the result of a call: a reason for refusing it, or an answer to a question of a tool. */
function statedInResult(
  { text, weight }: StateItem | Pick<StateItem, 'text' | 'weight'>,
  message: ReportMessage,
): StatedItem {
  const answered = readAnswerText(text)
  if (answered !== undefined) {
    const { question, answer } = answered
    return itemOf('decision', message, {
      weight,
      parts: [{ text: `${question} → ${answer}`, weight, answer }],
      lead: answerText({ question, answer: '' }),
      words: answer,
      matters: !isAssent(answer, question),
    })
  }
  const words = flat(refusalIn(message.text) ?? text)
  const sentences = partsOf(words, true)
  return itemOf('refusal', message, {
    weight,
    parts: sentences.length === 0 ? [{ text: words, weight }] : sentences,
    lead: `${shortened(text.slice(0, Math.max(0, text.indexOf('): ') + 1)), MOST_COMMAND)}: `,
    words,
    matters: tellingTerms(words).length > 0,
  })
}

/** The tasks of the agent's own list that are not done. */
function tasksIn(works: readonly Work[]): StatedItem[] {
  const list = todoListOf(works)
  if (list === undefined) return []
  return list.todos
    .filter(({ status }) => status !== 'done')
    .map(({ text }) =>
      itemOf('task', list.by, {
        weight: OPEN,
        parts: [{ text: flat(text), weight: OPEN }],
        lead: '',
        words: flat(text),
        matters: true,
      }),
    )
}

/** The last message of the user in the removed ones, unless the agent has reported on it or the user wrote again. */
function openRequest(
  removed: readonly ReportMessage[],
  remaining: readonly ReportMessage[],
): ReportMessage | undefined {
  const at = removed.findLastIndex(isByUser)
  const later = [...removed.slice(at + 1), ...remaining]
  return later.some((message, place) => isByUser(message) || endsTurn(message, later[place + 1]))
    ? undefined
    : removed[at]
}

/**
 * The statements of the user in the removed messages, and the agent's open tasks, each once.
 * @param works the calls of the removed messages
 * @param before all messages before the compaction
 */
export function statedItems(
  removed: readonly ReportMessage[],
  works: readonly Work[],
  remaining: readonly ReportMessage[],
  before: readonly ReportMessage[],
): StatedItem[] {
  const byRevision = new Map(removed.map((message) => [message.revision, message]))
  const turns: Turns = {
    isWork: works.length > 0,
    open: openRequest(removed, remaining),
    first: before.find(isByUser),
  }
  const inMessages = removed.flatMap((message, at) => {
    if (!isByUser(message)) return []
    const question = message.ownText.length <= MOST_ANSWER ? questionOf(removed[at - 1]) : undefined
    return statedIn(message, question, turns) ?? []
  })
  const inResults = statementsIn([], works, new Map()).flatMap((statement) => {
    const message = byRevision.get(statement.sourceRevisions[0] ?? -1)
    return message === undefined ? [] : [statedInResult(statement, message)]
  })
  const items = [...inMessages, ...inResults].toSorted((a, b) => a.message.revision - b.message.revision)
  return eachOnce([...items, ...tasksIn(works)])
}

/** Equal statements as one item: the last, which is the one in force, with the number of its mentions. */
function eachOnce(items: readonly StatedItem[]): StatedItem[] {
  const byKey = new Map<string, StatedItem>()
  for (const item of items) {
    const known = byKey.get(item.key)
    byKey.delete(item.key)
    byKey.set(item.key, known === undefined ? item : { ...item, mentions: known.mentions + 1 })
  }
  return [...byKey.values()]
}
