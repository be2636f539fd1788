/**
 * A summarizer of anybody's, held to what the port promises: it may throw, hang, answer nothing or too much, and what the compaction
 * sees is a named failure.
 */
import { either as E, taskEither as TE } from 'fp-ts'
import { pipe } from 'fp-ts/lib/function.js'
import { z } from 'zod'
import { sectionsSchema, summarizerFactsSchema } from '../domain/events.js'
import { defaultEstimator } from '../domain/tokens.js'
import type { Summarizer, SummarizerFailure, SummarizerFailureKind, Summary } from '../ports/summarizer.js'

/** Longer than any retry of a model's client; a summarizer that takes longer is taken to hang. */
const LONGEST_MS = 10 * 60_000

const failed = (failure: SummarizerFailureKind, detail: string): SummarizerFailure => ({ kind: 'SummarizerFailed', failure, detail })

/** What is recorded of an answer beside its text. */
const answerSchema = z.object({ ...summarizerFactsSchema.pick({ responseId: true, usage: true, durationMs: true }).shape, sections: sectionsSchema.optional() })

function checked(summary: Summary, maxTokens: number): E.Either<SummarizerFailure, Summary> {
  if (typeof summary.text !== 'string' || summary.text.trim() === '') return E.left(failed('empty', 'the summarizer answered nothing'))
  const facts = answerSchema.safeParse(summary)
  if (!facts.success) return E.left(failed('malformed', `what the summarizer says beside its text cannot be recorded: ${z.prettifyError(facts.error)}`))
  const tokens = defaultEstimator.text(summary.text)
  if (tokens <= maxTokens) return E.right(summary)
  return E.left(failed('over-long', `the summary has ${String(tokens)} tokens, and ${String(maxTokens)} were asked for`))
}

async function withinTime<A>(work: Promise<A>, ms: number): Promise<A> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => { reject(new LateError(`no answer within ${String(ms)} ms`)) }, ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

class LateError extends Error {}

/** The summarizer, with its promises kept for it. */
export function guarded(summarizer: Summarizer, longestMs = LONGEST_MS): Summarizer {
  return {
    strategy: summarizer.strategy,
    provider: summarizer.provider,
    model: summarizer.model,
    windowTokens: summarizer.windowTokens,
    prepare: (job) => summarizer.prepare(job),
    summarize: (prepared, signal) =>
      pipe(
        TE.tryCatch(
          () => withinTime(summarizer.summarize(prepared, signal)(), longestMs),
          (error) => failed(error instanceof LateError ? 'timeout' : 'threw', error instanceof Error ? error.message : String(error)),
        ),
        TE.flatMapEither((answer) => answer),
        TE.flatMapEither((summary) => checked(summary, prepared.job.maxSummaryTokens)),
      ),
  }
}
