/** Parts of the lines that describe events. */
import { summarizerNotes } from '../reports/summarizer-notes.js'
import { count, many } from '../text/count.js'
import { brief, printable } from '../text/printable.js'
import type { Configuration } from './configuration.js'
import type { SourcePlace } from './source.js'
import type { SummarizerRecord } from './summarizer-record.js'

/** The fields of a summary's range of messages, none of which has a text. */
export const PLAIN_SPAN = ['firstRevision', 'lastRevision', 'startTime', 'endTime'] as const

/** The beginning of a text. */
export const short = (text: string): string => brief(text, 160)

/** How a summary was made. */
export function summarizerLine(summarizer: SummarizerRecord): string {
  const { strategy, model, usage } = summarizer
  const notes = summarizerNotes(summarizer).map((note) => `, ${note}`)
  const tokens =
    usage === undefined
      ? ''
      : `, ${count(usage.promptTokens)} prompt tokens, ${count(usage.completionTokens)} completion tokens`
  return `by ${strategy}${model === strategy ? '' : ` (${printable(model)})`}${notes.join('')}${tokens}`
}

export const scopeText = (scope: string | undefined): string =>
  scope === undefined ? 'all conversations' : `scope ${printable(scope)}`

/** A place in a transcript. */
export const sourceText = ({ file, line, path }: SourcePlace): string =>
  `${printable(file)}${line === undefined ? '' : `:${String(line)}`}${path === undefined ? '' : ` ${printable(path)}`}`

/** The first and the last of some messages. */
export function spanOf(ids: readonly string[]): string {
  const [first = '', last = first] = [ids[0], ids.at(-1)]
  return printable(first === last ? first : `${first} to ${last}`)
}

export function configurationLine({ policy, settings, scope, estimator }: Configuration): string {
  const set = Object.entries(settings).map(
    ([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
  )
  return `window ${count(policy.modelMaxTokens)} tokens, budget ${String(policy.contextBudget)}, view ${policy.view}, estimator ${estimator}${scope === undefined ? '' : `, scope ${printable(scope)}`}; settings: ${set.length === 0 ? 'all defaults' : set.join(', ')}`
}

/** What an event has that replaces the batches and the window. */
interface Replacement {
  readonly batches: readonly unknown[]
  readonly restored: readonly unknown[]
  readonly left: readonly unknown[]
  readonly tokensBefore: number
  readonly tokensAfter: number
}

export const replacementLine = ({ batches, restored, left, tokensBefore, tokensAfter }: Replacement): string =>
  `${many(batches.length, 'batch', 'batches')}, ${many(restored.length, 'message')} restored, ${String(left.length)} removed, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`
