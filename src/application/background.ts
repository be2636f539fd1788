/**
 * Compaction behind the appends: a conversation that is due is compacted in this process, one run at a time for each conversation, and
 * whoever wants to can wait for it.
 */
import type { Compaction } from './compact.js'

export interface Background {
  /** Starts a run for a conversation unless one is under way, which then looks once more when it ends. */
  wake(conversationId: string): void
  /** Resolves when no run of this conversation (or of any) is under way; rejects where a run met something that nobody foresaw. */
  settled(conversationId?: string): Promise<void>
  /** Asks running summaries to end, and waits. */
  stop(): Promise<void>
}

/** Builds it from the use case, and the question whether anything is due. */
export function createBackground(
  compact: (conversationId: string, signal: AbortSignal) => Promise<Compaction>,
  isDue: (conversationId: string) => Promise<boolean>,
  onCompaction: (conversationId: string, compaction: Compaction) => void,
): Background {
  const running = new Map<string, Promise<void>>()
  const again = new Set<string>()
  const stopping = new AbortController()

  async function run(conversationId: string): Promise<void> {
    do {
      again.delete(conversationId)
      if (stopping.signal.aborted) return
      onCompaction(conversationId, await compact(conversationId, stopping.signal))
      // A failure rests until further messages came, so this ends.
    } while (again.has(conversationId) && (await isDue(conversationId)))
  }

  function wake(conversationId: string): void {
    if (stopping.signal.aborted) return
    if (running.has(conversationId)) {
      again.add(conversationId)
      return
    }
    const work = run(conversationId).finally(() => {
      if (running.get(conversationId) === work) running.delete(conversationId)
    })
    // Who waits gets the rejection; without anybody waiting it must not end the process.
    work.catch(() => undefined)
    running.set(conversationId, work)
  }

  async function settled(conversationId?: string): Promise<void> {
    if (conversationId !== undefined) {
      await running.get(conversationId)
      return
    }
    while (running.size > 0) await Promise.all(running.values())
  }

  return {
    wake,
    settled,
    async stop() {
      stopping.abort()
      await Promise.allSettled(running.values())
    },
  }
}
