/** Sentences of the agent, or of another speaker, that may be needed: decisions with their reasons, and facts. */
import { hasCue } from '../../domain/text/cues.js'
import { isSpoken, kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import type { MessageToSummarize } from '../../ports/summarizer.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { endsTurn } from './work-items.js'
import { tellingTerms } from '../loss-report/stretches.js'
import { selectSentences } from '../summarizers/select-sentences.js'
import { toolActions } from '../summarizers/tool-actions.js'
import { bindingScore, unitsOfMessages } from '../summarizers/units.js'
import type { NewItem, StateEditor } from '../../domain/conversation/state-editor.js'

export const AGENT_DECISION = 55
/** A sentence of the agent has up to this weight, by its score. */
const MOST_WEIGHT = 60
const WEIGHT_OF_SCORE = 18
const MOST_CHARACTERS = 320
const MOST_DECISIONS = 8
/** A sentence with fewer words is an exclamation. */
const LEAST_TERMS = 4
/** Above a call, a longer text explains something. */
const LEAST_EXPLANATION = 160
/** Announcements, which the calls of the agent show, and polite words. */
const ANNOUNCES =
  /[:：]\**\s*$|^(?:now|let me|let's|first|next|i(?:['’]ll| will| need to| can see| see|['’]m going to)|good|great|done|you['’]re|perfect|ok(?:ay)?|jetzt|ich werde|lass mich)(?![\p{L}\p{N}])|(?:します|しましょう|しています)[。.:：]?$|^(?:好的|让我|我来|现在)/iu

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

/** The sentences that a summary of these messages would have. */
async function factsIn(
  messages: readonly MessageToSummarize[],
  reported: readonly ReportMessage[],
  { maxTokens, isDialogue, background }: FactOptions,
): Promise<NewItem[]> {
  const units = await unitsOfMessages(messages, toolActions(messages), background)
  const isWork = reported.some(({ toolCalls = [] }) => toolCalls.length > 0)
  const spoken = units.filter(({ kind, cues, group }) => {
    const message = reported[group]
    // A short text between two calls announces these calls.
    const isReported =
      message !== undefined &&
      isByAgent(message) &&
      (!isWork || message.ownText.length >= LEAST_EXPLANATION || endsTurn(message, reported[group + 1]))
    const isRead = message !== undefined && (isReported || (isDialogue && message.byProgram !== true))
    return kind === 'speech' && !cues.question && !cues.filler && isRead
  })
  // In a dialogue, "never" and "must" are about the speaker.
  const candidates = isDialogue ? spoken.map((unit) => ({ ...unit, score: unit.score - bindingScore(unit) })) : spoken
  return selectSentences(candidates, maxTokens).flatMap(({ text, group, speaker, score }): NewItem[] => {
    const message = reported[group]
    if (message === undefined || text.length > MOST_CHARACTERS) return []
    if (!isDialogue && (ANNOUNCES.test(text) || tellingTerms(text).length < LEAST_TERMS)) return []
    const name = speaker === 'assistant' ? '' : `${speaker}: `
    const weight = Math.min(MOST_WEIGHT, Math.round(score * WEIGHT_OF_SCORE))
    return [itemAt(message, { kind: 'fact', text: `${name}${text}`, weight })]
  })
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
  const known = new Set(editor.state.items.map(({ text }) => text))
  for (const item of items) {
    if (known.has(item.text)) continue
    known.add(item.text)
    editor.add(item)
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
  addOnce(editor, await factsIn(messages, reported, options))
}
