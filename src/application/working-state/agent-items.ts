/** What the agent, or another speaker, said that may be needed: decisions with their reasons, and telling sentences. */
import { hasCue } from '../../domain/text/cues.js'
import { isSpoken, kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import type { MessageToSummarize } from '../../ports/summarizer.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { selectSentences } from '../summarizers/select-sentences.js'
import { toolActions } from '../summarizers/tool-actions.js'
import { unitsOfMessages } from '../summarizers/units.js'
import type { NewItem, StateEditor } from './state-editor.js'

const DECISION = 5
const OUTCOME = 3
const TOLD = 2
const MOST_CHARACTERS = 320
const MOST_DECISIONS = 8

const itemAt = (
  { revision, at }: ReportMessage,
  words: Pick<NewItem, 'kind' | 'text' | 'weight'> & { readonly reason?: string },
): NewItem => ({ ...words, by: 'agent', sourceRevisions: [revision], ...(at === undefined ? {} : { day: at.slice(0, 10) }) })

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
      return [itemAt(message, { kind: 'decision', text, weight: DECISION, ...reason })]
    })
  })
}

const isTelling = (text: string): boolean =>
  hasCue(text, 'outcome') || hasCue(text, 'error') || hasCue(text, 'reason') || hasCue(text, 'decision')

/** The sentences of the agent that a summary of these messages would have. */
async function factsIn(
  messages: readonly MessageToSummarize[],
  reported: readonly ReportMessage[],
  maxTokens: number,
): Promise<NewItem[]> {
  const units = await unitsOfMessages(messages, toolActions(messages), undefined)
  const spoken = units.filter(
    ({ kind, cues, group }) => kind === 'speech' && !cues.question && !cues.filler && isByAgentAt(reported, group),
  )
  return selectSentences(spoken, maxTokens).flatMap(({ text, group, speaker }): NewItem[] => {
    const message = reported[group]
    if (message === undefined || text.length > MOST_CHARACTERS) return []
    const name = speaker === 'assistant' ? '' : `${speaker}: `
    return [itemAt(message, { kind: 'fact', text: `${name}${text}`, weight: isTelling(text) ? OUTCOME : TOLD })]
  })
}

const isByAgentAt = (reported: readonly ReportMessage[], at: number): boolean => {
  const message = reported[at]
  return message !== undefined && isByAgent(message)
}

/** Adds what the agent said, each sentence once. */
export async function addAgentItems(
  editor: StateEditor,
  messages: readonly MessageToSummarize[],
  reported: readonly ReportMessage[],
  maxTokens: number,
): Promise<void> {
  const seen = new Set(editor.state.items.map(({ text }) => text))
  const items = [...decisionsIn(reported).slice(-MOST_DECISIONS), ...(await factsIn(messages, reported, maxTokens))]
  for (const item of items) {
    if (seen.has(item.text)) continue
    seen.add(item.text)
    editor.add(item)
  }
}
