/** Wrong words on the command line, as sentences that say what to type instead. */
import { nearest } from '../domain/text/edit-distance.js'
import { nameMeant } from '../domain/text/known-names.js'
import type { Command } from './command.js'
import { commands, groups } from './commands/index.js'
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

/**
 * The flag that somebody may have meant, among those of all commands, of this one, and of the policy where it takes
 * them.
 */
function nearestFlag(typed: string, words: readonly string[], policyFlags: readonly PolicyFlag[]): string | undefined {
  const { options = {}, policy = false } = commandOf(words)?.command ?? {}
  const ofPolicy = policy ? ['policy', ...policyFlags.map(({ flag }) => flag)] : []
  return nearest(typed, [
    ...Object.keys(globalFlags),
    'help',
    'version',
    ...settings.map(({ flag }) => flag),
    ...Object.keys(options),
    ...ofPolicy,
  ])
}

/** What people type for something that has another name here. */
const called: Readonly<Record<string, string>> = {
  export:
    '`log CONV --json` prints every fact of a conversation, `context CONV --format openai` the messages that the model gets, and `migrate-log --from STORE --to NAME.clog.gz` copies the whole log to a file',
  backup: '`migrate-log --from STORE --to NAME.clog.gz` copies the whole log to a file',
  restore: '`migrate-log --from NAME.clog.gz --to STORE` copies a log back from a file',
  delete:
    'nothing is deleted: a log keeps what was recorded; `editions drop` gives an edition up, and `undo` puts messages back into the window',
  show: '`context CONV` shows what the model gets, `log CONV` every fact, and `explain CONV` where the summaries come from',
  ls: '`list` lists the conversations',
  init: '`import FILE` or `append CONV` makes the ledger where there is none',
}
const sameAs: Readonly<Record<string, string>> = {
  dump: 'export',
  rm: 'delete',
  remove: 'delete',
  cat: 'show',
  get: 'show',
  history: 'show',
  create: 'init',
  new: 'init',
}

/** What to type instead of a command that there is none of. */
function instead(typed: string): string {
  const word = Object.hasOwn(sameAs, typed) ? (sameAs[typed] ?? typed) : typed
  if (Object.hasOwn(called, word)) return `: ${called[word] ?? ''}`
  const paths = groups.flatMap((group) =>
    group.commands.map(({ words }) => ({
      word: words.split(' ')[0] ?? '',
      path: `${group.word} ${words.split(' ')[0] ?? ''}`,
    })),
  )
  const below = paths.filter((each) => each.word === typed).map(({ path }) => `\`${path}\``)
  if (below.length > 0) return `: did you mean ${below.join(' or ')}?`
  const near = nameMeant(typed, [...firstWords(), ...paths.map((each) => each.word)])
  if (near === undefined) return ''
  return `: did you mean \`${firstWords().includes(near) ? near : (paths.find((each) => each.word === near)?.path ?? near)}\`?`
}

const firstWords = (): string[] => [
  ...commands.map(({ words }) => words.split(' ')[0] ?? ''),
  ...groups.map(({ word }) => word),
  'completion',
  'help',
]

/**
 * What is wrong with the command that help is asked of; undefined where there is one. The parser would show the help of
 * the whole instead.
 */
export function noSuchCommand(words: readonly string[]): string | undefined {
  const [typed, second] = words
  if (typed === undefined || typed.startsWith('-')) return undefined
  if (!firstWords().includes(typed)) return `there is no command "${typed}"${instead(typed)}`
  const own = groups.find(({ word }) => word === typed)?.commands.map((command) => command.words.split(' ')[0] ?? '')
  if (own === undefined || second === undefined || second.startsWith('-') || own.includes(second)) return undefined
  const near = nameMeant(second, own)
  return `there is no command "${typed} ${second}"${near === undefined ? `: there are ${own.map((word) => `${typed} ${word}`).join(', ')}` : `: did you mean \`${typed} ${near}\`?`}`
}

const typedAsFlag = (name: string, words: readonly string[]): boolean =>
  words.some((word) => word === `--${name}` || word.startsWith(`--${name}=`) || word === `-${name}`)

/** What yargs says of wrong words, as a sentence; the policy's flags are those that its parser has. */
export function usageSentence(said: string, words: readonly string[], policyFlags: readonly PolicyFlag[]): string {
  const wrong = noSuchCommand(words)
  if (wrong !== undefined) return wrong
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
  if (choice !== null)
    return `--${choice[1] ?? ''} must be one of ${(choice[3] ?? '').replaceAll('"', '')}, and is ${choice[2] ?? ''}`
  if (said.startsWith('Not enough non-option arguments')) {
    return `something is missing: context-ledger ${commandOf(words)?.path ?? 'COMMAND'}`
  }
  const valued = /^Argument unexpected for: (.+)$/u.exec(said)?.[1]
  if (valued !== undefined) return `--${valued} takes no value`
  if (said.startsWith('Not enough arguments following'))
    return `${said.replace('Not enough arguments following: ', '--')} needs a value`
  return said
}
