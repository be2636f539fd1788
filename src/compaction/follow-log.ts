/**
 * Reads the log into the work queue: which conversations got something that may ask for compaction. Any number of
 * workers may do it at once; the checkpoint moves by compare-and-set, so what one of them noted the others leave out.
 */
import { CONVERSATION_PREFIX, conversationOf } from '../domain/values/ids.js'
import type { EventType } from '../domain/events/index.js'
import type { EventStore } from '../ports/event-store.js'
import type { LogCheckpoint, WorkQueue } from '../ports/work-queue.js'

export interface FollowOptions {
  readonly store: EventStore
  readonly queue: WorkQueue
  /** Something was noted, by us or by another. */
  readonly onNoted: () => void
  /** The queue was filled from another log: its reading starts again. */
  readonly onOtherLog: (checkpoint: LogCheckpoint) => void
  readonly signal: AbortSignal
}

/**
 * What can bring a conversation to a limit. What a compaction records itself is not among it: a run ends when there is
 * nothing left to do.
 */
const ASKING: ReadonlySet<string> = new Set<EventType>(['MessageAppended', 'ConversationConfigured', 'MessageUnpinned'])

/** Events that are noted in one transaction while the log is read from far behind. */
const BATCH = 500

/** The checkpoint, where it is one of this log; `otherLog` where it is not. */
async function checkpointOf({
  store,
  queue,
}: Pick<FollowOptions, 'store' | 'queue'>): Promise<{ stands: LogCheckpoint | undefined; otherLog: boolean }> {
  const stands = await queue.checkpoint()
  const otherLog = stands !== undefined && (await store.eventAt(stands.position))?.id !== stands.eventId
  return { stands, otherLog }
}

/**
 * Follows the log until `signal` aborts; throws where the log or the queue cannot be reached. Called again, it goes on
 * from the checkpoint.
 */
export async function followLog(options: FollowOptions): Promise<void> {
  const { store, queue, onNoted, onOtherLog, signal } = options
  const first = await checkpointOf(options)
  let { stands } = first
  if (first.otherLog && stands !== undefined) onOtherLog(stands)
  let seen: LogCheckpoint | undefined
  /** Conversation → position of the newest event that asks for a look. */
  const pending = new Map<string, bigint>()

  async function flush(): Promise<void> {
    while (seen !== undefined && !(await queue.note([...pending.keys()], { from: stands, to: seen }))) {
      // Another worker was faster: what it has noted is left out.
      const now = await checkpointOf(options)
      if (now.stands === undefined || now.otherLog)
        throw new Error('the checkpoint of the compaction queue was moved to another log')
      stands = now.stands
      for (const [conversationId, position] of pending) if (position <= stands.position) pending.delete(conversationId)
      if (seen.position <= stands.position) seen = undefined
    }
    if (seen !== undefined) stands = seen
    pending.clear()
    seen = undefined
    onNoted()
  }

  const after = stands === undefined || first.otherLog ? -1n : stands.position
  let events = 0
  for await (const item of store.subscribe({ after, prefix: CONVERSATION_PREFIX, signal })) {
    if (item.kind === 'event') {
      const { stream, position, id, type } = item.event
      seen = { position, eventId: id }
      const conversationId = conversationOf(stream)
      if (conversationId !== undefined && ASKING.has(type)) pending.set(conversationId, position)
      events += 1
    }
    if (seen !== undefined && (item.kind === 'caught-up' || events >= BATCH)) {
      events = 0
      await flush()
    }
  }
}
