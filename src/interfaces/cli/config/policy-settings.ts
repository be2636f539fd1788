/** The settings of the policy, from flags, policy files and the config file. */
import { either as E } from 'fp-ts'
import { parsePolicySettings } from '../../../domain/values/policy.js'
import type { PolicySettings } from '../../../domain/values/policy-settings.js'
import { policyFlags } from '../policy-flags.js'
import { lastValues, readConfigFile, type ConfigFile, type ConfigSources } from './config-file.js'
import { badConfig, parseJson, readNamed } from './named-files.js'

/** One or more `setting=value`, separated by commas. */
const PAIRS = /^[a-z]+=[^,]*(?:,\s*[a-z]+=[^,]*)*$/iu

/** The settings of `--policy`: inline pairs, or the content of a file. A file with `=` in its name is `./NAME`. */
async function readSettings(value: string, cwd: string): Promise<unknown> {
  if (!PAIRS.test(value)) return parseJson(await readNamed(value, cwd, '--policy'), value)
  const kinds = new Map(policyFlags().map(({ key, kind }): [string, string] => [key, kind]))
  return Object.fromEntries(
    value.split(',').map((pair) => {
      const at = pair.indexOf('=')
      const [key, text] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
      return [key, kinds.get(key) === 'number' && text !== '' ? Number(text) : text]
    }),
  )
}

/**
 * The policy settings. Precedence: single flags, policy file, config file. They are validated together; an error names
 * the source.
 */
export async function policyOf(
  { flags, cwd }: ConfigSources,
  file: ConfigFile | undefined,
  path = flags['policy'],
): Promise<PolicySettings | undefined> {
  const origins = new Map<string, string>()
  const values: Record<string, unknown> = {}
  const addSettings = (content: unknown, where: string): void => {
    if (typeof content !== 'object' || content === null || Array.isArray(content))
      throw badConfig(where, 'is not an object of policy settings')
    for (const [key, value] of Object.entries(content)) {
      values[key] = value
      origins.set(key, `${where}: ${key}`)
    }
  }
  if (file?.policy !== undefined) addSettings(file.policy, `${file.path}: policy`)
  if (typeof path === 'string') addSettings(await readSettings(path, cwd), path)
  for (const { key, flag, kind } of policyFlags()) {
    const value = flags[flag]
    if (typeof value !== 'string') continue
    values[key] = kind === 'number' && value.trim() !== '' ? Number(value) : value
    if (Number.isNaN(values[key])) throw badConfig(`--${flag}`, `must be a number; got "${value}"`)
    origins.set(key, `--${flag}`)
  }
  if (origins.size === 0) return undefined
  const parsed = parsePolicySettings(values)
  if (E.isRight(parsed)) return parsed.right
  throw badConfig(origins.get(parsed.left.field) ?? parsed.left.field, parsed.left.detail)
}

/** One policy for each file. Without files, the policy of the flags and the config file, if they set anything. */
export async function policiesOf(args: ConfigSources, paths: readonly string[]): Promise<readonly PolicySettings[]> {
  const sources: ConfigSources = { ...args, flags: lastValues(args.flags) }
  const file = await readConfigFile(sources)
  const policies = await Promise.all(
    (paths.length === 0 ? [undefined] : paths).map((path) => policyOf(sources, file, path)),
  )
  return policies.flatMap((policy) => policy ?? (paths.length === 0 ? [] : [{}]))
}
