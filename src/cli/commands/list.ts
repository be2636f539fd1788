import type { ListOptions } from '../../library/ledger.js'
import { text, waiting, waitOf, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { colours, count, line, many, note, noteColours, printable, showTable, noteLag } from '../output.js'
import { toWire } from '../../lib/json.js'
import { withLedger } from '../session.js'

const ORDERS = ['updated', 'messages', 'tokens', 'id'] as const

/** The list options, except the limit. */
function optionsOf(args: CommandArgs): Omit<ListOptions, 'limit'> {
  const match = args.text('match')
  const scope = args.text('scope')
  const since = args.text('since')
  const until = args.text('until')
  return {
    ...(match === undefined ? {} : { match }),
    ...(scope === undefined ? {} : { scope }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    sort: args.oneOf('sort', ORDERS),
    ...waitOf(args),
  }
}

export const list: CliCommand = {
  words: 'list',
  describe: 'List the conversations',
  uses: ['open'],
  reads: true,
  options: {
    match: text('Conversations whose id contains this text'),
    scope: text('Conversations of this scope'),
    since: text('Conversations last recorded at or after this time (2026-03-01T12:30:00Z)'),
    until: text('Conversations last recorded before this time'),
    sort: text('Order: last recorded, most messages, most live tokens, or id [default: updated]', ORDERS),
    limit: text('Maximum number of conversations [default: all]'),
    ...waiting,
  },
  async run(args) {
    const options = optionsOf(args)
    const limit = args.atLeastOne('limit')
    const { withCatchUpProgress } = await import('../catching-up.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      // Read one more than the limit, to know if there are more.
      const {
        conversations: found,
        unlisted = [],
        behind,
      } = await withCatchUpProgress(ledger.admin.projections, () =>
        ledger.list({ ...options, ...(limit === undefined ? {} : { limit: limit + 1 }) }),
      )
      const conversations = found.slice(0, limit)
      const more = found.length > conversations.length
      if (args.json) {
        await line(
          toWire({
            conversations,
            more,
            ...(unlisted.length === 0 ? {} : { unlisted }),
            ...(behind === undefined ? {} : { behind }),
          }),
        )
        return
      }
      noteLag(behind)
      for (const { conversationId, reason } of unlisted)
        note(`${noteColours.yellow('not listed:')} ${printable(conversationId)} is stopped: ${printable(reason)}`)
      if (conversations.length === 0) {
        const { scope, match, since, until } = options
        const filters = [
          ...(scope === undefined ? [] : [`in scope ${printable(scope)}`]),
          ...(match === undefined ? [] : [`with "${printable(match)}" in their id`]),
          ...(since === undefined && until === undefined ? [] : ['in that time range']),
        ]
        await line(filters.length === 0 ? 'no conversations' : `no conversations ${filters.join(', ')}`)
        return
      }
      const rows = conversations.map((conversation) => [
        printable(conversation.conversationId),
        count(conversation.messages),
        count(conversation.liveMessages),
        count(conversation.liveTokens),
        count(conversation.cycles),
        conversation.lastRecordedAt,
        printable(conversation.scope ?? ''),
      ])
      await showTable(
        ['conversation', 'messages', 'live', 'live tokens', 'cycles', 'last recorded', 'scope'],
        rows,
        new Set([1, 2, 3, 4]),
      )
      for (const { conversationId, stopped } of conversations)
        if (stopped !== undefined)
          await line(colours.red(`${printable(conversationId)} is stopped: ${printable(stopped)}`))
      await line(
        `${many(conversations.length, 'conversation')}${more ? '; there are more, raise --limit to list them' : ''}`,
      )
    })
  },
}
