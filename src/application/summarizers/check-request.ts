/**
 * Makes the request of a recorded summary again, and compares its hash with the recorded one. Only for the strategies of
 * this program, by the formatter version that is recorded. Their names are reserved: a summarizer from outside has
 * another name.
 */
import type { SummarizerRecord } from '../../domain/events/index.js'
import { modelWindow } from '../../ports/model-windows.js'
import type { CheckRequest, RecordedJob, RequestVerdict } from '../../ports/request-check.js'
import type { LanguageModelRequest } from '../../ports/language-model.js'
import { summarizerFailureKinds, type SummaryJob } from '../../ports/summarizer.js'
import { EXTRACTIVE_MODELS, name as extractiveName, prepareExtract } from './extractive.js'
import { requestOfFormatter1 } from './formatter-1.js'
import { modelStrategies } from './index.js'
import { structuredForms3 } from './structured.js'
import type { ModelStrategy } from './model-strategy.js'
import { requestHashOf, requestOf, retryRequestOf } from './model-request.js'
import { STRATEGIES, type StrategyName } from './strategy-names.js'

/** The smallest window that a summarizer can be configured with, in tokens. */
const LEAST_WINDOW = 512

/** The job of a record; undefined if the record does not have the limit of the summary. */
function jobOf({ parameters }: SummarizerRecord, job: RecordedJob): SummaryJob | undefined {
  const { maxSummaryTokens, temperature } = parameters
  if (typeof maxSummaryTokens !== 'number') return undefined
  // Models that think take no temperature, and then none is recorded; the request still has that of the policy.
  return { ...job, maxSummaryTokens, ...(typeof temperature === 'number' ? { temperature } : {}) }
}

function checkExtract(record: SummarizerRecord, job: SummaryJob): RequestVerdict {
  const version = EXTRACTIVE_MODELS[record.model]
  if (version !== record.formatterVersion || record.provider !== 'none') return 'unknown'
  return prepareExtract(job, record.model).requestHash === record.requestHash ? 'same' : 'other'
}

type RequestAt = (windowTokens: number) => LanguageModelRequest

/** Compares the hash of a request that depends on the window of the model, which older records do not have. */
function checkAt(record: SummarizerRecord, requestAt: RequestAt): RequestVerdict {
  const { windowTokens, ...parameters } = record.parameters
  // The tools of an agent are not recorded, only their hash.
  if ('toolsSha256' in parameters) return 'unknown'
  const { strategy, provider, model, prompt, formatterVersion } = record
  const hashAt = (window: number): string =>
    requestHashOf({ strategy, provider, model, parameters }, prompt.sha256, formatterVersion, requestAt(window))
  if (typeof windowTokens === 'number') return hashAt(windowTokens) === record.requestHash ? 'same' : 'other'
  // The window matters only if the text was shortened for it: a request that is whole in the smallest window is the same
  // in any.
  const whole = hashAt(Number.MAX_SAFE_INTEGER)
  if (whole === record.requestHash || hashAt(modelWindow(model)) === record.requestHash) return 'same'
  return hashAt(LEAST_WINDOW) === whole ? 'other' : 'unknown'
}

const isFailureKind = (kind: string): kind is (typeof summarizerFailureKinds)[number] =>
  summarizerFailureKinds.some((known) => known === kind)

const formsOf = (name: StrategyName, { formatterVersion }: SummarizerRecord): ModelStrategy['forms'] =>
  name === 'structured' && formatterVersion < 4 ? structuredForms3 : modelStrategies[name].forms

/** Whether each second request that a record names follows from an answer to the first one. */
function hasOwnRetries(name: StrategyName, record: SummarizerRecord, job: SummaryJob, template: string): boolean {
  const { windowTokens, prefixMessages, ...rest } = record.parameters
  const { requestHash, rejectedAnswers = [], answeredRequestHash = requestHash, provider, model } = record
  const second = [answeredRequestHash, ...rejectedAnswers.map((answer) => answer.requestHash)].filter(
    (hash) => hash !== requestHash,
  )
  if (second.length === 0 || typeof windowTokens !== 'number') return true
  const possible = new Set<string>()
  for (const answer of rejectedAnswers) {
    const { failure, text } = answer
    if (answer.requestHash !== requestHash || !isFailureKind(failure)) continue
    const settings = { template, windowTokens, formatterVersion: record.formatterVersion }
    const request = retryRequestOf(formsOf(name, record)[job.kind], settings, job, { failure, text })
    if (request === undefined) continue
    const parameters = request.messages === undefined ? rest : { ...rest, prefixMessages }
    possible.add(
      requestHashOf(
        { strategy: name, provider, model, parameters },
        record.prompt.sha256,
        record.formatterVersion,
        request,
      ),
    )
  }
  return second.every((hash) => possible.has(hash))
}

type Check = (record: SummarizerRecord, job: SummaryJob, template: string) => RequestVerdict

const checkModel1 =
  (name: StrategyName): Check =>
  (record, job, template) =>
    checkAt(record, (windowTokens) => requestOfFormatter1(name, template, windowTokens, job))

const checkModel =
  (name: StrategyName): Check =>
  (record, job, template) => {
    const { formatterVersion } = record
    const verdict = checkAt(record, (windowTokens) =>
      requestOf(formsOf(name, record)[job.kind], { template, windowTokens, formatterVersion }, job),
    )
    return verdict === 'same' && !hasOwnRetries(name, record, job, template) ? 'other' : verdict
  }

const byStrategy = (check: (name: StrategyName) => Check): Readonly<Record<string, Check>> => ({
  [extractiveName]: checkExtract,
  ...Object.fromEntries(STRATEGIES.map((name) => [name, check(name)])),
})

/** By the recorded formatter version. */
const formatters: Readonly<Record<number, Readonly<Record<string, Check>>>> = {
  1: byStrategy(checkModel1),
  2: byStrategy(checkModel),
  3: byStrategy(checkModel),
  4: byStrategy(checkModel),
}

export const checkRequest: CheckRequest = (record, recorded, template) => {
  const strategies = formatters[record.formatterVersion]
  const check =
    strategies !== undefined && Object.hasOwn(strategies, record.strategy) ? strategies[record.strategy] : undefined
  const job = jobOf(record, recorded)
  return check === undefined || job === undefined ? 'unknown' : check(record, job, template)
}
