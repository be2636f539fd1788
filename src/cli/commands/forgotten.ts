import type { ForgottenCycle } from '../../library/ledger.js'
import { text, toggle, type Command } from '../command.js'
import { InputError } from '../errors.js'
import type { Given } from '../given.js'
import { line, many, note, noteColours, printable, toJson, write } from '../output.js'
import { withLedger } from '../session.js'

export const forgotten: Command = {
  words: 'forgotten [conversation]',
  describe: 'What compactions forgot: what left, what the summary still has of it, and what was done again',
  reads: true,
  positionals: { conversation: { type: 'string', describe: 'Id of the conversation' } },
  options: {
    all: toggle('All conversations: the totals alone'),
    cycle: text('Only the cycle with this number'),
    html: text('Write the report to this new file instead: one file, without a script, to be sent to somebody'),
  },
  examples: [
    ['$0 forgotten claude-code/5f0c…', 'what your agent forgot in one session'],
    ['$0 forgotten --all', 'by program, version, trigger and strategy'],
    ['$0 forgotten --all --html forgotten.html', 'the same as a file, with what was done again, pair by pair'],
  ],
  async run(given) {
    const conversationId = given.text('conversation')
    const cycle = given.atLeastOne('cycle')
    const all = given.is('all')
    if ((conversationId === undefined) !== all)
      throw new InputError('Usage', 'name a conversation, or give --all (`list` names them)')
    if (all && cycle !== undefined) throw new InputError('Usage', '--cycle goes with a conversation')
    const file = given.text('html')
    if (file !== undefined) {
      await writeForgotten(given, file, conversationId, cycle)
      return
    }
    const { cycleLines, totalLines } = await import('../reports/forgotten.js')
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      let shown = 0
      let separator = '{"cycles":['
      const onCycle = async (found: ForgottenCycle): Promise<void> => {
        shown += 1
        if (given.json) {
          if (all) return
          await write(`${separator}${toJson(found)}`)
          separator = ','
        } else if (!all) for (const row of cycleLines(found)) await line(row)
      }
      const { conversations, totals } = await ledger.forgotten(conversationId, {
        onCycle,
        ...(cycle === undefined ? {} : { cycle }),
      })
      if (given.json) {
        const told = toJson({ conversations, totals })
        await line(all ? told : `${shown === 0 ? separator : ''}],${told.slice(1)}`)
        return
      }
      if (shown === 0) {
        note(
          noteColours.dim(
            all
              ? 'no conversation was compacted so far: there is nothing that could be forgotten'
              : cycle === undefined
                ? 'it was not compacted so far: nothing of it is forgotten'
                : `there is no cycle ${String(cycle)} in its own stream`,
          ),
        )
        return
      }
      if (all || shown > 1) for (const row of totalLines(totals)) await line(row)
    })
  },
}

/** The report as one file. */
async function writeForgotten(
  given: Given,
  file: string,
  conversationId: string | undefined,
  cycle: number | undefined,
): Promise<void> {
  if (file.trim() === '') throw new InputError('Usage', '--html names no file')
  const [{ writeReportFile }, { forgottenReportOf }] = await Promise.all([
    import('../report-file.js'),
    import('../../page/forgotten-report.js'),
  ])
  await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
    let compactions = 0
    const bytes = await writeReportFile(file, async () => {
      const { found, text: report } = await forgottenReportOf({ ledger, conversationId, cycle, now: new Date() })
      compactions = found.rows.length
      if (cycle !== undefined && compactions === 0)
        throw new InputError('NoSuchCycle', `there is no cycle ${String(cycle)} in its own stream`)
      return report
    })
    const of = conversationId ?? 'all conversations'
    if (given.json)
      await line(toJson({ file, ...(conversationId === undefined ? {} : { conversationId }), compactions, bytes }))
    else await line(`${file} holds what ${many(compactions, 'compaction')} of ${printable(of)} forgot`)
  })
}
