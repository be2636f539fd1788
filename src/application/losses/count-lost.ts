/** Counts the losses of the compactions of a conversation that matter. Only compactions after the cached count are judged. */
import type { LostCounts } from '../../ports/lost-counts.js'
import type { Log } from '../recording/load-conversation.js'
import { forgottenIn } from './cycles.js'

export interface CountLostDependencies {
  readonly log: Log
  readonly lostCounts: LostCounts
}

/**
 * Counts the losses that matter and caches the count.
 * @param isLate if it returns true, counting stops after the current compaction; the counts are cached
 * @returns undefined if counting stopped early
 */
export async function countLost(
  { log, lostCounts }: CountLostDependencies,
  conversationId: string,
  isLate: () => boolean = () => false,
): Promise<number | undefined> {
  const known = await lostCounts.find(conversationId)
  let count = known ?? { revision: -1, lost: 0 }
  let isStopped = false
  for await (const { revision, report } of forgottenIn(log, conversationId, { after: count.revision })) {
    count = { revision, lost: count.lost + report.losses }
    isStopped = isLate()
    if (isStopped) break
  }
  if (count !== known && count.revision >= 0) await lostCounts.remember(conversationId, count)
  return isStopped ? undefined : count.lost
}
