/**
 * Makes the request of a recorded summary again, and compares its hash with the recorded one. Only for what this
 * program knows to make: its own strategies, by the formatter version that is recorded. Their names are reserved; a
 * summarizer of somebody's own goes by another.
 */
import type { SummarizerRecord } from '../domain/events/index.js'
import { modelWindow } from '../ports/model-windows.js'
import type { CheckRequest, RecordedJob, RequestVerdict } from '../ports/request-check.js'
import type { SummaryJob } from '../ports/summarizer.js'
import { EXTRACTIVE_MODELS, name as extractiveName, prepareExtract } from './extractive.js'
import { modelStrategies } from './index.js'
import { requestHashOf, requestOf, type ModelStrategy } from './model-strategy.js'

/** The least window that a summarizer can be configured with. */
const LEAST_WINDOW = 512

/** The job as it was asked for; undefined where the facts do not say how long the summary might be. */
function jobOf({ parameters }: SummarizerRecord, job: RecordedJob): SummaryJob | undefined {
  const { maxSummaryTokens, temperature } = parameters
  if (typeof maxSummaryTokens !== 'number') return undefined
  // Models that think take no temperature, and then it is not recorded; it stands in the request all the same, as the
  // policy has it.
  return { ...job, maxSummaryTokens, ...(typeof temperature === 'number' ? { temperature } : {}) }
}

function extract(events: SummarizerRecord, job: SummaryJob): RequestVerdict {
  if (!EXTRACTIVE_MODELS.includes(events.model) || events.provider !== 'none') return 'unknown'
  return prepareExtract(job, events.model).requestHash === events.requestHash ? 'same' : 'other'
}

function asked(strategy: ModelStrategy, events: SummarizerRecord, job: SummaryJob, template: string): RequestVerdict {
  const { windowTokens, ...parameters } = events.parameters
  // The tools of an agent are not recorded, only their hash.
  if ('toolsSha256' in parameters) return 'unknown'
  const { provider, model, prompt, formatterVersion } = events
  const hashAt = (window: number): string =>
    requestHashOf(
      { strategy: strategy.name, provider, model, parameters },
      prompt.sha256,
      formatterVersion,
      requestOf(strategy, template, window, job),
    )
  if (typeof windowTokens === 'number') return hashAt(windowTokens) === events.requestHash ? 'same' : 'other'
  // Older facts do not name the window. It matters only where something had to be shortened for it: a request that even
  // the least window leaves whole is the same in any.
  const whole = hashAt(Number.MAX_SAFE_INTEGER)
  if (whole === events.requestHash || hashAt(modelWindow(model)) === events.requestHash) return 'same'
  return hashAt(LEAST_WINDOW) === whole ? 'other' : 'unknown'
}

type Strategies = Readonly<
  Record<string, (events: SummarizerRecord, job: SummaryJob, template: string) => RequestVerdict>
>

const askedByStrategy: Strategies = Object.fromEntries(
  Object.values(modelStrategies).map((strategy) => [
    strategy.name,
    (events: SummarizerRecord, job: SummaryJob, template: string): RequestVerdict =>
      asked(strategy, events, job, template),
  ]),
)

/**
 * By the recorded formatter version. A changed format is a new version; what makes the requests of the old one again
 * then stays here.
 */
const formatters: Readonly<Record<number, Strategies>> = {
  1: { [extractiveName]: extract, ...askedByStrategy },
}

export const checkRequest: CheckRequest = (events, recorded, template) => {
  const strategies = formatters[events.formatterVersion]
  const verdict =
    strategies !== undefined && Object.hasOwn(strategies, events.strategy) ? strategies[events.strategy] : undefined
  const job = jobOf(events, recorded)
  return verdict === undefined || job === undefined ? 'unknown' : verdict(events, job, template)
}
