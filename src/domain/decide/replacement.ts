/**
 * What adopting an edition, reverting it and undoing cycles share. Each puts another state into force, with batches and
 * a window of its own, which has to know the conversation as far as it has come.
 */
import { either as E } from 'fp-ts'
import { contextOf, type PinnedTooLarge } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import { carriedObserved } from '../conversation/observed.js'
import type { Configuration, EventData, ReplacementType } from '../events/index.js'
import { hashOf } from '../values/hash.js'
import type { FindWindow } from '../values/model-windows.js'
import { resolvePolicy, type BadPolicy, type Policy, type PolicySettings } from '../values/policy.js'
import { messagesCarriedForward } from './carry-forward.js'
import { configurationOf } from './decision.js'
import type { ConversationMoved } from './expect-revision.js'

export type NotReplaceable =
  | ConversationMoved
  /** What is to be put into force compacted a message that was pinned later. */
  | { readonly kind: 'PinnedMessageCompacted'; readonly messageId: string }
  /** What is to be put into force compacted a message that was withdrawn. */
  | { readonly kind: 'WithdrawnMessageCompacted'; readonly messages: number }

/** Whether a state may take the place of the one that is: it has seen all that happened, and keeps what is pinned. */
export function checkReplaceable(state: Conversation, target: Conversation): E.Either<NotReplaceable, undefined> {
  if (target.conversationRevision !== state.revision)
    return E.left({ kind: 'ConversationMoved', revision: state.revision, known: target.conversationRevision })
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

/**
 * The configuration of what is put into force, with what was configured since: whoever did that knows what the model
 * has room for by now.
 */
export function configuredSince(
  target: Conversation,
  configured: PolicySettings = {},
  modelWindow?: FindWindow,
): E.Either<BadPolicy, Configuration> {
  const own = configurationOf(target)
  if (Object.keys(configured).length === 0) return E.right(own)
  const settings = { ...own.settings, ...configured }
  // What follows from the summarizer's window stays: nobody said that it is another one.
  return E.map((policy: Policy): Configuration => ({
    ...own,
    settings,
    policy: { ...policy, chunkMaxTokens: settings.chunkMaxTokens ?? own.policy.chunkMaxTokens },
  }))(resolvePolicy(settings, undefined, modelWindow))
}

/**
 * Whether the window that is put into force has room for what is pinned. Where it has not, whoever wants it unpins
 * something first.
 */
export function checkPinnedFit(after: Conversation): E.Either<PinnedTooLarge, undefined> {
  const context = contextOf(after)
  return E.isLeft(context) && context.left.kind === 'PinnedTooLarge' ? E.left(context.left) : E.right(undefined)
}

const asRestored = ({
  messageId,
  role,
  content,
  name,
  toolCalls,
  toolCallId,
  createdAt,
  tokens,
  pinned,
  attributes,
  extra,
  answers,
  leads,
  givenId,
  revision,
}: LiveMessage): EventData<ReplacementType>['restored'][number] => ({
  messageId,
  role,
  content,
  ...(name === undefined ? {} : { name }),
  ...(toolCalls === undefined ? {} : { toolCalls: [...toolCalls] }),
  ...(toolCallId === undefined ? {} : { toolCallId }),
  createdAt,
  tokens,
  ...(pinned ? { pinned } : {}),
  ...(attributes === undefined ? {} : { attributes: { ...attributes } }),
  ...(extra === undefined ? {} : { extra: { ...extra } }),
  ...(answers === undefined ? {} : { answers }),
  ...(leads === undefined ? {} : { leads }),
  ...(givenId === undefined ? {} : { givenId }),
  revision,
})

export interface NewLineage {
  readonly edition: NonNullable<Conversation['lineage']>['edition']
  readonly configuration: Configuration
  /** The program that makes the context again; left out where it is ours from here on. */
  readonly observed?: Conversation['observed']
}

/** What the event says that puts a state into force in the place of another, whichever event it is. */
export function replacement(
  state: Conversation,
  target: Conversation,
  { edition, configuration, observed }: NewLineage,
): Omit<EventData<'EditionReverted'>, 'editionId' | 'restores' | 'adoptedAt'> {
  const revision = state.revision + 1n
  const [before, after] = [state, target].map(({ retained, window }) => [...retained, ...window])
  const wereLive = new Set(before?.map((message) => message.messageId))
  const nowLive = new Set(after?.map((message) => message.messageId))
  const inForce = new Set(target.batches.map((batch) => batch.batchId))
  return {
    cycle: target.cycles,
    windowStart: target.window[0]?.revision ?? revision,
    tokensBefore: state.tokens,
    tokensAfter: 0,
    batches: target.batches.map(({ revision: recordedAt, origin, ...batch }) => ({
      ...batch,
      origin: origin ?? {
        ...(target.editionId === undefined ? {} : { editionId: target.editionId }),
        revision: recordedAt,
      },
    })),
    retired: state.batches.flatMap(({ batchId }) => (inForce.has(batchId) ? [] : [batchId])),
    restored: (after ?? []).filter((message) => !wereLive.has(message.messageId)).map(asRestored),
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
      foldedCalls: target.compactedCalls,
      line: { since: revision, ...(edition === undefined ? {} : { edition }) },
      ...(observed === undefined ? {} : { observed: carriedObserved(observed) }),
    },
    ...(observed?.compaction === undefined ? {} : { observed: observed.compaction }),
    contextHash: hashOf([]),
    viewHash: hashOf(''),
    ...(state.lastOrigin === undefined ? {} : { previous: state.lastOrigin }),
  }
}
