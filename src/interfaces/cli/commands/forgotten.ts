import { LedgerError } from '../../../lib/ledger-error.js'
import type { ForgottenCycle } from '../../../library/ledger.js'
import { text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { line, many, note, noteColours, printable, write } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'
import { noteFile } from '../written-copies.js'
import { writeNewFile } from '../../../ports/new-file.js'

export const forgotten: CliCommand = {
  words: 'forgotten [conversation]',
  describe: 'Report what each compaction removed, how much of it the summary keeps, and which tool calls were repeated',
  uses: ['open'],
  reads: true,
  files: ['html'],
  positionals: { conversation: { type: 'string', describe: 'Id or title of the conversation, or its beginning' } },
  options: {
    all: toggle('Show totals of all conversations only'),
    cycle: text('Show only this cycle'),
    html: text('Write the report to this new HTML file instead: self-contained, no scripts'),
  },
  examples: [
    ['$0 forgotten claude-code/5f0c…', 'what compaction lost in one session'],
    ['$0 forgotten --all', 'totals by program, version, trigger and strategy'],
    ['$0 forgotten --all --html forgotten.html', 'the same as an HTML file, with each repeated call'],
  ],
  async run(args) {
    const named = args.text('conversation')
    const cycle = args.atLeastOne('cycle')
    const all = args.is('all')
    if ((named === undefined) !== all) throw new LedgerError('Usage', 'name a conversation (see `list`), or pass --all')
    if (all && cycle !== undefined) throw new LedgerError('Usage', '--cycle requires a conversation')
    const file = args.text('html')
    if (file !== undefined) {
      await writeForgotten(args, file, named, cycle)
      return
    }
    const { cycleLines, totalLines } = await import('../reports/forgotten.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const conversationId = named === undefined ? undefined : await conversationNamed(ledger, named, announced(args))
      let cycleCount = 0
      let separator = '{"cycles":['
      const onCycle = async (found: ForgottenCycle): Promise<void> => {
        cycleCount += 1
        if (args.json) {
          if (all) return
          await write(`${separator}${toWire(found)}`)
          separator = ','
        } else if (!all) for (const row of cycleLines(found)) await line(row)
      }
      const { conversations, totals } = await ledger.forgotten(conversationId, {
        onCycle,
        ...(cycle === undefined ? {} : { cycle }),
      })
      if (args.json) {
        const document = toWire({ conversations, totals })
        await line(all ? document : `${cycleCount === 0 ? separator : ''}],${document.slice(1)}`)
        return
      }
      if (cycleCount === 0) {
        note(
          noteColours.dim(
            all
              ? 'no conversation has been compacted, so nothing was forgotten'
              : cycle === undefined
                ? 'the conversation has not been compacted, so nothing was forgotten'
                : noSuchCycle(cycle),
          ),
        )
        return
      }
      if (all || cycleCount > 1) for (const row of totalLines(totals)) await line(row)
    })
  },
}

const noSuchCycle = (cycle: number): string => `the conversation has no cycle ${String(cycle)} of its own`

/** Writes the HTML report. */
async function writeForgotten(
  args: CommandArgs,
  file: string,
  named: string | undefined,
  cycle: number | undefined,
): Promise<void> {
  if (file.trim() === '') throw new LedgerError('Usage', '--html needs a file name')
  const { forgottenReportOf } = await import('../../page/forgotten-report.js')
  await withLedger(args.flags, { reads: true }, async ({ ledger, config }) => {
    const conversationId = named === undefined ? undefined : await conversationNamed(ledger, named)
    let compactions = 0
    const bytes = await writeNewFile(file, async () => {
      const { found, text: report } = await forgottenReportOf({ ledger, conversationId, cycle, now: new Date() })
      compactions = found.rows.length
      if (cycle !== undefined && compactions === 0) throw new LedgerError('NoSuchCycle', noSuchCycle(cycle))
      return report
    })
    await noteFile(config.store, file, conversationId)
    const subject = conversationId ?? 'all conversations'
    if (args.json)
      await line(toWire({ file, ...(conversationId === undefined ? {} : { conversationId }), compactions, bytes }))
    else await line(`wrote ${file}: what ${many(compactions, 'compaction')} of ${printable(subject)} forgot`)
  })
}
