/**
 * One edition, fact by fact, under the laws of a conversation: its own facts stand upon the conversation's messages as far as it says that it had
 * seen them. So the conversation's stream is read beside its own, once, up to where the edition has come.
 */
import { evolve, initialEdition, messagesInForce, revisionsCarried, seeConversation, type Conversation } from '../domain/conversation/conversation.js'
import type { RecordedFact } from '../domain/events/index.js'
import { isRegisteredEstimator } from '../domain/values/tokens.js'
import { isSummarized, type RequestWatch } from './check-requests.js'
import type { StreamCheck } from './check-stream.js'
import { closesBooks, closingLaws, type ArchivedFact, type ClosingFact } from './closing-laws.js'
import { ContextWatch } from './context-laws.js'
import { factLaws, type Finding } from './event-laws.js'
import { isOfType, takesOver, UnreadableEventError } from '../recording/read-event.js'

/** The conversation's facts behind a revision, up to another one. */
export type ConversationFacts = (after: bigint, until: bigint) => AsyncIterable<RecordedFact>

const order = (detail: string): Finding[] => [{ rule: 'order', detail }]

export class EditionCheck {
  private state: Conversation
  private readonly context = new ContextWatch()
  /** What a load would read by revision: messages by the conversation's, what was made of them by the edition's. */
  private messages = new Map<bigint, RecordedFact>()
  private made = new Map<bigint, RecordedFact>()
  private archived: ArchivedFact[] = []
  private dropped = false
  private stopped = false

  constructor(
    private readonly of: { readonly editionId: string; readonly conversationId: string },
    private readonly stream: StreamCheck,
    private readonly requests: RequestWatch,
    private readonly conversation: ConversationFacts,
  ) {
    this.state = initialEdition(of.conversationId, of.editionId)
  }

  private started(fact: RecordedFact<'EditionStarted'>): Finding[] {
    const { editionId, conversationId } = fact.data
    if (fact.revision > 0n && !this.dropped) return order('begins an edition again that was not dropped')
    return editionId === this.of.editionId && conversationId === this.of.conversationId ? [] : [{ rule: 'id', detail: `begins edition ${editionId} of ${conversationId}, which its stream is not named after` }]
  }

  /** Sees the conversation as far as the fact says. */
  private async advance({ data: { conversationRevision } }: RecordedFact<'EditionAdvanced'>): Promise<Finding[]> {
    if (conversationRevision <= this.state.horizon) return order(`has seen the conversation up to revision ${conversationRevision.toString()}, and had come to ${this.state.horizon.toString()} before`)
    const findings: Finding[] = []
    try {
      for await (const fact of this.conversation(this.state.horizon, conversationRevision)) {
        const before = this.state
        this.state = seeConversation(before, fact)
        if (isOfType(fact, 'MessagesWithdrawn')) for (const { revision } of fact.data.messages) this.messages.delete(revision)
        else if (isOfType(fact, 'MessageAppended')) this.messages.set(fact.revision, fact)
        else continue
        findings.push(...this.context.follow(before, this.state, fact))
      }
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      this.stopped = true
      return [...findings, { rule: 'readable', detail: `stands upon revision ${error.event.revision.toString()} of ${error.event.stream}, which cannot be read, so nothing from here on can be proved` }]
    }
    if (this.state.horizon < conversationRevision) findings.push(...order(`has seen the conversation up to revision ${conversationRevision.toString()}, and it has none behind ${this.state.horizon.toString()}`))
    return findings
  }

  private closing(before: Conversation, fact: ClosingFact): Finding[] {
    const findings = [...closingLaws(before, fact, this.state, this.archived, { messages: this.messages, made: this.made }), ...this.context.closed(before, this.state)]
    const carried = revisionsCarried(fact)
    const kept = new Set(carried.messages)
    const held = new Set(carried.made)
    this.messages = new Map([...this.messages].filter(([revision]) => kept.has(revision) || revision >= fact.data.windowStart))
    this.made = new Map([...this.made].filter(([revision]) => held.has(revision)))
    this.archived = []
    return findings
  }

  private compacted(before: Conversation, fact: RecordedFact): Finding[] {
    if (before.configuration === undefined) return order('stands before the edition was begun')
    if (takesOver(fact) || isOfType(fact, 'ConversationConfigured', 'MessageAppended', 'MessagesWithdrawn', 'MessagePinned', 'MessageUnpinned', 'PromptRegistered')) return order('does not belong into an edition')
    const findings = factLaws(before, fact)
    if (closesBooks(fact)) return [...findings, ...(this.archived.length === 0 ? [{ rule: 'archive-before-prune' as const, detail: 'prunes, and no batch was archived right before it' }] : []), ...this.closing(before, fact)]
    if (this.archived.length > 0 && !isOfType(fact, 'BatchArchived')) findings.push({ rule: 'archive-before-prune', detail: 'stands between archived batches and the prune that belongs to them' })
    if (isOfType(fact, 'BatchArchived')) this.archived.push(fact)
    else this.archived = []
    if (isOfType(fact, 'BatchArchived', 'BatchesResummarized', 'ChunkSummarized')) this.made.set(fact.revision, fact)
    return [...findings, ...this.context.follow(before, this.state, fact)]
  }

  /** Takes the next fact of the edition's stream. */
  async take(fact: RecordedFact): Promise<void> {
    if (this.stopped) return
    if (isOfType(fact, 'EditionStarted') && !isRegisteredEstimator(fact.data.configuration.estimator)) {
      this.stopped = true
      this.stream.report('readable', `goes by the token estimator "${fact.data.configuration.estimator}", which is not registered here, so nothing from here on can be proved`, fact.revision)
      return
    }
    const findings: Finding[] = []
    if (isOfType(fact, 'EditionAdvanced')) findings.push(...(await this.advance(fact)))
    const before = this.state
    this.state = evolve(before, fact)
    if (closesBooks(fact) || isOfType(fact, 'EditionStarted')) this.requests.follow(this.state)
    if (isOfType(fact, 'EditionStarted')) findings.push(...this.started(fact))
    else if (!isOfType(fact, 'EditionAdvanced', 'EditionCompared', 'EditionDropped')) findings.push(...this.compacted(before, fact))
    this.dropped = isOfType(fact, 'EditionDropped')
    const { leading, kept, window, messagesCompressed } = this.state
    const inForce = messagesInForce(this.state)
    const accounted = leading.length + kept.length + window.length + messagesCompressed
    if (accounted !== inForce) findings.push({ rule: 'coverage', detail: `after this ${fact.type} ${String(inForce)} messages are seen and not withdrawn, and ${String(accounted)} are live or have left` })
    if (isSummarized(fact)) findings.push(...(await this.requests.summarized(before, fact)))
    this.stream.found(findings, fact.revision)
  }

  /** At the end of the stream. */
  end(): void {
    const last = this.stream.count - 1n
    if (this.stopped) return
    if (this.archived.length > 0) this.stream.report('archive-before-prune', 'archives batches, and no prune follows', last)
    this.stream.found(this.context.end(this.state), last)
  }
}
