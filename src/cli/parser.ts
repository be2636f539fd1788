/** The commands and flags as the CLI library takes them: help behind a command, strictness, suggestions, completion. */
import yargs, { type Argv } from 'yargs'
import type { Command } from './command.js'
import { commands, groups } from './commands/index.js'
import { InputError } from './errors.js'
import { settings, type Flags } from './flags.js'
import { asWord, givenBy } from './given.js'
import { ABOUT, COMPLETION, EPILOGUE, globalFlags } from './help.js'
import { goOnWithoutReader, keepLinesWhole, usePager } from './output.js'
import type { PolicyFlag } from './policy-flags.js'
import { usageSentence } from './usage.js'
import { version } from './version.js'

const WIDTH = 116

/** Whether what is printed is a document, or lines of them. */
const isForPrograms = (flags: Flags): boolean =>
  flags['json'] === true || flags['format'] === 'json' || flags['format'] === 'openai' || flags['queries'] !== undefined

type Run = (command: Command, flags: Flags) => Promise<void>

async function run(command: Command, flags: Flags): Promise<void> {
  if (isForPrograms(flags)) keepLinesWhole()
  else if (command.reads === true) usePager()
  if (command.reads !== true) goOnWithoutReader()
  await command.run(givenBy(flags))
}

function define(parser: Argv, command: Command, policyFlags: readonly PolicyFlag[], runs: Run): Argv {
  const { words, describe, positionals = {}, options = {}, examples = [], policy = false } = command
  return parser.command(
    words,
    describe,
    (argv) => {
      for (const [name, positional] of Object.entries(positionals)) argv.positional(name, positional)
      for (const [name, option] of Object.entries(options)) argv.option(name, option)
      for (const [line, what] of examples) argv.example(line, what)
      if (policy)
        argv.option('policy', {
          type: 'string',
          requiresArg: true,
          group: 'Policy:',
          describe: 'JSON file of policy settings',
        })
      if (policy)
        for (const { flag, describe: what, choices } of policyFlags)
          argv.option(flag, {
            type: 'string',
            requiresArg: true,
            group: 'Policy:',
            describe: what,
            ...(choices === undefined ? {} : { choices }),
          })
      return argv
    },
    (flags) => runs(command, flags),
  )
}

/**
 * The parser for these words; a wrong one throws an `InputError`. @param runs what is done with the command that they
 * call
 */
export async function parserOf(words: readonly string[], runs: Run = run): Promise<Argv> {
  // The policy's flags are read off its schema, and the schema's parser is loaded by the commands alone that have them.
  const called = (command: Command): boolean =>
    command.policy === true && words.includes(command.words.split(' ')[0] ?? '')
  const writes =
    commands.some(called) || groups.some((group) => words.includes(group.word) && group.commands.some(called))
  const policyFlags = writes ? (await import('./policy-flags.js')).policyFlags() : []
  // The library keeps what stands behind `--` from its positionals; ids that begin with a dash have no other way in.
  const end = words.indexOf('--')
  const parser = yargs(end < 0 ? words : [...words.slice(0, end), ...words.slice(end + 1).map(asWord)])
    .scriptName('context-ledger')
    .usage(`$0 COMMAND\n\n${ABOUT}`)
    .locale('en')
    .parserConfiguration({ 'dot-notation': false, 'parse-numbers': false, 'parse-positional-numbers': false })
    .wrap(process.stdout.isTTY ? Math.min(WIDTH, process.stdout.columns) : WIDTH)
    .exitProcess(false)
    .strict()
    .demandCommand(1, 'name a command')
    .version(version())
    .alias({ h: 'help', V: 'version' })
    .epilogue(EPILOGUE)
    .fail((said, error: Error | undefined) => {
      // The library's own errors carry its sentence too; a command's come alone.
      throw typeof said === 'string' && said !== ''
        ? new InputError('Usage', usageSentence(said, words, policyFlags))
        : (error ?? new InputError('Usage', 'the command line is wrong'))
    })
    .option('json', { type: 'boolean', default: false, group: 'Output:', describe: globalFlags.json })
    .option('color', { type: 'boolean', nargs: 0, group: 'Output:', describe: globalFlags.color })
    .option('pager', { type: 'boolean', nargs: 0, default: true, group: 'Output:', describe: globalFlags.pager })
    .option('config', { type: 'string', requiresArg: true, group: 'Ledger:', describe: globalFlags.config })
  for (const { flag, describe, group, choices } of settings) {
    parser.option(flag, {
      type: 'string',
      requiresArg: true,
      group,
      describe,
      ...(choices === undefined ? {} : { choices }),
    })
  }
  for (const command of commands) define(parser, command, policyFlags, runs)
  for (const group of groups) {
    parser.command(group.word, group.describe, (argv) => {
      for (const command of group.commands) define(argv, command, policyFlags, runs)
      return argv.demandCommand(
        1,
        `say what to do: ${group.commands.map(({ words: own }) => `${group.word} ${own.split(' ')[0] ?? ''}`).join(', ')}`,
      )
    })
  }
  return parser.completion('completion', COMPLETION)
}
