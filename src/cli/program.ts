/**
 * The command line: calls one command, and ends with a status that says whose fault it was. Help, the parser and each
 * command are loaded when they are asked for.
 */
import { stripVTControlCharacters } from 'node:util'
import { Ended, EXIT, InputError, tell } from './errors.js'
import { allWritten, keepLinesWhole, line, note, noteColours, OutputClosed, printable, watchOutput } from './output.js'

/** Says what went wrong; gives the exit status. */
async function report(error: unknown, asJson: boolean): Promise<number> {
  if (error instanceof OutputClosed) return EXIT.ok
  if (error instanceof Ended) return error.exitCode
  const { exitCode, kind, message } = await tell(error)
  if (asJson) {
    keepLinesWhole()
    note(JSON.stringify({ error: { kind, message } }))
  } else {
    note(`${noteColours.red('error:')} ${printable(stripVTControlCharacters(message))}`)
    if (exitCode === EXIT.bug) note('This is a bug in context-ledger. CONTEXT_LEDGER_DEBUG=1 shows where it happened.')
    else if (kind === 'Usage')
      note('`context-ledger --help` lists the commands, and `--help` behind a command its flags.')
  }
  if (exitCode === EXIT.bug && (process.env['CONTEXT_LEDGER_DEBUG'] ?? '') !== '')
    note(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return exitCode
}

async function run(words: readonly string[]): Promise<void> {
  const [only] = words.length === 1 ? words : []
  if (only === '--help' || only === '-h' || only === 'help') return await line((await import('./help.js')).overview())
  if (only === '--version' || only === '-V') return await line((await import('./version.js')).version())
  const [{ parserOf }, { noSuchCommand }] = await Promise.all([import('./parser.js'), import('./usage.js')])
  const given = words[0] === 'help' ? [...words.slice(1), '--help'] : words
  const wrong = given.includes('--help') || given.includes('-h') ? noSuchCommand(given) : undefined
  if (wrong !== undefined) throw new InputError('Usage', wrong)
  await (await parserOf(given)).parseAsync()
}

/** Does what the words say; gives the exit status. */
export async function runProgram(words: readonly string[]): Promise<number> {
  await watchOutput()
  try {
    try {
      await run(words)
    } finally {
      // What was found out reached nobody then, whatever it was.
      await allWritten()
    }
    return EXIT.ok
  } catch (error) {
    return await report(error, words.includes('--json'))
  }
}
