/** `prompts`: lists the recorded prompt templates by name, version and hash. */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { CliCommand } from '../command.js'
import { CommandExit, EXIT } from '../errors.js'
import type { CommandArgs } from '../command-args.js'
import { count, line, many, note, noteColours, printable, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

const HASH_DIGITS = 12

async function list({ flags, json }: CommandArgs): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const { prompts, unreadable } = await ledger.admin.prompts.list()
    if (json) {
      await line(toWire({ prompts, unreadable }))
      if (unreadable.length > 0) throw new CommandExit(EXIT.untrusted)
      return
    }
    if (prompts.length === 0 && unreadable.length === 0) {
      await line('no prompts; a prompt is recorded when it is first used')
      return
    }
    const rows = prompts.map(({ name, version, kind, sha256, text, firstUsedAt, actor }) => [
      printable(name),
      String(version),
      kind,
      sha256.slice(0, HASH_DIGITS),
      count(text.length),
      firstUsedAt,
      printable(actor),
    ])
    await showTable(['name', 'version', 'kind', 'hash', 'characters', 'first used', 'by'], rows, new Set([1, 4]))
    await line(many(prompts.length, 'prompt'))
    for (const { sha256, reason } of unreadable)
      note(`${noteColours.yellow('not listed:')} ${sha256.slice(0, HASH_DIGITS)}: ${printable(reason)}`)
    if (unreadable.length > 0) throw new CommandExit(EXIT.untrusted)
  })
}

async function show({ flags, json }: CommandArgs, which: string): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const prompt = await ledger.admin.prompts.show(which)
    await line(json ? toWire(prompt) : printable(prompt.text).replace(/\n$/u, ''))
  })
}

export const prompts: CliCommand = {
  words: 'prompts [what..]',
  describe: 'List the recorded prompts; `prompts show NAME[@VERSION]` or a hash prints one',
  uses: ['open'],
  reads: true,
  positionals: { what: { type: 'string', array: true, describe: '`show` and the prompt [default: list]' } },
  async run(args) {
    const words = args.words('what')
    const [action, which, ...more] = words
    if (action === undefined || (action === 'list' && which === undefined)) await list(args)
    else if (action === 'show' && which !== undefined && more.length === 0) await show(args, which)
    else
      throw new LedgerError(
        'Usage',
        `unknown arguments "${words.join(' ')}": use \`prompts\`, or \`prompts show\` with NAME, NAME@VERSION or a hash`,
      )
  },
}
