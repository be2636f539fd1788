/**
 * What the strategies with a model have in common: the exact request and its hash, the call, and what is asked of every
 * answer. A strategy brings its templates, how it reads an answer, and the schema that it holds the model to.
 */
import { either as E, taskEither as TE } from 'fp-ts'
import { pipe } from 'fp-ts/lib/function.js'
import { cleanText } from '../domain/text/clean-text.js'
import type { Sections } from '../domain/events/index.js'
import { hashOf, sha256 } from '../domain/values/hash.js'
import { defaultEstimator } from '../domain/values/tokens.js'
import type { LanguageModel, LanguageModelAnswer, LanguageModelRequest } from '../ports/language-model.js'
import type {
  PreparedSummary,
  Summarizer,
  SummarizerFailure,
  SummarizerFailureKind,
  Summary,
  SummaryJob,
} from '../ports/summarizer.js'
import { fence, formatMessages, formatSummaries, FORMATTER_VERSION, shortenToTokens } from './format-messages.js'
import { interpolatePrompt, type Prompt } from './prompts.js'
import type { StrategyName } from './strategy-names.js'

/** What somebody may set of a strategy with a model. */
export interface ModelStrategyOptions {
  readonly model: LanguageModel
  /** Takes the place of the default templates, for chunks and for re-summarization. */
  readonly prompt?: Prompt | undefined
  /** The tools of the agent's requests; for a strategy that rides their prefix. */
  readonly tools?: LanguageModelRequest['tools']
}

export interface ReadAnswer {
  readonly text: string
  readonly sections?: Sections
}

export interface ModelStrategy<Name extends StrategyName = StrategyName> {
  readonly name: Name
  readonly prompts: Readonly<Record<SummaryJob['kind'], Prompt>>
  readonly system?: string
  readonly responseSchema?: NonNullable<LanguageModelRequest['responseSchema']>
  /** Asks behind the beginning of the agent's context, where a job has it. */
  readonly ridesPrefix?: true
  /** Reads an answer, or says what is wrong with it. */
  read(answer: string): E.Either<SummarizerFailure, ReadAnswer>
}

export const failed = (failure: SummarizerFailureKind, detail: string): SummarizerFailure => ({
  kind: 'SummarizerFailed',
  failure,
  detail,
})

// Our estimate errs by a fifth and more, in either direction, so a tenth of the window is left free.
const SHARE_OF_WINDOW = 0.9
// Background that is longer than this share of the window would take the place of what is to be summarized.
const BACKGROUND_SHARE = 0.15
// Tags, roles and the frame of the request.
const FRAME_TOKENS = 200
// The model counts otherwise than we do; an answer that is a little longer by its own count must not be cut off for it.
const outputTokens = (maxSummaryTokens: number): number => Math.ceil(maxSummaryTokens * 1.5) + 64

const tokensOf = (text: string): number => defaultEstimator.text(text)

function promptOf(job: SummaryJob, template: string, windowTokens: number, system: string): string {
  const room = Math.floor(windowTokens * SHARE_OF_WINDOW) - outputTokens(job.maxSummaryTokens) - FRAME_TOKENS
  const background = cleanText(job.kind === 'chunk' ? (job.existingSummary ?? '') : '')
  const existing =
    background.trim() === ''
      ? ''
      : fence('summary', shortenToTokens(background, Math.max(64, Math.floor(room * BACKGROUND_SHARE))))
  const persona = cleanText(job.persona)
  const fixed = tokensOf(template) + tokensOf(persona) + tokensOf(existing) + tokensOf(system)
  // What cannot fit is sent as small as it gets; the request is then refused before it is paid for (see tooLarge).
  const forMessages = Math.max(64, room - fixed)
  const messages =
    job.kind === 'chunk' ? formatMessages(job.messages, forMessages) : formatSummaries(job.summaries, forMessages)
  const label = job.kind === 'chunk' ? 'messages' : 'summaries'
  return interpolatePrompt({
    template,
    persona,
    existingSummary: existing,
    messages: fence(label, messages),
    maxSummaryTokens: job.maxSummaryTokens,
  })
}

type Riding = Extract<SummaryJob, { kind: 'chunk' }> & {
  readonly prefix: NonNullable<LanguageModelRequest['messages']>
}

const tokensOfPrefix = ({ messages = [], tools = [] }: Pick<LanguageModelRequest, 'messages' | 'tools'>): number =>
  messages.length + tools.length === 0 ? 0 : tokensOf(JSON.stringify([messages, tools]))

/** What the prompt says of messages that stand in front of it. */
const IN_FRONT = '(it stands in the conversation above)'
const lastOf = (count: number): string =>
  `(the last ${String(count)} messages of the conversation above, to its very end; every tool call and every result is a message)`

/** The request that goes behind the agent's context; undefined where the job has none, or where it does not fit. */
function ridingRequest(
  strategy: ModelStrategy,
  template: string,
  windowTokens: number,
  job: SummaryJob,
  tools: LanguageModelRequest['tools'],
): LanguageModelRequest | undefined {
  if (strategy.ridesPrefix !== true || job.kind !== 'chunk' || job.prefix === undefined) return undefined
  const { prefix: messages, maxSummaryTokens, temperature }: Riding = { ...job, prefix: job.prefix }
  const prompt = interpolatePrompt({
    template,
    persona: cleanText(job.persona),
    existingSummary: IN_FRONT,
    messages: lastOf(job.messages.length),
    maxSummaryTokens,
  })
  const request = {
    messages,
    ...(tools === undefined ? {} : { tools }),
    prompt,
    temperature,
    maxOutputTokens: outputTokens(maxSummaryTokens),
  }
  const tokens = tokensOfPrefix(request) + tokensOf(prompt) + request.maxOutputTokens + FRAME_TOKENS
  return tokens <= windowTokens * SHARE_OF_WINDOW ? request : undefined
}

/**
 * The exact request of a job: what the messages are shortened to follows from the window of the model that is asked.
 */
export function requestOf(
  strategy: ModelStrategy,
  template: string,
  windowTokens: number,
  job: SummaryJob,
  tools?: LanguageModelRequest['tools'],
): LanguageModelRequest {
  const riding = ridingRequest(strategy, template, windowTokens, job, tools)
  if (riding !== undefined) return riding
  return {
    prompt: promptOf(job, template, windowTokens, strategy.system ?? ''),
    ...(strategy.system === undefined ? {} : { system: strategy.system }),
    temperature: job.temperature,
    maxOutputTokens: outputTokens(job.maxSummaryTokens),
    ...(strategy.responseSchema === undefined ? {} : { responseSchema: strategy.responseSchema }),
  }
}

function tooLarge(request: LanguageModelRequest, windowTokens: number): SummarizerFailure | undefined {
  const tokens = tokensOf(request.prompt) + tokensOf(request.system ?? '') + tokensOfPrefix(request)
  if (tokens + request.maxOutputTokens <= windowTokens) return undefined
  return failed(
    'request-too-large',
    `the request has about ${String(tokens)} tokens and its answer up to ${String(request.maxOutputTokens)}, the model's window ${String(windowTokens)}`,
  )
}

function checked(answer: ReadAnswer, maxSummaryTokens: number): E.Either<SummarizerFailure, ReadAnswer> {
  const tokens = tokensOf(answer.text)
  if (answer.text.trim() === '') return E.left(failed('empty', 'the model answered nothing'))
  if (tokens > maxSummaryTokens)
    return E.left(
      failed('over-long', `the summary has ${String(tokens)} tokens, and may have ${String(maxSummaryTokens)}`),
    )
  return E.right(answer)
}

const summaryOf = (answer: LanguageModelAnswer, read: ReadAnswer, durationMs: number): Summary => ({
  ...read,
  ...(answer.responseId === undefined ? {} : { responseId: answer.responseId }),
  ...(answer.usage === undefined ? {} : { usage: answer.usage }),
  durationMs,
})

/** What a request is named by. The window is not among it: whatever it changes stands in the request. */
export interface HashedEvents {
  readonly strategy: string
  readonly provider: string
  readonly model: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/** The hash of a request to a model. */
export const requestHashOf = (
  events: HashedEvents,
  promptSha256: string,
  formatterVersion: number,
  request: LanguageModelRequest,
): string => hashOf({ ...events, prompt: promptSha256, formatterVersion, request })

/** A summarizer from a strategy and a language model. */
export function createModelSummarizer(
  strategy: ModelStrategy,
  { model, prompt: custom, tools }: ModelStrategyOptions,
): Summarizer {
  const prepare = (job: SummaryJob): PreparedSummary => {
    const prompt = custom ?? strategy.prompts[job.kind]
    const request = requestOf(strategy, prompt.text, model.windowTokens, job, tools)
    const events: HashedEvents = {
      strategy: strategy.name,
      provider: model.provider,
      model: model.model,
      parameters: {
        ...model.parameters(request),
        maxSummaryTokens: job.maxSummaryTokens,
        // How much of the agent's context stands in front; the context itself is what the log has.
        ...(request.messages === undefined ? {} : { prefixMessages: request.messages.length }),
        ...(request.tools === undefined ? {} : { toolsSha256: hashOf(request.tools) }),
      },
    }
    const persona = job.persona === '' ? {} : { persona: { text: job.persona, sha256: sha256(job.persona) } }
    return {
      job,
      ...events,
      // Recorded beside what is hashed, so that the request can be made again and proved from the facts alone.
      parameters: { ...events.parameters, windowTokens: model.windowTokens },
      prompt,
      ...persona,
      formatterVersion: FORMATTER_VERSION,
      request,
      requestHash: requestHashOf(events, prompt.sha256, FORMATTER_VERSION, request),
    }
  }

  const ask = (
    request: LanguageModelRequest,
    maxSummaryTokens: number,
    signal: AbortSignal | undefined,
  ): TE.TaskEither<SummarizerFailure, Summary> => {
    const startedAt = performance.now()
    return pipe(
      model.complete(request, signal),
      TE.mapLeft((failure): SummarizerFailure => ({ ...failure, kind: 'SummarizerFailed' })),
      TE.flatMapEither((answer) =>
        pipe(
          strategy.read(answer.text),
          E.flatMap((read) => checked(read, maxSummaryTokens)),
          E.map((read) => summaryOf(answer, read, Math.round(performance.now() - startedAt))),
        ),
      ),
    )
  }

  const summarize = ({ job }: PreparedSummary, signal?: AbortSignal): TE.TaskEither<SummarizerFailure, Summary> => {
    // The request is made again from the job rather than read from `unknown`: prepare is pure, so it is the same.
    const template = (custom ?? strategy.prompts[job.kind]).text
    const request = requestOf(strategy, template, model.windowTokens, job, tools)
    const refusal = tooLarge(request, model.windowTokens)
    return refusal === undefined ? () => ask(request, job.maxSummaryTokens, signal)() : TE.left(refusal)
  }

  return {
    strategy: strategy.name,
    provider: model.provider,
    model: model.model,
    windowTokens: model.windowTokens,
    ...(strategy.ridesPrefix === undefined ? {} : { ridesPrefix: true }),
    prepare,
    summarize,
  }
}
