import { readFile } from 'node:fs/promises'
import { LedgerError } from '../../lib/ledger-error.js'
import { conversation, text, type CliCommand } from '../command.js'
import { count, line, many, note, noteColours, write } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { sentenceOf } from '../../ports/store-error.js'
import { NOTE_TOKENS } from '../../domain/values/recall-note.js'
import { toWire } from '../../domain/values/revision.js'
import { withLedger } from '../session.js'

/** The rules of a file: one on each line. Empty lines and lines that begin with `#` are comments. */
async function rulesIn(file: string): Promise<string[]> {
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new LedgerError('FileUnusable', `--rules ${file} cannot be read: ${sentenceOf(error)}`)
  })
  return content
    .split('\n')
    .map((row) => row.replace(/^\s*[-*]\s+/u, '').trim())
    .filter((row) => row !== '' && !row.startsWith('#'))
}

export const recall: CliCommand = {
  words: 'recall <conversation>',
  describe: 'Print a note for an agent: recorded content that its context lacks',
  uses: ['open'],
  reads: true,
  files: ['rules'],
  positionals: { conversation },
  options: {
    at: text('The note for the context at this point: a revision, a time, or the id of a message [default: now]'),
    tokens: text(`Most tokens of the note, estimated [default: ${String(NOTE_TOKENS)}]`),
    rules: text('File of rules that the note begins with, one on each line'),
  },
  examples: [
    ['$0 recall "date bug"', 'rules, open work, files, commands and errors that its compactions lost'],
    ['$0 recall 3f0c --rules rules.txt --tokens 800', 'begins with your own rules, and is shorter'],
  ],
  async run(args) {
    const at = args.text('at')
    const tokens = args.atLeastOne('tokens')
    const file = args.text('rules')
    const rules = file === undefined ? undefined : await rulesIn(file)
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const found = await ledger.recall(conversationId, {
        ...(at === undefined ? {} : { at }),
        ...(tokens === undefined ? {} : { tokens }),
        ...(rules === undefined ? {} : { rules }),
      })
      if (args.json) {
        await line(toWire(found))
        return
      }
      if (found.text === '') {
        note(
          noteColours.dim(
            found.compactions === 0
              ? 'the conversation has not been compacted, so its context misses nothing'
              : 'the context misses nothing that a note could restore',
          ),
        )
        return
      }
      await write(found.text)
      const omitted = Object.values(found.omitted).reduce((sum, each) => sum + each, 0)
      note(
        noteColours.dim(
          `${count(found.tokens)} tokens${omitted === 0 ? '' : `; ${many(omitted, 'entry', 'entries')} left out (see --tokens)`}`,
        ),
      )
    })
  },
}
