/** Calls about editions: the same history compacted in another way. */
import type { LabelledQuestion } from '../../application/editions/evidence-reach.js'
import type { EvaluationProgress } from '../../application/editions/evaluate.js'
import type { ReplayProgress } from '../../application/editions/replay.js'
import type { SummarizeMessages } from '../../application/summarizers/from-function.js'
import type { SummarizerConfig } from '../../application/summarizers/index.js'
import type { Summarizer } from '../../ports/summarizer.js'
import { call, option, required } from '../call.js'
import {
  checkedBy,
  filledList,
  flag,
  group,
  listener,
  modelPrice,
  name,
  namedOrAll,
  oneOf,
  policySettings,
  signal,
  text,
  wholeNumber,
} from '../option-values.js'
import { actor, wait } from './common.js'

const settings = () => ({
  policy: option('Settings over those that each conversation has itself', policySettings()),
  price: option('What the model costs, for estimates and a bound in money', modelPrice()),
})

/** Which conversations. */
const conversations = () => ({
  conversations: required('Ids of conversations, or `all`', namedOrAll('ids', 'conversations')),
})

const ending = () => ({ signal: option('Ends it cleanly: calls under way may end and are recorded', signal()) })

/** Which conversations, under which settings. */
export const editionRequest = () => ({ ...conversations(), ...settings() })

/** What may be spent on an edition in all, earlier runs included. */
export const bound = () => ({
  maxTokens: option('The most tokens to and from the model, including earlier runs', wholeNumber(1)),
  maxCost: option(
    'The highest cost, including earlier runs, in the currency of the price of the model, which is required',
    checkedBy<number>((given) =>
      typeof given === 'number' && Number.isFinite(given) && given > 0 ? undefined : 'must be a number above 0',
    ),
  ),
})

const boundNeedsPrice = ({ maxCost, price }: { readonly maxCost?: number; readonly price?: unknown }) =>
  maxCost !== undefined && price === undefined
    ? { field: 'maxCost', detail: 'needs the price of the model' }
    : undefined

/** Estimates a replay or an adoption. */
export const estimate = call('editions.estimate', {
  options: () => ({
    ...editionRequest(),
    ...ending(),
    editionId: option(
      'The edition to adopt, or the beginning of its id. `all` is then every conversation that has it and did not drop it',
      name(),
    ),
  }),
})

/** Compacts the same history again. */
export const replay = call('editions.replay', {
  writes: true,
  options: () => ({
    ...editionRequest(),
    ...ending(),
    ...bound(),
    ...actor(),
    concurrency: option('Conversations at the same time. Default 4', wholeNumber(1), { most: 64 }),
    onProgress: option('Called with the progress', listener<[progress: ReplayProgress]>()),
  }),
  check: boundNeedsPrice,
})

/** Adopts an edition. */
export const adopt = call('editions.adopt', {
  writes: true,
  options: () => ({
    ...bound(),
    ...actor(),
    ...settings(),
    signal: option(
      'Ends the catching up cleanly: calls under way may end and are recorded, and nothing is put into force',
      signal(),
    ),
  }),
  check: boundNeedsPrice,
})

/** Reverts an adoption. */
export const revert = call('editions.revert', { writes: true, options: actor })
/** Drops an edition. */
export const drop = call('editions.drop', { writes: true, options: actor })

const questions = () => ({
  questions: option(
    'Questions with the ids of the messages that answer them. Ids of other conversations are ignored',
    checkedBy<readonly LabelledQuestion[]>((given) => (Array.isArray(given) ? undefined : 'must be a list')),
  ),
})

/** Compares editions. Records nothing if `record` is false. */
export const compare = call('editions.compare', {
  options: () => ({
    ...wait(),
    ...actor(),
    against: option(
      'Another edition. Default: the history in force at the last event that the edition includes',
      name(),
    ),
    ...questions(),
    record: option(
      'Whether to record the comparison. Default true. False also works in a ledger that is opened read-only',
      flag(),
    ),
    onConversation: option('Called after each conversation', listener<[done: number, of: number]>()),
  }),
})

/** A policy to try. */
const triedPolicy = () => ({
  name: required('Names the policy in the result', text()),
  settings: required('Settings over those of each conversation', policySettings()),
})

/** Simulates conversations under other policies. */
export const whatIf = call('editions.whatIf', {
  options: () => ({
    policies: required(
      'Named settings, each of which overrides the conversation’s own',
      filledList(
        group('field of a policy to try', 'must have a name and settings', triedPolicy()),
        'are missing: name at least one',
      ),
    ),
    summaries: option(
      '`recorded` (default): summaries as long as the recorded ones. `extractive`: written by the strategy without a model',
      oneOf(['recorded', 'extractive']),
    ),
    onConversation: option('Called after each conversation', listener<[done: number, of: number]>()),
  }),
})

/** One way to compact. */
export const candidate = () => ({
  name: required('Names the candidate in the result', text()),
  summarizer: required(
    'The strategy, with its model and prompt',
    checkedBy<'extractive' | 'openai' | SummarizerConfig | SummarizeMessages | Summarizer>((given) =>
      given === undefined ? 'is missing' : undefined,
    ),
  ),
  policy: option('Settings over those that each conversation has itself', policySettings()),
  price: option('Price of the model; required with `maxCost`. All candidates have the same currency', modelPrice()),
})

const evaluationRequest = () => ({
  ...conversations(),
  candidates: required(
    'At least one. Candidates that make the same edition are evaluated once',
    filledList(
      group('option of a candidate', 'must have a name and a summarizer', candidate()),
      'are missing: give at least one',
    ),
  ),
  ...ending(),
})

/** Estimates an evaluation. */
export const estimateEvaluation = call('editions.estimateEvaluation', { options: evaluationRequest })

/** Measures several ways to compact against each other. */
export const evaluate = call('editions.evaluate', {
  writes: true,
  options: () => ({
    ...evaluationRequest(),
    ...bound(),
    ...actor(),
    ...questions(),
    concurrency: option('Conversations at the same time. Default 4', wholeNumber(1)),
    onProgress: option('Called with the progress', listener<[progress: EvaluationProgress]>()),
  }),
})
