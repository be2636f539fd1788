/**
 * Compares items with the context of an agent, sentence by sentence. A sentence is present in the same words, or in others
 * with all of its names and numbers. A rule counts only if nothing of it is missing or changed.
 */
import type { StateItem } from '../../domain/events/index.js'
import { isNegated } from '../../domain/text/cues.js'
import { namesIn } from '../../domain/text/names.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { readAnswerText } from '../../domain/text/question-answers.js'
import { spokenSentences } from '../../domain/text/speech.js'
import { squash } from '../loss-report/find-text.js'
import type { Item, ItemKind } from '../loss-report/items.js'
import { createJudge, type Judgement } from '../loss-report/judge.js'
import { tellingTerms } from '../loss-report/stretches.js'
import { Corrections } from '../working-state/corrections.js'
import { CORRECTION } from '../working-state/statements.js'
import type { MissingContext } from './missing-context.js'

/** Compares items with the context. */
export interface Already {
  /**
   * The sentences of an item that the context lacks, without those that a later statement corrects; empty if there are
   * none.
   */
  readonly missingOf: (item: StateItem, later: readonly StateItem[]) => string
  readonly isSaid: (item: StateItem) => boolean
}

/** A sentence with this share of its words in one passage, and all of its names and numbers in the context, is a paraphrase. */
const PARAPHRASE = 0.45
const LEAST_TERMS = 2
const GAP = / … /u

const KIND_OF: Readonly<Partial<Record<StateItem['kind'], ItemKind>>> = {
  rule: 'constraint',
  statement: 'constraint',
  decision: 'decision',
  error: 'error',
  file: 'file',
}

/** The sentences of an item that say something; an answer to a question is one. */
function sentencesOf(item: StateItem): string[] {
  if (readAnswerText(item.text) !== undefined || item.kind !== 'statement') return [item.text]
  const sentences = item.text.split(GAP).flatMap((part) => spokenSentences(part))
  const telling = sentences.filter((text) => tellingTerms(text).length >= LEAST_TERMS)
  return telling.length === 0 ? [item.text] : telling
}

/** Compares items with the context of an agent. */
export function createAlready(missing: MissingContext, items: readonly StateItem[]): Already {
  const byRevision = new Map(missing.before.map((message) => [message.revision, message]))
  const compared = new Map<StateItem, readonly Item[]>()
  for (const item of items) {
    const message = byRevision.get(item.sourceRevisions[0] ?? -1) ?? missing.before[0]
    if (message === undefined) continue
    compared.set(
      item,
      sentencesOf(item).map((text): Item => {
        const kind = KIND_OF[item.kind] ?? 'request'
        const answer = readAnswerText(text)?.answer
        const key = kind === 'file' ? (item.about ?? text) : text
        return { kind, key, text, message, mentions: 1, ...(answer === undefined ? {} : { answer }) }
      }),
    )
  }
  const corrections = new Corrections()
  const judge = createJudge(missing, [...compared.values()].flat())
  const summary = missing.summary.kind === 'text' ? missing.summary.text : ''
  const context = squash([summary, ...missing.remaining.map(({ text }) => text)].join('\n'))
  const isPresent = (item: StateItem, sentence: Item): boolean =>
    isKept(judge(sentence)) || (item.weight < CORRECTION && isParaphrased(sentence, judge(sentence), context, summary))
  return {
    missingOf: (item, later) => {
      const sentences = compared.get(item) ?? []
      const isCorrected = ({ text }: Item): boolean =>
        later.some((by) => corrections.corrects(by.text, { ...item, text }))
      const left = sentences.filter((sentence) => !isPresent(item, sentence) && !isCorrected(sentence))
      return left.length === sentences.length ? item.text : left.map(({ text }) => text).join(' … ')
    },
    isSaid: (item) => (compared.get(item) ?? []).every((sentence) => isPresent(item, sentence)),
  }
}

const isKept = ({ verdict }: Judgement): boolean => verdict === 'kept'

/** Whether the context has all names and numbers of a sentence, and enough of its words in one place. */
function isParaphrased({ text, kind }: Item, { overlap = 0 }: Judgement, context: string, summary: string): boolean {
  if (kind === 'file' || overlap < PARAPHRASE) return false
  const { files, identifiers } = namesIn(text)
  const names = [...files, ...identifiers].map(({ key }) => key)
  const numbers = numbersIn(text).map((number) => number.text)
  const exact = [...names, ...numbers].map(squash)
  return exact.every((each) => context.includes(each)) && (!isNegated(text) || isNegated(summary))
}
