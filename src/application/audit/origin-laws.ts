/**
 * The rules for checkpoint events. All data that such an event carries must follow from the earlier events, so that a
 * load that begins at it equals a fold of every event. Messages that leave the live window are covered, no call is
 * separated from its results, and restored data equals what was recorded.
 *
 * One function checks every type of checkpoint event; a prune and an event that activates other batches have additional
 * rules.
 */
import { isDeepStrictEqual } from 'node:util'
import { batchContent, carriedBatch, type Batch } from '../../domain/conversation/batch.js'
import { callGroups, callName } from '../../domain/conversation/call-groups.js'
import { contextLaws } from './context-laws.js'
import { resumeAt, revisionsCarried } from '../../domain/conversation/resume-at.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import {
  originTypes,
  replacementTypes,
  type CarryForward,
  type EventData,
  type OriginType,
  type RecordedEvent,
  type ReplacementType,
} from '../../domain/events/index.js'
import { hashOf } from '../../domain/values/hash.js'
import { isOfType } from '../recording/read-event.js'
import type { Finding, Rule } from './event-laws.js'
import { hardLimit, softLimit } from '../../domain/values/policy.js'

/** The checkpoint events. */
export type OriginEvent = RecordedEvent<OriginType>

export const isCheckpoint = (event: RecordedEvent): event is OriginEvent => isOfType(event, ...originTypes)

const finding = (rule: Rule, detail: string): Finding => ({ rule, detail })
const findingIf = (wrong: boolean, rule: Rule, detail: string): Finding[] => (wrong ? [finding(rule, detail)] : [])

/** The events directly before a checkpoint event in the same append. */
export type ArchivedEvent = RecordedEvent<'BatchArchived'>

/**
 * The events that a load reads by revision: those of messages, and those of batches and chunks. A conversation has both
 * in one stream, an edition in two.
 */
export interface HeldState {
  readonly messages: ReadonlyMap<number, RecordedEvent>
  readonly made: ReadonlyMap<number, RecordedEvent>
}

const byRevision = (events: readonly RecordedEvent[]): RecordedEvent[] =>
  events.toSorted((a, b) => (a.revision < b.revision ? -1 : 1))

/** Compares a load that begins here with the fold. `held` has the events that the load reads. */
function loadLaws(after: Conversation, event: OriginEvent, held: HeldState): Finding[] {
  const { messages, made } = revisionsCarried(event)
  const missing =
    messages.find((revision) => !held.messages.has(revision)) ?? made.find((revision) => !held.made.has(revision))
  if (missing !== undefined)
    return [finding('carried', `carries revision ${missing.toString()}, which a load does not need`)]
  const read = byRevision([...new Set(messages)].flatMap((revision) => held.messages.get(revision) ?? []))
  const readMade = byRevision([...new Set(made)].flatMap((revision) => held.made.get(revision) ?? []))
  const window = [...held.messages.values()]
    .filter(
      (each): each is RecordedEvent<'MessageAppended'> =>
        isOfType(each, 'MessageAppended') && each.revision >= event.data.windowStart,
    )
    .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
  const resumedState = resumeAt(
    after,
    event,
    {
      messages: read.filter((each) => isOfType(each, 'MessageAppended')),
      batches: readMade.filter((each) => isOfType(each, 'BatchArchived', 'BatchesResummarized', ...replacementTypes)),
      chunks: readMade.filter((each) => isOfType(each, 'ChunkSummarized')),
      observed: readMade.filter((each) => isOfType(each, 'CompactionObserved')),
    },
    window,
  )
  // Another event of the edition's stream says how much of the conversation it has seen.
  const { editionId, pinnedAhead, conversationRevision } = after
  const resumed =
    editionId === undefined ? resumedState : { ...resumedState, editionId, pinnedAhead, conversationRevision }
  if (isDeepStrictEqual(resumed, after)) return []
  const fields = new Set([...Object.keys(resumed), ...Object.keys(after)])
  const differing = [...fields].filter(
    (field) => !isDeepStrictEqual(Reflect.get(resumed, field), Reflect.get(after, field)),
  )
  return [finding('carried', `a load from here gives another ${differing.join(', ')} than the events before it`)]
}

/**
 * Calls that are removed without their result, and those removed earlier whose result is still expected or live, in
 * order.
 */
function compactedCallsAfter(
  before: Conversation,
  batchOf: ReadonlyMap<string, string>,
): CarryForward['compactedCalls'] {
  const messages = [...before.retained, ...before.window]
  const { groups, strays } = callGroups(messages)
  const answered = new Set(
    [...strays].flatMap((at) => {
      const message = messages[at]
      return message !== undefined && batchOf.has(message.messageId) ? [message.toolCallId] : []
    }),
  )
  const now = groups.flatMap((group) => {
    const batchId = batchOf.get(messages[group.call]?.messageId ?? '')
    return batchId === undefined ? [] : group.open.map((call) => ({ callId: call.id, name: callName(call), batchId }))
  })
  return [...before.compactedCalls.filter((call) => !answered.has(call.callId)), ...now]
}

/** If another program manages the context, its deviations are observations. */
const asObservedBy = (state: Conversation, findings: readonly Finding[]): Finding[] =>
  state.observed === undefined ? [...findings] : findings.map((each) => ({ ...each, isObservation: true }))

function pruneLaws(
  before: Conversation,
  event: RecordedEvent<'MessagesPruned'>,
  archived: readonly ArchivedEvent[],
): Finding[] {
  const { pruned, carried, why } = event.data
  const covers = archived.map(({ data }) => ({ batchId: data.batchId, messageIds: data.messageIds }))
  const leaving = pruned.flatMap((part) => part.messageIds)
  const batchOf = new Map(pruned.flatMap((part) => part.messageIds.map((id) => [id, part.batchId] as const)))
  const messages: readonly LiveMessage[] = [...before.retained, ...before.window]
  const live = new Set(messages.map((message) => message.messageId))
  const notLive = leaving.find((id) => !live.has(id))
  const parted = callGroups(messages).groups.find((group) => {
    const leaves = (at: number): boolean => batchOf.has(messages[at]?.messageId ?? '')
    return group.results.some((at) => leaves(at) !== leaves(group.call))
  })
  const compacted = compactedCallsAfter(before, batchOf)
  const policy = before.configuration?.policy
  const limit = policy === undefined ? undefined : why.trigger === 'hard' ? hardLimit(policy) : softLimit(policy)
  const isObserved = before.observed !== undefined
  const pinned = messages.find((message) => message.pinned && batchOf.has(message.messageId))
  const waiting = before.chunks
    .filter((chunk) => !chunk.messageIds.some((id) => batchOf.has(id)))
    .map((chunk) => chunk.revision)
  return [
    ...findingIf(
      !isDeepStrictEqual(pruned, covers),
      'archive-before-prune',
      'does not prune exactly what the batches right before it archive',
    ),
    ...findingIf(notLive !== undefined, 'coverage', `prunes message ${notLive ?? ''}, which is not live`),
    ...findingIf(batchOf.size !== leaving.length, 'coverage', 'prunes a message twice'),
    ...asObservedBy(
      before,
      findingIf(pinned !== undefined, 'coverage', `prunes message ${pinned?.messageId ?? ''}, which is pinned`),
    ),
    ...asObservedBy(
      before,
      findingIf(
        parted !== undefined,
        'context',
        `parts the calls of message ${messages[parted?.call ?? -1]?.messageId ?? ''} from their results`,
      ),
    ),
    ...findingIf(
      (why.trigger === 'observed') !== isObserved,
      'carried',
      isObserved
        ? 'marks the cycle as made by the ledger, but another program manages the context'
        : 'marks the cycle as made by another program, but the ledger manages the context',
    ),
    ...findingIf(
      !isDeepStrictEqual(
        carried.batches,
        before.batches.map((batch) => carriedSince(event.metadata.schemaVersion, batch)),
      ),
      'coverage',
      'does not carry exactly the batches that are active',
    ),
    ...findingIf(
      event.data.cycle !== before.cycles + 1,
      'carried',
      `calls itself cycle ${String(event.data.cycle)} after cycle ${String(before.cycles)}`,
    ),
    ...findingIf(
      !isDeepStrictEqual(carried.lineage, before.lineage),
      'carried',
      'carries another line of batches than the active one',
    ),
    ...findingIf(
      carried.messagesCompressed !== before.messagesCompressed + leaving.length,
      'carried',
      `says that ${String(carried.messagesCompressed)} messages are compressed, but ${String(before.messagesCompressed + leaving.length)} are`,
    ),
    ...findingIf(
      !isDeepStrictEqual(carried.chunks, waiting),
      'carried',
      'does not carry exactly the chunks that wait to be archived',
    ),
    // The decider chooses how many calls it carries, but they must be the last ones.
    ...findingIf(
      !isDeepStrictEqual(
        carried.compactedCalls,
        carried.compactedCalls.length === 0 ? [] : compacted.slice(-carried.compactedCalls.length),
      ) ||
        (carried.compactedCalls.length === 0 && compacted.length > 0),
      'carried',
      'does not carry the calls that were removed without their result',
    ),
    ...findingIf(
      why.trigger !== 'observed' && limit !== why.threshold,
      'figures',
      `names the threshold ${why.trigger === 'observed' ? '' : String(why.threshold)}, but its policy requires ${String(limit)}`,
    ),
  ]
}

/**
 * The fields of a batch that a prune carries: since schema version 4 its depth, since version 5 all that views need.
 */
function carriedSince(schemaVersion: number, batch: Batch): CarryForward['batches'][number] {
  const { batchId, revision, depth } = batch
  if (schemaVersion < 4) return { batchId, revision }
  return schemaVersion < 5 ? { batchId, revision, depth } : carriedBatch(batch)
}

function replacementLaws(before: Conversation, event: RecordedEvent<ReplacementType>): Finding[] {
  const { batches, retired, restored, left, carried } = event.data
  const live = new Set([...before.retained, ...before.window].map((message) => message.messageId))
  const inForce = new Set(batches.map(({ batchId }) => batchId))
  const alreadyLive = restored.find(({ messageId }) => live.has(messageId))
  const notLive = left.find((id) => !live.has(id))
  const pinned = [...before.retained, ...before.window].find(
    (message) => message.pinned && left.includes(message.messageId),
  )
  const edition = isOfType(event, 'EditionAdopted')
    ? { editionId: event.data.editionId, adoptedAt: event.revision }
    : isOfType(event, 'CycleUndone')
      ? before.lineage?.edition
      : carried.lineage?.edition
  const scope = before.configuration?.scope
  return [
    ...findingIf(
      !isDeepStrictEqual(
        carried.batches,
        batches.map(({ batchId }) => ({ batchId, revision: event.revision })),
      ),
      'carried',
      'does not carry exactly the batches that it activates',
    ),
    ...findingIf(inForce.size !== batches.length, 'coverage', 'activates a batch twice'),
    ...findingIf(
      !isDeepStrictEqual(
        retired,
        before.batches.flatMap(({ batchId }) => (inForce.has(batchId) ? [] : [batchId])),
      ),
      'coverage',
      'does not retire exactly the batches that it deactivates',
    ),
    ...findingIf(
      alreadyLive !== undefined,
      'coverage',
      `restores message ${alreadyLive?.messageId ?? ''}, which is live`,
    ),
    ...findingIf(notLive !== undefined, 'coverage', `removes message ${notLive ?? ''}, which is not live`),
    ...findingIf(
      new Set([...left, ...restored.map(({ messageId }) => messageId)]).size !== left.length + restored.length,
      'coverage',
      'names a message twice',
    ),
    ...findingIf(pinned !== undefined, 'coverage', `removes message ${pinned?.messageId ?? ''}, which is pinned`),
    ...findingIf(
      carried.lineage?.since !== event.revision || !isDeepStrictEqual(carried.lineage.edition, edition),
      'carried',
      'does not name the line of batches that begins with it',
    ),
    ...findingIf(carried.configuration.scope !== scope, 'messages', 'carries another scope than the conversation has'),
    ...(isOfType(event, 'EditionReverted')
      ? findingIf(
          before.lineage?.edition?.editionId !== event.data.editionId ||
            before.lineage.edition.adoptedAt !== event.data.adoptedAt,
          'carried',
          'reverts an edition that is not active',
        )
      : []),
    ...(isOfType(event, 'CycleUndone')
      ? findingIf(
          event.data.cycle !== Math.min(...event.data.undone.map(({ cycle }) => cycle)) - 1,
          'carried',
          'leaves other cycles active than those before the ones that it undoes',
        )
      : []),
  ]
}

/** Compares the compaction of a restored observed context with the event that recorded it. */
async function observedAgain(
  { revision, ...compaction }: NonNullable<EventData<ReplacementType>['observed']>,
  read: (editionId: string | undefined, revisions: readonly number[]) => Promise<readonly RecordedEvent[]>,
): Promise<Finding[]> {
  const [recorded] = await read(undefined, [revision])
  const same =
    recorded !== undefined && isOfType(recorded, 'CompactionObserved') && isDeepStrictEqual(recorded.data, compaction)
  return findingIf(
    !same,
    'carried',
    `activates the compaction ${compaction.chunkId} in another form than revision ${revision.toString()} records`,
  )
}

/**
 * Compares the data that an event contains in full with the events that recorded them.
 * @param read returns the events at revisions of the conversation's stream, or of an edition's
 */
export async function restoredLaws(
  event: RecordedEvent<ReplacementType>,
  read: (editionId: string | undefined, revisions: readonly number[]) => Promise<readonly RecordedEvent[]>,
): Promise<{ readonly findings: readonly Finding[]; readonly restored: readonly RecordedEvent[] }> {
  const { batches, restored, observed } = event.data
  const findings: Finding[] = []
  if (observed !== undefined) findings.push(...(await observedAgain(observed, read)))
  const messages = await read(
    undefined,
    restored.map(({ revision }) => revision),
  )
  const recordedAt = new Map(messages.map((each) => [each.revision, each]))
  for (const { revision, ...message } of restored) {
    const recorded = recordedAt.get(revision)
    // Whether a message is pinned now is not part of its recording.
    const same =
      recorded !== undefined &&
      isOfType(recorded, 'MessageAppended') &&
      isDeepStrictEqual({ ...recorded.data, pinned: undefined }, { ...message, pinned: undefined })
    if (!same)
      findings.push(
        finding(
          'carried',
          `restores message ${message.messageId} in another form than revision ${revision.toString()} records`,
        ),
      )
  }
  for (const editionId of new Set(batches.map(({ origin }) => origin.editionId))) {
    const batchesOfEdition = batches.filter(({ origin }) => origin.editionId === editionId)
    const made = new Map(
      (
        await read(
          editionId,
          batchesOfEdition.map(({ origin }) => origin.revision),
        )
      ).map((each) => [each.revision, each]),
    )
    for (const { origin, ...batch } of batchesOfEdition) {
      const recorded = made.get(origin.revision)
      const same =
        recorded !== undefined &&
        isOfType(recorded, 'BatchArchived', 'BatchesResummarized') &&
        isDeepStrictEqual(batchContent(recorded.data), batchContent(batch))
      if (!same)
        findings.push(
          finding(
            'carried',
            `activates batch ${batch.batchId} in another form than revision ${origin.revision.toString()}${editionId === undefined ? '' : ` of edition ${editionId}`} records`,
          ),
        )
    }
  }
  return { findings, restored: messages }
}

/**
 * The problems of a checkpoint event.
 * @param archived the `BatchArchived` events directly before it
 * @param held the events of the live messages, the original task, the active batches and the waiting chunks, before it
 */
export function originLaws(
  before: Conversation,
  event: OriginEvent,
  after: Conversation,
  archived: readonly ArchivedEvent[],
  held: HeldState,
): Finding[] {
  const { data } = event
  const { context, findings } = contextLaws(after)
  const covered = after.batches.reduce((sum, batch) => sum + batch.messageCount, 0)
  return [
    ...(isOfType(event, 'MessagesPruned') ? pruneLaws(before, event, archived) : replacementLaws(before, event)),
    ...findingIf(
      covered !== after.messagesCompressed,
      'coverage',
      `its batches cover ${String(covered)} messages, but ${String(after.messagesCompressed)} were removed from the live window`,
    ),
    ...findingIf(data.previous !== before.lastOrigin, 'carried', 'does not name the checkpoint event before it'),
    // If a text of the context was erased, its tokens and its hash cannot be computed again.
    ...(data.erased === true ? [] : contextFigures(before, event, after, context)),
    ...findings,
    ...loadLaws(after, event, held),
  ]
}

/** The rules for the recorded tokens and hashes of the context. */
function contextFigures(
  before: Conversation,
  { data }: OriginEvent,
  after: Conversation,
  context: ReturnType<typeof contextLaws>['context'],
): Finding[] {
  return [
    ...findingIf(
      data.tokensBefore !== before.tokens,
      'figures',
      `says that there were ${String(data.tokensBefore)} tokens before it, but there were ${String(before.tokens)}`,
    ),
    ...findingIf(
      data.tokensAfter !== after.tokens,
      'figures',
      `says that there are ${String(data.tokensAfter)} tokens after it, but there are ${String(after.tokens)}`,
    ),
    // If leading messages alone exceed the limit, there is no context to hash.
    ...findingIf(
      data.contextHash !== (context?.hash ?? hashOf([])),
      'context',
      'the hash of the context that its events make differs from the recorded one',
    ),
    ...findingIf(
      data.viewHash !== hashOf(after.view?.text ?? ''),
      'context',
      'the hash of the view that its events make differs from the recorded one',
    ),
  ]
}
