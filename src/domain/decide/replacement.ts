/**
 * The common part of adopting an edition, reverting it and undoing cycles. Each replaces the state with another one,
 * which has its own batches and window and must include all events of the conversation.
 */
import { either as E } from 'fp-ts'
import { contextOf, type PinnedTooLarge } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import { carriedObserved } from '../conversation/observed.js'
import type { Configuration, EventData, ReplacementType } from '../events/index.js'
import { hashOf } from '../values/hash.js'
import { definedFields, messageFieldNames } from '../values/message.js'
import type { FindWindow } from '../values/model-windows.js'
import { resolvePolicy, type BadPolicy } from '../values/policy.js'
import type { Policy, PolicySettings } from '../values/policy-settings.js'
import { messagesCarriedForward } from './carry-forward.js'
import { configurationOf } from './decision.js'
import type { ConversationMoved } from './expect-revision.js'

export type NotReplaceable =
  | ConversationMoved
  /** The target state compacted a message that was pinned later. */
  | { readonly kind: 'PinnedMessageCompacted'; readonly messageId: string }
  /** The target state compacted a message that was withdrawn. */
  | { readonly kind: 'WithdrawnMessageCompacted'; readonly messages: number }

/**
 * Checks that the target state includes all events of the conversation, and that all pinned messages are live in it.
 */
export function checkReplaceable(state: Conversation, target: Conversation): E.Either<NotReplaceable, undefined> {
  if (target.conversationRevision !== state.revision)
    return E.left({ kind: 'ConversationMoved', revision: state.revision, expected: target.conversationRevision })
  if (target.withdrawn.compacted > 0)
    return E.left({ kind: 'WithdrawnMessageCompacted', messages: target.withdrawn.compacted })
  const live = new Set([...target.retained, ...target.window].map((message) => message.messageId))
  const compacted = [...state.retained, ...state.window].find(
    (message) => message.pinned && !live.has(message.messageId),
  )
  return compacted === undefined
    ? E.right(undefined)
    : E.left({ kind: 'PinnedMessageCompacted', messageId: compacted.messageId })
}

/** The target's configuration, with the settings that changed since then: they reflect the model in use now. */
export function configuredSince(
  target: Conversation,
  configured: PolicySettings = {},
  modelWindow?: FindWindow,
): E.Either<BadPolicy, Configuration> {
  const configuration = configurationOf(target)
  if (Object.keys(configured).length === 0) return E.right(configuration)
  const settings = { ...configuration.settings, ...configured }
  // The value derived from the summarizer's window stays: no setting changed that window.
  return E.map((policy: Policy): Configuration => ({
    ...configuration,
    settings,
    policy: { ...policy, chunkMaxTokens: settings.chunkMaxTokens ?? configuration.policy.chunkMaxTokens },
  }))(resolvePolicy(settings, undefined, modelWindow))
}

/**
 * Checks that the pinned messages fit in the window of the new state. If they do not, the user must unpin some first.
 */
export function checkPinnedFit(after: Conversation): E.Either<PinnedTooLarge, undefined> {
  const context = contextOf(after)
  return E.isLeft(context) && context.left.kind === 'PinnedTooLarge' ? E.left(context.left) : E.right(undefined)
}

const toRestored = (message: LiveMessage): EventData<ReplacementType>['restored'][number] => {
  const { messageId, role, content, createdAt, tokens, pinned, revision } = message
  const fields = definedFields({ ...message, pinned: pinned ? true : undefined }, messageFieldNames)
  return { ...fields, messageId, role, content, createdAt, tokens, revision }
}

export interface NewLineage {
  readonly edition: NonNullable<Conversation['lineage']>['edition']
  readonly configuration: Configuration
  /** The program that makes the context from now on; absent if the ledger does. */
  readonly observed?: Conversation['observed']
}

/** The common data of events that replace a state with another one. */
export function replacement(
  state: Conversation,
  target: Conversation,
  { edition, configuration, observed }: NewLineage,
): Omit<EventData<'EditionReverted'>, 'editionId' | 'restores' | 'adoptedAt'> {
  const revision = state.revision + 1
  const [before, after] = [state, target].map(({ retained, window }) => [...retained, ...window])
  const wereLive = new Set(before?.map((message) => message.messageId))
  const nowLive = new Set(after?.map((message) => message.messageId))
  const inForce = new Set(target.batches.map((batch) => batch.batchId))
  return {
    cycle: target.cycles,
    windowStart: target.window[0]?.revision ?? revision,
    tokensBefore: state.tokens,
    tokensAfter: 0,
    batches: target.batches.map(({ revision: recordedAt, origin, workingState, ...batch }, at) => ({
      ...batch,
      // Only the state of the last batch is in force.
      ...(workingState === undefined || at < target.batches.length - 1 ? {} : { workingState }),
      origin: origin ?? {
        ...(target.editionId === undefined ? {} : { editionId: target.editionId }),
        revision: recordedAt,
      },
    })),
    retired: state.batches.flatMap(({ batchId }) => (inForce.has(batchId) ? [] : [batchId])),
    restored: (after ?? []).filter((message) => !wereLive.has(message.messageId)).map(toRestored),
    left: (before ?? []).flatMap(({ messageId }) => (nowLive.has(messageId) ? [] : [messageId])),
    carried: {
      configuration,
      messagesCompressed: target.messagesCompressed,
      ...messagesCarriedForward(state),
      kept: [...target.retained, ...target.window.filter((message) => message.pinned)].map((message) => ({
        revision: message.revision,
        pinned: message.pinned,
      })),
      batches: target.batches.map(({ batchId }) => ({ batchId, revision })),
      chunks: [],
      compactedCalls: target.compactedCalls,
      lineage: { since: revision, ...(edition === undefined ? {} : { edition }) },
      ...(observed === undefined ? {} : { observed: carriedObserved(observed) }),
    },
    ...(observed?.compaction === undefined ? {} : { observed: observed.compaction }),
    contextHash: hashOf([]),
    viewHash: hashOf(''),
    ...(state.lastOrigin === undefined ? {} : { previous: state.lastOrigin }),
  }
}
