/**
 * Makes any summarizer keep the promises of the port. If it throws, hangs, or answers nothing, a refusal or too much, the
 * compaction receives a named failure, with the answer if there is one.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import {
  rejectedOperationSchema,
  sectionsSchema,
  stateOperationSchema,
  summarizerRecordSchema,
} from '../../domain/events/index.js'
import { sha256 } from '../../domain/values/hash.js'
import { checkId } from '../../domain/values/ids.js'
import { isTooDeep, MAX_LEVELS } from '../../lib/nesting.js'
import { thrownSentence } from '../../domain/values/thrown.js'
import { defaultEstimator, MAX_TOKENS } from '../../domain/values/tokens.js'
import {
  isSummarizerFailure,
  summarizerFailureKinds,
  type PaidAnswer,
  type PreparedSummary,
  type Summarizer,
  type SummarizerFailure,
  type Summary,
  type SummaryJob,
} from '../../ports/summarizer.js'
import { isLedgerError } from '../../lib/ledger-error.js'
import { withinTime } from '../../lib/within-time.js'
import { failed, overLong, salvage, type ReadAnswer } from './accept-answer.js'
import { isBareRefusal, REFUSED } from './judge-answer.js'
import { mostTokens } from './length-limit.js'

/** The default time limit of a call: longer than any retry of a model's client. */
export const LONGEST_MS = 10 * 60_000

const tokens = z.number().int().nonnegative().max(MAX_TOKENS)

const usage = z.object({ promptTokens: tokens, completionTokens: tokens, cachedTokens: tokens.optional() })

/** An answer that a failure carries, as it is recorded. */
const paidSchema = z.object({
  text: z.string(),
  ...summarizerRecordSchema.pick({ responseId: true, durationMs: true }).shape,
  usage: usage.optional(),
})

/** The fields of an answer that are recorded. `overLimit` is computed from its text. */
const answerSchema = paidSchema.extend({
  sections: sectionsSchema.optional(),
  operations: z.array(stateOperationSchema).optional(),
  rejectedOperations: z.array(rejectedOperationSchema).optional(),
  asPlainText: z.literal(true).optional(),
})

const failureSchema = z.object({
  kind: z.literal('SummarizerFailed'),
  failure: z.enum(summarizerFailureKinds),
  detail: z.string(),
  retryAfterMs: z.number().nonnegative().optional(),
  mayBePaid: z.literal(true).optional(),
  answer: paidSchema.optional(),
})

const wrongIn = (error: z.ZodError): string => z.prettifyError(error).replaceAll('\n', ' ')

/** A parsed value without its fields that are undefined. */
const exact = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))

/** The failure as it is recorded; one without the fields of a failure is malformed. */
function checkedFailure(given: object): SummarizerFailure {
  const failure = failureSchema.safeParse(given)
  if (!failure.success)
    return failed('malformed', `the summarizer failed with something that is no failure: ${wrongIn(failure.error)}`)
  const { answer, ...rest } = failure.data
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed, without undefined fields
  return exact({ ...rest, ...(answer === undefined ? {} : { answer: exact(answer) }) }) as SummarizerFailure
}

/** The summary as it is recorded, or why it is invalid. It is read once, in case the object changes when it is read. */
function checkedSummary(given: object, limit: number): Summary | SummarizerFailure {
  const text = 'text' in given ? given.text : undefined
  if (typeof text !== 'string' || text.trim() === '') return failed('empty', 'the answer of the summarizer has no text')
  const parsed = answerSchema.safeParse(given)
  if (!parsed.success)
    return failed('malformed', `the answer of the summarizer cannot be recorded: ${wrongIn(parsed.error)}`)
  const { text: words, responseId, usage: used, durationMs } = parsed.data
  const paid = { text: words, responseId, usage: used, durationMs }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed, without undefined fields
  const answer = exact(paid) as PaidAnswer
  if (isBareRefusal(answer.text)) return failed('refused', REFUSED, answer)
  const count = defaultEstimator.text(answer.text)
  if (count > mostTokens(limit)) return failed('over-long', overLong(count, limit), answer)
  const overLimit = count > limit ? { overLimit: { tokens: count, limit } } : {}
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed, without undefined fields
  return exact({ ...parsed.data, ...overLimit }) as Summary
}

/** Checks the answer of a summarizer. */
function checked(answer: unknown, limit: number): Summary | SummarizerFailure {
  if (typeof answer !== 'object' || answer === null)
    return failed('malformed', 'the summarizer returned neither a summary nor a failure')
  return 'kind' in answer ? checkedFailure(answer) : checkedSummary(answer, limit)
}

const preparedSchema = summarizerRecordSchema
  .pick({ strategy: true, provider: true, model: true, parameters: true, formatterVersion: true, requestHash: true })
  .extend({
    prompt: summarizerRecordSchema.shape.prompt.extend({ text: z.string() }),
    persona: z.object({ sha256: z.string(), text: z.string() }).optional(),
  })

/**
 * Why a prepared request could not be recorded with its answer; undefined if it can. Checked before anything is paid
 * for.
 */
function wrongWith(made: PreparedSummary): string | undefined {
  const parsed = preparedSchema.safeParse(made)
  if (!parsed.success) return wrongIn(parsed.error)
  const { strategy, provider, model, prompt, persona, parameters } = parsed.data
  for (const [field, name] of Object.entries({ strategy, provider, model, 'prompt.name': prompt.name })) {
    const id = checkId(field, name)
    if (E.isLeft(id)) return `${field} ${id.left.detail}`
  }
  for (const [field, given] of Object.entries({ prompt, persona })) {
    if (given !== undefined && sha256(given.text) !== given.sha256)
      return `${field}.sha256 is not that of ${field}.text`
  }
  if (isTooDeep(parameters)) return `parameters are nested deeper than ${String(MAX_LEVELS)} levels`
  // A value without a JSON form throws here, and is reported as an error of the summarizer.
  JSON.stringify([parameters, made.request])
  return undefined
}

function prepared(made: PreparedSummary): PreparedSummary {
  const wrong = wrongWith(made)
  if (wrong !== undefined) throw new Error(`what the summarizer prepares cannot be recorded: ${wrong}`)
  return made
}

/** The result of a function from outside; undefined if it throws: the answer that it is about is still there. */
function quietly<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}

const plainText = (text: string): ReadAnswer => ({ text: text.trim() })

/** The result of the summarizer's salvage, if it keeps the limit; else its answers are cut as plain text. */
function salvaged(
  summarizer: Summarizer,
  job: SummaryJob,
  failures: readonly SummarizerFailure[],
): Summary | undefined {
  const proposed = quietly(() => summarizer.salvage?.(job, failures))
  const result = proposed === undefined ? undefined : checkedSummary(proposed, job.maxSummaryTokens)
  if (result !== undefined && !isSummarizerFailure(result) && result.overLimit === undefined)
    return { ...result, ...(proposed?.shortened === undefined ? {} : { shortened: proposed.shortened }) }
  return salvage(plainText, job, failures, isBareRefusal)
}

/** The summarizer, with the promises of the port kept. */
export function guarded(summarizer: Summarizer, longestMs = LONGEST_MS): Summarizer {
  return {
    strategy: summarizer.strategy,
    provider: summarizer.provider,
    model: summarizer.model,
    windowTokens: summarizer.windowTokens,
    timeoutMs: summarizer.timeoutMs,
    ...(summarizer.usesPromptCache === true ? { usesPromptCache: true } : {}),
    prepare: (job) => prepared(summarizer.prepare(job)),
    summarize: async (request, signal) => {
      try {
        // It may throw before it answers, afterwards, or when its answer is read.
        return checked(
          await withinTime((limited) => summarizer.summarize(request, limited), longestMs, signal),
          request.job.maxSummaryTokens,
        )
      } catch (error) {
        return failed(isLedgerError(error, 'TookTooLong') ? 'timeout' : 'threw', thrownSentence(error))
      }
    },
    prepareRetry: (request, failure) => {
      if (request.rejected !== undefined) return undefined
      const { detail, failure: kind, answer } = failure
      return quietly(() => {
        const retry = summarizer.prepareRetry?.(request, failure)
        if (retry === undefined || retry.requestHash === request.requestHash) return undefined
        return prepared({ ...retry, rejected: { failure: kind, detail, text: answer?.text ?? '' } })
      })
    },
    salvage: (job, failures) => salvaged(summarizer, job, failures),
  }
}
