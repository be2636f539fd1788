/** Compares the recorded messages of a conversation with the context that its model has. */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import { contextParts } from '../../domain/conversation/observed.js'
import type { EventData } from '../../domain/events/index.js'
import { canonicalJson } from '../../domain/values/hash.js'
import { conversationStream, nameOfMessage } from '../../domain/values/ids.js'
import { messagesInContext, summaryInContext } from '../loss-report/compaction-reports.js'
import { RecordedMessages } from '../loss-report/recorded-messages.js'
import type { ReportInput, ReportMessage } from '../loss-report/report-input.js'
import { findEstimator } from '../recording/estimators.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'

/** Messages that left the conversation together. */
export interface Withdrawal {
  /** The revision of the withdrawal. */
  readonly revision: number
  readonly messages: readonly ReportMessage[]
}

/** The messages of a conversation, those in the context and those that it lacks. */
export interface ContextComparison extends ReportInput {
  /** The revision up to which the conversation was read. */
  readonly revision: number
  /** Ids of the messages that the context has as they were recorded. Another program may have shortened others. */
  readonly unchangedIds: ReadonlySet<string>
  /** Number of its compactions that are in force. */
  readonly compactions: number
  /** Ids of the pinned messages. */
  readonly pinnedIds: ReadonlySet<string>
  readonly state: Conversation
  /** Where the conversation comes from, if another program recorded it. */
  readonly origin: EventData<'ConversationObserved'> | undefined
  readonly title: string | undefined
  /** Number of records of its transcript that could not be read. */
  readonly damaged: number
  /** The withdrawn messages that did not come back, in order. */
  readonly withdrawals: readonly Withdrawal[]
  /** The persons that messages name, by message id. */
  readonly subjects: ReadonlyMap<string, readonly string[]>
}

/** Ids of the recorded messages that the context has as they were recorded. */
const unchangedIn = (state: Conversation): ReadonlySet<string> =>
  new Set(
    contextParts(state).flatMap(({ body, source }) =>
      source !== undefined && canonicalJson(body.content) === canonicalJson(source.content) ? [source.messageId] : [],
    ),
  )

/** The withdrawals of messages that did not come back. A message that comes back has another id of the same name. */
function notReturned(withdrawals: readonly Withdrawal[], messages: readonly ReportMessage[]): Withdrawal[] {
  const names = new Set(messages.map(({ messageId }) => nameOfMessage(messageId)))
  return withdrawals.filter((each) => each.messages.some(({ messageId }) => !names.has(nameOfMessage(messageId))))
}

/**
 * Compares the recorded messages with the context of the model, which has a summary instead of some of them.
 * @param until the last revision to read; all by default
 */
export async function compareWithContext(
  log: Log,
  conversationId: string,
  until = Infinity,
): Promise<ContextComparison> {
  const fold = new Fold(initialState(conversationId, findEstimator))
  const messages = new RecordedMessages()
  const subjects = new Map<string, readonly string[]>()
  let [revision, damaged] = [-1, 0]
  /** Revisions of the prunes in force. */
  let prunes: readonly number[] = []
  const withdrawals: Withdrawal[] = []
  let origin: EventData<'ConversationObserved'> | undefined
  let title: string | undefined
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    if (stored.revision > until) break
    const event = await decodeEvent(stored, log)
    fold.take(event)
    revision = event.revision
    if (isOfType(event, 'MessagesWithdrawn')) {
      const ids = event.data.messages.map(({ messageId }) => messageId)
      withdrawals.push({ revision, messages: messages.of(ids) })
    }
    messages.take(event)
    if (isOfType(event, 'MessageAppended')) {
      if (event.data.subjects !== undefined) subjects.set(event.data.messageId, event.data.subjects)
    } else if (isOfType(event, 'ConversationObserved')) origin = event.data
    else if (isOfType(event, 'TranscriptDamaged')) damaged += 1
    else if (isOfType(event, 'ConversationTitled')) title = event.data.title
    else if (isOfType(event, 'MessagesPruned')) prunes = [...prunes, revision]
    else if (isOfType(event, 'CycleUndone')) {
      const undone = new Set(event.data.undone.map((each) => each.revision))
      prunes = prunes.filter((each) => !undone.has(each))
    }
  }
  const { state } = fold
  const remaining = messagesInContext(state)
  const ids = new Set(remaining.map(({ messageId }) => messageId))
  const before = messages.all()
  const lastPruneRevision = prunes.at(-1) ?? -1
  return {
    removed: before.filter(({ messageId }) => !ids.has(messageId)),
    remaining,
    summary: summaryInContext(state),
    before,
    after: remaining.filter((message) => message.revision > lastPruneRevision),
    revision,
    unchangedIds: unchangedIn(state),
    compactions: state.cycles,
    pinnedIds: new Set(
      [...state.leading, ...state.retained, ...state.window].flatMap(({ messageId, pinned }) =>
        pinned ? [messageId] : [],
      ),
    ),
    state,
    origin,
    title: title ?? origin?.title,
    damaged,
    withdrawals: notReturned(withdrawals, before),
    subjects,
  }
}
