/**
 * Checks one edition, event by event, by the rules of a conversation. Each event of an edition says how much of the
 * conversation it had seen, so both streams are read together, once.
 */
import { evolve } from '../../domain/conversation/evolve.js'
import { initialEdition, type Conversation } from '../../domain/conversation/conversation.js'
import { seeConversation } from '../../domain/conversation/see-conversation.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { findEstimator } from '../recording/estimators.js'
import { isSummarized, type RequestWatch } from './check-requests.js'
import { isCheckpoint } from './origin-laws.js'
import { coverageLaws, CycleWatch, unknownEstimator } from './cycle-laws.js'
import { eventLaws, type Finding } from './event-laws.js'
import { isOfType, isReplacement, isUnreadableEvent } from '../recording/read-event.js'
import type { StreamReport } from './stream-report.js'

/** The conversation's events after one revision, up to another. */
export type ConversationEvents = (after: number, until: number) => AsyncIterable<RecordedEvent>

const order = (detail: string): Finding[] => [{ rule: 'order', detail }]

export class EditionCheck {
  private state: Conversation
  private readonly cycles = new CycleWatch()
  private dropped = false
  private stopped = false

  constructor(
    private readonly of: { readonly editionId: string; readonly conversationId: string },
    private readonly report: StreamReport,
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
        if (isOfType(event, 'MessageAppended', 'MessagesWithdrawn'))
          findings.push(...this.cycles.follow(before, this.state, event))
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
    return [...eventLaws(before, event), ...this.cycles.take(before, this.state, event)]
  }

  /** Takes the next event of the edition's stream. */
  async take(event: RecordedEvent): Promise<void> {
    if (this.stopped) return
    if (isOfType(event, 'EditionStarted')) {
      const unknown = unknownEstimator(event.data.configuration.estimator)
      this.report.addFindings(unknown, event.revision)
      this.stopped = unknown.length > 0
      if (this.stopped) return
    }
    const findings: Finding[] = []
    if (isOfType(event, 'EditionAdvanced')) findings.push(...(await this.advance(event)))
    const before = this.state
    this.state = evolve(before, event)
    if (isCheckpoint(event) || isOfType(event, 'EditionStarted')) this.requests.follow(this.state)
    if (isOfType(event, 'EditionStarted')) findings.push(...this.started(event))
    else if (!isOfType(event, 'EditionAdvanced', 'EditionCompared', 'EditionDropped'))
      findings.push(...this.compacted(before, event))
    this.dropped = isOfType(event, 'EditionDropped')
    findings.push(...coverageLaws(this.state, event))
    if (isSummarized(event)) findings.push(...(await this.requests.summarized(before, event)))
    this.report.addFindings(findings, event.revision)
  }

  /** @param last revision of the last event */
  end(last: number): void {
    if (!this.stopped) this.report.addFindings(this.cycles.end(this.state), last)
  }
}
