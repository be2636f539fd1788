/** The settings of the policy, from flags, policy files and the config file. */
import { either as E } from 'fp-ts'
import { parsePolicySettings, type PolicySettings } from '../../domain/values/policy.js'
import { policyFlags } from '../policy-flags.js'
import { lastGiven, readConfigFile, type ConfigFile, type ConfigSources } from './config-file.js'
import { badConfig, parseJson, readNamed } from './named-files.js'

/**
 * The settings of the policy: a flag each over a policy file over the config file. They are checked together, and
 * complained of by origin.
 */
export async function policyOf(
  { flags, cwd }: ConfigSources,
  file: ConfigFile | undefined,
  path = flags['policy'],
): Promise<PolicySettings | undefined> {
  const origins = new Map<string, string>()
  const given: Record<string, unknown> = {}
  const take = (content: unknown, where: string): void => {
    if (typeof content !== 'object' || content === null || Array.isArray(content))
      throw badConfig(where, 'is no object of policy settings')
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
    if (Number.isNaN(given[key])) throw badConfig(`--${flag}`, `must be a number, and is "${value}"`)
    origins.set(key, `--${flag}`)
  }
  if (origins.size === 0) return undefined
  const parsed = parsePolicySettings(given)
  if (E.isRight(parsed)) return parsed.right
  throw badConfig(origins.get(parsed.left.field) ?? parsed.left.field, parsed.left.detail)
}

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
