/** Sentences of the agent, or of another speaker, that may be needed: decisions with their reasons, and facts. */
import { hasCue } from '../../domain/text/cues.js'
import { isSpoken, kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import type { MessageToSummarize } from '../../ports/summarizer.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { endsTurn } from './work-items.js'
import { readAnswerText } from '../../domain/text/question-answers.js'
import { QUESTION } from './statements.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { announces } from './announcements.js'
import { passagesOf, saysMore, termsOf, wholeText, type Passage } from './agent-passages.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import type { StateItem } from '../../domain/events/index.js'
import { tellingTerms } from '../loss-report/stretches.js'
import { selectSentences } from '../summarizers/select-sentences.js'
import { toolActions } from '../summarizers/tool-actions.js'
import { bindingScore, unitsOfMessages } from '../summarizers/units.js'
import type { NewItem, StateEditor } from '../../domain/conversation/state-editor.js'

export const AGENT_DECISION = 55
/** A sentence of the agent has up to this weight, by its score. */
const MOST_WEIGHT = 60
const WEIGHT_OF_SCORE = 18
const WEIGHT_OF_PASSAGE = 28
/** A sentence with fewer words is an exclamation. */
const LEAST_TERMS = 4
const MOST_CHARACTERS = 320
const MOST_DECISIONS = 8
const itemAt = (
  { revision, at }: ReportMessage,
  words: Pick<NewItem, 'kind' | 'text' | 'weight'> & { readonly reason?: string },
): NewItem => ({
  ...words,
  by: 'agent',
  sourceRevisions: [revision],
  ...(at === undefined ? {} : { day: at.slice(0, 10) }),
})

const isByAgent = ({ role, byProgram }: ReportMessage): boolean => role === 'assistant' && byProgram !== true

/** The decisions of the agent: the sentence, and the next one if it gives the reason. */
function decisionsIn(messages: readonly ReportMessage[]): NewItem[] {
  return messages.filter(isByAgent).flatMap((message) => {
    const sentences = spokenSentences(message.ownText).filter(isSpoken)
    return sentences.flatMap((text, at): NewItem[] => {
      if (text.length > MOST_CHARACTERS || kindOfSentence('assistant', text, true) !== 'decision') return []
      const next = sentences[at + 1]
      const reason =
        !hasCue(text, 'reason') && next !== undefined && next.length <= MOST_CHARACTERS && hasCue(next, 'reason')
          ? { reason: next }
          : {}
      return [itemAt(message, { kind: 'decision', text, weight: AGENT_DECISION, ...reason })]
    })
  })
}

/** The sentences that a summary of a talk would have. */
async function factsOfTalk(
  messages: readonly MessageToSummarize[],
  reported: readonly ReportMessage[],
  { maxTokens, isDialogue, background }: FactOptions,
): Promise<NewItem[]> {
  const units = await unitsOfMessages(messages, toolActions(messages), background)
  const spoken = units.filter(({ kind, cues, group }) => {
    const message = reported[group]
    const isRead = message !== undefined && (isByAgent(message) || (isDialogue && message.byProgram !== true))
    return kind === 'speech' && !cues.question && !cues.filler && isRead
  })
  // In a dialogue, "never" and "must" are about the speaker.
  const candidates = isDialogue ? spoken.map((unit) => ({ ...unit, score: unit.score - bindingScore(unit) })) : spoken
  return selectSentences(candidates, maxTokens).flatMap(({ text, group, speaker, score }): NewItem[] => {
    const message = reported[group]
    if (message === undefined || text.length > MOST_CHARACTERS) return []
    if (!isDialogue && (announces(text) || tellingTerms(text).length < LEAST_TERMS)) return []
    const name = speaker === 'assistant' ? '' : `${speaker}: `
    const weight = Math.min(MOST_WEIGHT, Math.round(score * WEIGHT_OF_SCORE))
    return [itemAt(message, { kind: 'fact', text: `${name}${text}`, weight })]
  })
}

/** The most passages of one message. Each counts less than the one before it. */
const MOST_OF_MESSAGE = 6
const DECAY = 0.9

/** A passage with a larger share of the words of one item says nothing new. */
const MOST_KNOWN = 0.8

/** The passages in which the agent explained its work. */
async function factsOfWork(
  known: readonly StateItem[],
  reported: readonly ReportMessage[],
  { maxTokens }: FactOptions,
): Promise<NewItem[]> {
  const knownTerms = known
    .filter(({ by, kind }) => by === 'agent' && kind !== 'progress')
    .map(({ text }) => termsOf(text))
  const isKnown = ({ terms }: Passage): boolean =>
    knownTerms.some((each) => [...terms].filter((term) => each.has(term)).length > terms.size * MOST_KNOWN)
  const passages: Passage[] = []
  for (const [group, message] of reported.entries()) {
    if (isPauseDue()) await pause()
    if (!isByAgent(message)) continue
    const found = passagesOf(message, group, endsTurn(message, reported[group + 1]))
    const ranks = new Map(found.toSorted((a, b) => b.score - a.score).map((each, rank) => [each, rank]))
    for (const passage of found) {
      const rank = ranks.get(passage) ?? 0
      if (rank < MOST_OF_MESSAGE)
        passages.push({ ...passage, score: passage.score * DECAY ** rank, order: passages.length })
    }
  }
  const fresh = passages.filter((passage) => !isKnown(passage))
  return selectSentences(fresh, maxTokens).map(({ text, message, score }) =>
    itemAt(message, { kind: 'fact', text, weight: Math.min(MOST_WEIGHT, Math.round(score * WEIGHT_OF_PASSAGE)) }),
  )
}

/** Limits on the sentences of some messages. */
export interface FactOptions {
  /** The most tokens that they may take. */
  readonly maxTokens: number
  /** Two people talk: sentences of both count, and not whole messages. */
  readonly isDialogue: boolean
  /** The summary of the previous chunk: content that it has counts less. */
  readonly background: string | undefined
}

function addOnce(editor: StateEditor, items: readonly NewItem[]): void {
  // The next report replaces the last one.
  const known = new Set(editor.state.items.flatMap(({ kind, text }) => (kind === 'progress' ? [] : [text])))
  for (const item of items) {
    if (known.has(item.text)) continue
    known.add(item.text)
    editor.add(item)
  }
}

/** A longer question or answer needs no other one. */
const MOST_ASKED = 160
const MOST_ANSWER = 260
const ANSWERED = 52
/** A statement with more weight has a request, a decision, a value or a rule. */
const MOST_ASKED_WEIGHT = QUESTION

const isShort = (text: string, most: number): boolean => defaultEstimator.text(text) * 4 <= most

/** The answer to a message of the user, if it is short: the last message of the turn. */
function answerTo(at: number, messages: readonly ReportMessage[]): ReportMessage | undefined {
  const until = messages.findIndex(
    (message, index) => index > at && message.role === 'user' && message.byProgram !== true,
  )
  const end = until === -1 ? messages.length - 1 : until - 1
  const last = messages[end]
  return last !== undefined && end > at && endsTurn(last, messages[end + 1]) ? last : undefined
}

/** Joins questions of the user that bind nothing with their short answers: neither says much without the other. */
function joinAnswers(editor: StateEditor, messages: readonly ReportMessage[]): void {
  const positions = new Map(messages.map((message, at) => [message.revision, at]))
  for (const item of editor.ofKind('statement')) {
    const at = positions.get(item.sourceRevisions[0] ?? -1)
    if (at === undefined || item.weight > MOST_ASKED_WEIGHT || item.corrects !== undefined) continue
    if (readAnswerText(item.text) !== undefined) continue
    const answer = answerTo(at, messages)
    const text = answer === undefined ? '' : wholeText(answer.ownText).join(' / ')
    if (answer === undefined || !isShort(item.text, MOST_ASKED) || !isShort(text, MOST_ANSWER)) continue
    if (!saysMore(text) || editor.state.items.some(({ corrects }) => corrects === item.id)) continue
    editor.drop(item)
    editor.add({
      ...itemAt(answer, { kind: 'fact', text: `asked “${item.text}” → ${text}`, weight: ANSWERED }),
      sourceRevisions: [...item.sourceRevisions, answer.revision],
    })
  }
}

/** Adds sentences of the agent, each once. */
export async function addAgentItems(
  editor: StateEditor,
  messages: readonly MessageToSummarize[],
  reported: readonly ReportMessage[],
  options: FactOptions,
): Promise<void> {
  addOnce(editor, decisionsIn(reported).slice(-MOST_DECISIONS))
  const isWork = reported.some(({ toolCalls = [] }) => toolCalls.length > 0)
  if (isWork) joinAnswers(editor, reported)
  addOnce(
    editor,
    isWork ? await factsOfWork(editor.state.items, reported, options) : await factsOfTalk(messages, reported, options),
  )
}
