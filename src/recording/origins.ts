/** The facts that close the books: each is where a load begins, and names the one before it, so that nothing between two of them is read. */
import { closingTypes, type ClosingType, type RecordedFact } from '../domain/events/index.js'
import { conversationStream } from '../domain/values/ids.js'
import type { Log } from './load-conversation.js'
import { decodeFact, isOfType } from './read-event.js'

/** Revisions just before and just after a cycle. */
export interface CycleSpan {
  readonly from: bigint
  readonly to: bigint
}

async function closingAt(log: Log, conversationId: string, revision: bigint): Promise<RecordedFact<ClosingType>> {
  const [stored] = await log.store.readRevisions(conversationStream(conversationId), [revision])
  const fact = stored === undefined ? undefined : await decodeFact(stored, log.bodies)
  if (fact === undefined || !isOfType(fact, ...closingTypes)) throw new Error(`${conversationStream(conversationId)} revision ${revision.toString()} closes no books, though a later fact says so`)
  return fact
}

/** The fact that closed the books before this one, of those whose work is in force. */
async function before(log: Log, conversationId: string, fact: RecordedFact<ClosingType>): Promise<bigint | undefined> {
  if (isOfType(fact, 'CycleUndone')) {
    const oldest = fact.data.undone.at(-1)
    return oldest === undefined ? undefined : (await closingAt(log, conversationId, oldest.revision)).data.previous
  }
  if (isOfType(fact, 'EditionReverted')) return (await closingAt(log, conversationId, fact.data.adoptedAt)).data.previous
  return fact.data.previous
}

/** The facts that closed the books and whose work is in force as of the one at `from`, newest first, down to an adoption: what is before it is not. */
export async function* closingsInForce(log: Log, conversationId: string, from: bigint | undefined): AsyncGenerator<RecordedFact<ClosingType>> {
  let at = from
  while (at !== undefined) {
    const fact = await closingAt(log, conversationId, at)
    yield fact
    at = isOfType(fact, 'EditionAdopted') ? undefined : await before(log, conversationId, fact)
  }
}

/** Every fact that closed the books, newest first: each names the one before it, so that nothing between two of them is read. */
export async function* closingsOf(log: Log, conversationId: string, from: bigint | undefined): AsyncGenerator<RecordedFact<ClosingType>> {
  let at = from
  while (at !== undefined) {
    const fact = await closingAt(log, conversationId, at)
    yield fact
    at = fact.data.previous
  }
}

/** The batches of a cycle and its prune are one append: the state before it is the one before them all. */
export const spanOf = ({ revision, data }: RecordedFact<'MessagesPruned'>): CycleSpan => ({ from: revision - BigInt(data.pruned.length) - 1n, to: revision })
