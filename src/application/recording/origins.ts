/**
 * Checkpoint events: a load begins at each of them, and each names the previous one, so that the events between need
 * not be read.
 */
import { originTypes, type OriginType, type RecordedEvent } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { Log } from './load-conversation.js'
import { decodeEvent, isOfType } from './read-event.js'

/** The revisions directly before and after a cycle. */
export interface CycleSpan {
  readonly from: number
  readonly to: number
}

async function originAt(log: Log, conversationId: string, revision: number): Promise<RecordedEvent<OriginType>> {
  const [stored] = await log.store.readRevisions(conversationStream(conversationId), [revision])
  const event = stored === undefined ? undefined : await decodeEvent(stored, log)
  if (event === undefined || !isOfType(event, ...originTypes))
    throw new Error(
      `${conversationStream(conversationId)} revision ${revision.toString()} is not a checkpoint event, though a later event names it as one`,
    )
  return event
}

/** The previous checkpoint event that is still in effect. */
async function previousActive(
  log: Log,
  conversationId: string,
  event: RecordedEvent<OriginType>,
): Promise<number | undefined> {
  if (isOfType(event, 'CycleUndone')) {
    const oldest = event.data.undone.at(-1)
    return oldest === undefined ? undefined : (await originAt(log, conversationId, oldest.revision)).data.previous
  }
  if (isOfType(event, 'EditionReverted'))
    return (await originAt(log, conversationId, event.data.adoptedAt)).data.previous
  return event.data.previous
}

/** The checkpoint events in effect as of `from`, newest first, down to an adoption, which replaces all earlier ones. */
export async function* originsInForce(
  log: Log,
  conversationId: string,
  from: number | undefined,
): AsyncGenerator<RecordedEvent<OriginType>> {
  let at = from
  while (at !== undefined) {
    const event = await originAt(log, conversationId, at)
    yield event
    at = isOfType(event, 'EditionAdopted') ? undefined : await previousActive(log, conversationId, event)
  }
}

/** Every checkpoint event, newest first. */
export async function* originsOf(
  log: Log,
  conversationId: string,
  from: number | undefined,
): AsyncGenerator<RecordedEvent<OriginType>> {
  let at = from
  while (at !== undefined) {
    const event = await originAt(log, conversationId, at)
    yield event
    at = event.data.previous
  }
}

/** The batches of a cycle and its prune are one append: the state before the cycle is the one before all of them. */
export const spanOf = ({ revision, data }: RecordedEvent<'MessagesPruned'>): CycleSpan => ({
  from: revision - data.pruned.length - 1,
  to: revision,
})
