/**
 * What must be true of a fact that closes the books: everything that it carries is what the facts before it make, so
 * that a load which begins at it gives what folding every fact gives; what leaves the live window is covered, and no
 * call is parted from its results; what comes back is what was recorded.
 *
 * One function serves every type of fact that closes the books; what only a prune does, and what only a fact does that
 * puts other batches into force, has a branch of its own.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Batch } from '../domain/conversation/batch.js'
import { callGroups, callName } from '../domain/conversation/call-groups.js'
import { contextLaws } from './context-laws.js'
import { resumeAt, revisionsCarried } from '../domain/conversation/resume-at.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import {
  originTypes,
  replacementTypes,
  type CarryForward,
  type EventData,
  type OriginType,
  type RecordedEvent,
  type ReplacementType,
} from '../domain/events/index.js'
import { hashOf } from '../domain/values/hash.js'
import { isOfType } from '../recording/read-event.js'
import type { Finding, Rule } from './event-laws.js'
import { hardLimit, softLimit } from '../domain/values/policy.js'

/** The facts that close the books. */
export type OriginEvent = RecordedEvent<OriginType>

export const closesBooks = (event: RecordedEvent): event is OriginEvent => isOfType(event, ...originTypes)

const finding = (rule: Rule, detail: string): Finding => ({ rule, detail })
const when = (wrong: boolean, rule: Rule, detail: string): Finding[] => (wrong ? [finding(rule, detail)] : [])

/** What stands right behind each other in one append with the fact that closes the books. */
export type ArchivedEvent = RecordedEvent<'BatchArchived'>

/**
 * What a load would read by revision: the facts of messages, and of what was made of them. A conversation has both in
 * one stream, an edition in two.
 */
export interface HeldState {
  readonly messages: ReadonlyMap<bigint, RecordedEvent>
  readonly made: ReadonlyMap<bigint, RecordedEvent>
}

const byRevision = (events: readonly RecordedEvent[]): RecordedEvent[] =>
  events.toSorted((a, b) => (a.revision < b.revision ? -1 : 1))

/** A load that begins here, against the fold: from the facts that it would read, which `held` has. */
function loadLaws(after: Conversation, event: OriginEvent, held: HeldState): Finding[] {
  const { messages, made } = revisionsCarried(event)
  const missing =
    messages.find((revision) => !held.messages.has(revision)) ?? made.find((revision) => !held.made.has(revision))
  if (missing !== undefined)
    return [finding('carried', `carries revision ${missing.toString()}, which is nothing that a load needs`)]
  const read = byRevision([...new Set(messages)].flatMap((revision) => held.messages.get(revision) ?? []))
  const readMade = byRevision([...new Set(made)].flatMap((revision) => held.made.get(revision) ?? []))
  const window = [...held.messages.values()]
    .filter(
      (each): each is RecordedEvent<'MessageAppended'> =>
        isOfType(each, 'MessageAppended') && each.revision >= event.data.windowStart,
    )
    .toSorted((a, b) => (a.revision < b.revision ? -1 : 1))
  const taken = resumeAt(
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
  // How far an edition has seen its conversation is said by another fact of its stream.
  const { editionId, pinnedAhead, conversationRevision } = after
  const resumed = editionId === undefined ? taken : { ...taken, editionId, pinnedAhead, conversationRevision }
  if (isDeepStrictEqual(resumed, after)) return []
  const fields = new Set([...Object.keys(resumed), ...Object.keys(after)])
  const others = [...fields].filter(
    (field) => !isDeepStrictEqual(Reflect.get(resumed, field), Reflect.get(after, field)),
  )
  return [finding('carried', `a load from here gives another ${others.join(', ')} than the facts before it make`)]
}

/**
 * Calls that leave without their result, and those that left before whose result is still to come or live, in their
 * order.
 */
function compactedCallsAfter(before: Conversation, batchOf: ReadonlyMap<string, string>): CarryForward['foldedCalls'] {
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

/** Where another program makes the context, what it did is an observation. */
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
  const waiting = before.chunks
    .filter((chunk) => !chunk.messageIds.some((id) => batchOf.has(id)))
    .map((chunk) => chunk.revision)
  return [
    ...when(
      !isDeepStrictEqual(pruned, covers),
      'archive-before-prune',
      'does not prune exactly what the batches right before it archive',
    ),
    ...when(notLive !== undefined, 'coverage', `prunes message ${notLive ?? ''}, which is not live`),
    ...when(batchOf.size !== leaving.length, 'coverage', 'prunes a message twice'),
    ...asObservedBy(
      before,
      when(
        parted !== undefined,
        'context',
        `parts the calls of message ${messages[parted?.call ?? -1]?.messageId ?? ''} from their results`,
      ),
    ),
    ...when(
      (why.trigger === 'observed') !== isObserved,
      'carried',
      isObserved
        ? 'calls the cycle ours, and another program makes the context'
        : "calls the cycle another program's, and the context is ours",
    ),
    ...when(
      !isDeepStrictEqual(
        carried.batches,
        // Before version 4 a prune did not say how deep they are.
        before.batches.map(({ batchId, revision, depth }) =>
          event.metadata.schemaVersion < 4 ? { batchId, revision } : { batchId, revision, depth },
        ),
      ),
      'coverage',
      'does not carry just the batches that are active',
    ),
    ...when(
      event.data.cycle !== before.cycles + 1,
      'carried',
      `calls itself cycle ${String(event.data.cycle)} behind cycle ${String(before.cycles)}`,
    ),
    ...when(
      !isDeepStrictEqual(carried.line, before.lineage),
      'carried',
      'carries another line of batches than the one in force',
    ),
    ...when(
      carried.messagesCompressed !== before.messagesCompressed + leaving.length,
      'carried',
      `says that ${String(carried.messagesCompressed)} messages are compressed, and ${String(before.messagesCompressed + leaving.length)} are`,
    ),
    ...when(
      !isDeepStrictEqual(carried.chunks, waiting),
      'carried',
      'does not carry just the chunks that wait to be archived',
    ),
    // How many it carries at the most is the decider's choice; which ones is not.
    ...when(
      !isDeepStrictEqual(
        carried.foldedCalls,
        carried.foldedCalls.length === 0 ? [] : compacted.slice(-carried.foldedCalls.length),
      ) ||
        (carried.foldedCalls.length === 0 && compacted.length > 0),
      'carried',
      'does not carry the calls that left without their result',
    ),
    ...when(
      why.trigger !== 'observed' && limit !== why.threshold,
      'figures',
      `names the threshold ${why.trigger === 'observed' ? '' : String(why.threshold)}, and its terms make ${String(limit)}`,
    ),
  ]
}

function replacementLaws(before: Conversation, event: RecordedEvent<ReplacementType>): Finding[] {
  const { batches, retired, restored, left, carried } = event.data
  const live = new Set([...before.retained, ...before.window].map((message) => message.messageId))
  const inForce = new Set(batches.map(({ batchId }) => batchId))
  const back = restored.find(({ messageId }) => live.has(messageId))
  const gone = left.find((id) => !live.has(id))
  const pinned = [...before.retained, ...before.window].find(
    (message) => message.pinned && left.includes(message.messageId),
  )
  const edition = isOfType(event, 'EditionAdopted')
    ? { editionId: event.data.editionId, adoptedAt: event.revision }
    : isOfType(event, 'CycleUndone')
      ? before.lineage?.edition
      : carried.line?.edition
  const scope = before.configuration?.scope
  return [
    ...when(
      !isDeepStrictEqual(
        carried.batches,
        batches.map(({ batchId }) => ({ batchId, revision: event.revision })),
      ),
      'carried',
      'does not carry just the batches that it puts into force',
    ),
    ...when(inForce.size !== batches.length, 'coverage', 'puts a batch into force twice'),
    ...when(
      !isDeepStrictEqual(
        retired,
        before.batches.flatMap(({ batchId }) => (inForce.has(batchId) ? [] : [batchId])),
      ),
      'coverage',
      'does not retire just the batches that it takes out of force',
    ),
    ...when(back !== undefined, 'coverage', `puts message ${back?.messageId ?? ''} back, which is live`),
    ...when(gone !== undefined, 'coverage', `takes message ${gone ?? ''} out, which is not live`),
    ...when(
      new Set([...left, ...restored.map(({ messageId }) => messageId)]).size !== left.length + restored.length,
      'coverage',
      'names a message twice',
    ),
    ...when(pinned !== undefined, 'coverage', `takes message ${pinned?.messageId ?? ''} out, which is pinned`),
    ...when(
      carried.line?.since !== event.revision || !isDeepStrictEqual(carried.line.edition, edition),
      'carried',
      'does not say which line of batches begins with it',
    ),
    ...when(carried.configuration.scope !== scope, 'messages', 'carries another scope than the conversation has'),
    ...(isOfType(event, 'EditionReverted')
      ? when(
          before.lineage?.edition?.editionId !== event.data.editionId ||
            before.lineage.edition.adoptedAt !== event.data.adoptedAt,
          'carried',
          'reverts an edition that is not in force',
        )
      : []),
    ...(isOfType(event, 'CycleUndone')
      ? when(
          event.data.cycle !== Math.min(...event.data.undone.map(({ cycle }) => cycle)) - 1,
          'carried',
          'leaves other cycles in force than those before the ones that it undoes',
        )
      : []),
  ]
}

/** A batch as a fact holds it that puts it into force, without what says where it comes from. */
const whole = ({
  batchId,
  label,
  depth,
  startTime,
  endTime,
  messageCount,
  firstRevision,
  lastRevision,
  content,
  sections,
  tokens,
}: Omit<Batch, 'revision' | 'origin'>): Omit<Batch, 'revision' | 'origin'> => ({
  batchId,
  label,
  depth,
  startTime,
  endTime,
  messageCount,
  firstRevision,
  lastRevision,
  content,
  sections,
  tokens,
})

/** The compaction that an observed context goes by again, against the fact that recorded it. */
async function observedAgain(
  { revision, ...compaction }: NonNullable<EventData<ReplacementType>['observed']>,
  read: (editionId: string | undefined, revisions: readonly bigint[]) => Promise<readonly RecordedEvent[]>,
): Promise<Finding[]> {
  const [recorded] = await read(undefined, [revision])
  const same =
    recorded !== undefined && isOfType(recorded, 'CompactionObserved') && isDeepStrictEqual(recorded.data, compaction)
  return when(
    !same,
    'carried',
    `puts the compaction ${compaction.chunkId} into force as another than revision ${revision.toString()} records`,
  )
}

/**
 * What a fact holds whole that puts other batches into force, against the facts that recorded it.
 * @param read the fact at a revision of the conversation's stream, or of an edition's
 */
export async function restoredLaws(
  event: RecordedEvent<ReplacementType>,
  read: (editionId: string | undefined, revisions: readonly bigint[]) => Promise<readonly RecordedEvent[]>,
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
    // Whether it is pinned by now is no part of how it was recorded.
    const same =
      recorded !== undefined &&
      isOfType(recorded, 'MessageAppended') &&
      isDeepStrictEqual({ ...recorded.data, pinned: undefined }, { ...message, pinned: undefined })
    if (!same)
      findings.push(
        finding(
          'carried',
          `puts message ${message.messageId} back as another than revision ${revision.toString()} records`,
        ),
      )
  }
  for (const editionId of new Set(batches.map(({ origin }) => origin.editionId))) {
    const mine = batches.filter(({ origin }) => origin.editionId === editionId)
    const made = new Map(
      (
        await read(
          editionId,
          mine.map(({ origin }) => origin.revision),
        )
      ).map((each) => [each.revision, each]),
    )
    for (const { origin, ...batch } of mine) {
      const recorded = made.get(origin.revision)
      const same =
        recorded !== undefined &&
        isOfType(recorded, 'BatchArchived', 'BatchesResummarized') &&
        isDeepStrictEqual(whole(recorded.data), whole(batch))
      if (!same)
        findings.push(
          finding(
            'carried',
            `puts batch ${batch.batchId} into force as another than revision ${origin.revision.toString()}${editionId === undefined ? '' : ` of edition ${editionId}`} records`,
          ),
        )
    }
  }
  return { findings, restored: messages }
}

/**
 * What is wrong with a fact that closes the books.
 * @param archived the `BatchArchived` facts right before it
 * @param held the facts that record the live messages and the original task, and the active batches and waiting chunks,
 * before it
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
    ...when(
      covered !== after.messagesCompressed,
      'coverage',
      `its batches cover ${String(covered)} messages, and ${String(after.messagesCompressed)} have left the live window`,
    ),
    ...when(data.previous !== before.lastOrigin, 'carried', 'does not name the fact that closed the books before it'),
    ...when(
      data.tokensBefore !== before.tokens,
      'figures',
      `says that there were ${String(data.tokensBefore)} tokens before it, and there were ${String(before.tokens)}`,
    ),
    ...when(
      data.tokensAfter !== after.tokens,
      'figures',
      `says that there are ${String(data.tokensAfter)} tokens after it, and there are ${String(after.tokens)}`,
    ),
    // Where leading messages do not fit by themselves there is no context to hash.
    ...findings,
    ...when(
      data.contextHash !== (context?.hash ?? hashOf([])),
      'context',
      'the context that its facts make is not the one whose hash it recorded',
    ),
    ...when(
      data.viewHash !== hashOf(after.view?.text ?? ''),
      'context',
      'the view that its facts make is not the one whose hash it recorded',
    ),
    ...loadLaws(after, event, held),
  ]
}
