/**
 * Follows the log and queues the conversations with events that may require compaction. Any number of workers may do
 * this concurrently; the checkpoint moves by compare-and-set, so each event is processed once.
 */
import { CONVERSATION_PREFIX, conversationOf } from '../../domain/values/ids.js'
import { definitionOf, isEventType } from '../../domain/events/index.js'
import type { EventStore } from '../../ports/event-store.js'
import type { LogCheckpoint, WorkQueue } from '../../ports/work-queue.js'

export interface FollowOptions {
  readonly store: EventStore
  readonly queue: WorkQueue
  /** Called after the checkpoint moved: conversations may have been queued, by this or another worker. */
  readonly onAdvance: () => void
  /** Called if the queue belongs to a different log; reading restarts from the beginning. */
  readonly onOtherLog: (checkpoint: LogCheckpoint) => void
  readonly signal: AbortSignal
}

/**
 * The events that can bring a conversation to a limit. Events of a compaction itself are not among them: a run
 * already repeats until nothing is due.
 */
const canTrigger = (type: string): boolean => isEventType(type) && definitionOf(type).triggers === true

/** Events per transaction while catching up. */
const EVENTS_PER_TRANSACTION = 500
const BACKLOG_EVENTS_PER_CALL = 5_000

/** The checkpoint of the queue, and whether it belongs to another log. */
async function checkpointOf({
  store,
  queue,
}: Pick<FollowOptions, 'store' | 'queue'>): Promise<{ checkpoint: LogCheckpoint | undefined; otherLog: boolean }> {
  const checkpoint = await queue.checkpoint()
  const otherLog = checkpoint !== undefined && (await store.eventAt(checkpoint.position))?.id !== checkpoint.eventId
  return { checkpoint, otherLog }
}

/**
 * Queues the conversations of a log that has no checkpoint yet, in a thread of work beside that of new events: these come
 * first, however long the log is. If the process ends before, the next one begins again.
 */
async function enqueueBacklog(options: FollowOptions, from: LogCheckpoint | undefined): Promise<void> {
  const { store, queue, signal, onAdvance } = options
  const head = await store.head()
  const filled = new AbortController()
  const newEvents = enqueueNewEvents(options, head, AbortSignal.any([signal, filled.signal]))
  // Its failure is thrown below, or is that of the backlog too.
  newEvents.catch(() => filled.abort())
  try {
    let last: LogCheckpoint | undefined
    let events = 0
    const pending = new Set<string>()
    for await (const { stream, position, id, type } of store.readPositions({ prefix: CONVERSATION_PREFIX })) {
      if (position > head || signal.aborted) break
      last = { position, eventId: id }
      const conversationId = conversationOf(stream)
      if (conversationId !== undefined && canTrigger(type)) pending.add(conversationId)
      if (++events % BACKLOG_EVENTS_PER_CALL !== 0) continue
      await queue.noteBacklog([...pending])
      pending.clear()
      onAdvance()
    }
    if (signal.aborted) return
    await queue.noteBacklog([...pending])
    // If another worker moved it first, the same conversations are queued.
    if (last !== undefined) await queue.note([], { from, to: last })
    onAdvance()
  } finally {
    filled.abort()
    await newEvents
  }
}

/** Queues the conversations of new events, without a checkpoint. */
async function enqueueNewEvents(
  { store, queue, onAdvance }: FollowOptions,
  after: number,
  signal: AbortSignal,
): Promise<void> {
  for await (const item of store.subscribe({ after, prefix: CONVERSATION_PREFIX, signal })) {
    const conversationId = item.kind === 'event' ? conversationOf(item.event.stream) : undefined
    if (item.kind !== 'event' || conversationId === undefined || !canTrigger(item.event.type)) continue
    await queue.note([conversationId])
    onAdvance()
  }
}

/**
 * Follows the log until `signal` aborts; throws if the log or the queue cannot be reached, or if the
 * checkpoint was moved to another log or removed. The next call continues from the checkpoint.
 */
export async function enqueueFromLog(options: FollowOptions): Promise<void> {
  const { store, queue, onAdvance, onOtherLog, signal } = options
  let first = await checkpointOf(options)
  if (first.otherLog && first.checkpoint !== undefined) onOtherLog(first.checkpoint)
  if (first.otherLog || first.checkpoint === undefined) {
    await enqueueBacklog(options, first.checkpoint)
    if (signal.aborted) return
    first = await checkpointOf(options)
  }
  let { checkpoint } = first
  let lastRead: LogCheckpoint | undefined
  /** Position of the newest triggering event, by conversation. */
  const pending = new Map<string, number>()

  async function flush(): Promise<void> {
    while (lastRead !== undefined && !(await queue.note([...pending.keys()], { from: checkpoint, to: lastRead }))) {
      // Another worker moved the checkpoint first: drop the conversations that it queued.
      const current = await checkpointOf(options)
      if (current.checkpoint === undefined || current.otherLog)
        throw new Error('the checkpoint of the compaction queue was moved to another log or removed')
      checkpoint = current.checkpoint
      for (const [conversationId, position] of pending)
        if (position <= checkpoint.position) pending.delete(conversationId)
      if (lastRead.position <= checkpoint.position) lastRead = undefined
    }
    if (lastRead !== undefined) checkpoint = lastRead
    pending.clear()
    lastRead = undefined
    onAdvance()
  }

  const startAfter = checkpoint === undefined || first.otherLog ? -1 : checkpoint.position
  let events = 0
  for await (const item of store.subscribe({ after: startAfter, prefix: CONVERSATION_PREFIX, signal })) {
    if (item.kind === 'event') {
      const { stream, position, id, type } = item.event
      lastRead = { position, eventId: id }
      const conversationId = conversationOf(stream)
      if (conversationId !== undefined && canTrigger(type)) pending.set(conversationId, position)
      events += 1
    }
    if (lastRead !== undefined && (item.kind === 'caught-up' || events >= EVENTS_PER_TRANSACTION)) {
      events = 0
      await flush()
    }
  }
}
