import type { ListOptions } from '../../library/ledger.js'
import { text, waiting, waitOf, type Command } from '../command.js'
import type { Given } from '../given.js'
import { colours, count, line, many, note, noteColours, printable, showTable, tellBehind, toJson } from '../output.js'
import { withLedger } from '../session.js'

const ORDERS = ['updated', 'messages', 'tokens', 'id'] as const

/** What was asked for, but for how many. */
function optionsOf(given: Given): Omit<ListOptions, 'limit'> {
  const match = given.text('match')
  const scope = given.text('scope')
  const since = given.text('since')
  const until = given.text('until')
  return {
    ...(match === undefined ? {} : { match }),
    ...(scope === undefined ? {} : { scope }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    sort: given.oneOf('sort', ORDERS),
    ...waitOf(given),
  }
}

export const list: Command = {
  words: 'list',
  describe: 'List the conversations',
  reads: true,
  options: {
    match: text('Those with this in their id'),
    scope: text('Those of this scope'),
    since: text('Those that something was recorded in last at this time (2026-03-01T12:30:00Z) or later'),
    until: text('Those that something was recorded in last before this time'),
    sort: text(
      'The one first that something happened in last, that has the most messages or live tokens, or by id [default: updated]',
      ORDERS,
    ),
    limit: text('Conversations at most [default: all]'),
    ...waiting,
  },
  async run(given) {
    const options = optionsOf(given)
    const limit = given.atLeastOne('limit')
    const { tellingCatchUp } = await import('../catching-up.js')
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      // One more than is wanted, to tell whether there are more.
      const {
        conversations: found,
        unlisted = [],
        behind,
      } = await tellingCatchUp(ledger.projections, () =>
        ledger.list({ ...options, ...(limit === undefined ? {} : { limit: limit + 1 }) }),
      )
      const conversations = found.slice(0, limit)
      const more = found.length > conversations.length
      if (given.json) {
        await line(
          toJson({
            conversations,
            more,
            ...(unlisted.length === 0 ? {} : { unlisted }),
            ...(behind === undefined ? {} : { behind }),
          }),
        )
        return
      }
      tellBehind(behind)
      for (const { conversationId, reason } of unlisted)
        note(`${noteColours.yellow('not listed:')} ${printable(conversationId)} is stopped: ${printable(reason)}`)
      if (conversations.length === 0) {
        const { scope, match, since, until } = options
        const asked = [
          ...(scope === undefined ? [] : [`of the scope ${printable(scope)}`]),
          ...(match === undefined ? [] : [`with "${printable(match)}" in their id`]),
          ...(since === undefined && until === undefined ? [] : ['of that time']),
        ]
        await line(asked.length === 0 ? 'no conversations so far' : `no conversations ${asked.join(', ')}`)
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
        `${many(conversations.length, 'conversation')}${more ? '; there are more: a higher --limit shows them' : ''}`,
      )
    })
  },
}
