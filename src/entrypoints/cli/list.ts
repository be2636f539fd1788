/** `list`: every conversation of the ledger, the one that something happened in last first. */
import type { WaitOptions } from '../ledger.js'
import type { Flags } from './flags.js'
import { colours, count, line, many, shown, table, tellBehind, toJson } from './output.js'
import { withLedger } from './session.js'

/** Runs the command. */
export async function runList(flags: Flags, scope: string | undefined, wait: WaitOptions, json: boolean): Promise<void> {
  await withLedger(flags, {}, async ({ ledger }) => {
    const { conversations, behind } = await ledger.list({ ...wait, ...(scope === undefined ? {} : { scope }) })
    if (json) {
      await line(toJson({ conversations, ...(behind === undefined ? {} : { behind }) }))
      return
    }
    tellBehind(behind)
    if (conversations.length === 0) {
      await line(scope === undefined ? 'no conversations so far' : `no conversations of the scope ${scope}`)
      return
    }
    const rows = conversations.map((conversation) => [
      shown(conversation.conversationId),
      count(conversation.messages),
      count(conversation.liveMessages),
      count(conversation.liveTokens),
      count(conversation.cycles),
      conversation.lastRecordedAt,
      shown(conversation.scope ?? ''),
    ])
    for (const row of table(['conversation', 'messages', 'live', 'live tokens', 'cycles', 'last recorded', 'scope'], rows, new Set([1, 2, 3, 4]))) await line(row)
    for (const { conversationId, stopped } of conversations) if (stopped !== undefined) await line(colours.red(`${shown(conversationId)} is stopped: ${shown(stopped)}`))
    await line(many(conversations.length, 'conversation'))
  })
}
