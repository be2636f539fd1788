/**
 * `list`: the conversations of the ledger, the one that something happened in last first; filtered, in another order,
 * and cut where that is asked for.
 */
import type { ListOptions } from '../../library/ledger.js'
import { tellingCatchUp } from '../catching-up.js'
import type { Flags } from '../flags.js'
import { table } from '../layout.js'
import { colours, count, line, many, note, noteColours, printable, tellBehind, toJson } from '../output.js'
import { withLedger } from '../session.js'

/** Runs the command. One more than is wanted is asked for, to tell whether there are more. */
export async function runList(flags: Flags, { limit, ...options }: ListOptions, json: boolean): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const {
      conversations: found,
      unlisted = [],
      behind,
    } = await tellingCatchUp(ledger.projections, () =>
      ledger.list({ ...options, ...(limit === undefined ? {} : { limit: limit + 1 }) }),
    )
    const conversations = found.slice(0, limit)
    const more = found.length > conversations.length
    if (json) {
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
    for (const row of table(
      ['conversation', 'messages', 'live', 'live tokens', 'cycles', 'last recorded', 'scope'],
      rows,
      new Set([1, 2, 3, 4]),
    ))
      await line(row)
    for (const { conversationId, stopped } of conversations)
      if (stopped !== undefined)
        await line(colours.red(`${printable(conversationId)} is stopped: ${printable(stopped)}`))
    await line(
      `${many(conversations.length, 'conversation')}${more ? '; there are more: a higher --limit shows them' : ''}`,
    )
  })
}
