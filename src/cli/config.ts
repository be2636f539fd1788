/**
 * The configuration of the command line, parsed once: flags over the environment over a config file over the variables
 * that everybody
 * shares (`OPENAI_…`). Every complaint names where the value came from.
 */
import { either as E } from 'fp-ts'
import { access, readdir, readFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { codeOf, sentenceOf } from '../ports/store-error.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { parsePolicySettings, type PolicySettings } from '../domain/values/policy.js'
import { didYouMean, nameMeant, notKnown } from '../domain/text/known-names.js'
import { checkId, nameSchema } from '../domain/values/ids.js'
import { parsePrices, type PriceTable } from '../domain/reports/prices.js'
import type { SummarizerConfig } from '../summarizers/index.js'
import { STRATEGIES } from '../summarizers/strategy-names.js'
import { isKurrentDb } from '../library/addresses.js'
import { InputError } from './errors.js'
import { CONFIG_FILE, DEFAULT_STORE, settings, type Flags, type Setting } from './flags.js'
import { printable } from './output.js'
import { policyFlags } from './policy-flags.js'

export interface ConfigSources {
  readonly flags: Flags
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

const text = z.string().refine((value) => value.trim() !== '', 'is empty')
const nameText = nameSchema.refine((value) => value.trim() !== '', 'is empty')
// Flags and the environment give text; an empty text is no zero.
const numberOf = (value: unknown): unknown => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value)

const valuesSchema = z.strictObject({
  store: text.default(DEFAULT_STORE),
  database: text.optional(),
  workers: z.enum(['inside', 'elsewhere']).default('inside'),
  actor: nameText.optional(),
  summarizer: z.enum(['extractive', 'openai']).default('extractive'),
  strategy: z.enum(STRATEGIES).optional(),
  model: nameText.optional(),
  baseUrl: z.url({ protocol: /^https?$/u, error: 'is no http or https address' }).optional(),
  apiKey: text.optional(),
  windowTokens: z.preprocess(
    numberOf,
    z.number('is no number').int('is no whole number').min(512, 'is less than 512').optional(),
  ),
  /** Seconds. */
  timeout: z.preprocess(numberOf, z.number('is no number').positive('must be above 0').optional()),
  prompt: text.optional(),
  persona: z.string().optional(),
  embeddingModel: nameText.optional(),
  prices: text.optional(),
})
type Values = z.infer<typeof valuesSchema>

const fileSchema = z.strictObject({
  ...Object.fromEntries(settings.map(({ key }) => [key, z.unknown().optional()])),
  policy: z.unknown().optional(),
})

export interface Config extends Values {
  /** Where a value came from, for who has to complain of it. */
  readonly origins: Readonly<Partial<Record<string, string>>>
  /** Settings of the policy, where the command takes them; undefined where nothing was set. */
  readonly policy: PolicySettings | undefined
  /** The folder that a path of a setting starts at. */
  readonly baseOf: (key: string) => string
}

const bad = (where: string, detail: string): InputError => new InputError('BadConfig', `${where} ${detail}`)

function unreadable(error: unknown): string {
  const code = codeOf(error)
  return code === 'ENOENT'
    ? 'does not exist'
    : code === 'EISDIR'
      ? 'is a folder'
      : code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? 'is no text in UTF-8'
        : `cannot be read: ${sentenceOf(error)}`
}

/** The file beside it that may have been meant, to add to a sentence that says that there is none. */
export async function neighbour(path: string): Promise<string> {
  return didYouMean(nameMeant(basename(path), await readdir(dirname(resolve(path))).catch(() => [])))
}

/**
 * Reads a file that a setting names; `what` says which, where it cannot be read. Bytes that are no text would go to a
 * model, and into the log, as something else.
 */
async function readNamed(file: string, from: string, what: string): Promise<string> {
  if (file.trim() === '') throw bad(what, 'is empty: it names a file')
  const path = resolve(from, file)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    throw bad(
      what,
      `names ${path}, which ${unreadable(error)}${codeOf(error) === 'ENOENT' ? await neighbour(path) : ''}`,
    )
  }
}

function parseJson(content: string, path: string): unknown {
  try {
    return JSON.parse(content)
  } catch (error) {
    throw new InputError('BadConfig', `${path} is no JSON: ${sentenceOf(error)}`)
  }
}

interface ConfigFile {
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
  readonly policy: unknown
}

async function readConfigFile({ flags, cwd }: ConfigSources): Promise<ConfigFile | undefined> {
  const named = flags['config']
  const path = resolve(cwd, typeof named === 'string' ? named : CONFIG_FILE)
  const content =
    typeof named === 'string'
      ? await readNamed(named, cwd, '--config')
      : await readFile(path, 'utf8').catch((error: unknown) => {
          if (codeOf(error) === 'ENOENT') return undefined
          throw bad(path, `cannot be read: ${sentenceOf(error)}`)
        })
  if (content === undefined) return undefined
  const parsed = fileSchema.safeParse(parseJson(content, path))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    if (issue?.code === 'unrecognized_keys') {
      const [unknown = ''] = issue.keys
      throw bad(
        `${path}:`,
        `"${unknown}" ${notKnown(unknown, [...settings.map(({ key }) => key), 'policy'], 'setting')}`,
      )
    }
    throw bad(`${path}:`, issueSentence(issue))
  }
  const { policy, ...values } = parsed.data
  return { path, values, policy }
}

interface FoundSetting {
  readonly value: unknown
  readonly origin: string
}

/**
 * The first that is set: the flag, our variable, the config file, everybody's variable. A variable without a text is
 * not set.
 */
function find(setting: Setting, { flags, env }: ConfigSources, file: ConfigFile | undefined): FoundSetting | undefined {
  const flag = flags[setting.flag]
  if (flag !== undefined) return { value: flag, origin: `--${setting.flag}` }
  const own = env[setting.env]
  if (own !== undefined && own !== '') return { value: own, origin: setting.env }
  const stored = file?.values[setting.key]
  if (file !== undefined && stored !== undefined) return { value: stored, origin: `${file.path}: ${setting.key}` }
  const shared = setting.fallbackEnv === undefined ? undefined : env[setting.fallbackEnv]
  return shared === undefined || shared === '' ? undefined : { value: shared, origin: setting.fallbackEnv ?? '' }
}

/**
 * The settings of the policy: a flag each over a policy file over the config file. They are checked together, and
 * complained of by origin.
 */
async function policyOf(
  { flags, cwd }: ConfigSources,
  file: ConfigFile | undefined,
  path = flags['policy'],
): Promise<PolicySettings | undefined> {
  const origins = new Map<string, string>()
  const given: Record<string, unknown> = {}
  const take = (content: unknown, where: string): void => {
    if (typeof content !== 'object' || content === null || Array.isArray(content))
      throw bad(where, 'is no object of policy settings')
    for (const [key, value] of Object.entries(content)) {
      given[key] = value
      origins.set(key, `${where}: ${key}`)
    }
  }
  if (file?.policy !== undefined) take(file.policy, `${file.path}: policy`)
  if (typeof path === 'string') take(parseJson(await readNamed(path, cwd, '--policy'), path), path)
  for (const { key, flag, kind } of policyFlags()) {
    const value = flags[flag]
    if (typeof value !== 'string') continue
    given[key] = kind === 'number' && value.trim() !== '' ? Number(value) : value
    if (Number.isNaN(given[key])) throw bad(`--${flag}`, `must be a number, and is "${value}"`)
    origins.set(key, `--${flag}`)
  }
  if (origins.size === 0) return undefined
  const parsed = parsePolicySettings(given)
  if (E.isRight(parsed)) return parsed.right
  throw bad(origins.get(parsed.left.field) ?? parsed.left.field, parsed.left.detail)
}

/** A flag that is given twice counts as it was given last, as in `given.ts`. */
const lastGiven = (flags: Flags): Flags =>
  Object.fromEntries(
    Object.entries(flags).map(([name, value]: [string, unknown]) => [
      name,
      Array.isArray(value) ? value.at(-1) : value,
    ]),
  )

/**
 * The policies that several files make, each as if it were the only one; without a file the one that flags and the
 * config file make, where they say something.
 */
export async function policiesOf(given: ConfigSources, paths: readonly string[]): Promise<readonly PolicySettings[]> {
  const sources: ConfigSources = { ...given, flags: lastGiven(given.flags) }
  const file = await readConfigFile(sources)
  const policies = await Promise.all(
    (paths.length === 0 ? [undefined] : paths).map((path) => policyOf(sources, file, path)),
  )
  return policies.flatMap((policy) => policy ?? (paths.length === 0 ? [] : [{}]))
}

/** Everything that was set, checked. */
export async function loadConfig(given: ConfigSources, options: { readonly writes: boolean }): Promise<Config> {
  const sources: ConfigSources = { ...given, flags: lastGiven(given.flags) }
  const file = await readConfigFile(sources)
  const found = new Map(
    settings.flatMap((setting) => {
      const value = find(setting, sources, file)
      return value === undefined ? [] : [[setting.key, value] as const]
    }),
  )
  const parsed = valuesSchema.safeParse(Object.fromEntries([...found].map(([key, { value }]) => [key, value])))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw bad(found.get(String(issue?.path[0]))?.origin ?? String(issue?.path[0]), issueSentence(issue))
  }
  const origins = Object.fromEntries([...found].map(([key, { origin }]) => [key, origin]))
  for (const key of ['store', 'database'] as const) {
    if (parsed.data[key] === 'memory')
      throw bad(
        origins[key] ?? key,
        'is "memory", which ends with the command that made it: ./memory is a folder of that name',
      )
  }
  const baseOf = (key: string): string =>
    file !== undefined && origins[key] === `${file.path}: ${key}` ? dirname(file.path) : sources.cwd
  // What the environment or a file holds may be meant for a log in KurrentDB, beside which this one is opened; a flag
  // is meant for this very call.
  const idle = !isKurrentDb(parsed.data.store) && origins['database']?.startsWith('--') === false
  const config: Config = {
    ...parsed.data,
    ...(idle ? { database: undefined } : {}),
    origins,
    baseOf,
    policy: options.writes ? await policyOf(sources, file) : undefined,
  }
  // A folder that the config file names lies beside that file, wherever the command is called.
  const placed = (key: 'store' | 'database', address: string): string =>
    isFolder(address) && !isAbsolute(address) ? join(baseOf(key), address) : address
  return {
    ...config,
    store: placed('store', config.store),
    ...(config.database === undefined ? {} : { database: placed('database', config.database) }),
  }
}

/** The user and the machine, as far as the system knows them: in a container a user may have no name. */
function userAtHost(): string {
  const asked = (ask: () => string): string => {
    try {
      return ask()
    } catch {
      return ''
    }
  }
  const user = asked(() => userInfo().username) || `uid-${String(process.getuid?.() ?? 'unknown')}`
  return `${user}@${asked(hostname) || 'unknown'}`
}

/** Who asks: who was named, else the user at this machine. */
export function actorOf({ actor }: Pick<Config, 'actor'>): string {
  if (actor !== undefined) return actor
  const known = userAtHost()
  return E.isRight(checkId('actor', known)) ? known : 'cli'
}

/** Whether an address is that of a folder, and not of a server. */
export const isFolder = (store: string): boolean => !/^[a-z][a-z0-9+.-]+:\/\//iu.test(store)

/** Settings that say something to a model alone. */
const forModels = ['strategy', 'model', 'baseUrl', 'apiKey', 'windowTokens', 'timeout', 'prompt'] as const

export interface PromptSources {
  /** The name that a prompt from a file is recorded under; the file's own where it is left out. */
  readonly promptName?: string | undefined
  /** The prompt of this name in the registry of a ledger; asked for where there is no such file. */
  readonly registered?: (which: string) => Promise<{ readonly name: string; readonly text: string } | undefined>
}

/** The summarizer as it is configured; reads the prompt, from its file or from the registry. */
export async function summarizerOf(
  config: Config,
  prompts: PromptSources = {},
): Promise<'extractive' | SummarizerConfig> {
  if (config.summarizer === 'extractive') {
    // What the environment holds may be meant for others; a flag is meant for this very call.
    const idle = forModels.find((key) => config.origins[key]?.startsWith('--') === true)
    const apiToo =
      (idle === 'baseUrl' || idle === 'apiKey' || idle === 'timeout') && config.embeddingModel !== undefined
    if (idle !== undefined && !apiToo)
      throw bad(config.origins[idle] ?? idle, 'is for a summarizer with a model: give --summarizer openai too')
    return 'extractive'
  }
  if (config.model === undefined)
    throw new InputError(
      'BadConfig',
      'the summarizer’s model is missing: give --model, or set CONTEXT_LEDGER_MODEL or OPENAI_MODEL',
    )
  return {
    kind: 'openai',
    model: config.model,
    ...(config.strategy === undefined ? {} : { strategy: config.strategy }),
    ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
    ...(config.apiKey === undefined ? {} : { apiKey: config.apiKey }),
    ...(config.windowTokens === undefined ? {} : { windowTokens: config.windowTokens }),
    ...(config.timeout === undefined ? {} : { timeoutMs: Math.max(1, Math.round(config.timeout * 1000)) }),
    ...(config.prompt === undefined ? {} : { prompt: await promptOf(config, config.prompt, prompts) }),
  }
}

async function promptOf(
  config: Config,
  given: string,
  { promptName, registered }: PromptSources,
): Promise<{ name: string; text: string }> {
  const path = resolve(config.baseOf('prompt'), given)
  const isFile = await access(path).then(
    () => true,
    () => false,
  )
  const known = isFile ? undefined : await registered?.(given)
  if (known !== undefined) return { name: known.name, text: known.text }
  const origin = config.origins['prompt'] ?? 'prompt'
  if (!isFile)
    throw bad(
      origin,
      `names ${path}, which does not exist${await neighbour(path)}${registered === undefined ? '' : `, and no prompt of this ledger has the name or the hash "${given}"; \`context-ledger prompts\` lists them`}`,
    )
  const template = await readNamed(given, config.baseOf('prompt'), origin)
  if (template.trim() === '') throw new InputError('BadConfig', `the prompt ${path} has no text`)
  return { name: promptName ?? (basename(path, extname(path)) || 'prompt'), text: template }
}

/**
 * A template is used as it is; one that shows no messages is paid for all the same: a sentence about it, where it is
 * so.
 */
export function blindPrompt(summarizer: 'extractive' | SummarizerConfig | undefined): string | undefined {
  if (
    typeof summarizer !== 'object' ||
    summarizer.kind !== 'openai' ||
    summarizer.prompt === undefined ||
    summarizer.prompt.text.includes('{messages}')
  )
    return undefined
  return `the prompt ${printable(summarizer.prompt.name)} has no {messages}: the model is asked for summaries of messages that it does not see`
}

/** Whom the summaries are for: a text, or `@FILE`. */
export async function personaOf(config: Config): Promise<string> {
  const { persona = '' } = config
  return persona.startsWith('@')
    ? (await readNamed(persona.slice(1), config.baseOf('persona'), config.origins['persona'] ?? 'persona')).trim()
    : persona
}

/** What models cost; reads the file of the price table. */
export async function pricesOf(config: Config): Promise<PriceTable> {
  if (config.prices === undefined) return {}
  const path = resolve(config.baseOf('prices'), config.prices)
  const parsed = parsePrices(
    parseJson(await readNamed(config.prices, config.baseOf('prices'), config.origins['prices'] ?? 'prices'), path),
  )
  if (E.isRight(parsed)) return parsed.right
  throw bad(`${path}:`, [parsed.left.field, parsed.left.detail].filter((part) => part !== '').join(' '))
}
