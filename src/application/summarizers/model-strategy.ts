/**
 * The common part of the strategies with a model: the request and its hash, the call, the second request after an
 * answer that was rejected, and the check of every answer. A strategy has its templates, the form of its answer, and a
 * function that reads an answer.
 */
import { either as E } from 'fp-ts'
import { hashOf, sha256 } from '../../domain/values/hash.js'
import type { LanguageModel, LanguageModelRequest } from '../../ports/language-model.js'
import type { PreparedSummary, Summarizer, SummarizerFailure, Summary, SummaryJob } from '../../ports/summarizer.js'
import { acceptAnswer, failed, salvage, type Read } from './accept-answer.js'
import { FORMATTER_VERSION } from './format-messages.js'
import {
  requestHashOf,
  requestOf,
  retryRequestOf,
  sizeOf,
  type HashedEvents,
  type RejectedText,
  type RequestForm,
} from './model-request.js'
import type { Prompt } from './prompts.js'
import type { StrategyName } from './strategy-names.js'

/** Options of a strategy with a model. */
export interface ModelStrategyOptions {
  readonly model: LanguageModel
  /** Used instead of the default templates, for chunks and for re-summarization. */
  readonly prompt?: Prompt | undefined
  /** The tools of the agent's requests; for a strategy that rides their prefix. */
  readonly tools?: LanguageModelRequest['tools']
}

export interface ModelStrategy<Name extends StrategyName = StrategyName> {
  readonly name: Name
  readonly prompts: Readonly<Record<SummaryJob['kind'], Prompt>>
  readonly forms: Readonly<Record<SummaryJob['kind'], RequestForm>>
  /** Reads an answer; its text is blank if there is no summary in it. */
  readonly read: Read
}

function tooLarge(request: LanguageModelRequest, windowTokens: number): SummarizerFailure | undefined {
  const { tokens, most } = sizeOf(request)
  if (tokens + most <= windowTokens) return undefined
  return failed(
    'request-too-large',
    `the request has about ${String(tokens)} tokens and its answer up to ${String(most)}, and the model's window has ${String(windowTokens)}`,
  )
}

/** The parameters of a request that its hash covers. */
const parametersOf = (model: LanguageModel, job: SummaryJob, request: LanguageModelRequest) => ({
  ...model.parameters(request),
  maxSummaryTokens: job.maxSummaryTokens,
  // The length of the agent's context before the task; the context itself is in the log.
  ...(request.messages === undefined ? {} : { prefixMessages: request.messages.length }),
  ...(request.tools === undefined ? {} : { toolsSha256: hashOf(request.tools) }),
})

class ModelSummarizer {
  constructor(
    private readonly strategy: ModelStrategy,
    private readonly options: ModelStrategyOptions,
  ) {}

  private promptOf(job: SummaryJob): Prompt {
    return this.options.prompt ?? this.strategy.prompts[job.kind]
  }

  /** The request is made from the job each time rather than read from `unknown`; it is the same, because this is pure. */
  private requestOf(job: SummaryJob, rejected: RejectedText | undefined): LanguageModelRequest | undefined {
    const settings = this.settingsOf(job)
    return rejected === undefined
      ? requestOf(this.strategy.forms[job.kind], settings, job)
      : retryRequestOf(this.strategy.forms[job.kind], settings, job, rejected)
  }

  private prepared(job: SummaryJob, request: LanguageModelRequest): PreparedSummary {
    const { model } = this.options
    const prompt = this.promptOf(job)
    const events: HashedEvents = {
      strategy: this.strategy.name,
      provider: model.provider,
      model: model.model,
      parameters: parametersOf(model, job, request),
    }
    const persona = job.persona === '' ? {} : { persona: { text: job.persona, sha256: sha256(job.persona) } }
    return {
      job,
      ...events,
      // Recorded in addition to the hashed parameters, so that the request can be made again from the events alone.
      parameters: { ...events.parameters, windowTokens: model.windowTokens },
      prompt,
      ...persona,
      formatterVersion: FORMATTER_VERSION,
      request,
      requestHash: requestHashOf(events, prompt.sha256, FORMATTER_VERSION, request),
    }
  }

  prepare(job: SummaryJob): PreparedSummary {
    return this.prepared(job, requestOf(this.strategy.forms[job.kind], this.settingsOf(job), job))
  }

  private settingsOf(job: SummaryJob) {
    const { model, tools } = this.options
    return { template: this.promptOf(job).text, windowTokens: model.windowTokens, tools }
  }

  prepareRetry(prepared: PreparedSummary, { failure, detail, answer }: SummarizerFailure): PreparedSummary | undefined {
    if (prepared.rejected !== undefined) return undefined
    const { job } = prepared
    const rejected = { failure, detail, text: answer?.text ?? '' }
    const request = this.requestOf(job, rejected)
    if (request === undefined || tooLarge(request, this.options.model.windowTokens) !== undefined) return undefined
    return { ...this.prepared(job, request), rejected }
  }

  private async ask(
    job: SummaryJob,
    request: LanguageModelRequest,
    signal: AbortSignal | undefined,
  ): Promise<Summary | SummarizerFailure> {
    const startedAt = performance.now()
    const answer = await this.options.model.complete(request, signal)()
    const durationMs = Math.round(performance.now() - startedAt)
    if (E.isRight(answer)) return acceptAnswer(this.strategy.read, job, { ...answer.right, durationMs })
    const { kind: _kind, answer: paid, ...failure } = answer.left
    return {
      kind: 'SummarizerFailed',
      ...failure,
      ...(paid === undefined ? {} : { answer: { ...paid, durationMs } }),
    }
  }

  async summarize({ job, rejected }: PreparedSummary, signal?: AbortSignal): Promise<Summary | SummarizerFailure> {
    const request = this.requestOf(job, rejected)
    if (request === undefined)
      return failed('request-rejected', `there is no second request after the failure ${rejected?.failure ?? ''}`)
    return tooLarge(request, this.options.model.windowTokens) ?? (await this.ask(job, request, signal))
  }

  salvage(job: SummaryJob, failures: readonly SummarizerFailure[]): Summary | undefined {
    return salvage(this.strategy.read, job, failures)
  }
}

/** A summarizer from a strategy and a language model. */
export function createModelSummarizer(strategy: ModelStrategy, options: ModelStrategyOptions): Summarizer {
  const summarizer = new ModelSummarizer(strategy, options)
  const { model } = options
  return {
    strategy: strategy.name,
    provider: model.provider,
    model: model.model,
    windowTokens: model.windowTokens,
    timeoutMs: model.timeoutMs,
    ...(strategy.forms.chunk.ridesPrefix === undefined ? {} : { usesPromptCache: true }),
    prepare: (job) => summarizer.prepare(job),
    summarize: (prepared, signal) => summarizer.summarize(prepared, signal),
    prepareRetry: (prepared, failure) => summarizer.prepareRetry(prepared, failure),
    salvage: (job, failures) => summarizer.salvage(job, failures),
  }
}
