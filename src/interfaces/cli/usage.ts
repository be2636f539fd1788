/** Messages for an invalid command line, with the command or flag that was probably meant. */
import { didYouMean, nameMeant } from '../../domain/text/known-names.js'
import type { CliCommand } from './command.js'
import { commands, groups } from './commands/index.js'
import { settings, settingsFor } from './flags.js'
import { globalFlags } from './help.js'
import type { PolicyFlag } from './policy-flags.js'

/** The command that the words name, and its full path. */
export function commandOf(
  words: readonly string[],
): { readonly path: string; readonly command: CliCommand } | undefined {
  const named = (list: readonly CliCommand[], before: string): { path: string; command: CliCommand } | undefined => {
    const command = list.find((each) => words.includes(each.words.split(' ')[0] ?? ''))
    return command === undefined ? undefined : { path: `${before}${command.words}`, command }
  }
  const group = groups.find(({ word }) => words.includes(word))
  return group === undefined ? named(commands, '') : named(group.commands, `${group.word} `)
}

/** The path of the command, without its arguments. */
const namedCommand = (words: readonly string[]): string | undefined => commandOf(words)?.path.split(/ [<[]/u)[0]

/** A pointer to the help text, shown after a usage error. */
export function helpHint(words: readonly string[]): string {
  const command = namedCommand(words)
  return command === undefined
    ? '`context-ledger --help` lists the commands.'
    : `\`context-ledger ${command} --help\` shows its flags and examples.`
}

/** The flags that the parser was built with. */
interface ParserFlags {
  readonly policyFlags: readonly PolicyFlag[]
  readonly flagsOf: (command: CliCommand) => Readonly<Record<string, unknown>>
}

/**
 * The flag that was probably meant, among the global flags, the flags of this command, and the policy flags if the command accepts
 * them.
 */
function nearestFlag(
  typed: string,
  words: readonly string[],
  { policyFlags, flagsOf }: ParserFlags,
): string | undefined {
  const command = commandOf(words)?.command
  const { policy = false, uses = [] } = command ?? {}
  const ofPolicy = policy ? ['policy', ...policyFlags.map(({ flag }) => flag)] : []
  return nameMeant(typed, [
    ...Object.keys(globalFlags),
    'help',
    'version',
    ...settingsFor(uses).map(({ flag }) => flag),
    'config',
    ...(command === undefined ? [] : Object.keys(flagsOf(command))),
    ...ofPolicy,
  ])
}

/** Answers for command names that users try but that do not exist. */
const answers: Readonly<Record<string, string>> = {
  backup: '`migrate-log --from STORE --to NAME.clog.gz` copies the whole log to a file',
  restore: '`migrate-log --from NAME.clog.gz --to STORE` copies a log back from a file',
  delete:
    'recorded events are never deleted; `erase` erases the texts of an erasable ledger, `editions drop` drops an edition, and `undo` restores compacted messages',
  show: '`context CONV` prints the model’s context, `log CONV` every event, and `explain CONV` the sources of the summaries',
  ls: '`list` lists the conversations',
  init: '`import FILE` and `append CONV` create the ledger if it does not exist',
}
const synonyms: Readonly<Record<string, string>> = {
  dump: 'backup',
  rm: 'delete',
  remove: 'delete',
  cat: 'show',
  get: 'show',
  history: 'show',
  create: 'init',
  new: 'init',
}

/** A suggestion for an unknown command, or an empty string. */
function suggestion(typed: string): string {
  const word = Object.hasOwn(synonyms, typed) ? (synonyms[typed] ?? typed) : typed
  if (Object.hasOwn(answers, word)) return `: ${answers[word] ?? ''}`
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
 * The error message if `--help` is requested for a command that does not exist. Without this check, the parser would
 * print the general help.
 */
export function noSuchCommand(words: readonly string[]): string | undefined {
  const [typed, second] = words
  if (typed === undefined || typed.startsWith('-')) return undefined
  if (!firstWords().includes(typed)) return `there is no command "${typed}"${suggestion(typed)}`
  const commandWords = groups
    .find(({ word }) => word === typed)
    ?.commands.map((command) => command.words.split(' ')[0] ?? '')
  if (commandWords === undefined || second === undefined || second.startsWith('-') || commandWords.includes(second))
    return undefined
  const near = nameMeant(second, commandWords)
  return `there is no command "${typed} ${second}"${near === undefined ? `: the commands are ${commandWords.map((word) => `${typed} ${word}`).join(', ')}` : `: did you mean \`${typed} ${near}\`?`}`
}

const typedAsFlag = (name: string, words: readonly string[]): boolean =>
  words.some((word) => word === `--${name}` || word.startsWith(`--${name}=`) || word === `-${name}`)

/** The error for a value that is not among the choices of a flag. Values are in the parser's form, in quotation marks. */
function choiceSentence(flag: string, given: string, choices: string): string {
  const known = choices.split(', ').map((choice) => choice.replaceAll('"', ''))
  return `--${flag} must be one of ${known.join(', ')}; got ${given}${didYouMean(nameMeant(given.replaceAll('"', ''), known))}`
}

/** Rewrites an error message of yargs. */
export function usageSentence(message: string, words: readonly string[], parserFlags: ParserFlags): string {
  const wrong = noSuchCommand(words)
  if (wrong !== undefined) return wrong
  const unknown = /^Unknown (?:command|argument)s?: (.+)$/u.exec(message)?.[1]
  if (unknown !== undefined) {
    const flag = unknown.split(', ').find((name) => typedAsFlag(name, words))
    if (flag !== undefined) {
      const path = namedCommand(words)
      if (path !== undefined && settings.some((setting) => setting.flag === flag))
        return `\`${path}\` does not use --${flag}: remove it`
      const near = nearestFlag(flag, words, parserFlags)
      return `unknown flag --${flag}${near === undefined ? '' : `: did you mean --${near}?`}`
    }
    return commandOf(words) === undefined
      ? `there is no command "${unknown}"`
      : `unexpected argument "${unknown}": put a value with blanks in quotation marks`
  }
  const choice = /Argument: (.+), Given: (.+), Choices: (.+)$/mu.exec(message)
  if (choice !== null) return choiceSentence(choice[1] ?? '', choice[2] ?? '', choice[3] ?? '')
  if (message.startsWith('Not enough non-option arguments')) {
    return `missing arguments: context-ledger ${commandOf(words)?.path ?? 'COMMAND'}`
  }
  const valued = /^Argument unexpected for: (.+)$/u.exec(message)?.[1]
  if (valued !== undefined) return `--${valued} takes no value`
  if (message.startsWith('Not enough arguments following'))
    return `${message.replace('Not enough arguments following: ', '--')} needs a value`
  return message
}
