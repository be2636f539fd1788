/**
 * The configuration of the command line, parsed once. A flag goes before the environment, the environment before the
 * config file, and the config file before the variables that everybody shares (`OPENAI_…`). Every complaint names where
 * the value came from.
 */
import { dirname, isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { nameSchema } from '../../domain/values/ids.js'
import { issueSentence } from '../../domain/values/issue-sentence.js'
import type { PolicySettings } from '../../domain/values/policy.js'
import { isKurrentDb, lacksScheme, lacksSlash } from '../../library/addresses.js'
import { STRATEGIES } from '../../summarizers/strategy-names.js'
import { DEFAULT_STORE, settings, type Setting } from '../flags.js'
import { lastGiven, readConfigFile, type ConfigFile, type ConfigSources } from './config-file.js'
import { badConfig } from './named-files.js'
import { policyOf } from './policy-settings.js'

const text = z.string().refine((value) => value.trim() !== '', 'is empty')
const nameText = nameSchema.refine((value) => value.trim() !== '', 'is empty')
// Flags and the environment give text; an empty text is no zero.
const numberOf = (value: unknown): unknown => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value)

const valuesSchema = z.strictObject({
  store: text.default(DEFAULT_STORE),
  database: text.optional(),
  serviceKey: z
    .string()
    .regex(/^[\x21-\x7e]+$/u, 'must be a key as `keys create` printed it')
    .optional(),
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

export interface Config extends Values {
  /** Where a value came from, for who has to complain of it. */
  readonly origins: Readonly<Partial<Record<string, string>>>
  /** Settings of the policy, where the command takes them; undefined where nothing was set. */
  readonly policy: PolicySettings | undefined
  /** The folder that a path of a setting starts at. */
  readonly baseOf: (key: string) => string
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

/** Whether an address is that of a folder, and not of a server. */
export const isFolder = (store: string): boolean => !/^[a-z][a-z0-9+.-]+:\/\//iu.test(store)

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
    throw badConfig(found.get(String(issue?.path[0]))?.origin ?? String(issue?.path[0]), issueSentence(issue))
  }
  const origins = Object.fromEntries([...found].map(([key, { origin }]) => [key, origin]))
  for (const key of ['store', 'database'] as const) {
    if (parsed.data[key] === 'memory')
      throw badConfig(
        origins[key] ?? key,
        'is "memory", which ends with the command that made it: ./memory is a folder of that name',
      )
    const address = parsed.data[key]
    if (address !== undefined && lacksScheme(address))
      throw badConfig(
        origins[key] ?? key,
        `has no scheme: http://${address} is a service, and ./${address} a folder of that name`,
      )
    if (address !== undefined && lacksSlash(address))
      throw badConfig(
        origins[key] ?? key,
        `has one slash behind its scheme, where two belong: ./${address} is a folder of that name`,
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
