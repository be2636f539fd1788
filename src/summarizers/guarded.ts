/**
 * A summarizer of anybody's, held to what the port promises: it may throw, hang, answer nothing or too much, and what
 * the compaction sees is a named failure.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { sectionsSchema, summarizerRecordSchema } from '../domain/events/index.js'
import { sha256 } from '../domain/values/hash.js'
import { checkId } from '../domain/values/ids.js'
import { isTooDeep, MOST_LEVELS } from '../domain/values/nesting.js'
import { thrownSentence } from '../domain/values/thrown.js'
import { defaultEstimator, MAX_TOKENS } from '../domain/values/tokens.js'
import {
  summarizerFailureKinds,
  type PreparedSummary,
  type Summarizer,
  type SummarizerFailure,
  type SummarizerFailureKind,
  type Summary,
  type SummaryJob,
} from '../ports/summarizer.js'
import { LateError, withinTime } from '../ports/within-time.js'

/**
 * Longer than any retry of a model's client; a summarizer that takes longer is taken to hang, where nobody says another
 * limit.
 */
export const LONGEST_MS = 10 * 60_000

const failed = (failure: SummarizerFailureKind, detail: string): SummarizerFailure => ({
  kind: 'SummarizerFailed',
  failure,
  detail,
})

const tokens = z.number().int().nonnegative().max(MAX_TOKENS)

/** What is recorded of an answer. */
const answerSchema = z.object({
  text: z.string(),
  ...summarizerRecordSchema.pick({ responseId: true, durationMs: true }).shape,
  usage: z.object({ promptTokens: tokens, completionTokens: tokens, cachedTokens: tokens.optional() }).optional(),
  sections: sectionsSchema.optional(),
})

const failureSchema = z.object({
  kind: z.literal('SummarizerFailed'),
  failure: z.enum(summarizerFailureKinds),
  detail: z.string(),
  retryAfterMs: z.number().nonnegative().optional(),
  mayBePaid: z.literal(true).optional(),
})

const wrongIn = (error: z.ZodError): string => z.prettifyError(error).replaceAll('\n', ' ')

/** The answer as it is recorded: read once, so that what an object says the second time does not matter. */
function checked(answer: unknown, maxTokens: number): E.Either<SummarizerFailure, Summary> {
  const either = z
    .union([
      z.object({ _tag: z.literal('Left'), left: z.unknown() }),
      z.object({ _tag: z.literal('Right'), right: z.unknown() }),
    ])
    .safeParse(answer)
  if (!either.success)
    return E.left(
      failed('malformed', 'the summarizer answered neither a Left with a failure nor a Right with a summary'),
    )
  if (either.data._tag === 'Left') {
    const failure = failureSchema.safeParse(either.data.left)
    return E.left(
      failure.success
        ? // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is optional is left out, as it was given
          (failure.data as SummarizerFailure)
        : failed('malformed', `the summarizer failed, and does not say how: ${wrongIn(failure.error)}`),
    )
  }
  const { right } = either.data
  const text = typeof right === 'object' && right !== null && 'text' in right ? right.text : undefined
  if (typeof text !== 'string' || text.trim() === '') return E.left(failed('empty', 'the summarizer answered nothing'))
  const summary = answerSchema.safeParse(right)
  if (!summary.success)
    return E.left(
      failed('malformed', `what the summarizer says beside its text cannot be recorded: ${wrongIn(summary.error)}`),
    )
  const count = defaultEstimator.text(summary.data.text)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is optional is left out, as it was given
  if (count <= maxTokens) return E.right(summary.data as Summary)
  return E.left(failed('over-long', `the summary has ${String(count)} tokens, and ${String(maxTokens)} were asked for`))
}

const preparedSchema = summarizerRecordSchema
  .pick({ strategy: true, provider: true, model: true, parameters: true, formatterVersion: true, requestHash: true })
  .extend({
    prompt: summarizerRecordSchema.shape.prompt.extend({ text: z.string() }),
    persona: z.object({ sha256: z.string(), text: z.string() }).optional(),
  })

/**
 * Why what was prepared could not be recorded with its answer; undefined where it can be. It is looked at before
 * anything is paid for.
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
  if (isTooDeep(parameters)) return `parameters are nested deeper than ${String(MOST_LEVELS)} levels`
  // What has no JSON throws here, and is told as what was thrown.
  JSON.stringify([parameters, made.request])
  return undefined
}

function prepared(summarizer: Summarizer, job: SummaryJob): PreparedSummary {
  const made = summarizer.prepare(job)
  const wrong = wrongWith(made)
  if (wrong !== undefined) throw new Error(`what the summarizer prepares cannot be recorded: ${wrong}`)
  return made
}

/** The summarizer, with its promises kept for it. */
export function guarded(summarizer: Summarizer, longestMs = LONGEST_MS): Summarizer {
  return {
    strategy: summarizer.strategy,
    provider: summarizer.provider,
    model: summarizer.model,
    windowTokens: summarizer.windowTokens,
    ...(summarizer.ridesPrefix === true ? { ridesPrefix: true } : {}),
    prepare: (job) => prepared(summarizer, job),
    summarize: (asked, signal) => async () => {
      try {
        // Whatever it throws, and wherever: before it answers, behind it, or from what it answers.
        return checked(
          await withinTime((limited) => summarizer.summarize(asked, limited)(), longestMs, signal),
          asked.job.maxSummaryTokens,
        )
      } catch (error) {
        return E.left(failed(error instanceof LateError ? 'timeout' : 'threw', thrownSentence(error)))
      }
    },
  }
}
