/**
 * Finds cycles by number. A number is used again after an undo or another change of batches, so a cycle is identified
 * by its prune: the active cycle with the number, or else the newest one, together with the event that deactivated it.
 */
import { either as E } from 'fp-ts'
import type { RecordedEvent, ReplacementType } from '../../domain/events/index.js'
import { originsInForce, originsOf, spanOf, type CycleSpan } from '../recording/origins.js'
import { isOfType, isReplacement } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'

export interface CycleFound extends CycleSpan {
  readonly cycle: number
  /** The event that deactivated it: it was undone, or other batches replaced it. */
  readonly outOfForce?: {
    readonly type: ReplacementType
    readonly revision: number
    readonly recordedAt: string
    readonly actor: string
  }
  /** Other cycles with the same number, newest first. They are not active. */
  readonly others: readonly CycleSpan[]
}

/** `last` is the newest recorded cycle; undefined without any. */
export type CycleNotRecorded = {
  readonly kind: 'CycleNotRecorded'
  readonly conversationId: string
  readonly cycle: number
  readonly last: number | undefined
}

/**
 * A cycle of an adopted edition: it is recorded in the edition's stream. `replaced` is the cycle with this number that
 * the edition replaced.
 */
export type CycleOfEdition = {
  readonly kind: 'CycleOfEdition'
  readonly cycle: number
  readonly editionId: string
  readonly replaced?: CycleSpan
}

async function isInForce(log: Log, conversationId: string, prune: number, from: number): Promise<boolean> {
  for await (const { revision } of originsInForce(log, conversationId, from)) if (revision === prune) return true
  return false
}

/** The oldest of the replacements (newest first) that deactivated a cycle. */
async function putOutBy(
  log: Log,
  conversationId: string,
  prune: number,
  replacements: readonly RecordedEvent<ReplacementType>[],
): Promise<RecordedEvent<ReplacementType> | undefined> {
  let by: RecordedEvent<ReplacementType> | undefined
  for (const replacement of replacements) {
    if (replacement.revision < prune || (await isInForce(log, conversationId, prune, replacement.revision))) break
    by = replacement
  }
  return by
}

/** The revisions directly before and after a cycle. Fails if the number belongs to an active cycle of an edition. */
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
    // Without undos and adoptions, each number is used once.
    if (named.length > 0 && state.lineage === undefined) break
  }
  let active: RecordedEvent<'MessagesPruned'> | undefined
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
        active = event
        break
      }
    }
  }
  const chosen = active ?? named[0]
  if (chosen === undefined) return E.left({ kind: 'CycleNotRecorded', conversationId, cycle, last })
  const by = active === undefined ? await putOutBy(log, conversationId, chosen.revision, replacements) : undefined
  return E.right({
    cycle,
    ...spanOf(chosen),
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
    others: named.filter((event) => event.revision !== chosen.revision).map(spanOf),
  })
}
