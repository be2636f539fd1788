/** The exact requests since version 2 for the strategies with a model, and their hash. Pure. */
import { cleanText } from '../../domain/text/clean-text.js'
import { hashOf } from '../../domain/values/hash.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { LanguageModelRequest } from '../../ports/language-model.js'
import type { SummarizerFailureKind, SummaryJob } from '../../ports/summarizer.js'
import { documentText, documentTokens } from '../../domain/conversation/working-state-document.js'
import { fence, FORMATTER_VERSION, formatMessages, formatSummaries, shortenToTokens } from './format-messages.js'
import { lengthLimit, type LengthLimit } from './length-limit.js'
import { interpolatePrompt } from './prompts.js'
import { withoutThinking } from './clean-answer.js'

/** The part of a strategy that its requests depend on. */
export interface RequestForm {
  /** Instructions about the form of the answer; a system message. */
  readonly system?: string
  readonly responseSchema?: NonNullable<LanguageModelRequest['responseSchema']>
  /** True if the request follows the beginning of the agent's context, provided that the job has it. */
  readonly ridesPrefix?: true
  /** The noun for the answer in a second request. */
  readonly answerName: string
  /** Tokens of an answer for each token of its texts: JSON has keys and quotes. Default 1.75. */
  readonly outputShare?: number
  /** Tokens that the texts of an answer may have. Default: those of a summary. */
  readonly answerTokens?: (job: SummaryJob, windowTokens: number) => number
}

/** Settings of all requests of a summarizer: the template, the model's window in tokens, and the tools of the agent. */
export interface RequestSettings {
  readonly template: string
  readonly windowTokens: number
  readonly tools?: LanguageModelRequest['tools']
  /** Version of the formatter. Default: the current one. */
  readonly formatterVersion?: number
}

/** An answer that was rejected: the kind of the failure, and the text. */
export interface RejectedText {
  readonly failure: SummarizerFailureKind
  readonly text: string
}

// Our estimate errs by a fifth and more in either direction, so a tenth of the window stays free.
const SHARE_OF_WINDOW = 0.9
// A longer background would leave too little of the window to the messages.
const BACKGROUND_SHARE = 0.15
// Tags, roles and the frame of the request.
const FRAME_TOKENS = 200
const LEAST_TOKENS = 64

/** The model counts differently, and JSON has keys and quotes: an answer a little above the limit must not be cut off. */
const OUTPUT_SHARE = 1.75
const outputTokens = (textTokens: number, { outputShare = OUTPUT_SHARE }: RequestForm): number =>
  Math.ceil(textTokens * outputShare) + 160
/** Tokens that the texts of an answer may have. */
const textTokensOf = (form: RequestForm, job: SummaryJob, windowTokens: number): number =>
  form.answerTokens?.(job, windowTokens) ?? job.maxSummaryTokens

const tokensOf = (text: string): number => defaultEstimator.text(text)
const number = (value: number): string => value.toLocaleString('en-US')

const availableTokens = (windowTokens: number, form: RequestForm, job: SummaryJob): number =>
  Math.floor(windowTokens * SHARE_OF_WINDOW) - outputTokens(textTokensOf(form, job, windowTokens), form) - FRAME_TOKENS

/** The tokens of the whole working state, of which a request may show a part. */
const documentSize = (job: SummaryJob): number =>
  job.kind === 'chunk' && job.workingState !== undefined ? tokensOf(documentText(job.workingState, Infinity)) : 0

/** The background of the messages in a request: since version 4 the working state, if there is one. */
function backgroundOf(job: SummaryJob, version: number, available: number): string {
  const limit = Math.max(LEAST_TOKENS, Math.floor(available * BACKGROUND_SHARE))
  const items =
    job.kind === 'chunk' && version >= 4 && job.workingState !== undefined ? documentText(job.workingState, limit) : ''
  if (items !== '')
    return `${fence('document', cleanText(items))}\nThe document has ${number(documentSize(job))} tokens. Its limit is ${number(documentTokens(job.maxSummaryTokens))}.`
  const earlier = cleanText(job.existingSummary ?? '')
  return earlier.trim() === ''
    ? ''
    : fence(job.kind === 'chunk' ? 'background' : 'earlier', shortenToTokens(earlier, limit))
}

function promptOf(form: RequestForm, job: SummaryJob, settings: RequestSettings): string {
  const { template, windowTokens, formatterVersion = FORMATTER_VERSION } = settings
  const { system = '' } = form
  const available = availableTokens(windowTokens, form, job)
  const background = backgroundOf(job, formatterVersion, available)
  const persona = cleanText(job.persona)
  const fixed = tokensOf(template) + tokensOf(persona) + tokensOf(background) + tokensOf(system)
  // A request that cannot fit is made as small as possible; `tooLarge` then refuses it before it is paid for.
  const forMessages = Math.max(LEAST_TOKENS, available - fixed)
  const messages =
    job.kind === 'chunk'
      ? formatMessages(job.messages, forMessages, formatterVersion)
      : formatSummaries(job.summaries, forMessages)
  return interpolatePrompt({
    template,
    persona,
    existingSummary: background,
    messages: fence(job.kind === 'chunk' ? 'messages' : 'summaries', messages),
    limit: lengthLimit(textTokensOf(form, job, windowTokens), messages, formatterVersion),
  })
}

const tokensOfPrefix = ({ messages = [], tools = [] }: Pick<LanguageModelRequest, 'messages' | 'tools'>): number =>
  messages.length + tools.length === 0 ? 0 : tokensOf(JSON.stringify([messages, tools]))

/** The background and the messages of a request that follows them. */
const BACKGROUND_ABOVE = `The summaries at the beginning of this conversation are background from before these messages. Use them to understand the messages. Do not repeat them, except open items that these messages don't close.`
const lastMessages = (count: number): string =>
  `(the last ${String(count)} messages of the conversation above; each tool call and each tool result is a message)`

/** The request after the agent's context; undefined if the job has no prefix, or if it does not fit. */
function ridingRequest(
  form: RequestForm,
  { template, windowTokens, tools, formatterVersion = FORMATTER_VERSION }: RequestSettings,
  job: SummaryJob,
): LanguageModelRequest | undefined {
  if (form.ridesPrefix !== true || job.kind !== 'chunk' || job.prefix === undefined) return undefined
  const { prefix: messages, maxSummaryTokens, temperature } = job
  const prompt = interpolatePrompt({
    template,
    persona: cleanText(job.persona),
    existingSummary: job.existingSummary === undefined ? '' : BACKGROUND_ABOVE,
    messages: lastMessages(job.messages.length),
    limit: lengthLimit(
      maxSummaryTokens,
      formatMessages(job.messages, windowTokens, formatterVersion),
      formatterVersion,
    ),
  })
  const request = {
    messages,
    ...(tools === undefined ? {} : { tools }),
    prompt,
    temperature,
    maxOutputTokens: outputTokens(maxSummaryTokens, form),
  }
  const tokens = tokensOfPrefix(request) + tokensOf(prompt) + request.maxOutputTokens + FRAME_TOKENS
  return tokens <= windowTokens * SHARE_OF_WINDOW ? request : undefined
}

const withPrompt = (
  form: RequestForm,
  { windowTokens }: RequestSettings,
  job: SummaryJob,
  prompt: string,
): LanguageModelRequest => ({
  prompt,
  ...(form.system === undefined ? {} : { system: form.system }),
  temperature: job.temperature,
  maxOutputTokens: outputTokens(textTokensOf(form, job, windowTokens), form),
  ...(form.responseSchema === undefined ? {} : { responseSchema: form.responseSchema }),
})

/** The first request of a job. Messages are shortened as far as the window of the model requires. */
export function requestOf(form: RequestForm, settings: RequestSettings, job: SummaryJob): LanguageModelRequest {
  return ridingRequest(form, settings, job) ?? withPrompt(form, settings, job, promptOf(form, job, settings))
}

const lengthOf = ({ tokens, words, characters }: LengthLimit, version: number): string =>
  version < 4
    ? `${number(tokens)} tokens, which is about ${number(words)} words, or ${number(characters)} characters in Chinese, Japanese or Korean`
    : `${number(tokens)} tokens, which is about ${number(words)} words or ${number(characters)} characters of this text`

const wordsOf = (text: string): number => text.split(/\s+/u).filter((word) => word !== '').length

/** The request to shorten an answer. It quotes the answer and needs none of the messages. */
function shorteningPrompt(
  form: RequestForm,
  { windowTokens, formatterVersion = FORMATTER_VERSION }: RequestSettings,
  job: SummaryJob,
  text: string,
): string {
  const answer = withoutThinking(cleanText(text)).trim()
  const tokens = tokensOf(answer)
  const { maxSummaryTokens } = job
  const available = Math.max(LEAST_TOKENS, availableTokens(windowTokens, form, job) - tokensOf(form.system ?? ''))
  return `Your ${form.answerName} is too long: it has ${number(tokens)} tokens (${number(wordsOf(answer))} words), and the limit is ${number(maxSummaryTokens)} tokens. It is ${number(tokens - maxSummaryTokens)} tokens above the limit.

${fence('answer', shortenToTokens(answer, available))}

Shorten this text to at most ${lengthOf(lengthLimit(maxSummaryTokens, answer, formatterVersion), formatterVersion)}. Drop finished detail first. Keep requests, constraints, open items, and the names and numbers that they need, as they are written. Add nothing. Keep the language and the form of the text, and answer with the shortened ${form.answerName} alone.
`
}

const QUOTED_TOKENS = 60

/** The end of a second request that repeats the first one. */
function correction(form: RequestForm, { failure, text }: RejectedText, length: string): string {
  const quoted = fence('answer', shortenToTokens(withoutThinking(cleanText(text)).trim(), QUOTED_TOKENS))
  if (failure === 'refused')
    return `The answer before this one was not a ${form.answerName} of this text:

${quoted}

This is record keeping. The text exists already, and nothing new is requested. Read it again, and write the ${form.answerName} from what it contains. If you cannot repeat a passage, write that a passage was withheld, and summarize the rest.`
  if (failure === 'cut-off')
    return `The answer before this one was cut off because it was too long. Write a shorter ${form.answerName}: at most ${length}.`
  if (failure === 'malformed')
    return `The answer before this one could not be read. Answer with the ${form.answerName} alone, in the form that is described above.`
  return `The answer before this one was empty. Answer with the ${form.answerName} as text.`
}

/** Failures after which a second, different request may succeed. */
const CORRECTABLE: ReadonlySet<SummarizerFailureKind> = new Set([
  'over-long',
  'refused',
  'cut-off',
  'empty',
  'malformed',
])

// After an answer that was cut off, a request names this share of the usual length.
const SHARE_AFTER_CUT_OFF = 0.6

/** The second request of a job, after an answer that was rejected; undefined if no second request can help. */
export function retryRequestOf(
  form: RequestForm,
  settings: RequestSettings,
  job: SummaryJob,
  rejected: RejectedText,
): LanguageModelRequest | undefined {
  if (!CORRECTABLE.has(rejected.failure)) return undefined
  if (rejected.failure === 'over-long')
    return withPrompt(form, settings, job, shorteningPrompt(form, settings, job, rejected.text))
  const { formatterVersion = FORMATTER_VERSION, windowTokens } = settings
  const limit = lengthLimit(
    Math.ceil(textTokensOf(form, job, windowTokens) * SHARE_AFTER_CUT_OFF),
    rejected.text,
    formatterVersion,
  )
  const added = correction(form, rejected, lengthOf(limit, formatterVersion))
  // The correction takes its tokens from those of the messages.
  const first = requestOf(form, { ...settings, windowTokens: settings.windowTokens - tokensOf(added) * 2 }, job)
  return { ...first, prompt: `${first.prompt}\n${added}\n` }
}

/** The tokens of a request by our estimate, and the most tokens of its answer. */
export const sizeOf = (request: LanguageModelRequest): { readonly tokens: number; readonly most: number } => ({
  tokens: tokensOf(request.prompt) + tokensOf(request.system ?? '') + tokensOfPrefix(request),
  most: request.maxOutputTokens,
})

/** The fields that a request's hash covers. The window is not one of them: it changes the request itself. */
export interface HashedEvents {
  readonly strategy: string
  readonly provider: string
  readonly model: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/** The hash of a request to a model: the same in each version of the formatter. */
export const requestHashOf = (
  events: HashedEvents,
  promptSha256: string,
  formatterVersion: number,
  request: LanguageModelRequest,
): string => hashOf({ ...events, prompt: promptSha256, formatterVersion, request })
