/**
 * Cycles by their numbers. A number is told out again where a cycle was undone or other batches were put into force, so
 * a cycle is the prune that it ended with: the one in force where one has the number, else the newest, with what put it
 * out of force.
 */
import { either as E } from 'fp-ts'
import type { RecordedEvent, ReplacementType } from '../domain/events/index.js'
import { originsInForce, originsOf, spanOf, type CycleSpan } from '../recording/origins.js'
import { isOfType, isReplacement } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'

export interface CycleFound extends CycleSpan {
  readonly cycle: number
  /** The fact since which it is not in force any more: it was undone, or another line of batches took its place. */
  readonly outOfForce?: {
    readonly type: ReplacementType
    readonly revision: bigint
    readonly recordedAt: string
    readonly actor: string
  }
  /** Other cycles that had the same number, newest first. None of them is in force. */
  readonly others: readonly CycleSpan[]
}

/** `last` is the newest cycle that the log records; undefined where there is none. */
export type CycleNotRecorded = {
  readonly kind: 'CycleNotRecorded'
  readonly conversationId: string
  readonly cycle: number
  readonly last: number | undefined
}

/**
 * A cycle that an edition took before it was adopted: it lies in the edition's stream. `replaced` had its number in
 * what the edition replaced.
 */
export type CycleOfEdition = {
  readonly kind: 'CycleOfEdition'
  readonly cycle: number
  readonly editionId: string
  readonly replaced?: CycleSpan
}

async function isInForce(log: Log, conversationId: string, prune: bigint, from: bigint): Promise<boolean> {
  for await (const { revision } of originsInForce(log, conversationId, from)) if (revision === prune) return true
  return false
}

/** The oldest of the replacements (newest first) since which a cycle is not in force. */
async function putOutBy(
  log: Log,
  conversationId: string,
  prune: bigint,
  replacements: readonly RecordedEvent<ReplacementType>[],
): Promise<RecordedEvent<ReplacementType> | undefined> {
  let by: RecordedEvent<ReplacementType> | undefined
  for (const replacement of replacements) {
    if (replacement.revision < prune || (await isInForce(log, conversationId, prune, replacement.revision))) break
    by = replacement
  }
  return by
}

/**
 * The revisions just before and just after a cycle. Refused where the number is that of a cycle in force which an
 * edition took.
 */
export async function cycleRevisions(
  log: Log,
  conversationId: string,
  cycle: number,
): Promise<E.Either<CycleNotRecorded | CycleOfEdition, CycleFound>> {
  const state = await loadConversation(log, conversationId)
  const named: RecordedEvent<'MessagesPruned'>[] = []
  const replacements: RecordedEvent<ReplacementType>[] = []
  let last: number | undefined
  for await (const event of originsOf(log, conversationId, state.lastOrigin)) {
    if (isOfType(event, 'MessagesPruned')) {
      last ??= event.data.cycle
      if (event.data.cycle === cycle) named.push(event)
    } else if (isReplacement(event)) replacements.push(event)
    // Where nothing was ever undone or adopted, a number is told out once.
    if (named.length > 0 && state.lineage === undefined) break
  }
  let standing: RecordedEvent<'MessagesPruned'> | undefined
  if (cycle >= 1 && cycle <= state.cycles) {
    for await (const event of originsInForce(log, conversationId, state.lastOrigin)) {
      if (isOfType(event, 'EditionAdopted'))
        return E.left({
          kind: 'CycleOfEdition',
          cycle,
          editionId: event.data.editionId,
          ...(named[0] === undefined ? {} : { replaced: spanOf(named[0]) }),
        })
      if (isOfType(event, 'MessagesPruned') && event.data.cycle === cycle) {
        standing = event
        break
      }
    }
  }
  const meant = standing ?? named[0]
  if (meant === undefined) return E.left({ kind: 'CycleNotRecorded', conversationId, cycle, last })
  const by = standing === undefined ? await putOutBy(log, conversationId, meant.revision, replacements) : undefined
  return E.right({
    cycle,
    ...spanOf(meant),
    ...(by === undefined
      ? {}
      : {
          outOfForce: {
            type: by.type,
            revision: by.revision,
            recordedAt: by.metadata.recordedAt,
            actor: by.metadata.actor,
          },
        }),
    others: named.filter((event) => event.revision !== meant.revision).map(spanOf),
  })
}
