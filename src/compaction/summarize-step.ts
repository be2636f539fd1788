/**
 * One call to a summarizer, from its job to what is recorded of it: the request with its name, room in the budget, the
 * answer or a named failure. What it says of the conversation is recorded elsewhere.
 */
import { either as E } from 'fp-ts'
import type { SummaryResult } from '../domain/decide/index.js'
import type { Provenance } from '../domain/events/codec.js'
import type { SummarizerRecord } from '../domain/events/index.js'
import { isWithoutModel } from '../domain/reports/prices.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { defaultEstimator } from '../domain/values/tokens.js'
import type { PreparedSummary, Summarizer, SummarizerFailure, Summary, SummaryJob } from '../ports/summarizer.js'
import type { Refused, TokenBudget } from '../ports/token-budget.js'
import type { RegisterPrompt } from '../recording/register-prompt.js'

/** What the calls of one run came to. */
export interface Spent {
  calls: number
  tokens: number
  seconds: number
}

/** There is no room for the call in this minute; nothing went wrong. */
export interface NoRoomYet {
  readonly kind: 'NoRoomYet'
  readonly opensInMs: number
}

/** The request of a job; a summarizer of somebody's own may throw already here. */
export function prepare(summarizer: Summarizer, job: SummaryJob): E.Either<SummarizerFailure, PreparedSummary> {
  return E.tryCatch(
    () => summarizer.prepare(job),
    (error) => ({ kind: 'SummarizerFailed', failure: 'threw', detail: thrownSentence(error) }),
  )
}

const eventsOf = (prepared: PreparedSummary, summary: Summary, standIn: boolean): SummarizerRecord => ({
  strategy: prepared.strategy,
  provider: prepared.provider,
  model: prepared.model,
  parameters: { ...prepared.parameters },
  prompt: { name: prepared.prompt.name, sha256: prepared.prompt.sha256 },
  ...(prepared.persona === undefined ? {} : { persona: { sha256: prepared.persona.sha256 } }),
  formatterVersion: prepared.formatterVersion,
  requestHash: prepared.requestHash,
  ...(summary.responseId === undefined ? {} : { responseId: summary.responseId }),
  ...(summary.usage === undefined ? {} : { usage: { ...summary.usage } }),
  durationMs: summary.durationMs,
  ...(standIn ? { standIn } : {}),
})

/** Failures after which nothing was spent, unless they say otherwise: the other side did not take the request on. */
const FREE_FAILURES: ReadonlySet<string> = new Set([
  'unreachable',
  'unauthorized',
  'unknown-model',
  'rate-limited',
  'request-rejected',
  'request-too-large',
])

/** Whether a call that failed cost nothing. */
export const wasFree = ({ failure, mayBePaid }: SummarizerFailure): boolean =>
  mayBePaid !== true && FREE_FAILURES.has(failure)

/** Tokens of the exact request, by our estimate. */
export const requestTokens = (prepared: PreparedSummary): number =>
  defaultEstimator.text(JSON.stringify(prepared.request) ?? '')

/**
 * What a call took: what the model says, else our estimate; after a failure that may have been paid for, all that was
 * set aside.
 */
function spentOn(prepared: PreparedSummary, answer: E.Either<SummarizerFailure, Summary>): number {
  if (E.isLeft(answer)) return wasFree(answer.left) ? 0 : requestTokens(prepared) + prepared.job.maxSummaryTokens
  const { usage, text } = answer.right
  return usage === undefined
    ? requestTokens(prepared) + defaultEstimator.text(text)
    : usage.promptTokens + usage.completionTokens
}

/**
 * No minute has room for a request above the whole limit: somebody has to change something, and it is said no more
 * often than that.
 */
const NEVER_FITS_MS = 3_600_000

function limitReached({ period, limit, used, opensInMs }: Refused, asked: number): SummarizerFailure {
  const day = period === 'day' ? `, and counts anew in ${String(Math.ceil(opensInMs / 60_000))} minutes` : ''
  const opens = asked > limit ? `, more than any ${period} has room for` : day
  const detail = `the limit of ${String(limit)} tokens a ${period}: ${String(used)} are used, and this call needs about ${String(asked)}${opens}`
  return {
    kind: 'SummarizerFailed',
    failure: 'limit-reached',
    detail,
    retryAfterMs: period === 'day' ? opensInMs : NEVER_FITS_MS,
  }
}

export interface StepDependencies {
  readonly registerPrompt: RegisterPrompt
  /** Limits on spending; what asks no model spends nothing. */
  readonly budget?: TokenBudget | undefined
  /** A summary that was recorded before for the very same request; where there is one, nobody is asked. */
  readonly recall?: ((prepared: PreparedSummary) => Promise<SummaryResult | undefined>) | undefined
}

/** Asks a summarizer for one job, within the budget. */
export async function summarizeStep(
  { registerPrompt, budget, recall }: StepDependencies,
  summarizer: Summarizer,
  job: SummaryJob,
  {
    standIn,
    spent,
    signal,
    provenance,
  }: {
    readonly standIn: boolean
    readonly spent: Spent
    readonly signal: AbortSignal | undefined
    readonly provenance: Provenance
  },
): Promise<E.Either<SummarizerFailure | NoRoomYet, SummaryResult>> {
  const prepared = prepare(summarizer, job)
  if (E.isLeft(prepared)) return prepared
  const recorded = standIn ? undefined : await recall?.(prepared.right)
  if (recorded !== undefined) return E.right(recorded)
  const asked = requestTokens(prepared.right) + job.maxSummaryTokens
  // What asks no model costs nothing: it is within every limit, and no spending.
  const isFree = standIn || isWithoutModel(summarizer)
  const room = isFree ? undefined : await budget?.reserve(asked)
  if (room?.kind === 'refused') {
    // A request above the whole limit would wait for ever.
    const waits = room.period === 'minute' && asked <= room.limit
    return E.left(waits ? { kind: 'NoRoomYet', opensInMs: room.opensInMs } : limitReached(room, asked))
  }
  await registerPrompt(prepared.right, provenance)
  if (!isFree) spent.calls += 1
  const from = performance.now()
  const answer = await summarizer.summarize(prepared.right, signal)()
  if (!isFree) spent.seconds += (performance.now() - from) / 1_000
  const tokens = spentOn(prepared.right, answer)
  if (!isFree) spent.tokens += tokens
  // What could not be settled stays set aside, and the limit opens later for it; an answer that is paid for is not
  // thrown away for that.
  await room?.settle(tokens).catch(() => undefined)
  return E.map(({ text, sections, ...rest }: Summary) => ({
    summary: text,
    sections,
    summarizer: eventsOf(prepared.right, { text, ...rest }, standIn),
  }))(answer)
}
