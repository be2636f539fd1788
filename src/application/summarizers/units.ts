/**
 * The units from which an extract is made: the sentences of a chunk's messages and its tool calls, each with cues and a
 * score.
 */
import { authorOfMessage, ownContent } from '../../domain/text/authorship.js'
import { cleanText, headOf } from '../../domain/text/clean-text.js'
import { cuesOf, isConstraint, type Cues } from '../../domain/text/cues.js'
import { hasIdentifier } from '../../domain/text/identifiers.js'
import { sentencesOf } from '../../domain/text/sentences.js'
import { termCounts, isSingleLetter } from '../../domain/text/terms.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import type { MessageToSummarize, SummaryToFold } from '../../ports/summarizer.js'
import { textOf } from './format-messages.js'
import type { Candidate } from './select-sentences.js'
import { actionText, type ToolAction } from './tool-actions.js'

export interface Unit extends Candidate {
  /** `user`, `assistant`, a name, or `tools`; empty for a summary line without a speaker. */
  readonly speaker: string
  /** The day, as `2026-01-31`. */
  readonly day: string
  /** Index within its message; consecutive units are joined without a mark. */
  readonly index: number
  readonly cues: Cues
  readonly kind: 'speech' | 'code' | 'action'
  /**
   * The weight of its message, 0 to 1: by author, and lower for one of many lines or for text inserted by a program.
   */
  readonly weight: number
  readonly score: number
  /** True for a sentence of the user, or of another role that the assistant obeys. */
  readonly givesOrders: boolean
}

type Speech = Omit<Unit, 'score' | 'order'> & {
  readonly base: number
  readonly dilution: number
  readonly first: boolean
}

// Pairs of hiragana are endings and particles, and single letters occur everywhere: neither distinguishes sentences.
const COMMON = /^\p{Script=Hiragana}+$/u
const termsOf = (text: string): ReadonlySet<string> =>
  new Set([...termCounts(text).counts.keys()].filter((term) => !isSingleLetter(term) && !COMMON.test(term)))

const NO_CUES: Cues = {
  decision: false,
  constraint: false,
  preference: false,
  error: false,
  outcome: false,
  pending: false,
  question: false,
  reason: false,
  filler: false,
}
const DIGITS = /\p{N}/u
const DATE =
  /\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|april?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|monday|tuesday|wednesday|thursday|friday|saturday|sunday|yesterday|today|tonight|last (?:night|week|month|year|weekend)|ago)\b|\d+[年月日号時时点시분월일]|昨天|今天|上周|去年|昨日|今日|先週|去年|어제|오늘|gestern|heute|hier|aujourd'hui|ayer|hoy|вчера|сегодня/iu
const NAME = /(?<=[\p{Ll},;] )\p{Lu}\p{Ll}{2,}/gu
const speakerOf = (message: MessageToSummarize): string =>
  headOf(
    cleanText(message.name ?? message.role)
      .replaceAll(/[\s:]+/gu, ' ')
      .trim(),
    40,
  ) || message.role

const overheadOf = (speaker: string): number => (speaker === '' ? 1 : defaultEstimator.text(`${speaker}: \n`))

/** A text that a program inserted has little weight, whatever its role. */
const PROGRAM_WEIGHT = 0.15

function weightOf(message: MessageToSummarize): number {
  const author = authorOfMessage(message)
  if (author === 'ledger' || (author === 'program' && message.role === 'user')) return PROGRAM_WEIGHT
  if (author === 'user') return 1
  // A named assistant is one of two people in a dialogue, or an agent among several.
  if (message.role === 'assistant') return message.name === undefined ? 0.65 : 0.85
  return 0.35
}

function speechOf(message: MessageToSummarize, group: number): readonly Speech[] {
  const text = textOf(ownContent(message))
  if (message.role === 'tool' || text.trim() === '') return []
  const sentences = sentencesOf(text)
  const weight = weightOf(message)
  // A pasted file or a long plan is one message; its sentences count less than those of a short message.
  const dilution = sentences.length <= 12 ? 1 : Math.max(0.45, Math.sqrt(12 / sentences.length))
  const speaker = speakerOf(message)
  const overhead = overheadOf(speaker)
  return sentences.map(({ text: sentence, code }, index) => ({
    group,
    speaker,
    day: message.createdAt.slice(0, 10),
    index,
    text: sentence,
    tokens: defaultEstimator.text(sentence),
    overhead,
    terms: termsOf(sentence),
    cues: code ? NO_CUES : cuesOf(sentence),
    kind: code ? 'code' : 'speech',
    base: weight,
    weight: weight * dilution,
    dilution: weight < 0.2 ? dilution * 0.4 : dilution,
    first: index === 0,
    givesOrders: weight >= 0.2 && message.role !== 'assistant',
  }))
}

// The weights were tuned on 831 labelled questions about dialogues in English and Chinese: with half of these for
// events and twice these for cues, summaries of a fifth of LoCoMo's text keep 0.63 of the terms in the answers; with
// these, 0.77. The cues remain for decisions and errors, which those questions do not cover.
function cueScore(cues: Cues, fromUser: boolean): number {
  return (
    (cues.decision ? 0.25 : 0) +
    (cues.constraint ? (fromUser ? 0.3 : 0.1) : 0) +
    (cues.preference ? (fromUser ? 0.25 : 0.1) : 0) +
    (cues.error ? 0.2 : 0) +
    (cues.outcome ? 0.25 : 0) +
    (cues.reason ? 0.15 : 0) +
    (cues.pending ? 0.15 : 0)
  )
}

// "Sounds great, Mel!" addresses a person and names nothing.
const namesSomething = (text: string, speakers: readonly string[]): boolean =>
  (text.match(NAME) ?? []).some((name) => !speakers.some((speaker) => speaker.startsWith(name)))

// Constraints of the user rank above everything else, also in a long message. Measured by `scripts/loss-table.ts` over
// all conversations at 8,000 tokens: without the bonus 34 % of the constraints are kept, with it 53 %, at the cost of
// 0.6 % of the numbers and 0.1 % of the files and identifiers; at 32,000 tokens 59 % and 78 %, at 0.1 % of each. A
// larger bonus adds little.
const BINDING = 1.2
const LONGEST_BINDING = 360
/** The part of a score that a sentence has because it binds the reader. */
export const bindingScore = ({ kind, text, givesOrders }: Pick<Unit, 'kind' | 'text' | 'givesOrders'>): number =>
  givesOrders && kind === 'speech' && text.length <= LONGEST_BINDING && isConstraint(text) ? BINDING : 0

const eventScore = (text: string, speakers: readonly string[]): number =>
  (DIGITS.test(text) ? 0.35 : 0) +
  (DATE.test(text) ? 0.55 : 0) +
  (namesSomething(text, speakers) ? 0.5 : 0) +
  (hasIdentifier(text) ? 0.4 : 0)

const CENTRALITY = 0.4

/** How typical a sentence is: the mean weight of its terms, by the number of messages that have them. */
function centrality(terms: ReadonlySet<string>, frequency: ReadonlyMap<string, number>, groups: number): number {
  if (terms.size === 0) return 0
  let sum = 0
  for (const term of terms) {
    const count = frequency.get(term) ?? 0
    // A term in a single message is a detail, and one in nearly all messages carries no information.
    if (count > 1) sum += Math.log(1 + count) * (1 - count / (groups + 1))
  }
  return Math.min(1, sum / Math.sqrt(terms.size) / 2)
}

function frequencies(speech: readonly Speech[]): ReadonlyMap<string, number> {
  const frequency = new Map<string, number>()
  const last = new Map<string, number>()
  for (const { terms, group } of speech) {
    for (const term of terms) {
      if (last.get(term) === group) continue
      last.set(term, group)
      frequency.set(term, (frequency.get(term) ?? 0) + 1)
    }
  }
  return frequency
}

const lengthScore = (speech: Speech): number => {
  if (speech.terms.size === 0) return -1
  // "That's awesome!" and "You've got guts." are short and carry no information without their context.
  if (speech.terms.size < 4) return speech.text.endsWith('!') ? -0.8 : -0.5
  return speech.tokens > 60 ? -0.1 : 0
}

function overlap(terms: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (terms.size === 0) return 0
  let shared = 0
  for (const term of terms) if (other.has(term)) shared += 1
  return shared / terms.size
}

/**
 * The bonus for the answer to a question: for the first sentence of the next message by another speaker, larger if it
 * shares terms with the question.
 */
function answerScores(speech: readonly Speech[]): ReadonlyMap<Speech, number> {
  const scores = new Map<Speech, number>()
  let question: Speech | undefined
  for (const sentence of speech) {
    if (question !== undefined && sentence.group !== question.group && sentence.speaker !== question.speaker) {
      if (sentence.index < 3 && !sentence.cues.filler)
        scores.set(sentence, (sentence.first ? 0.2 : 0.05) + 0.3 * overlap(question.terms, sentence.terms))
      if (sentence.index >= 2) question = undefined
    }
    if (sentence.cues.question && sentence.kind === 'speech') question = sentence
  }
  return scores
}

const ACTION_SCORE = { write: 0.8, other: 0.5, read: 0.15 } as const

function actionUnit(action: ToolAction, message: MessageToSummarize | undefined): Omit<Unit, 'order'> {
  const text = actionText(action)
  return {
    group: action.message,
    speaker: 'tools',
    day: (message?.createdAt ?? '').slice(0, 10),
    // After all sentences of the message.
    index: 100_000,
    text,
    tokens: defaultEstimator.text(text),
    overhead: overheadOf('tools'),
    terms: termsOf(text),
    cues: { ...NO_CUES, error: action.failed },
    kind: 'action',
    weight: 1,
    givesOrders: false,
    score: ACTION_SCORE[action.effect] + (action.isRefused === true ? 1.5 : action.failed ? 0.5 : 0),
  }
}

type Units = Promise<readonly Unit[]>

/** The units of the last lists: an extract and the working state need those of the same list. */
const unitsOfLists = new WeakMap<
  readonly MessageToSummarize[],
  { readonly background: string; readonly units: Units }
>()

/**
 * The units of a chunk, in time order. A chunk may have hundreds of messages, so other work may run between two of them.
 * @param background the summary of the previous chunk: content that it has counts less
 */
export function unitsOfMessages(
  messages: readonly MessageToSummarize[],
  actions: readonly ToolAction[],
  background = '',
): Units {
  const known = unitsOfLists.get(messages)
  if (known?.background === background) return known.units
  const units = findUnits(messages, actions, background)
  unitsOfLists.set(messages, { background, units })
  return units
}

async function findUnits(
  messages: readonly MessageToSummarize[],
  actions: readonly ToolAction[],
  background: string,
): Units {
  const speech: Speech[] = []
  for (const [group, message] of messages.entries()) {
    if (isPauseDue()) await pause()
    speech.push(...speechOf(message, group))
  }
  const frequency = frequencies(speech)
  const answers = answerScores(speech)
  const speakers = [...new Set(speech.map(({ speaker }) => speaker))]
  const known = termsOf(background.slice(0, 20_000))
  const firstUser = messages.findIndex((message) => message.role === 'user' && weightOf(message) === 1)
  const lastSpoken = speech.at(-1)?.group
  const scoreOf = (sentence: Speech): number => {
    const fromUser = sentence.base > 0.6
    const score =
      sentence.base +
      cueScore(sentence.cues, fromUser) +
      eventScore(sentence.text, speakers) +
      centrality(sentence.terms, frequency, messages.length) * CENTRALITY +
      (sentence.first ? 0.3 : 0) +
      (sentence.first && sentence.group === firstUser ? 0.5 : 0) +
      (sentence.group === lastSpoken && sentence.first ? 0.2 : 0) +
      (answers.get(sentence) ?? 0) +
      lengthScore(sentence)
    const fresh = known.size > 0 && overlap(sentence.terms, known) > 0.85 ? 0.5 : 1
    return Math.max(
      0.01,
      score * fresh * sentence.dilution * (sentence.kind === 'code' || sentence.cues.filler ? 0.25 : 1) +
        bindingScore(sentence),
    )
  }
  const spoken: Omit<Unit, 'order'>[] = []
  for (const sentence of speech) {
    if (isPauseDue()) await pause()
    spoken.push(Object.assign(sentence, { score: scoreOf(sentence) }))
  }
  const called = actions.map((action) => actionUnit(action, messages[action.message]))
  return [...spoken, ...called]
    .toSorted((a, b) => a.group - b.group || a.index - b.index)
    .map((unit, order) => Object.assign(unit, { order }))
}

const DAY_LINE = /^\[(\d{4}-\d{2}-\d{2})\]$/u
const HEADER_LINE = /^\[depth:\d+\|/u
const SPEAKER = /^([\p{L}\p{N}][\p{L}\p{N} _.()-]{0,39}): (?=\S)/u
/** The mark between two sentences of one message that are not adjacent. */
export const GAP = ' … '

/** The units of summaries that are merged: their sentences, each with its speaker and day if the text has them. */
export function unitsOfSummaries(summaries: readonly SummaryToFold[]): readonly Unit[] {
  let group = 0
  const speech = summaries.flatMap((summary) => {
    let day = summary.startTime.slice(0, 10)
    return cleanText(summary.text)
      .split('\n')
      .flatMap((line): Speech[] => {
        const named = DAY_LINE.exec(line.trim())
        if (named !== null) day = named[1] ?? day
        if (named !== null || HEADER_LINE.test(line) || line.startsWith(FILES_LABEL) || line.trim() === '') return []
        group += 1
        const here = group
        const speaker = SPEAKER.exec(line)?.[1] ?? ''
        const rest = speaker === '' ? line : line.slice(speaker.length + 2)
        const pieces = rest
          .split(speaker === 'tools' ? '; ' : GAP)
          .flatMap((piece) => (speaker === 'tools' ? [{ text: piece.trim(), code: false }] : sentencesOf(piece)))
        return pieces.map(({ text, code }, index) => ({
          group: here,
          speaker,
          day,
          index,
          text,
          tokens: defaultEstimator.text(text),
          overhead: overheadOf(speaker),
          terms: termsOf(text),
          cues: cuesOf(text),
          kind: speaker === 'tools' ? 'action' : code ? 'code' : 'speech',
          base: speaker === 'tools' ? 0.4 : speaker === 'assistant' ? 0.65 : 0.9,
          weight: 1,
          dilution: 1,
          first: index === 0,
          givesOrders: speaker !== 'assistant' && speaker !== 'tools',
        }))
      })
  })
  const frequency = frequencies(speech)
  const speakers = [...new Set(speech.map(({ speaker }) => speaker))]
  return speech.map((sentence, order) =>
    Object.assign(sentence, {
      order,
      score: Math.max(
        0.01,
        (sentence.base +
          cueScore(sentence.cues, sentence.base > 0.8) +
          eventScore(sentence.text, speakers) +
          centrality(sentence.terms, frequency, group) * CENTRALITY +
          lengthScore(sentence)) *
          (sentence.cues.filler ? 0.25 : 1) +
          bindingScore(sentence),
      ),
    }),
  )
}

/** The label of the line with files that the extract does not mention otherwise. */
export const FILES_LABEL = 'Files: '
