/** Defines the commands and flags for yargs: help of a command, strict checks, suggestions, completion. */
import { LedgerError } from '../../lib/ledger-error.js'
import yargs, { type Argv, type Options } from 'yargs'
import { flagsOfCommand, type CliCommand } from './command.js'
import { commands, groups } from './commands/index.js'
import { settingsFor, type Flags } from './flags.js'
import { asWord, readArgs } from './command-args.js'
import { ABOUT, COMPLETION, EPILOGUE_OF_COMMAND, globalFlags } from './help.js'
import { ignoreClosedReader, keepLinesWhole, usePager } from './output.js'
import type { PolicyFlag } from './policy-flags.js'
import { commandOf, usageSentence } from './usage.js'
import { packageVersion } from '../../lib/package-root.js'

const WIDTH = 116

/** Whether the output is JSON. */
const isForPrograms = (flags: Flags): boolean =>
  flags['json'] === true || flags['format'] === 'json' || flags['format'] === 'openai' || flags['queries'] !== undefined

/**
 * A command with its flags. The parser throws it, because yargs renders the help text of each command whose handler
 * returns, which takes longer than all else that it does.
 */
class ParsedCommand extends Error {
  constructor(
    readonly command: CliCommand,
    readonly flags: Flags,
  ) {
    super(command.words)
  }
}

/** The command that the words name; undefined if the parser has answered them itself. */
export async function parsed(
  words: readonly string[],
): Promise<{ readonly command: CliCommand; readonly flags: Flags } | undefined> {
  try {
    await (await parserOf(words)).parseAsync()
    return undefined
  } catch (error) {
    if (error instanceof ParsedCommand) return error
    throw error
  }
}

/** Runs a command. */
export async function runCommand(command: CliCommand, flags: Flags): Promise<void> {
  if (isForPrograms(flags)) keepLinesWhole()
  else if (command.reads === true) usePager()
  if (command.reads !== true) ignoreClosedReader()
  const { warnOfSecrets } = await import('./config/secrets.js')
  warnOfSecrets(flags)
  await command.run(readArgs(flags))
}

/** Adds the flags of a command. The help lists groups in the order of their first flag. */
function addOptions(
  argv: Argv,
  { uses, policy = false }: CliCommand,
  options: Readonly<Record<string, Options>>,
  policyFlags: readonly PolicyFlag[],
) {
  for (const [name, option] of Object.entries(options)) argv.option(name, { group: 'Options:', ...option })
  const valued = (flag: string, group: string, describe: string, choices?: readonly string[]): void => {
    argv.option(flag, {
      type: 'string',
      requiresArg: true,
      group,
      describe,
      ...(choices === undefined ? {} : { choices }),
    })
  }
  if (policy) valued('policy', 'Policy:', 'JSON file of policy settings, or settings: NAME=VALUE,NAME=VALUE')
  if (policy) for (const { flag, describe, choices } of policyFlags) valued(flag, 'Policy:', describe, choices)
  for (const { flag, group, describe, choices } of settingsFor(uses))
    if (!Object.hasOwn(options, flag)) valued(flag, group, describe, choices)
  if (uses.length > 0) valued('config', 'Ledger:', globalFlags.config)
}

function define(
  parser: Argv,
  command: CliCommand,
  options: Readonly<Record<string, Options>>,
  policyFlags: readonly PolicyFlag[],
): Argv {
  const { words, describe, positionals = {} } = command
  return parser.command(
    words,
    describe,
    (argv) => {
      for (const [name, positional] of Object.entries(positionals)) argv.positional(name, positional)
      addOptions(argv, command, options, policyFlags)
      return argv
    },
    (flags) => {
      throw new ParsedCommand(command, flags)
    },
  )
}

/** The parser for these words. An invalid word throws a `LedgerError`. */
async function parserOf(words: readonly string[]): Promise<Argv> {
  // The policy flags come from the policy schema. Only commands that accept them load it, and the same is true of the
  // flags of calls.
  const called = [...commands, ...groups.flatMap((group) => (words.includes(group.word) ? group.commands : []))].filter(
    (command) => words.includes(command.words.split(' ')[0] ?? ''),
  )
  const policyFlags = called.some(({ policy }) => policy === true)
    ? (await import('./policy-flags.js')).policyFlags()
    : []
  const callFlags = new Map<CliCommand, Readonly<Record<string, Options>>>()
  for (const command of called) callFlags.set(command, await flagsOfCommand(command))
  const flagsOf = (command: CliCommand): Readonly<Record<string, Options>> =>
    callFlags.get(command) ?? command.options ?? {}
  // yargs does not use words after `--` as positionals, so they are marked and passed on. Ids that begin with a dash
  // need this.
  const end = words.indexOf('--')
  const parser = yargs(end < 0 ? words : [...words.slice(0, end), ...words.slice(end + 1).map(asWord)])
    .scriptName('context-ledger')
    .usage(`$0 COMMAND\n\n${ABOUT}`)
    .locale('en')
    .parserConfiguration({ 'dot-notation': false, 'parse-numbers': false, 'parse-positional-numbers': false })
    .wrap(process.stdout.isTTY && process.stdout.columns > 0 ? Math.min(WIDTH, process.stdout.columns) : WIDTH)
    .exitProcess(false)
    .strict()
    .demandCommand(1, 'name a command')
    .version(packageVersion())
    .alias({ h: 'help', V: 'version' })
    .fail((message, error: Error | undefined) => {
      // For its own errors yargs passes a message; for an error of a command only the error.
      throw typeof message === 'string' && message !== ''
        ? new LedgerError('Usage', usageSentence(message, words, { policyFlags, flagsOf }))
        : (error ?? new LedgerError('Usage', 'the command line is not valid'))
    })
    .option('json', { type: 'boolean', default: false, group: 'Output:', describe: globalFlags.json })
    .option('color', { type: 'boolean', nargs: 0, group: 'Output:', describe: globalFlags.color })
    .option('pager', { type: 'boolean', nargs: 0, default: true, group: 'Output:', describe: globalFlags.pager })
    .group(['help', 'version'], 'Output:')
  for (const command of commands) define(parser, command, flagsOf(command), policyFlags)
  for (const group of groups) {
    parser.command(group.word, group.describe, (argv) => {
      for (const command of group.commands) define(argv, command, flagsOf(command), policyFlags)
      return argv.demandCommand(
        1,
        `name a command: ${group.commands.map((command) => `${group.word} ${command.words.split(' ')[0] ?? ''}`).join(', ')}`,
      )
    })
  }
  return parser.completion('completion', COMPLETION)
}

/** The help text of a command or a group. */
export async function helpOf(words: readonly string[]): Promise<string> {
  // With `--help` among the words, yargs would also print the text.
  const parser = await parserOf(words.filter((word) => word !== '--help' && word !== '-h'))
  const examples = commandOf(words)?.command.examples ?? []
  // yargs would wrap examples in the middle of a command.
  const lines = examples.map(([typed, effect]) => `  # ${effect}\n  ${typed.replaceAll('$0', 'context-ledger')}\n`)
  return [
    await parser.getHelp(),
    ...(lines.length === 0 ? [] : [`Examples:\n${lines.join('\n').trimEnd()}`]),
    EPILOGUE_OF_COMMAND,
  ].join('\n\n')
}
