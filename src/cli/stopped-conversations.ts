/** The conversations whose rows are not kept any more, and why. */
import type { ProjectionStatus } from '../../projections/engine/watch.js'
import { colours, line, printable } from './output.js'

/** Names the conversations whose rows do not go on, each with the read models that stopped at it. */
export async function tellStopped(projections: readonly ProjectionStatus[]): Promise<void> {
  const byReason = new Map<string, { readonly conversationId: string; readonly names: string[] }>()
  for (const { name, stopped } of projections) {
    for (const { conversationId, reason } of stopped) {
      const told = byReason.get(reason) ?? { conversationId, names: [] }
      told.names.push(name)
      byReason.set(reason, told)
    }
  }
  for (const [reason, { conversationId, names }] of byReason)
    await line(
      colours.red(`conversation ${printable(conversationId)} is stopped in ${names.join(', ')}: ${printable(reason)}`),
    )
  if (byReason.size > 0) await line('all other conversations are served; `projections rebuild` tries these again')
}
