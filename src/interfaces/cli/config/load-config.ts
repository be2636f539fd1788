/**
 * Loads the configuration of the command line. Precedence: flags, environment, config file, shared variables
 * (`OPENAI_…`). Every error names the source of the value.
 */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { either as E } from 'fp-ts'
import { dirname, isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { nameSchema } from '../../../domain/values/ids.js'
import { issueSentence } from '../../../domain/values/issue-sentence.js'
import type { PolicySettings } from '../../../domain/values/policy-settings.js'
import { absoluteKeys, parseKeyAddress } from '../../../library/key-address.js'
import { isKurrentDb, lacksScheme, lacksSlash } from '../../../library/addresses.js'
import { STRATEGIES } from '../../../application/summarizers/strategy-names.js'
import { DEFAULT_STORE, settings, type Setting } from '../flags.js'
import { lastValues, readConfigFile, type ConfigFile, type ConfigSources } from './config-file.js'
import { badConfig } from './named-files.js'
import { policyOf } from './policy-settings.js'
import { readSecret } from './secrets.js'

const text = z.string().refine((value) => value.trim() !== '', 'is empty')
const nameText = nameSchema.refine((value) => value.trim() !== '', 'is empty')
// Flags and the environment are text; an empty text must not become 0.
const numberOf = (value: unknown): unknown => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value)

const valuesSchema = z.strictObject({
  store: text.default(DEFAULT_STORE),
  database: text.optional(),
  keys: text
    .superRefine((value, context) => {
      const parsed = parseKeyAddress(value)
      if (E.isLeft(parsed)) context.addIssue(parsed.left)
    })
    .optional(),
  erasable: z.enum(['on', 'off']).optional(),
  serviceKey: z
    .string()
    .regex(/^[\x21-\x7e]+$/u, 'must be a key as `keys create` printed it')
    .optional(),
  workers: z.enum(['inside', 'elsewhere']).default('inside'),
  resident: z.enum(['on', 'off']).default('on'),
  actor: nameText.optional(),
  summarizer: z.enum(['extractive', 'openai']).default('extractive'),
  strategy: z.enum(STRATEGIES).optional(),
  model: nameText.optional(),
  baseUrl: z.url({ protocol: /^https?$/u, error: 'is not an http or https address' }).optional(),
  apiKey: text.optional(),
  windowTokens: z.preprocess(
    numberOf,
    z.number('is not a number').int('is not a whole number').min(512, 'is less than 512').optional(),
  ),
  /** Seconds. */
  timeout: z.preprocess(numberOf, z.number('is not a number').positive('must be above 0').optional()),
  prompt: text.optional(),
  persona: z.string().optional(),
  embeddingModel: nameText.optional(),
  prices: text.optional(),
  rules: text.optional(),
})
type Values = z.infer<typeof valuesSchema>

export interface Config extends Values {
  /** The source of each value, for error messages. */
  readonly origins: Readonly<Partial<Record<string, string>>>
  /** Policy settings, if the command accepts them; undefined if none are set. */
  readonly policy: PolicySettings | undefined
  /** The directory that a relative path in a setting starts at. */
  readonly baseOf: (key: string) => string
}

interface FoundSetting {
  readonly value: unknown
  readonly origin: string
}

/**
 * The first value in order of precedence: flag, our variable, config file, shared variable. An empty variable counts as
 * unset.
 */
function find(setting: Setting, { flags, env }: ConfigSources, file: ConfigFile | undefined): FoundSetting | undefined {
  const flag = flags[setting.flag]
  if (flag !== undefined) return { value: flag, origin: `--${setting.flag}` }
  const variable = env[setting.env]
  if (variable !== undefined && variable !== '') return { value: variable, origin: setting.env }
  const stored = file?.values[setting.key]
  if (file !== undefined && stored !== undefined) return { value: stored, origin: originIn(file, setting.key) }
  const shared = setting.fallbackEnv === undefined ? undefined : env[setting.fallbackEnv]
  return shared === undefined || shared === '' ? undefined : { value: shared, origin: setting.fallbackEnv ?? '' }
}

/** Like `find`, but reads `@FILE`. Shared variables are used as they are. */
async function findRead(
  setting: Setting,
  sources: ConfigSources,
  file: ConfigFile | undefined,
): Promise<FoundSetting | undefined> {
  const found = find(setting, sources, file)
  if (found === undefined || setting.secret === undefined || found.origin === setting.fallbackEnv) return found
  if (typeof found.value !== 'string') return found
  const folder = file !== undefined && found.origin === originIn(file, setting.key) ? dirname(file.path) : sources.cwd
  return { ...found, value: await readSecret(found.value, folder, found.origin) }
}

const originIn = ({ path }: ConfigFile, key: string): string => `${path}: ${key}`

/** Whether an address is a directory, not a server. */
export const isFolder = (store: string): boolean => !/^[a-z][a-z0-9+.-]+:\/\//iu.test(store)

/** Loads and validates all settings. */
export async function loadConfig(args: ConfigSources, options: { readonly writes: boolean }): Promise<Config> {
  const sources: ConfigSources = { ...args, flags: lastValues(args.flags) }
  const file = await readConfigFile(sources)
  const found = new Map<string, FoundSetting>()
  for (const setting of settings) {
    const value = await findRead(setting, sources, file)
    if (value !== undefined) found.set(setting.key, value)
  }
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
        'is "memory", which would be lost when the command ends; for a directory of that name use ./memory',
      )
    const address = parsed.data[key]
    if (address !== undefined && lacksScheme(address))
      throw badConfig(
        origins[key] ?? key,
        `has no scheme: use http://${address} for a service, or ./${address} for a directory`,
      )
    if (address !== undefined && lacksSlash(address))
      throw badConfig(
        origins[key] ?? key,
        `has one slash after the scheme instead of two; for a directory of that name use ./${address}`,
      )
  }
  const baseOf = (key: string): string =>
    file !== undefined && origins[key] === originIn(file, key) ? dirname(file.path) : sources.cwd
  // A database from the environment or the config file may belong to a log in KurrentDB, so it is ignored for other
  // stores. A flag is for this call and is checked.
  const ignoresDatabase = !isKurrentDb(parsed.data.store) && origins['database']?.startsWith('--') === false
  const config: Config = {
    ...parsed.data,
    ...(ignoresDatabase ? { database: undefined } : {}),
    origins,
    baseOf,
    policy: options.writes ? await policyOf(sources, file) : undefined,
  }
  // A relative directory in the config file is relative to that file, not to the current directory.
  const absolute = (key: 'store' | 'database', address: string): string =>
    isFolder(address) && !isAbsolute(address) ? join(baseOf(key), address) : address
  return {
    ...config,
    store: absolute('store', config.store),
    ...(config.database === undefined ? {} : { database: absolute('database', config.database) }),
    ...(config.keys === undefined ? {} : { keys: absoluteKeys(config.keys, baseOf('keys')) }),
  }
}

/** The settings that say where a ledger is, as functions that open one take them. */
export const placeOf = ({ store, database, keys }: Config): { store: string; database?: string; keys?: string } =>
  withoutUndefined({ store, database, keys })
