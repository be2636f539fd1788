#!/usr/bin/env node
/**
 * The command line: parses the words, calls one command, and ends with a status that says whose fault it was. Only what `--help` needs is
 * loaded here; each command loads its own.
 */
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import yargs, { type Argv } from 'yargs'
import { commands, projectionCommands, type Command } from './cli/commands.js'
import { Ended, EXIT, InputError, tell } from './cli/errors.js'
import { CONFIG_FILE, settings } from './cli/flags.js'
import { givenBy } from './cli/given.js'
import { note, noteColours, OutputClosed, watchOutput } from './cli/output.js'
import type { PolicyFlag } from './cli/policy-flags.js'
import { usageSentence } from './cli/usage.js'

const EPILOGUE = `Exit status:
  0  ok
  1  a bug of ours
  2  what was asked is wrong: the command line, a setting, a file, an id
  3  the store or the model cannot be used now
  4  the log cannot be trusted, or verify found problems
  130  stopped by Ctrl-C

Flags win over the environment (CONTEXT_LEDGER_STORE, CONTEXT_LEDGER_MODEL, …), which wins over the config file
(${CONFIG_FILE}), which wins over OPENAI_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY.
With --json, revisions and positions are strings, and errors go to standard error as {"error":{"kind","message"}}.`

const WIDTH = 116

/** The version of the package that this file is part of, wherever it was built to. */
function version(): string {
  for (let folder = new URL('.', import.meta.url), above: URL; ; folder = above) {
    above = new URL('..', folder)
    try {
      const found: unknown = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
      if (typeof found === 'object' && found !== null && 'name' in found && found.name === 'context-ledger' && 'version' in found) return String(found.version)
    } catch {
      // Not in this folder.
    }
    if (above.href === folder.href) return 'unknown'
  }
}

function define(parser: Argv, command: Command, policyFlags: readonly PolicyFlag[]): Argv {
  const { words, describe, positionals = {}, options = {}, examples = [], policy = false } = command
  return parser.command(
    words,
    describe,
    (argv) => {
      for (const [name, positional] of Object.entries(positionals)) argv.positional(name, positional)
      for (const [name, option] of Object.entries(options)) argv.option(name, option)
      for (const [line, what] of examples) argv.example(line, what)
      if (policy) argv.option('policy', { type: 'string', requiresArg: true, group: 'Policy:', describe: 'JSON file of policy settings' })
      if (policy) for (const { flag, describe: what, choices } of policyFlags) argv.option(flag, { type: 'string', requiresArg: true, group: 'Policy:', describe: what, ...(choices === undefined ? {} : { choices }) })
      return argv
    },
    (flags) => command.run(givenBy(flags)),
  )
}

function parserOf(words: readonly string[], policyFlags: readonly PolicyFlag[]): Argv {
  const parser = yargs(words)
    .scriptName('context-ledger')
    .usage('$0 COMMAND\n\nKeeps conversations of LLM agents as events, and compacts them into recorded summaries.')
    .locale('en')
    .parserConfiguration({ 'duplicate-arguments-array': false, 'dot-notation': false, 'parse-numbers': false, 'parse-positional-numbers': false })
    .wrap(process.stdout.isTTY ? Math.min(WIDTH, process.stdout.columns) : WIDTH)
    .exitProcess(false)
    .strict()
    .recommendCommands()
    .demandCommand(1, 'name a command')
    .version(version())
    .alias({ h: 'help', V: 'version' })
    .epilogue(EPILOGUE)
    .fail((said, error: Error | undefined) => {
      throw error ?? new InputError('Usage', usageSentence(said, words))
    })
    .option('json', { type: 'boolean', default: false, group: 'Output:', describe: 'Print one JSON document' })
    .option('color', { type: 'boolean', group: 'Output:', describe: 'Colours on a terminal; --no-color or NO_COLOR turns them off' })
    .option('config', { type: 'string', requiresArg: true, group: 'Ledger:', describe: `Config file [default: ${CONFIG_FILE}, where there is one]` })
  for (const { flag, describe, group, choices } of settings) {
    parser.option(flag, { type: 'string', requiresArg: true, group, describe, ...(choices === undefined ? {} : { choices }) })
  }
  for (const command of commands) define(parser, command, policyFlags)
  return parser
    .command('projections', 'The read models: how far they are, and anew from the log', (argv) => {
      for (const command of projectionCommands) define(argv, command, policyFlags)
      return argv.demandCommand(1, 'say what to do: projections status, or projections rebuild')
    })
    .completion('completion', 'Print a completion script for bash or zsh')
}

/** Says what went wrong; gives the exit status. */
async function report(error: unknown, asJson: boolean): Promise<number> {
  if (error instanceof OutputClosed) return EXIT.ok
  if (error instanceof Ended) return error.exitCode
  const { exitCode, kind, message } = await tell(error)
  if (asJson) note(JSON.stringify({ error: { kind, message } }))
  else {
    note(`${noteColours.red('error:')} ${stripVTControlCharacters(message)}`)
    if (exitCode === EXIT.bug) note('This is a bug in context-ledger. CONTEXT_LEDGER_DEBUG=1 shows where it happened.')
    else if (kind === 'Usage') note('`context-ledger --help` lists the commands, and `--help` behind a command its flags.')
  }
  if (exitCode === EXIT.bug && (process.env['CONTEXT_LEDGER_DEBUG'] ?? '') !== '') note(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return exitCode
}

async function main(words: readonly string[]): Promise<void> {
  watchOutput()
  try {
    // The policy's flags are read off its schema, and the schema's parser is loaded by the commands alone that have them.
    const writes = commands.some((command) => command.policy === true && words.includes(command.words.split(' ')[0] ?? ''))
    await parserOf(words, writes ? (await import('./cli/policy-flags.js')).policyFlags() : []).parseAsync()
  } catch (error) {
    process.exitCode = await report(error, words.includes('--json'))
  }
}

await main(process.argv.slice(2))
