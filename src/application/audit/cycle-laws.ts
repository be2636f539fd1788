/**
 * The rules from one checkpoint event to the next, for a conversation and for an edition: batches are archived directly
 * before their prune, the live and the removed messages together are all messages, the context follows, and a load from
 * the checkpoint event gives the same state.
 */
import { messagesInForce, type Conversation } from '../../domain/conversation/conversation.js'
import { revisionsCarried } from '../../domain/conversation/resume-at.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { isRegisteredEstimator } from '../recording/estimators.js'
import { isOfType, isReplacement } from '../recording/read-event.js'
import { ContextWatch } from './context-laws.js'
import type { Finding } from './event-laws.js'
import { isCheckpoint, originLaws, type ArchivedEvent, type OriginEvent } from './origin-laws.js'

/** The problem with an estimator that this program does not have. */
export const unknownEstimator = (estimator: string): Finding[] =>
  isRegisteredEstimator(estimator)
    ? []
    : [
        {
          rule: 'readable',
          detail: `uses the token estimator "${estimator}", which is not registered here, so nothing after it can be proved`,
        },
      ]

/** After each event, the live and the removed messages together are all messages. */
export function coverageLaws(state: Conversation, event: RecordedEvent): Finding[] {
  const { leading, retained, window, messagesCompressed } = state
  const inForce = messagesInForce(state)
  const accounted = leading.length + retained.length + window.length + messagesCompressed
  if (accounted === inForce) return []
  return [
    {
      rule: 'coverage',
      detail: `after this ${event.type} ${String(inForce)} messages are known and not withdrawn, but ${String(accounted)} are live or removed`,
    },
  ]
}

/** The events of batches and chunks that a load may read by revision. */
const isMade = (event: RecordedEvent): boolean =>
  isOfType(event, 'BatchArchived', 'BatchesResummarized', 'ChunkSummarized', 'CompactionObserved') ||
  isReplacement(event)

/** Follows the cycles of one conversation or edition. */
export class CycleWatch {
  private readonly context = new ContextWatch()
  /** The events of live messages, and those that the last checkpoint event carries, by revision of the conversation. */
  private messages = new Map<number, RecordedEvent>()
  /** The events of batches and chunks since the last checkpoint event, and those that it carries, by revision. */
  private made = new Map<number, RecordedEvent>()
  /** The batches archived directly before, until their prune follows. */
  private archived: ArchivedEvent[] = []

  /** Takes the next event of the stream. */
  take(before: Conversation, after: Conversation, event: RecordedEvent): Finding[] {
    const order = this.archiveOrder(before, event)
    if (isCheckpoint(event)) return [...order, ...this.origin(before, after, event)]
    if (isOfType(event, 'BatchArchived')) this.archived.push(event)
    else if (this.archived.length > 0) this.archived = []
    return [...order, ...this.follow(before, after, event)]
  }

  /** Takes an event that is no part of a cycle: an edition sees a message of its conversation. */
  follow(before: Conversation, after: Conversation, event: RecordedEvent): Finding[] {
    if (isOfType(event, 'MessageAppended')) this.messages.set(event.revision, event)
    else if (isMade(event)) this.made.set(event.revision, event)
    else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { revision } of event.data.messages) this.messages.delete(revision)
    return this.context.follow(before, after, event)
  }

  /** Messages that were removed earlier, and are live again. */
  restore(messages: readonly RecordedEvent[]): void {
    for (const each of messages) this.messages.set(each.revision, each)
  }

  /** Only a compaction of another program may remove nothing, and has no batch then. */
  private archiveOrder(before: Conversation, event: RecordedEvent): Finding[] {
    const problem = (detail: string): Finding[] => [{ rule: 'archive-before-prune', detail }]
    if (this.archived.length > 0)
      return isOfType(event, 'BatchArchived', 'MessagesPruned')
        ? []
        : problem('separates archived batches from their prune')
    return isOfType(event, 'MessagesPruned') && (event.data.pruned.length > 0 || before.observed === undefined)
      ? problem('prunes, but no batch was archived directly before it')
      : []
  }

  private origin(before: Conversation, after: Conversation, event: OriginEvent): Finding[] {
    const findings = [
      ...originLaws(before, event, after, this.archived, { messages: this.messages, made: this.made }),
      ...this.context.closed(before, after),
    ]
    const carried = revisionsCarried(event)
    const messages = new Set(carried.messages)
    const made = new Set(carried.made)
    this.messages = new Map(
      [...this.messages].filter(([revision]) => messages.has(revision) || revision >= event.data.windowStart),
    )
    this.made = new Map([...this.made].filter(([revision]) => made.has(revision)))
    if (isMade(event)) this.made.set(event.revision, event)
    this.archived = []
    return findings
  }

  end(state: Conversation): Finding[] {
    const unpruned: Finding[] =
      this.archived.length > 0
        ? [{ rule: 'archive-before-prune', detail: 'archives batches, but no prune follows' }]
        : []
    return [...unpruned, ...this.context.end(state)]
  }
}
