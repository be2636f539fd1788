/**
 * One flag for each policy setting, derived from the list of settings. Only commands that write load this file, because
 * it loads schemas.
 */
import { z } from 'zod'
import { policySettings, type PolicySettings, type Setting } from '../../domain/values/policy-settings.js'
import { kebab } from './flags.js'

export interface PolicyFlag {
  readonly key: keyof PolicySettings
  readonly flag: string
  readonly kind: 'number' | 'text'
  readonly choices?: readonly string[]
  readonly describe: string
}

/** The name of the flag of a setting. `--model` is the model of the summarizer; the setting is the model of the agent. */
const flagOf = (name: string): string => (name === 'model' ? 'agent-model' : kebab(name))

/** A text with the names of flags instead of those of settings. */
const withFlags = (text: string): string =>
  text.replaceAll(/`([^`]+)`/gu, (_, name: string) =>
    Object.hasOwn(policySettings, name) ? `--${flagOf(name)}` : name,
  )

const describe = ({ description, byDefault }: Setting): string =>
  withFlags(`${description}${byDefault === 'none' ? '' : ` [default: ${String(byDefault)}]`}`)

/** The flags in the order of the settings. */
export function policyFlags(): readonly PolicyFlag[] {
  return Object.entries<Setting>(policySettings).flatMap(([name, setting]) => {
    const { value } = setting
    // Lists of patterns are set in a policy file.
    if (value.def.type !== 'number' && value.def.type !== 'string' && value.def.type !== 'enum') return []
    return {
      // The keys of the list are the names of the settings.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      key: name as keyof PolicySettings,
      flag: flagOf(name),
      kind: value.def.type === 'number' ? 'number' : 'text',
      ...(value instanceof z.ZodEnum ? { choices: value.options.map(String) } : {}),
      describe: describe(setting),
    }
  })
}
