/**
 * Checks one edition, event by event, by the rules of a conversation. Each event of an edition says how much of the
 * conversation it had seen, so both streams are read together, once.
 */
import { evolve } from '../../domain/conversation/evolve.js'
import { initialEdition, messagesInForce, type Conversation } from '../../domain/conversation/conversation.js'
import { revisionsCarried } from '../../domain/conversation/resume-at.js'
import { seeConversation } from '../../domain/conversation/see-conversation.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { findEstimator, isRegisteredEstimator } from '../recording/estimators.js'
import { isSummarized, type RequestWatch } from './check-requests.js'
import type { StreamCheck } from './check-stream.js'
import { closesBooks, originLaws, type ArchivedEvent, type OriginEvent } from './origin-laws.js'
import { ContextWatch } from './context-laws.js'
import { eventLaws, type Finding } from './event-laws.js'
import { isOfType, isReplacement, isUnreadableEvent } from '../recording/read-event.js'

/** The conversation's events after one revision, up to another. */
export type ConversationEvents = (after: number, until: number) => AsyncIterable<RecordedEvent>

const order = (detail: string): Finding[] => [{ rule: 'order', detail }]

export class EditionCheck {
  private state: Conversation
  private readonly context = new ContextWatch()
  /**
   * Events that a load would read by revision: messages by the conversation's revision, batches and chunks by the
   * edition's.
   */
  private messages = new Map<number, RecordedEvent>()
  private made = new Map<number, RecordedEvent>()
  private archived: ArchivedEvent[] = []
  private dropped = false
  private stopped = false

  constructor(
    private readonly of: { readonly editionId: string; readonly conversationId: string },
    private readonly stream: StreamCheck,
    private readonly requests: RequestWatch,
    private readonly conversation: ConversationEvents,
  ) {
    this.state = initialEdition(of.conversationId, of.editionId, findEstimator)
  }

  private started(event: RecordedEvent<'EditionStarted'>): Finding[] {
    const { editionId, conversationId } = event.data
    if (event.revision > 0 && !this.dropped) return order('begins an edition again that was not dropped')
    return editionId === this.of.editionId && conversationId === this.of.conversationId
      ? []
      : [
          {
            rule: 'id',
            detail: `begins edition ${editionId} of ${conversationId}, but its stream has another name`,
          },
        ]
  }

  /** Reads the conversation up to the revision that the event names. */
  private async advance({ data: { conversationRevision } }: RecordedEvent<'EditionAdvanced'>): Promise<Finding[]> {
    if (conversationRevision <= this.state.conversationRevision)
      return order(
        `has seen the conversation up to revision ${conversationRevision.toString()}, but had seen it up to ${this.state.conversationRevision.toString()} before`,
      )
    const findings: Finding[] = []
    try {
      for await (const event of this.conversation(this.state.conversationRevision, conversationRevision)) {
        const before = this.state
        this.state = seeConversation(before, event)
        if (isOfType(event, 'MessagesWithdrawn'))
          for (const { revision } of event.data.messages) this.messages.delete(revision)
        else if (isOfType(event, 'MessageAppended')) this.messages.set(event.revision, event)
        else continue
        findings.push(...this.context.follow(before, this.state, event))
      }
    } catch (error) {
      if (!isUnreadableEvent(error)) throw error
      this.stopped = true
      return [
        ...findings,
        {
          rule: 'readable',
          detail: `depends on revision ${error.details.revision.toString()} of ${error.details.stream}, which cannot be read, so nothing after it can be proved`,
        },
      ]
    }
    if (this.state.conversationRevision < conversationRevision)
      findings.push(
        ...order(
          `has seen the conversation up to revision ${conversationRevision.toString()}, but it ends at ${this.state.conversationRevision.toString()}`,
        ),
      )
    return findings
  }

  private origin(before: Conversation, event: OriginEvent): Finding[] {
    const findings = [
      ...originLaws(before, event, this.state, this.archived, { messages: this.messages, made: this.made }),
      ...this.context.closed(before, this.state),
    ]
    const carried = revisionsCarried(event)
    const messages = new Set(carried.messages)
    const made = new Set(carried.made)
    this.messages = new Map(
      [...this.messages].filter(([revision]) => messages.has(revision) || revision >= event.data.windowStart),
    )
    this.made = new Map([...this.made].filter(([revision]) => made.has(revision)))
    this.archived = []
    return findings
  }

  private compacted(before: Conversation, event: RecordedEvent): Finding[] {
    if (before.configuration === undefined) return order('comes before the edition was begun')
    if (
      isReplacement(event) ||
      isOfType(
        event,
        'ConversationConfigured',
        'MessageAppended',
        'MessagesWithdrawn',
        'MessagePinned',
        'MessageUnpinned',
        'PromptRegistered',
      )
    )
      return order('does not belong in an edition')
    const findings = eventLaws(before, event)
    if (closesBooks(event))
      return [
        ...findings,
        ...(this.archived.length === 0
          ? [{ rule: 'archive-before-prune' as const, detail: 'prunes, but no batch was archived directly before it' }]
          : []),
        ...this.origin(before, event),
      ]
    if (this.archived.length > 0 && !isOfType(event, 'BatchArchived'))
      findings.push({
        rule: 'archive-before-prune',
        detail: 'separates archived batches from their prune',
      })
    if (isOfType(event, 'BatchArchived')) this.archived.push(event)
    else this.archived = []
    if (isOfType(event, 'BatchArchived', 'BatchesResummarized', 'ChunkSummarized')) this.made.set(event.revision, event)
    return [...findings, ...this.context.follow(before, this.state, event)]
  }

  /** Takes the next event of the edition's stream. */
  async take(event: RecordedEvent): Promise<void> {
    if (this.stopped) return
    if (isOfType(event, 'EditionStarted') && !isRegisteredEstimator(event.data.configuration.estimator)) {
      this.stopped = true
      this.stream.report(
        'readable',
        `uses the token estimator "${event.data.configuration.estimator}", which is not registered here, so nothing after it can be proved`,
        event.revision,
      )
      return
    }
    const findings: Finding[] = []
    if (isOfType(event, 'EditionAdvanced')) findings.push(...(await this.advance(event)))
    const before = this.state
    this.state = evolve(before, event)
    if (closesBooks(event) || isOfType(event, 'EditionStarted')) this.requests.follow(this.state)
    if (isOfType(event, 'EditionStarted')) findings.push(...this.started(event))
    else if (!isOfType(event, 'EditionAdvanced', 'EditionCompared', 'EditionDropped'))
      findings.push(...this.compacted(before, event))
    this.dropped = isOfType(event, 'EditionDropped')
    const { leading, retained, window, messagesCompressed } = this.state
    const inForce = messagesInForce(this.state)
    const accounted = leading.length + retained.length + window.length + messagesCompressed
    if (accounted !== inForce)
      findings.push({
        rule: 'coverage',
        detail: `after this ${event.type} ${String(inForce)} messages are seen and not withdrawn, but ${String(accounted)} are live or removed`,
      })
    if (isSummarized(event)) findings.push(...(await this.requests.summarized(before, event)))
    this.stream.found(findings, event.revision)
  }

  end(): void {
    const last = this.stream.count - 1
    if (this.stopped) return
    if (this.archived.length > 0)
      this.stream.report('archive-before-prune', 'archives batches, but no prune follows', last)
    this.stream.found(this.context.end(this.state), last)
  }
}
