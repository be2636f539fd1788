import { TOTAL_GROUPS, type TotalGroup } from '../../../domain/reports/totals.js'
import type { Ledger, TotalStats } from '../../../library/ledger.js'
import { text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { CommandExit, EXIT } from '../errors.js'
import { colours, count, line, many, note, noteColours, noteLag, printable, write } from '../output.js'
import { conversationNamed } from '../find-conversation.js'
import { isService } from '../../../library/addresses.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { toWire } from '../../../domain/values/revision.js'
import { titlesOf } from '../../../library/titles.js'
import { withLedger } from '../session.js'

const DEFAULT_LIMIT = 20

/** The number of conversations in the read models, for the progress bar; 0 if they cannot be read. */
async function countConversations(ledger: Ledger): Promise<number> {
  const { withCatchUpProgress } = await import('../catching-up.js')
  const listed = await withCatchUpProgress(ledger.admin.projections, () => ledger.list()).catch(() => ({
    conversations: [],
  }))
  return listed.conversations.length
}

async function printRecovery(args: CommandArgs): Promise<void> {
  if (args.text('limit') !== undefined)
    throw new LedgerError('Usage', '--limit does not apply to --recovery: it prints totals only')
  const named = args.text('conversation')
  await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
    const { recoveryLines } = await import('../reports/recovery.js')
    const conversationId = named === undefined ? undefined : await conversationNamed(ledger, named)
    const { totals } = await ledger.forgotten(conversationId)
    const { recovery } = totals.all
    if (args.json) await line(toWire(recovery))
    else for (const each of recoveryLines(recovery)) await line(each)
  })
}

/** Prints totals by program, project or both, from the read models. */
async function printTotals(args: CommandArgs, by: readonly TotalGroup[]): Promise<void> {
  if (args.text('conversation') !== undefined)
    throw new LedgerError('Usage', '--by is for all conversations: leave out the conversation, or --by')
  const limit = args.json ? args.whole('limit') : (args.whole('limit') ?? DEFAULT_LIMIT)
  const [{ totalsLines }, { withCatchUpProgress }] = await Promise.all([
    import('../reports/stats.js'),
    import('../catching-up.js'),
  ])
  await withLedger(args.flags, { reads: true, prices: true }, async ({ ledger, config }) => {
    if (isService(config.store) && config.origins['prices']?.startsWith('--') === true)
      throw new LedgerError('Usage', '--prices has no effect on --by with a service, which uses its own prices')
    const totals = await withCatchUpProgress(ledger.admin.projections, () =>
      ledger.totals({ by, ...(limit === undefined ? {} : { limit }) }),
    )
    if (args.json) await line(toWire(totals))
    else {
      for (const each of totalsLines(totals, by)) await line(each)
      noteLag(totals.behind)
    }
  })
}

export const stats: CliCommand = {
  words: 'stats [conversation]',
  describe: 'Show tokens spent and saved, cost, failures and time, by model',
  uses: ['open', 'price'],
  reads: true,
  positionals: { conversation: { type: 'string', describe: 'Id or title of the conversation [default: all]' } },
  options: {
    by: text('Totals of each program, of each project folder, or of both, instead', [...TOTAL_GROUPS, 'both']),
    recovery: toggle('Show calls and tokens from compactions to the next edit, with and without a note of `recall`'),
    limit: text('Conversations listed below the total, by tokens spent [default: 20; with --json all]'),
  },
  async run(args) {
    const by = args.text('by')
    if (by !== undefined) {
      if (args.is('recovery')) throw new LedgerError('Usage', '--by cannot be combined with --recovery')
      await printTotals(args, by === 'both' ? TOTAL_GROUPS : TOTAL_GROUPS.filter((name) => name === by))
      return
    }
    if (args.is('recovery')) {
      await printRecovery(args)
      return
    }
    const named = args.text('conversation')
    const limit = args.whole('limit')
    const [{ pricesOf }, { startProgress }, { conversationLine, TopConversations, statsLines }] = await Promise.all([
      import('../config/prices.js'),
      import('../progress.js'),
      import('../reports/stats.js'),
    ])
    await withLedger(args.flags, { reads: true }, async ({ ledger, config }) => {
      const conversationId = named === undefined ? undefined : await conversationNamed(ledger, named)
      const prices = await pricesOf(config)
      // Without a limit the document is streamed: the conversations may exceed memory.
      const streams = args.json && limit === undefined
      const top = new TopConversations(limit ?? DEFAULT_LIMIT)
      const conversationCount = conversationId === undefined ? await countConversations(ledger) : 0
      const progress = await startProgress('counting', conversationCount)
      let counted = 0
      let separator = '{"conversations":['
      let total: TotalStats
      try {
        total = await ledger.admin.stats(conversationId, {
          prices,
          onConversation: async (counts) => {
            counted += 1
            progress.update(
              Math.min(counted, conversationCount),
              `${count(counted)}${conversationCount === 0 ? '' : ` of ${count(conversationCount)}`} conversations`,
            )
            if (!streams) top.offer(counts)
            else {
              await write(`${separator}${toWire(counts)}`)
              separator = ','
            }
          },
        })
      } finally {
        progress.stop()
      }
      if (args.json) {
        await line(
          streams
            ? `${separator === ',' ? '' : separator}],"total":${toWire(total)}}`
            : toWire({ conversations: top.all(), total }),
        )
        if (total.uncounted.length > 0) throw new CommandExit(EXIT.untrusted)
        return
      }
      if (conversationId === undefined) await line(colours.bold(many(total.conversations, 'conversation')))
      for (const statsLine of statsLines(total)) await line(statsLine)
      const listed = conversationId === undefined ? top.all() : []
      if (listed.length > 0) await line()
      const titles = await titlesOf(
        ledger,
        listed.map((counts) => counts.conversationId),
      )
      for (const counts of listed) await line(conversationLine(counts, titles))
      if (conversationId === undefined && total.conversations > listed.length)
        await line(
          colours.dim(
            `${listed.length === 0 ? '' : `the ${count(listed.length)} that spent the most tokens; `}${many(total.conversations - listed.length, 'more conversation')}: raise --limit, or use --json for all`,
          ),
        )
      for (const { conversationId: uncounted, reason } of total.uncounted)
        note(`${noteColours.yellow('not counted:')} ${printable(uncounted)}: ${printable(reason)}`)
      if (total.uncounted.length > 0) throw new CommandExit(EXIT.untrusted)
    })
  },
}
