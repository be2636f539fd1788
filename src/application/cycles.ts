/**
 * Cycles by their numbers. A number is told out again where a cycle was undone or other batches were put into force, so a cycle is the prune that
 * it ended with: the one in force where one has the number, else the newest, with what put it out of force.
 */
import { either as E } from 'fp-ts'
import { closingTypes, type ClosingType, type RecordedFact, type TakeoverType } from '../domain/events.js'
import { conversationStream } from '../domain/ids.js'
import { decodeFact, isOfType, takesOver } from './facts.js'
import { loadConversation, type Log } from './load-conversation.js'

/** Revisions just before and just after a cycle. */
export interface CycleSpan {
  readonly from: bigint
  readonly to: bigint
}

export interface CycleFound extends CycleSpan {
  readonly cycle: number
  /** The fact since which it is not in force any more: it was undone, or another line of batches took its place. */
  readonly outOfForce?: { readonly type: TakeoverType; readonly revision: bigint; readonly recordedAt: string; readonly actor: string }
  /** Other cycles that had the same number, newest first. None of them is in force. */
  readonly others: readonly CycleSpan[]
}

/** `last` is the newest cycle that the log records; undefined where there is none. */
export type CycleNotRecorded = { readonly kind: 'CycleNotRecorded'; readonly conversationId: string; readonly cycle: number; readonly last: number | undefined }

/** A cycle that an edition took before it was adopted: it lies in the edition's stream. `replaced` had its number in what the edition replaced. */
export type CycleOfEdition = { readonly kind: 'CycleOfEdition'; readonly cycle: number; readonly editionId: string; readonly replaced?: CycleSpan }

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

async function isInForce(log: Log, conversationId: string, prune: bigint, from: bigint): Promise<boolean> {
  for await (const { revision } of closingsInForce(log, conversationId, from)) if (revision === prune) return true
  return false
}

/** The oldest of the takeovers (newest first) since which a cycle is not in force. */
async function putOutBy(log: Log, conversationId: string, prune: bigint, takeovers: readonly RecordedFact<TakeoverType>[]): Promise<RecordedFact<TakeoverType> | undefined> {
  let by: RecordedFact<TakeoverType> | undefined
  for (const takeover of takeovers) {
    if (takeover.revision < prune || (await isInForce(log, conversationId, prune, takeover.revision))) break
    by = takeover
  }
  return by
}

/** The revisions just before and just after a cycle. Refused where the number is that of a cycle in force which an edition took. */
export async function cycleRevisions(log: Log, conversationId: string, cycle: number): Promise<E.Either<CycleNotRecorded | CycleOfEdition, CycleFound>> {
  const state = await loadConversation(log, conversationId)
  const named: RecordedFact<'MessagesPruned'>[] = []
  const takeovers: RecordedFact<TakeoverType>[] = []
  let last: number | undefined
  for await (const fact of closingsOf(log, conversationId, state.lastClosing)) {
    if (isOfType(fact, 'MessagesPruned')) {
      last ??= fact.data.cycle
      if (fact.data.cycle === cycle) named.push(fact)
    } else if (takesOver(fact)) takeovers.push(fact)
    // Where nothing was ever undone or adopted, a number is told out once.
    if (named.length > 0 && state.line === undefined) break
  }
  let standing: RecordedFact<'MessagesPruned'> | undefined
  if (cycle >= 1 && cycle <= state.cycles) {
    for await (const fact of closingsInForce(log, conversationId, state.lastClosing)) {
      if (isOfType(fact, 'EditionAdopted')) return E.left({ kind: 'CycleOfEdition', cycle, editionId: fact.data.editionId, ...(named[0] === undefined ? {} : { replaced: spanOf(named[0]) }) })
      if (isOfType(fact, 'MessagesPruned') && fact.data.cycle === cycle) {
        standing = fact
        break
      }
    }
  }
  const meant = standing ?? named[0]
  if (meant === undefined) return E.left({ kind: 'CycleNotRecorded', conversationId, cycle, last })
  const by = standing === undefined ? await putOutBy(log, conversationId, meant.revision, takeovers) : undefined
  return E.right({
    cycle,
    ...spanOf(meant),
    ...(by === undefined ? {} : { outOfForce: { type: by.type, revision: by.revision, recordedAt: by.metadata.recordedAt, actor: by.metadata.actor } }),
    others: named.filter((fact) => fact.revision !== meant.revision).map(spanOf),
  })
}
