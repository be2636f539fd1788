/** The sentences of a model's summary in prose, as items: its later summaries do not repeat them. */
import type { StateItemKind } from '../../domain/events/index.js'
import type { StateEditor } from '../../domain/conversation/state-editor.js'
import { isSpoken, kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import { termCounts } from '../../domain/text/terms.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { linesOf } from './work-items.js'

const DECISION = 62
const FACT = 58
const MOST_CHARACTERS = 480

const termsOf = (text: string): ReadonlySet<string> => new Set(termCounts(text).counts.keys())

interface Source {
  readonly message: ReportMessage
  readonly terms: ReadonlySet<string>
}

/** The message that shares the most terms with a sentence; the first of equal ones. */
function sourceOf(sentence: string, sources: readonly Source[]): ReportMessage | undefined {
  const terms = [...termsOf(sentence)]
  let best: { readonly message: ReportMessage; readonly shared: number } | undefined
  for (const { message, terms: known } of sources) {
    const shared = terms.filter((term) => known.has(term)).length
    if (best === undefined || shared > best.shared) best = { message, shared }
  }
  return best?.message
}

const kindOf = (sentence: string): StateItemKind =>
  kindOfSentence('assistant', sentence, true) === 'decision' ? 'decision' : 'fact'

/** Adds the sentences of a summary, each with the message that it rests on most. */
export function addSummaryItems(editor: StateEditor, messages: readonly ReportMessage[], summary: string): void {
  const sources = messages.map((message) => ({ message, terms: termsOf(message.text) }))
  const known = new Set(editor.state.items.map(({ text }) => text))
  const sentences = linesOf(summary).flatMap((line) => spokenSentences(line).filter(isSpoken))
  for (const text of sentences) {
    const source = sourceOf(text, sources)
    if (source === undefined || known.has(text) || text.length > MOST_CHARACTERS) continue
    known.add(text)
    const kind = kindOf(text)
    editor.add({
      kind,
      by: 'agent',
      text,
      sourceRevisions: [source.revision],
      weight: kind === 'decision' ? DECISION : FACT,
      ...(source.at === undefined ? {} : { day: source.at.slice(0, 10) }),
    })
  }
}
