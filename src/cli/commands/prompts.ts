/** `prompts`: the texts that summaries were made with, by name, version and hash. */
import { Ended, EXIT, InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { table } from '../layout.js'
import { count, line, many, note, noteColours, printable, toJson } from '../output.js'
import { withLedger } from '../session.js'

const HASH_DIGITS = 12

async function list(flags: Flags, json: boolean): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const { prompts, unreadable } = await ledger.prompts.list()
    if (json) {
      await line(toJson({ prompts, unreadable }))
      if (unreadable.length > 0) throw new Ended(EXIT.untrusted)
      return
    }
    if (prompts.length === 0 && unreadable.length === 0) {
      await line('no prompts so far: one is recorded when it is first used')
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
    for (const row of table(
      ['name', 'version', 'kind', 'hash', 'characters', 'first used', 'by'],
      rows,
      new Set([1, 4]),
    ))
      await line(row)
    await line(many(prompts.length, 'prompt'))
    for (const { sha256, reason } of unreadable)
      note(`${noteColours.yellow('not listed:')} ${sha256.slice(0, HASH_DIGITS)}: ${printable(reason)}`)
    if (unreadable.length > 0) throw new Ended(EXIT.untrusted)
  })
}

async function show(flags: Flags, which: string, json: boolean): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const prompt = await ledger.prompts.show(which)
    await line(json ? toJson(prompt) : printable(prompt.text).replace(/\n$/u, ''))
  })
}

/** Runs the command: without words, `list`, or `show` and a prompt. */
export async function runPrompts(flags: Flags, words: readonly string[], json: boolean): Promise<void> {
  const [action, which, ...more] = words
  if (action === undefined || (action === 'list' && which === undefined)) await list(flags, json)
  else if (action === 'show' && which !== undefined && more.length === 0) await show(flags, which, json)
  else
    throw new InputError(
      'Usage',
      `prompts does not know "${words.join(' ')}": type \`prompts\`, or \`prompts show\` with NAME, NAME@VERSION or a hash`,
    )
}
