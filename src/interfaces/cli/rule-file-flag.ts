/** The flags of rule files. A setting has the name of one of them: the file with which a recall note begins. */
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
  'agent-rules': {
    type: 'boolean',
    describe: 'Also the rule files that the agent itself loads on this machine, such as CLAUDE.md and AGENTS.md',
  },
}

/** The flags without rule files, which are not the setting. */
export const withoutRuleFiles = ({ rules: _rules, ...flags }: Flags): Flags => flags
