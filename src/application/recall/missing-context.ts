/** Compares the log of a conversation with the context that its model has now, and finds the recorded messages that it lacks. */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import type { EventData } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import { remainingAfter, summaryAfter, toReportMessage } from '../loss-report/compaction-reports.js'
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
export interface MissingContext extends ReportInput {
  /** The revision up to which the conversation was read. */
  readonly revision: number
  /** Number of its compactions. */
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

/** The messages that are verbatim in the context now: those of the last compaction, and all later ones. */
function inContext(state: Conversation): ReportMessage[] {
  const remaining = remainingAfter(state)
  const since = state.observed?.compaction?.revision
  if (since === undefined) return remaining
  const ids = new Set(remaining.map(({ messageId }) => messageId))
  const later = state.window.filter(({ messageId, revision }) => revision > since && !ids.has(messageId))
  return [...remaining, ...later.map((message) => toReportMessage(message))]
}

/**
 * The recorded messages that the context of the model lacks, with the summary that it has instead.
 * @param until the last revision to read; all by default
 */
export async function missingContext(log: Log, conversationId: string, until = Infinity): Promise<MissingContext> {
  const fold = new Fold(initialState(conversationId, findEstimator))
  const messages = new Map<string, ReportMessage>()
  const subjects = new Map<string, readonly string[]>()
  let [revision, compactions, last, damaged] = [-1, 0, -1, 0]
  const withdrawals: Withdrawal[] = []
  let origin: EventData<'ConversationObserved'> | undefined
  let title: string | undefined
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    if (stored.revision > until) break
    const event = await decodeEvent(stored, log)
    fold.take(event)
    revision = event.revision
    if (isOfType(event, 'MessageAppended')) {
      const message = toReportMessage({ ...event.data, revision })
      messages.set(message.messageId, message)
      if (event.data.subjects !== undefined) subjects.set(message.messageId, event.data.subjects)
    } else if (isOfType(event, 'ConversationObserved')) origin = event.data
    else if (isOfType(event, 'TranscriptDamaged')) damaged += 1
    else if (isOfType(event, 'ConversationTitled')) title = event.data.title
    else if (isOfType(event, 'MessagesWithdrawn')) {
      const ids = event.data.messages.map(({ messageId }) => messageId)
      withdrawals.push({ revision, messages: ids.flatMap((id) => messages.get(id) ?? []) })
      for (const id of ids) messages.delete(id)
    } else if (isOfType(event, 'MessagesPruned')) {
      compactions += 1
      last = event.revision
    }
  }
  const { state } = fold
  const remaining = inContext(state)
  const ids = new Set(remaining.map(({ messageId }) => messageId))
  const before = [...messages.values()]
  return {
    removed: before.filter(({ messageId }) => !ids.has(messageId)),
    remaining,
    summary: summaryAfter(state),
    before,
    after: remaining.filter((message) => message.revision > last),
    revision,
    compactions,
    pinnedIds: new Set(
      [...state.leading, ...state.retained, ...state.window].flatMap(({ messageId, pinned }) =>
        pinned ? [messageId] : [],
      ),
    ),
    state,
    origin,
    title: title ?? origin?.title,
    damaged,
    withdrawals: withdrawals.filter(({ messages: all }) => all.some(({ messageId }) => !messages.has(messageId))),
    subjects,
  }
}
