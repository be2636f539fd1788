/** Reads the rule files that a command names. */
import type { RuleFile } from '../../../library/ledger.js'
import { readNamed } from './named-files.js'

/** The rule files, each once. Errors name the file. */
export const ruleFilesOf = async (names: readonly string[]): Promise<readonly RuleFile[]> =>
  await Promise.all([...new Set(names)].map(async (name) => ({ name, text: await readNamed(name, '.', '--rules') })))
