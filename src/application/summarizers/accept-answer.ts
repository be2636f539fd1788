/**
 * Turns an answer into a summary, or into a failure that carries the answer, so that no paid text is lost; and makes the
 * best summary that rejected answers still allow. Pure.
 */
import type { RejectedOperation, Sections, StateOperation } from '../../domain/events/index.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type {
  PaidAnswer,
  SummarizerFailure,
  SummarizerFailureKind,
  Summary,
  SummaryJob,
} from '../../ports/summarizer.js'
import { whyNoSummary } from './judge-answer.js'
import { mostTokens } from './length-limit.js'
import { shortenSections, shortenText, upToWholeSentence } from './shorten-summary.js'

/** An answer as a strategy reads it. */
export interface ReadAnswer {
  /** Cleaned; blank if the answer holds no summary. */
  readonly text: string
  readonly sections?: Sections
  /** The changes of the working state that follow from the messages. */
  readonly operations?: readonly StateOperation[]
  readonly rejectedOperations?: readonly RejectedOperation[]
  /** True if sections were requested and the answer is plain text. */
  readonly asPlainText?: true
}

/** Reads the text of an answer to the request of a job. */
export type Read = (answer: string, job: SummaryJob) => ReadAnswer

const tokensOf = (text: string): number => defaultEstimator.text(text)

export const failed = (failure: SummarizerFailureKind, detail: string, answer?: PaidAnswer): SummarizerFailure => ({
  kind: 'SummarizerFailed',
  failure,
  detail,
  ...(answer === undefined ? {} : { answer }),
})

/** The fields of an answer that are recorded with the summary: all except its text. */
const costOf = ({ responseId, usage, durationMs }: PaidAnswer): Omit<Summary, 'text'> => ({
  ...(responseId === undefined ? {} : { responseId }),
  ...(usage === undefined ? {} : { usage }),
  durationMs,
})

/** Why a text above the limit is not accepted. */
export const overLong = (tokens: number, maxSummaryTokens: number): string =>
  `the summary has ${String(tokens)} tokens, and the limit is ${String(maxSummaryTokens)}`

/** Accepts an answer as the summary of a job, up to a quarter above the limit, or says why not. */
export function acceptAnswer(read: Read, job: SummaryJob, answer: PaidAnswer): Summary | SummarizerFailure {
  const found = read(answer.text, job)
  const { maxSummaryTokens: limit } = job
  if (found.text.trim() === '') return failed('empty', 'the answer holds no summary', answer)
  // Changes that follow from the messages are a record of them, however short.
  const why = found.operations === undefined ? whyNoSummary(found.text, job) : undefined
  if (why !== undefined) return failed('refused', why, answer)
  const tokens = tokensOf(found.text)
  if (tokens > mostTokens(limit)) return failed('over-long', overLong(tokens, limit), answer)
  return {
    ...found,
    ...costOf(answer),
    ...(tokens > limit ? { overLimit: { tokens, limit } } : {}),
  }
}

/** Failures with an answer that may contain a summary, the most complete answers first. */
const SALVAGED: readonly SummarizerFailureKind[] = ['over-long', 'cut-off', 'malformed']

/** A read answer cut to the limit; undefined if nothing of it remains. */
function cut(
  { text, sections, asPlainText, operations, rejectedOperations }: ReadAnswer,
  limit: number,
): ReadAnswer | undefined {
  // Changes of the working state are within the limit already.
  if (operations !== undefined) return { text, ...withoutUndefined({ sections, operations, rejectedOperations }) }
  if (sections !== undefined) {
    const shortened = shortenSections(sections, limit)
    if (shortened !== undefined) return shortened
  }
  const shortened = tokensOf(text) > limit ? shortenText(text, limit) : text
  return shortened.trim() === ''
    ? undefined
    : { text: shortened, ...(asPlainText === undefined ? {} : { asPlainText }) }
}

function salvaged(
  read: Read,
  job: SummaryJob,
  failure: SummarizerFailureKind,
  answer: PaidAnswer,
  isNoSummary: (text: string) => boolean,
): Summary | undefined {
  const whole = read(answer.text, job)
  const found =
    failure === 'cut-off' && whole.sections === undefined ? { ...whole, text: upToWholeSentence(whole.text) } : whole
  if (found.text.trim() === '' || (found.operations === undefined && isNoSummary(found.text))) return undefined
  const { maxSummaryTokens: limit } = job
  const result = cut(found, limit)
  if (result === undefined) return undefined
  const shortened = { tokens: tokensOf(answer.text), limit, text: answer.text }
  return { ...result, ...costOf(answer), ...(result.text === whole.text ? {} : { shortened }) }
}

/**
 * The best summary in rejected answers: of those that are complete the shortest, else of those that were cut off, else
 * of those that could not be read. It is cut to the limit. `usage`, `responseId` and `durationMs` are those of the
 * answer that it is made of.
 */
export function salvage(
  read: Read,
  job: SummaryJob,
  failures: readonly SummarizerFailure[],
  isNoSummary = (text: string): boolean => whyNoSummary(text, job) !== undefined,
): Summary | undefined {
  for (const kind of SALVAGED) {
    const answers = failures
      .flatMap(({ failure, answer }) => (failure === kind && answer !== undefined ? [answer] : []))
      .toSorted((a, b) => tokensOf(a.text) - tokensOf(b.text))
    for (const answer of answers) {
      const summary = salvaged(read, job, kind, answer, isNoSummary)
      if (summary !== undefined) return summary
    }
  }
  return undefined
}
