/** Lists conversations that the read models no longer update. */
import type { ProjectionStatus } from '../../../projections/engine/watch.js'
import type { Ledger } from '../../library/ledger.js'
import { titlesOf } from '../../library/titles.js'
import { colours, line, printable } from './output.js'
import { idWithTitle } from './titles.js'

/** Prints each stopped conversation with its read models and the reason. */
export async function showStopped(
  ledger: Pick<Ledger, 'list'>,
  projections: readonly ProjectionStatus[],
): Promise<void> {
  const byReason = new Map<string, { readonly conversationId: string; readonly names: string[] }>()
  for (const { name, stopped } of projections) {
    for (const { conversationId, reason } of stopped) {
      const entry = byReason.get(reason) ?? { conversationId, names: [] }
      entry.names.push(name)
      byReason.set(reason, entry)
    }
  }
  const titles = await titlesOf(
    ledger,
    [...byReason.values()].map(({ conversationId }) => conversationId),
  )
  for (const [reason, { conversationId, names }] of byReason)
    await line(
      colours.red(
        `conversation ${idWithTitle(conversationId, titles)} is stopped in ${names.join(', ')}: ${printable(reason)}`,
      ),
    )
  if (byReason.size > 0)
    await line('all other conversations are up to date; `projections rebuild` retries the stopped ones')
}
