/** The turns of recorded events: people count the messages of a user, the log counts events. */
import type { Histories } from './history.js'

/** The number of user messages up to a revision of a conversation; undefined if it is not known. */
export type TurnOf = (conversationId: string, revision: number) => number | undefined

/** The turns of some conversations. */
export async function turnsOf(histories: Pick<Histories, 'read'>, conversationIds: Iterable<string>): Promise<TurnOf> {
  const turns = new Map<string, readonly number[]>()
  for (const id of new Set(conversationIds)) turns.set(id, (await histories.read(id)).course.turns)
  return (conversationId, revision) => turns.get(conversationId)?.[revision]
}
