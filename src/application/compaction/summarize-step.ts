/**
 * One summary job, from its request to the record of the answers: at most two requests, within the budget, with a
 * summary or a failure as the result. The caller records the events of the conversation.
 */
import { either as E } from 'fp-ts'
import type { SummaryResult } from '../../domain/decide/index.js'
import type { Provenance } from '../../domain/events/codec.js'
import type { RejectedAnswer, SummarizerRecord } from '../../domain/events/index.js'
import { isWithoutModel } from '../../domain/reports/prices.js'
import { thrownSentence } from '../../domain/values/thrown.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import {
  isSummarizerFailure,
  type PaidAnswer,
  type PreparedSummary,
  type Summarizer,
  type SummarizerFailure,
  type SummarizerFailureKind,
  type Summary,
  type SummaryJob,
} from '../../ports/summarizer.js'
import type { Refused, TokenBudget } from '../../ports/token-budget.js'
import type { RedactionSettings } from '../recording/redaction.js'
import type { RegisterPrompt } from '../recording/register-prompt.js'

/** The cost of the calls of one run. */
export interface Spent {
  calls: number
  tokens: number
  seconds: number
}

/** The budget of this minute does not allow the call yet; this is not a failure. */
export interface NoRoomYet {
  readonly kind: 'NoRoomYet'
  readonly opensInMs: number
}

/** The request of a job. A custom summarizer may throw here. */
export function prepare(summarizer: Summarizer, job: SummaryJob): E.Either<SummarizerFailure, PreparedSummary> {
  return E.tryCatch(
    () => summarizer.prepare(job),
    (error) => ({ kind: 'SummarizerFailed', failure: 'threw', detail: thrownSentence(error) }),
  )
}

/** A final failure, with the answers that were paid for. */
export type StepFailure = SummarizerFailure & { readonly rejectedAnswers?: readonly RejectedAnswer[] }

/** Failures of the answer itself. A second request says what was wrong; repeating the first one cannot help. */
const UNUSABLE: ReadonlySet<SummarizerFailureKind> = new Set(['empty', 'refused', 'cut-off', 'over-long', 'malformed'])

/** Whether the model answered but the answer cannot be used. */
export const isUnusableAnswer = ({ failure }: SummarizerFailure): boolean => UNUSABLE.has(failure)

/** How often a request that failed and may have been paid for is sent in a row. */
export const MOST_SENDS = 2

const notSentAgain = (timesSent: number): SummarizerFailure => ({
  kind: 'SummarizerFailed',
  failure: 'not-sent-again',
  detail: `this request failed ${String(timesSent)} times in a row and is not sent again: change the model, the prompt, the time limit or chunkSize`,
})

/** A rejected answer and its request. */
interface Rejection {
  readonly prepared: PreparedSummary
  readonly failure: SummarizerFailure
}

const recordOfRejection = ({ prepared: { requestHash }, failure }: Rejection): RejectedAnswer => {
  const { text = '', responseId, usage, durationMs = 0 } = failure.answer ?? {}
  return {
    requestHash,
    failure: failure.failure,
    detail: failure.detail,
    text,
    ...(responseId === undefined ? {} : { responseId }),
    ...(usage === undefined ? {} : { usage: { ...usage } }),
    durationMs,
  }
}

/** The total usage of several requests; undefined if none was reported. */
function totalUsage(usages: readonly Summary['usage'][]): Summary['usage'] {
  const reported = usages.flatMap((usage) => usage ?? [])
  if (reported.length === 0) return undefined
  const cached = reported.flatMap(({ cachedTokens }) => cachedTokens ?? [])
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return {
    promptTokens: sum(reported.map(({ promptTokens }) => promptTokens)),
    completionTokens: sum(reported.map(({ completionTokens }) => completionTokens)),
    ...(cached.length === 0 ? {} : { cachedTokens: sum(cached) }),
  }
}

/**
 * The record of a summary. Its request hash is always that of the first request, which identifies the job: recall finds
 * the summary by it.
 */
function recordOf(
  { prepared, answered = prepared, isFallback }: StepRequest,
  summary: Summary,
  rejections: readonly Rejection[],
): SummarizerRecord {
  const { strategy, provider, model, parameters, prompt, persona, formatterVersion, requestHash } = prepared
  const { responseId, overLimit, shortened, asPlainText } = summary
  const rejectedAnswers = rejections.map(recordOfRejection)
  const usage = totalUsage([
    ...rejections.map(({ failure }) => failure.answer?.usage),
    ...(rejections.some(({ prepared: { requestHash: rejected } }) => rejected === answered.requestHash)
      ? []
      : [summary.usage]),
  ])
  return {
    strategy,
    provider,
    model,
    parameters: { ...parameters },
    prompt: { name: prompt.name, sha256: prompt.sha256 },
    ...(persona === undefined ? {} : { persona: { sha256: persona.sha256 } }),
    formatterVersion,
    requestHash,
    ...(responseId === undefined ? {} : { responseId }),
    ...(usage === undefined ? {} : { usage: { ...usage } }),
    durationMs: summary.durationMs,
    ...(isFallback ? { fallback: true } : {}),
    ...(rejectedAnswers.length === 0 ? {} : { rejectedAnswers }),
    ...(answered.requestHash === requestHash ? {} : { answeredRequestHash: answered.requestHash }),
    ...(overLimit === undefined ? {} : { overLimit: { ...overLimit } }),
    ...(shortened === undefined ? {} : { shortened: { ...shortened } }),
    ...(asPlainText === undefined ? {} : { asPlainText }),
  }
}

/** The request of a job, and the second one if that brought the answer. */
interface StepRequest {
  readonly prepared: PreparedSummary
  readonly answered?: PreparedSummary
  readonly isFallback: boolean
}

const resultOf = (request: StepRequest, summary: Summary, rejections: readonly Rejection[]): SummaryResult => ({
  summary: summary.text,
  sections: summary.sections,
  operations: summary.operations,
  rejectedOperations: summary.rejectedOperations,
  summarizer: recordOf(request, summary, rejections),
})

/** Failures that cost nothing unless they say otherwise: the provider did not process the request. */
const FREE_FAILURES: ReadonlySet<string> = new Set([
  'unreachable',
  'unauthorized',
  'unknown-model',
  'rate-limited',
  'request-rejected',
  'request-too-large',
  'limit-reached',
  'not-sent-again',
])

/** Whether a failed call cost nothing. */
export const wasFree = ({ failure, mayBePaid }: SummarizerFailure): boolean =>
  mayBePaid !== true && FREE_FAILURES.has(failure)

/** The estimated tokens of the request. */
export const requestTokens = (prepared: PreparedSummary): number =>
  defaultEstimator.text(JSON.stringify(prepared.request) ?? '')

/**
 * The tokens of a call: as reported, or else estimated; after a failure that may have been paid for, the whole
 * reservation.
 */
function spentOn(prepared: PreparedSummary, answer: Summary | SummarizerFailure): number {
  if (isSummarizerFailure(answer)) {
    if (wasFree(answer)) return 0
    const reported = answer.answer?.usage
    return reported === undefined
      ? requestTokens(prepared) + prepared.job.maxSummaryTokens
      : reported.promptTokens + reported.completionTokens
  }
  const { usage, text } = answer
  return usage === undefined
    ? requestTokens(prepared) + defaultEstimator.text(text)
    : usage.promptTokens + usage.completionTokens
}

/**
 * A request above the whole limit fits into no minute. The configuration must change, so the failure is repeated
 * rarely.
 */
const NEVER_FITS_MS = 3_600_000

function limitReached({ period, limit, used, opensInMs }: Refused, needed: number): SummarizerFailure {
  const day = period === 'day' ? `, and resets in ${String(Math.ceil(opensInMs / 60_000))} minutes` : ''
  const opens = needed > limit ? `, more than any ${period} has room for` : day
  const detail = `the limit of ${String(limit)} tokens a ${period}: ${String(used)} are used, and this call needs about ${String(needed)}${opens}`
  return {
    kind: 'SummarizerFailed',
    failure: 'limit-reached',
    detail,
    retryAfterMs: period === 'day' ? opensInMs : NEVER_FITS_MS,
  }
}

export interface StepDependencies {
  readonly registerPrompt: RegisterPrompt
  /** Limits on spending. A strategy without a model spends nothing. */
  readonly budget?: TokenBudget | undefined
  /** Returns a recorded summary of the same request, if there is one; then no model is called. */
  readonly recall?: ((prepared: PreparedSummary) => Promise<SummaryResult | undefined>) | undefined
}

export interface StepOptions {
  /** True if this summarizer is the fallback: it costs nothing, and no recorded summary is looked up for it. */
  readonly isFallback: boolean
  /** How often this request failed in a row, as recorded. Default: 0. */
  readonly timesSent?: (prepared: PreparedSummary) => number
  readonly spent: Spent
  readonly signal: AbortSignal | undefined
  readonly provenance: Provenance
  /** The settings of the conversation, by which its prompts are searched for secrets. */
  readonly settings: RedactionSettings | undefined
}

/** Sends one request, within the budget. */
async function ask(
  { registerPrompt, budget }: StepDependencies,
  summarizer: Summarizer,
  prepared: PreparedSummary,
  { isFallback, spent, signal, provenance, settings }: StepOptions,
): Promise<E.Either<SummarizerFailure | NoRoomYet, Summary>> {
  const maxTokens = requestTokens(prepared) + prepared.job.maxSummaryTokens
  // A summarizer without a model costs nothing: it is within every limit.
  const isFree = isFallback || isWithoutModel(summarizer)
  const reservation = isFree ? undefined : await budget?.reserve(maxTokens)
  if (reservation?.kind === 'refused') {
    // A request above the whole limit would wait forever.
    const waits = reservation.period === 'minute' && maxTokens <= reservation.limit
    return E.left(
      waits ? { kind: 'NoRoomYet', opensInMs: reservation.opensInMs } : limitReached(reservation, maxTokens),
    )
  }
  await registerPrompt(prepared, provenance, settings)
  if (!isFree) spent.calls += 1
  const from = performance.now()
  const answer = await summarizer.summarize(prepared, signal)
  if (!isFree) spent.seconds += (performance.now() - from) / 1_000
  const tokens = spentOn(prepared, answer)
  if (!isFree) spent.tokens += tokens
  // If settling fails, the reservation stays and the limit resets later. The answer is used.
  await reservation?.settle(tokens).catch(() => undefined)
  return isSummarizerFailure(answer) ? E.left(answer) : E.right(answer)
}

/** The second request for a job; undefined if none can help. */
function secondRequest(
  summarizer: Summarizer,
  prepared: PreparedSummary,
  failure: SummarizerFailure,
): PreparedSummary | undefined {
  try {
    return summarizer.prepareRetry?.(prepared, failure)
  } catch {
    return undefined
  }
}

/** Whether a salvaged summary comes from this answer: it keeps the answer's whole text, or its id and duration. */
const isMadeOf = ({ shortened, responseId, durationMs }: Summary, answer: PaidAnswer | undefined): boolean =>
  answer !== undefined &&
  (shortened === undefined
    ? answer.responseId === responseId && answer.durationMs === durationMs
    : answer.text === shortened.text)

/**
 * Runs one job: reuses a recorded summary of the same request; after an unusable answer sends one more request that
 * names the problem; if that does not help, shortens the answers to the limit. Every answer is in the result or in the
 * failure.
 */
export async function summarizeStep(
  deps: StepDependencies,
  summarizer: Summarizer,
  job: SummaryJob,
  options: StepOptions,
): Promise<E.Either<StepFailure | NoRoomYet, SummaryResult>> {
  const made = prepare(summarizer, job)
  if (E.isLeft(made)) return made
  const prepared = made.right
  const { isFallback } = options
  const recorded = isFallback ? undefined : await deps.recall?.(prepared)
  if (recorded !== undefined) return E.right(recorded)
  const timesSent = options.timesSent?.(prepared) ?? 0
  if (timesSent >= MOST_SENDS) return E.left(notSentAgain(timesSent))

  const first = await ask(deps, summarizer, prepared, options)
  if (E.isRight(first)) return E.right(resultOf({ prepared, isFallback }, first.right, []))
  if (first.left.kind === 'NoRoomYet' || !isUnusableAnswer(first.left)) return E.left(first.left)
  const rejections: Rejection[] = [{ prepared, failure: first.left }]

  const retry = options.signal?.aborted === true ? undefined : secondRequest(summarizer, prepared, first.left)
  if (retry !== undefined) {
    const second = await ask(deps, summarizer, retry, options)
    if (E.isRight(second)) return E.right(resultOf({ prepared, answered: retry, isFallback }, second.right, rejections))
    if (second.left.kind !== 'NoRoomYet' && isUnusableAnswer(second.left))
      rejections.push({ prepared: retry, failure: second.left })
  }

  const salvaged = summarizer.salvage?.(
    job,
    rejections.map(({ failure }) => failure),
  )
  if (salvaged !== undefined) {
    const source = rejections.findLast(({ failure }) => isMadeOf(salvaged, failure.answer))
    return E.right(resultOf({ prepared, answered: source?.prepared ?? prepared, isFallback }, salvaged, rejections))
  }
  const { failure } = rejections.at(-1) ?? { failure: first.left }
  return E.left({ ...failure, rejectedAnswers: rejections.map(recordOfRejection) })
}
