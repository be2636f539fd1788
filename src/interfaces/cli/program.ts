/** Runs one command and returns its exit status. Help, the parser and each command are loaded on demand. */
import { LedgerError } from '../../lib/ledger-error.js'
import { stripVTControlCharacters } from 'node:util'
import { CommandExit, EXIT, describeError } from './errors.js'
import type { CommandOutput } from './command-request.js'
import {
  allWritten,
  keepLinesWhole,
  line,
  note,
  noteColours,
  printable,
  usePager,
  watchOutput,
  write,
} from './output.js'

/** Prints the error and returns the exit status. */
async function report(error: unknown, words: readonly string[]): Promise<number> {
  if (error instanceof CommandExit) return error.exitCode
  const { exitCode, kind, message } = await describeError(error)
  if (words.includes('--json')) {
    keepLinesWhole()
    note(JSON.stringify({ error: { kind, message } }))
  } else {
    note(`${noteColours.red('error:')} ${printable(stripVTControlCharacters(message))}`)
    if (exitCode === EXIT.bug) note('This is a bug in context-ledger. Set CONTEXT_LEDGER_DEBUG=1 for a stack trace.')
    else if (kind === 'Usage') note((await import('./usage.js')).helpHint(words))
  }
  if (exitCode === EXIT.bug && (process.env['CONTEXT_LEDGER_DEBUG'] ?? '') !== '')
    note(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return exitCode
}

async function run(words: readonly string[]): Promise<void> {
  const [only] = words.length === 1 ? words : []
  if (words.length === 0) {
    await line((await import('./help.js')).overview())
    // A script with a missing command, such as an empty variable, must notice it.
    throw new CommandExit(EXIT.input)
  }
  if (only === '--help' || only === '-h' || only === 'help') return await line((await import('./help.js')).overview())
  if (only === '--version' || only === '-V')
    return await line((await import('../../lib/package-root.js')).packageVersion())
  const [{ helpOf, parsed, runCommand }, { noSuchCommand }] = await Promise.all([
    import('./parser.js'),
    import('./usage.js'),
  ])
  const commandWords = words[0] === 'help' ? [...words.slice(1), '--help'] : words
  if (commandWords.includes('--help') || commandWords.includes('-h')) {
    const wrong = noSuchCommand(commandWords)
    if (wrong !== undefined) throw new LedgerError('Usage', wrong)
    return await line(await helpOf(commandWords))
  }
  const found = await parsed(commandWords)
  if (found !== undefined) await runCommand(found.command, found.flags)
}

/** Prints what a command wrote in a resident reader. */
async function print({ isPaged, parts }: CommandOutput): Promise<void> {
  if (isPaged) usePager()
  for (const { to, text } of parts) {
    if (to === 'stdout') await write(text)
    else process.stderr.write(text)
  }
}

/** Runs the command line and returns the exit status. `answer` is the output, if a resident reader ran it. */
export async function runProgram(words: readonly string[], answer?: CommandOutput): Promise<number> {
  await watchOutput()
  try {
    try {
      await (answer === undefined ? run(words) : print(answer))
    } finally {
      // Throws if the output could not be written, even if the command succeeded.
      await allWritten()
    }
    return EXIT.ok
  } catch (error) {
    return await report(error, words)
  }
}
