/** Wrong words on the command line, as sentences that say what to type instead. */
import { nearest } from '../../domain/edit-distance.js'
import { commands, groups, type Command } from './commands.js'
import { settings } from './flags.js'
import { globalFlags } from './help.js'
import type { PolicyFlag } from './policy-flags.js'

/** The command that these words call, and the words that it is called by. */
function commandOf(words: readonly string[]): { readonly path: string; readonly command: Command } | undefined {
  const named = (list: readonly Command[], before: string): { path: string; command: Command } | undefined => {
    const command = list.find(({ words: own }) => words.includes(own.split(' ')[0] ?? ''))
    return command === undefined ? undefined : { path: `${before}${command.words}`, command }
  }
  const group = groups.find(({ word }) => words.includes(word))
  return group === undefined ? named(commands, '') : named(group.commands, `${group.word} `)
}

/** The flag that somebody may have meant, among those of all commands, of this one, and of the policy where it takes them. */
function nearestFlag(typed: string, words: readonly string[], policyFlags: readonly PolicyFlag[]): string | undefined {
  const { options = {}, policy = false } = commandOf(words)?.command ?? {}
  const ofPolicy = policy ? ['policy', ...policyFlags.map(({ flag }) => flag)] : []
  return nearest(typed, [...Object.keys(globalFlags), 'help', 'version', ...settings.map(({ flag }) => flag), ...Object.keys(options), ...ofPolicy])
}

const typedAsFlag = (name: string, words: readonly string[]): boolean => words.some((word) => word === `--${name}` || word.startsWith(`--${name}=`) || word === `-${name}`)

/** What yargs says of wrong words, as a sentence; the policy's flags are those that its parser has. */
export function usageSentence(said: string, words: readonly string[], policyFlags: readonly PolicyFlag[]): string {
  const meant = /^Did you mean (.+)\?$/u.exec(said)?.[1]
  const group = groups.find(({ word }) => words.includes(word))
  if (meant !== undefined) return `there is no such command: did you mean \`${group === undefined ? '' : `${group.word} `}${meant}\`?`
  const unknown = /^Unknown (?:command|argument)s?: (.+)$/u.exec(said)?.[1]
  if (unknown !== undefined) {
    const flag = unknown.split(', ').find((name) => typedAsFlag(name, words))
    if (flag !== undefined) {
      const near = nearestFlag(flag, words, policyFlags)
      return `there is no flag --${flag} here${near === undefined ? '' : `: did you mean --${near}?`}`
    }
    return commandOf(words) === undefined ? `there is no command "${unknown}"` : `"${unknown}" is one word too many`
  }
  const choice = /Argument: (.+), Given: (.+), Choices: (.+)$/mu.exec(said)
  if (choice !== null) return `--${choice[1] ?? ''} must be one of ${(choice[3] ?? '').replaceAll('"', '')}, and is ${choice[2] ?? ''}`
  if (said.startsWith('Not enough non-option arguments')) {
    return `something is missing: context-ledger ${commandOf(words)?.path ?? 'COMMAND'}`
  }
  const valued = /^Argument unexpected for: (.+)$/u.exec(said)?.[1]
  if (valued !== undefined) return `--${valued} takes no value`
  if (said.startsWith('Not enough arguments following')) return `${said.replace('Not enough arguments following: ', '--')} needs a value`
  return said
}
