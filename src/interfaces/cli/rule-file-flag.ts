/** The flag of rule files. Another flag of the same name is a setting: the file with which a recall note begins. */
import type { Options } from 'yargs'
import type { Flags } from './flags.js'

export const ruleFiles: Readonly<Record<string, Options>> = {
  rules: {
    type: 'string',
    array: true,
    nargs: 1,
    requiresArg: true,
    describe: 'Rule file, such as AGENTS.md: each line that states a rule is one; repeatable',
  },
}

/** The flags without rule files, which are not the setting. */
export const withoutRuleFiles = ({ rules: _rules, ...flags }: Flags): Flags => flags
