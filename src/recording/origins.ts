/**
 * The facts that close the books: each is where a load begins, and names the one before it, so that nothing between two
 * of them is read.
 */
import { originTypes, type OriginType, type RecordedEvent } from '../domain/events/index.js'
import { conversationStream } from '../domain/values/ids.js'
import type { Log } from './load-conversation.js'
import { decodeEvent, isOfType } from './read-event.js'

/** Revisions just before and just after a cycle. */
export interface CycleSpan {
  readonly from: bigint
  readonly to: bigint
}

async function originAt(log: Log, conversationId: string, revision: bigint): Promise<RecordedEvent<OriginType>> {
  const [stored] = await log.store.readRevisions(conversationStream(conversationId), [revision])
  const event = stored === undefined ? undefined : await decodeEvent(stored, log.bodies)
  if (event === undefined || !isOfType(event, ...originTypes))
    throw new Error(
      `${conversationStream(conversationId)} revision ${revision.toString()} closes no books, though a later fact says so`,
    )
  return event
}

/** The fact that closed the books before this one, of those whose work is in force. */
async function before(log: Log, conversationId: string, event: RecordedEvent<OriginType>): Promise<bigint | undefined> {
  if (isOfType(event, 'CycleUndone')) {
    const oldest = event.data.undone.at(-1)
    return oldest === undefined ? undefined : (await originAt(log, conversationId, oldest.revision)).data.previous
  }
  if (isOfType(event, 'EditionReverted'))
    return (await originAt(log, conversationId, event.data.adoptedAt)).data.previous
  return event.data.previous
}

/**
 * The facts that closed the books and whose work is in force as of the one at `from`, newest first, down to an
 * adoption: what is before it is not.
 */
export async function* originsInForce(
  log: Log,
  conversationId: string,
  from: bigint | undefined,
): AsyncGenerator<RecordedEvent<OriginType>> {
  let at = from
  while (at !== undefined) {
    const event = await originAt(log, conversationId, at)
    yield event
    at = isOfType(event, 'EditionAdopted') ? undefined : await before(log, conversationId, event)
  }
}

/**
 * Every fact that closed the books, newest first: each names the one before it, so that nothing between two of them is
 * read.
 */
export async function* originsOf(
  log: Log,
  conversationId: string,
  from: bigint | undefined,
): AsyncGenerator<RecordedEvent<OriginType>> {
  let at = from
  while (at !== undefined) {
    const event = await originAt(log, conversationId, at)
    yield event
    at = event.data.previous
  }
}

/** The batches of a cycle and its prune are one append: the state before it is the one before them all. */
export const spanOf = ({ revision, data }: RecordedEvent<'MessagesPruned'>): CycleSpan => ({
  from: revision - BigInt(data.pruned.length) - 1n,
  to: revision,
})
