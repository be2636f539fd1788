/**
 * The candidates of `evaluate`: the product of its strategies, models, prompts and policies. The extractive strategy
 * has
 * no model and no prompt, so it makes one candidate for each policy; it is always included as the baseline.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { isLoopback } from '../../../lib/loopback.js'
import { basename } from 'node:path'
import { priceOf } from '../../../domain/reports/prices.js'
import type { CandidateOptions, Ledger, PriceTable } from '../../../library/ledger.js'
import { templateMeant } from '../../../application/recording/list-prompts.js'
import type { SummarizerConfig } from '../../../application/summarizers/index.js'
import { DEFAULT_STRATEGY, STRATEGIES, type StrategyName } from '../../../application/summarizers/strategy-names.js'
import type { Config } from '../config/load-config.js'
import { policiesOf } from '../config/policy-settings.js'
import { pricesOf } from '../config/prices.js'
import { warningForPrompt, promptOf } from '../config/summarizer.js'
import type { CommandArgs } from '../command-args.js'
import { note, noteColours, typed } from '../output.js'
import { policyFlags } from '../policy-flags.js'

/** A strategy without a model, as `--strategy` names it. */
const EXTRACTIVE = 'extractive'
/** The prompt of the strategy itself, as `--prompt` names it. */
const BUILT_IN = 'built-in'

type OpenAiConfig = Extract<SummarizerConfig, { readonly kind: 'openai' }>
type Prompt = NonNullable<OpenAiConfig['prompt']>

/** A candidate, and the flags that `editions adopt` needs to continue its edition. */
export interface TypedCandidate extends CandidateOptions {
  readonly flags: readonly string[]
}

interface Endpoint {
  readonly model: string
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  readonly flags: readonly string[]
}

interface NamedPolicy {
  /** Undefined if no `--policy` was given. */
  readonly name: string | undefined
  readonly policy: CandidateOptions['policy']
  readonly flags: readonly string[]
}

interface NamedPrompt {
  /** Undefined for the strategy's own prompt. */
  readonly prompt: Prompt | undefined
  readonly flags: readonly string[]
}

/** The variable with the key of an endpoint, for example `CONTEXT_LEDGER_API_KEY_API_EXAMPLE_COM_8443`. */
const keyVariable = ({ host }: URL): string =>
  `CONTEXT_LEDGER_API_KEY_${host.toUpperCase().replaceAll(/[^A-Z0-9]+/gu, '_')}`

/**
 * An endpoint from `NAME` (the configured one) or `NAME@https://host/v1` (another one, with a key of its own from the
 * environment).
 */
function endpointOf(value: string, config: Config, env: NodeJS.ProcessEnv): Endpoint {
  const at = value.search(/@https?:\/\//iu)
  if (at < 0)
    return {
      model: value,
      baseUrl: config.baseUrl,
      apiKey: config.apiKey,
      flags: ['--model', value, ...(config.baseUrl === undefined ? [] : ['--base-url', config.baseUrl])],
    }
  const [model, address] = [value.slice(0, at), value.slice(at + 1)]
  if (model.trim() === '') throw new LedgerError('Usage', `--model ${value} has no model name before the address`)
  if (!URL.canParse(address))
    throw new LedgerError('Usage', `--model ${model}: ${address} is not an http or https address`)
  const url = new URL(address)
  if (url.username !== '' || url.password !== '')
    throw new LedgerError('Usage', `--model ${model}: the address contains a key; set ${keyVariable(url)} instead`)
  const apiKey = env[keyVariable(url)] ?? (address === config.baseUrl ? config.apiKey : undefined)
  if (apiKey === undefined && !isLoopback(url.hostname))
    throw new LedgerError(
      'BadConfig',
      `--model ${model}: the key of ${url.host} is missing: set ${keyVariable(url)} ("none" if it needs no key)`,
    )
  return { model, baseUrl: address, apiKey, flags: ['--model', model, '--base-url', address] }
}

/** A short name for each policy; its path if two would have the same name. */
function policyNames(values: readonly string[]): string[] {
  const short = values.map((each) => (each.includes('=') ? each : basename(each).replace(/\.json$/u, '')))
  return short.map((name, at) => (short.indexOf(name) === short.lastIndexOf(name) ? name : (values[at] ?? name)))
}

/** Flags that apply to every candidate, as typed. */
const sharedFlags = (args: CommandArgs): readonly string[] =>
  [...policyFlags().map(({ flag }) => flag), 'persona'].flatMap((flag) => {
    const value = args.text(flag)
    return value === undefined ? [] : [`--${flag}`, value]
  })

async function readPolicies(args: CommandArgs): Promise<readonly NamedPolicy[]> {
  const paths = args.several('policy')
  const sources = { flags: args.flags, env: process.env, cwd: process.cwd() }
  const policies = await policiesOf(sources, paths)
  const shared = sharedFlags(args)
  if (paths.length === 0) return [{ name: undefined, policy: policies[0], flags: shared }]
  const names = policyNames(paths)
  return policies.map((policy, at) => ({ name: names[at], policy, flags: ['--policy', paths[at] ?? '', ...shared] }))
}

async function readPrompts(args: CommandArgs, config: Config, ledger: Ledger): Promise<readonly NamedPrompt[]> {
  const names = args.several('prompt')
  const all = names.length > 0 ? names : config.prompt === undefined ? [] : [config.prompt]
  if (all.length === 0) return [{ prompt: undefined, flags: [] }]
  const findPrompt = async (which: string): Promise<{ readonly name: string; readonly text: string } | undefined> =>
    templateMeant((await ledger.admin.prompts.list()).prompts, which)
  // A path in a flag is relative to the current directory, not to the config file.
  const from: Config =
    names.length === 0 ? config : { ...config, baseOf: () => process.cwd(), origins: { prompt: '--prompt' } }
  const prompts: NamedPrompt[] = []
  for (const name of all)
    prompts.push(
      name === BUILT_IN
        ? { prompt: undefined, flags: [] }
        : { prompt: await promptOf(from, name, { findPrompt }), flags: ['--prompt', name] },
    )
  return prompts
}

/** The strategies with a model; none if only the extractive baseline is evaluated. */
function chooseStrategies(args: CommandArgs, config: Config): readonly StrategyName[] {
  const named = args.several('strategy')
  const strategies = STRATEGIES.filter((strategy) => named.includes(strategy))
  const unused = (['model', 'prompt'] as const).find((flag) => args.several(flag).length > 0)
  const wantsModel = strategies.length > 0 || unused !== undefined
  if (named.length > 0 && strategies.length === 0) {
    if (unused === undefined) return []
    throw new LedgerError(
      'Usage',
      `--${unused} has no effect with --strategy ${EXTRACTIVE} alone: name another strategy too`,
    )
  }
  if (args.text('summarizer') === EXTRACTIVE && wantsModel)
    throw new LedgerError('Usage', '--summarizer extractive excludes candidates with a model: remove it')
  if (strategies.length > 0) return strategies
  return wantsModel || config.summarizer === 'openai' ? [config.strategy ?? DEFAULT_STRATEGY] : []
}

function readEndpoints(args: CommandArgs, config: Config): readonly Endpoint[] {
  const named = args.several('model')
  const models = named.length > 0 ? named : config.model === undefined ? [] : [config.model]
  if (models.length === 0)
    throw new LedgerError(
      'BadConfig',
      'no model is configured for the candidates: pass --model, or set CONTEXT_LEDGER_MODEL or OPENAI_MODEL',
    )
  return models.map((model) => endpointOf(model, config, process.env))
}

function modelCandidate(
  strategy: StrategyName,
  { model, baseUrl, apiKey, flags }: Endpoint,
  { prompt, flags: promptFlags }: NamedPrompt,
  { name: policyName, policy, flags: flagsOfPolicy }: NamedPolicy,
  config: Config,
  prices: PriceTable,
): TypedCandidate {
  const price = priceOf(model, prices)
  const summarizer: OpenAiConfig = {
    kind: 'openai',
    strategy,
    model,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(config.windowTokens === undefined ? {} : { windowTokens: config.windowTokens }),
    ...(config.timeout === undefined ? {} : { timeoutMs: Math.max(1, Math.round(config.timeout * 1000)) }),
    ...(prompt === undefined ? {} : { prompt }),
  }
  return {
    name: [strategy, model, ...(prompt === undefined ? [] : [prompt.name]), policyName ?? []].flat().join(', '),
    summarizer,
    ...(policy === undefined ? {} : { policy }),
    ...(price === undefined ? {} : { price }),
    flags: [
      '--summarizer',
      'openai',
      '--strategy',
      strategy,
      ...flags,
      ...(config.windowTokens === undefined ? [] : ['--window-tokens', String(config.windowTokens)]),
      ...promptFlags,
      ...flagsOfPolicy,
    ],
  }
}

/** All candidates, checked as far as the command line and its files go. Throws `LedgerError`. */
export async function candidatesOf(
  args: CommandArgs,
  config: Config,
  ledger: Ledger,
): Promise<readonly TypedCandidate[]> {
  const strategies = chooseStrategies(args, config)
  const policies = await readPolicies(args)
  const baseline = policies.map(({ name, policy, flags }): TypedCandidate => ({
    name: [EXTRACTIVE, name ?? []].flat().join(', '),
    summarizer: EXTRACTIVE,
    ...(policy === undefined ? {} : { policy }),
    flags: ['--summarizer', EXTRACTIVE, ...flags],
  }))
  if (strategies.length === 0) return baseline
  const endpoints = readEndpoints(args, config)
  const prompts = await readPrompts(args, config, ledger)
  const prices = await pricesOf(config)
  const candidates = strategies.flatMap((strategy) =>
    endpoints.flatMap((endpoint) =>
      prompts.flatMap((prompt) =>
        policies.map((policy) => modelCandidate(strategy, endpoint, prompt, policy, config, prices)),
      ),
    ),
  )
  for (const sentence of new Set(candidates.flatMap(({ summarizer }) => promptWarnings(summarizer))))
    note(`${noteColours.yellow('warning:')} ${sentence}`)
  return [...baseline, ...candidates]
}

const promptWarnings = (summarizer: CandidateOptions['summarizer']): readonly string[] => {
  const sentence =
    typeof summarizer === 'object' && 'kind' in summarizer && summarizer.kind === 'openai'
      ? warningForPrompt(summarizer)
      : undefined
  return sentence === undefined ? [] : [sentence]
}

/** The command that adopts an edition of these conversations, with the flags that it was made with. */
export const adoptCommand = (editionId: string, conversationIds: readonly string[], flags: readonly string[]): string =>
  [
    'context-ledger editions adopt',
    editionId,
    ...flags.map((word) => (/^--[a-z-]+$/u.test(word) ? word : typed(word))),
    ...(conversationIds.some((id) => id.startsWith('-')) ? ['--'] : []),
    ...conversationIds.map(typed),
  ].join(' ')
