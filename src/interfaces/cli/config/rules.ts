import type { Config } from './load-config.js'
import { readNamed } from './named-files.js'

/** The rules in a text: one on each line. Empty lines and lines that begin with `#` are comments. */
export const rulesIn = (content: string): string[] =>
  content
    .split('\n')
    .map((row) => row.replace(/^\s*[-*]\s+/u, '').trim())
    .filter((row) => row !== '' && !row.startsWith('#'))

/** Reads the rules with which every recall note begins. */
export const rulesOf = async (config: Config): Promise<readonly string[]> =>
  config.rules === undefined
    ? []
    : rulesIn(await readNamed(config.rules, config.baseOf('rules'), config.origins['rules'] ?? 'rules'))
