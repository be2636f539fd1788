import type { Ledger, TotalStats } from '../../library/ledger.js'
import { text, type Command } from '../command.js'
import { Ended, EXIT } from '../errors.js'
import { colours, count, line, many, note, noteColours, printable, toJson, write } from '../output.js'
import { withLedger } from '../session.js'

const DEFAULT_LIMIT = 20

/** How many conversations there are to count, as far as the read models know; 0 where they cannot be asked. */
async function conversationsOf(ledger: Ledger): Promise<number> {
  const { tellingCatchUp } = await import('../catching-up.js')
  const listed = await tellingCatchUp(ledger.projections, () => ledger.list()).catch(() => ({ conversations: [] }))
  return listed.conversations.length
}

export const stats: Command = {
  words: 'stats [conversation]',
  describe: 'Count tokens bought and saved, cost, failures and time',
  reads: true,
  positionals: { conversation: { type: 'string', describe: 'Id of the conversation [default: all]' } },
  options: {
    limit: text(
      'Conversations at most that are shown below the total: those that took the most tokens [default: 20; with --json all]',
    ),
  },
  async run(given) {
    const conversationId = given.text('conversation')
    const limit = given.whole('limit')
    const [{ pricesOf }, { startProgress }, { conversationLine, Foremost, statsLines }] = await Promise.all([
      import('../config/prices.js'),
      import('../progress.js'),
      import('../reports/stats.js'),
    ])
    await withLedger(given.flags, { reads: true }, async ({ ledger, config }) => {
      const prices = await pricesOf(config)
      // A whole document is written as it is counted: there may be more conversations than memory has room for.
      const streams = given.json && limit === undefined
      const foremost = new Foremost(limit ?? DEFAULT_LIMIT)
      const of = conversationId === undefined ? await conversationsOf(ledger) : 0
      const progress = await startProgress('counting', of)
      let counted = 0
      let separator = '{"conversations":['
      let total: TotalStats
      try {
        total = await ledger.stats(conversationId, {
          prices,
          onConversation: async (counts) => {
            counted += 1
            progress.update(
              Math.min(counted, of),
              `${count(counted)}${of === 0 ? '' : ` of ${count(of)}`} conversations`,
            )
            if (!streams) foremost.offer(counts)
            else {
              await write(`${separator}${toJson(counts)}`)
              separator = ','
            }
          },
        })
      } finally {
        progress.stop()
      }
      if (given.json) {
        await line(
          streams
            ? `${separator === ',' ? '' : separator}],"total":${toJson(total)}}`
            : toJson({ conversations: foremost.all(), total }),
        )
        if (total.uncounted.length > 0) throw new Ended(EXIT.untrusted)
        return
      }
      if (conversationId === undefined) await line(colours.bold(many(total.conversations, 'conversation')))
      for (const said of statsLines(total)) await line(said)
      const told = conversationId === undefined ? foremost.all() : []
      if (told.length > 0) await line()
      for (const counts of told) await line(conversationLine(counts))
      if (conversationId === undefined && total.conversations > told.length)
        await line(
          colours.dim(
            `${told.length === 0 ? '' : `those ${count(told.length)} that took the most; `}${many(total.conversations - told.length, 'further conversation')}: a higher --limit shows them, --json all`,
          ),
        )
      for (const { conversationId: uncounted, reason } of total.uncounted)
        note(`${noteColours.yellow('not counted:')} ${printable(uncounted)}: ${printable(reason)}`)
      if (total.uncounted.length > 0) throw new Ended(EXIT.untrusted)
    })
  },
}
