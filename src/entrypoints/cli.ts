#!/usr/bin/env node
/**
 * The command line: parses the words, calls one command, and ends with a status that says whose fault it was. Only what `--help` needs is
 * loaded here; each command loads its own.
 */
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import yargs, { type Argv, type ArgumentsCamelCase } from 'yargs'
import { CONFIG_FILE, settings } from './cli/flags.js'
import { Ended, EXIT, InputError, tell } from './cli/errors.js'
import { note, noteColours, OutputClosed, watchOutput } from './cli/output.js'
import type { PolicyFlag } from './cli/policy-flags.js'

const words = process.argv.slice(2)

/** The version of the package that this file is part of, wherever it was built to. */
function version(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    try {
      const found: unknown = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
      if (typeof found === 'object' && found !== null && 'name' in found && found.name === 'context-ledger' && 'version' in found) return String(found.version)
    } catch {
      // Not in this folder.
    }
    if (folder.pathname === '/' || new URL('..', folder).href === folder.href) return 'unknown'
  }
}

type Given = ArgumentsCamelCase<{ json: boolean }>

const textOf = (given: Given, name: string): string | undefined => {
  const value = given[name]
  return typeof value === 'string' ? value : undefined
}

const listOf = (given: Given, name: string): string[] => {
  const value = given[name]
  return Array.isArray(value) ? value.map(String) : []
}

function numberOf(given: Given, name: string): number | undefined {
  const value = textOf(given, name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (value.trim() === '' || !Number.isSafeInteger(number) || number < 0) throw new InputError('Usage', `--${name} must be a whole number, and is "${value}"`)
  return number
}

/** The policy's flags, on the commands that write: they are recorded with what is written. */
function withPolicy<T>(argv: Argv<T>, flags: readonly PolicyFlag[]): Argv<T> {
  let told = argv.option('policy', { type: 'string', requiresArg: true, group: 'Policy:', describe: 'JSON file of policy settings' })
  for (const { flag, describe, choices } of flags) {
    told = told.option(flag, { type: 'string', requiresArg: true, group: 'Policy:', describe, ...(choices === undefined ? {} : { choices }) })
  }
  return told as unknown as Argv<T>
}

const CONVERSATION = { type: 'string', demandOption: true, describe: 'Id of the conversation' } as const

const MESSAGE = { type: 'string', demandOption: true, describe: 'Id of the message' } as const

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

function commands(policyFlags: readonly PolicyFlag[]): Argv {
  const parser = yargs(words)
    .scriptName('context-ledger')
    .usage('$0 COMMAND\n\nKeeps conversations of LLM agents as events, and compacts them into recorded summaries.')
    .locale('en')
    .parserConfiguration({ 'duplicate-arguments-array': false, 'dot-notation': false, 'parse-numbers': false, 'parse-positional-numbers': false })
    .wrap(Math.min(110, process.stdout.isTTY ? process.stdout.columns : 110))
    .exitProcess(false)
    .strict()
    .recommendCommands()
    .demandCommand(1, 'name a command')
    .version(version())
    .alias({ h: 'help', V: 'version' })
    .epilogue(EPILOGUE)
    .fail((message, error: Error | undefined) => {
      throw error ?? new InputError('Usage', message)
    })
    .option('json', { type: 'boolean', default: false, group: 'Output:', describe: 'Print one JSON document' })
    .option('color', { type: 'boolean', group: 'Output:', describe: 'Colours on a terminal; --no-color or NO_COLOR turns them off' })
    .option('config', { type: 'string', requiresArg: true, group: 'Ledger:', describe: `Config file [default: ${CONFIG_FILE}, where there is one]` })
  for (const { flag, describe, group, choices } of settings) {
    parser.option(flag, { type: 'string', requiresArg: true, group, describe, ...(choices === undefined ? {} : { choices }) })
  }
  return parser
    .command(
      'import [files..]',
      'Record conversations from files, as if they happened now',
      (argv) => withPolicy(argv, policyFlags)
        .positional('files', { type: 'string', array: true, describe: 'JSON Lines, chat arrays (.json), or - for standard input' })
        .option('conversation', { type: 'string', requiresArg: true, describe: 'Id of the conversation, over the file’s header' })
        .option('scope', { type: 'string', requiresArg: true, describe: 'Tenant or owner of new conversations' })
        .example('$0 import chat.jsonl', 'the file’s header names the conversation')
        .example('my-agent --log | $0 import --conversation run-7', 'one message per line'),
      async (given: Given) => {
        const { runImport } = await import('./cli/import.js')
        await runImport(given, { files: listOf(given, 'files'), conversation: textOf(given, 'conversation'), scope: textOf(given, 'scope'), json: given.json })
      },
    )
    .command(
      'append <conversation>',
      'Record one message',
      (argv) => withPolicy(argv, policyFlags)
        .positional('conversation', CONVERSATION)
        .option('text', { type: 'string', requiresArg: true, describe: 'Its text [default: standard input]' })
        .option('role', { type: 'string', requiresArg: true, choices: ['system', 'developer', 'user', 'assistant', 'tool'], describe: 'Who says it [default: user]' })
        .option('name', { type: 'string', requiresArg: true, describe: 'Name of who says it' })
        .option('id', { type: 'string', requiresArg: true, describe: 'Id of the message; the same id again records nothing' })
        .option('tool-call-id', { type: 'string', requiresArg: true, describe: 'The call that a tool’s message answers' })
        .option('message', { type: 'string', requiresArg: true, describe: 'The whole message as JSON, or - for standard input' })
        .option('pin', { type: 'boolean', default: false, describe: 'Keep it word for word, whatever is compacted' })
        .option('scope', { type: 'string', requiresArg: true, describe: 'Tenant or owner of a new conversation' }),
      async (given) => {
        const { runAppend } = await import('./cli/append.js')
        const asked = given as unknown as Given
        await runAppend(given, {
          conversationId: given.conversation,
          message: textOf(asked, 'message'),
          text: textOf(asked, 'text'),
          role: textOf(asked, 'role'),
          name: textOf(asked, 'name'),
          id: textOf(asked, 'id'),
          toolCallId: textOf(asked, 'tool-call-id'),
          scope: textOf(asked, 'scope'),
          pin: given.pin,
          json: asked.json,
        })
      },
    )
    .command(
      'context <conversation>',
      'Show what the model gets',
      (argv) => argv
        .positional('conversation', CONVERSATION)
        .option('format', { choices: ['text', 'json', 'openai'] as const, default: 'text', requiresArg: true, describe: 'For people, for scripts, or the messages alone' }),
      async (given) => {
        const { runContext } = await import('./cli/context.js')
        await runContext(given, given.conversation, given.format === 'text' && (given as unknown as Given).json ? 'json' : given.format)
      },
    )
    .command(
      'compact <conversation>',
      'Compact now what is at its limit',
      (argv) => withPolicy(argv, policyFlags)
        .positional('conversation', CONVERSATION)
        .option('force', { type: 'boolean', default: false, describe: 'Fold what may be folded, though there is room' }),
      async (given) => {
        const { runCompact } = await import('./cli/compact.js')
        await runCompact(given, given.conversation, given.force, (given as unknown as Given).json)
      },
    )
    .command(
      'log <conversation>',
      'Show every fact: what happened, when, and what failed',
      (argv) => argv
        .positional('conversation', CONVERSATION)
        .option('from', { type: 'string', requiresArg: true, describe: 'First revision to show' })
        .option('limit', { type: 'string', requiresArg: true, describe: 'Facts at most' }),
      async (given) => {
        const { runLog } = await import('./cli/log.js')
        const asked = given as unknown as Given
        const from = numberOf(asked, 'from')
        await runLog(given, { conversationId: given.conversation, from: from === undefined ? undefined : BigInt(from), limit: numberOf(asked, 'limit'), json: asked.json })
      },
    )
    .command(
      'search [query..]',
      'Search messages and summaries',
      (argv) => argv
        .positional('query', { type: 'string', array: true, describe: 'What to look for' })
        .option('conversation', { type: 'string', requiresArg: true, describe: 'Stay in this conversation' })
        .option('scope', { type: 'string', requiresArg: true, describe: 'Search the conversations of this scope [default: those without one]' })
        .option('limit', { type: 'string', requiresArg: true, describe: 'Hits at most [default: 10]' })
        .option('include', { choices: ['messages', 'batches', 'all'] as const, default: 'all', requiresArg: true, describe: 'What to search' })
        .option('queries', { type: 'string', requiresArg: true, describe: 'JSON Lines of { query, conversationId?, limit? }, each answered by one line { hits }' })
        .conflicts('conversation', 'scope'),
      async (given) => {
        const { runSearch } = await import('./cli/search.js')
        const asked = given as unknown as Given
        const query = listOf(asked, 'query')
        await runSearch(given, {
          query: query.length === 0 ? undefined : query.join(' '),
          queries: textOf(asked, 'queries'),
          conversation: textOf(asked, 'conversation'),
          scope: textOf(asked, 'scope'),
          limit: numberOf(asked, 'limit'),
          include: given.include,
          json: asked.json,
        })
      },
    )
    .command(
      'list',
      'List the conversations',
      (argv) => argv.option('scope', { type: 'string', requiresArg: true, describe: 'Those of this scope' }),
      async (given) => {
        const { runList } = await import('./cli/list.js')
        const asked = given as unknown as Given
        await runList(given, textOf(asked, 'scope'), asked.json)
      },
    )
    .command(
      'verify [conversation]',
      'Prove that nothing was lost: coverage, order, hashes, rows',
      (argv) => argv.positional('conversation', { type: 'string', describe: 'Id of the conversation [default: all]' }),
      async (given) => {
        const { runVerify } = await import('./cli/verify.js')
        const asked = given as unknown as Given
        await runVerify(given, textOf(asked, 'conversation'), asked.json)
      },
    )
    .command(
      'pin <conversation> <message>',
      'Keep a message word for word, whatever is compacted',
      (argv) => argv.positional('conversation', CONVERSATION).positional('message', MESSAGE),
      async (given) => {
        const { runPin } = await import('./cli/pin.js')
        await runPin(given, given.conversation, given.message, true, (given as unknown as Given).json)
      },
    )
    .command(
      'unpin <conversation> <message>',
      'Let a pinned message be folded again',
      (argv) => argv.positional('conversation', CONVERSATION).positional('message', MESSAGE),
      async (given) => {
        const { runPin } = await import('./cli/pin.js')
        await runPin(given, given.conversation, given.message, false, (given as unknown as Given).json)
      },
    )
    .command('projections', 'The read models: how far they are, and anew from the log', (argv) => argv
      .command(
        'status',
        'Show position, lag and version of each',
        (inner) => inner,
        async (given) => {
          const { runStatus } = await import('./cli/projections.js')
          await runStatus(given, (given as unknown as Given).json)
        },
      )
      .command(
        'rebuild [names..]',
        'Fill new tables beside those that are read, and swap them in',
        (inner) => inner.positional('names', { type: 'string', array: true, describe: 'Names of read models [default: all]' }),
        async (given) => {
          const { runRebuild } = await import('./cli/projections.js')
          const asked = given as unknown as Given
          await runRebuild(given, listOf(asked, 'names'), asked.json)
        },
      )
      .demandCommand(1, 'say what to do: projections status, or projections rebuild'))
    .completion('completion', 'Print a completion script for bash or zsh')
}

/** Says what went wrong; gives the exit status. */
async function report(error: unknown): Promise<number> {
  if (error instanceof OutputClosed) return EXIT.ok
  if (error instanceof Ended) return error.exitCode
  const { exitCode, kind, message } = await tell(error)
  if (words.includes('--json')) note(JSON.stringify({ error: { kind, message } }))
  else {
    note(`${noteColours.red('error:')} ${stripVTControlCharacters(message)}`)
    if (exitCode === EXIT.bug) note('This is a bug in context-ledger. CONTEXT_LEDGER_DEBUG=1 shows where it happened.')
    else if (kind === 'Usage') note('`context-ledger --help` lists the commands and flags.')
  }
  if (exitCode === EXIT.bug && (process.env['CONTEXT_LEDGER_DEBUG'] ?? '') !== '') note(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return exitCode
}

watchOutput()
try {
  const writes = words.some((word) => word === 'import' || word === 'append' || word === 'compact')
  await commands(writes ? (await import('./cli/policy-flags.js')).policyFlags() : []).parseAsync()
} catch (error) {
  process.exitCode = await report(error)
}
