/**
 * One conversation, fact by fact, in memory that does not grow with its length: the state that the decider has, the
 * facts that a load would read by revision, and nothing of what has left the live window.
 *
 * Coverage is proved step by step. After every append the live messages and those that left are together all that were
 * appended. A message leaves once, because only a live one can, and only with the batch that was archived for it right
 * before. Batches become part of one that takes their place, and the fact that closes the books carries just the active
 * ones, which cover as many messages as have left. So each message that left is covered by exactly one chain of
 * batches, though no list of all messages is ever held. A fact that puts other batches into force holds them and the
 * messages that come back whole: these are held against the facts that recorded them, and both are counted in the same
 * way.
 */
import { Fold } from '../domain/conversation/evolve.js'
import { initialState, messagesInForce, type Conversation } from '../domain/conversation/conversation.js'
import { revisionsCarried } from '../domain/conversation/resume-at.js'
import type { RecordedEvent, ReplacementType } from '../domain/events/index.js'
import { findEstimator, isRegisteredEstimator } from '../recording/estimators.js'
import { conversationStream, editionStream } from '../domain/values/ids.js'
import { isSummarized, type RequestWatch } from './check-requests.js'
import type { StreamCheck } from './check-stream.js'
import { closesBooks, originLaws, restoredLaws, type ArchivedEvent, type OriginEvent } from './origin-laws.js'
import { ContextWatch } from './context-laws.js'
import { eventLaws, type Finding } from './event-laws.js'
import { decodeEvent, isOfType, isReplacement, UnreadableEventError } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import type { SeenIds } from './seen-ids.js'

/** What a load may read by revision. */
const isHeld = (event: RecordedEvent): boolean =>
  isOfType(event, 'MessageAppended', 'BatchArchived', 'BatchesResummarized', 'ChunkSummarized', 'CompactionObserved') ||
  isReplacement(event)

export class ConversationCheck {
  private readonly fold: Fold
  private readonly context = new ContextWatch()
  /**
   * By revision: the facts of live messages, of batches and chunks since the books were closed, and what was carried
   * then.
   */
  private held = new Map<bigint, RecordedEvent>()
  /** The batches that were archived right before, whose prune has to follow. */
  private archived: ArchivedEvent[] = []
  /** Event ids that may have come before. */
  private readonly suspects = new Set<string>()
  private stopped = false

  constructor(
    private readonly conversationId: string,
    private readonly stream: StreamCheck,
    private readonly requests: RequestWatch,
    private readonly seen: SeenIds,
    private readonly log: Log,
  ) {
    this.fold = new Fold(initialState(conversationId, findEstimator))
    seen.begin()
  }

  private get state(): Conversation {
    return this.fold.state
  }

  private appendLaws(event: RecordedEvent): Finding[] {
    const { leading, retained, window, messagesCompressed } = this.state
    const inForce = messagesInForce(this.state)
    const accounted = leading.length + retained.length + window.length + messagesCompressed
    if (accounted === inForce) return []
    return [
      {
        rule: 'coverage',
        detail: `after this ${event.type} ${String(inForce)} messages are recorded and not withdrawn, and ${String(accounted)} are live or have left`,
      },
    ]
  }

  private archiveOrder(event: RecordedEvent): Finding[] {
    if (this.archived.length === 0 && isOfType(event, 'MessagesPruned') && event.data.pruned.length > 0)
      return [{ rule: 'archive-before-prune', detail: 'prunes, and no batch was archived right before it' }]
    const follows = isOfType(event, 'BatchArchived', 'MessagesPruned')
    return this.archived.length === 0 || follows
      ? []
      : [{ rule: 'archive-before-prune', detail: 'stands between archived batches and the prune that belongs to them' }]
  }

  private origin(before: Conversation, event: OriginEvent): Finding[] {
    const findings = [
      ...originLaws(before, event, this.state, this.archived, { messages: this.held, made: this.held }),
      ...this.context.closed(before, this.state),
    ]
    const { messages, made } = revisionsCarried(event)
    const carried = new Set([...messages, ...made])
    const held = [...this.held].filter(
      ([revision, each]) =>
        carried.has(revision) || (isOfType(each, 'MessageAppended') && revision >= event.data.windowStart),
    )
    this.held = new Map(held)
    if (isHeld(event)) this.held.set(event.revision, event)
    return findings
  }

  private laws(before: Conversation, event: RecordedEvent): Finding[] {
    const findings = [...eventLaws(before, event), ...this.archiveOrder(event)]
    if (closesBooks(event)) {
      findings.push(...this.origin(before, event))
      this.archived = []
    } else {
      findings.push(...this.context.follow(before, this.state, event))
      if (isOfType(event, 'BatchArchived')) this.archived.push(event)
      else this.archived = []
      if (isHeld(event)) this.held.set(event.revision, event)
      if (isOfType(event, 'MessagesWithdrawn'))
        for (const { revision } of event.data.messages) this.held.delete(revision)
    }
    findings.push(...this.appendLaws(event))
    return findings
  }

  /**
   * Takes the next fact. Only a summary, whose prompt may have to be read, and what puts other batches into force are
   * waited for.
   */
  take(event: RecordedEvent): Promise<void> | undefined {
    if (this.stopped) return undefined
    if (isOfType(event, 'ConversationConfigured') && !isRegisteredEstimator(event.data.estimator)) {
      this.stopped = true
      this.stream.report(
        'readable',
        `goes by the token estimator "${event.data.estimator}", which is not registered here, so nothing from here on can be proved`,
        event.revision,
      )
      return undefined
    }
    if (isOfType(event, 'MessageAppended') && this.seen.add(event.id)) this.suspects.add(event.id)
    const before = this.state
    this.fold.take(event)
    if (closesBooks(event) || isOfType(event, 'ConversationConfigured')) this.requests.follow(this.state)
    if (isReplacement(event)) return this.replacement(before, event)
    this.stream.found(this.laws(before, event), event.revision)
    return isSummarized(event) ? this.summary(before, event) : undefined
  }

  /** What comes back is read where it was recorded, because nothing of it is held any more. */
  private async replacement(before: Conversation, event: RecordedEvent<ReplacementType>): Promise<void> {
    const { findings, restored } = await restoredLaws(event, async (editionId, revisions) => {
      const stream =
        editionId === undefined
          ? conversationStream(this.conversationId)
          : editionStream(editionId, this.conversationId)
      const events: RecordedEvent[] = []
      for (const stored of await this.log.store.readRevisions(stream, revisions)) {
        const read = await decodeEvent(stored, this.log.bodies).catch((error: unknown) => {
          // Its own stream says what is wrong with it; here it is not what it should be.
          if (error instanceof UnreadableEventError) return undefined
          throw error
        })
        if (read !== undefined) events.push(read)
      }
      return events
    })
    for (const each of restored) this.held.set(each.revision, each)
    this.stream.found([...findings, ...this.laws(before, event)], event.revision)
  }

  private async summary(before: Conversation, event: Parameters<RequestWatch['summarized']>[1]): Promise<void> {
    this.stream.found(await this.requests.summarized(before, event), event.revision)
  }

  /** The suspects, looked at again: the same message id twice, wherever. */
  private async twice(): Promise<void> {
    if (this.suspects.size === 0) return
    const first = new Map<string, bigint>()
    for await (const stored of this.log.store.readStream(conversationStream(this.conversationId))) {
      if (!this.suspects.has(stored.id)) continue
      const before = first.get(stored.id)
      if (before === undefined) first.set(stored.id, stored.revision)
      else {
        const event = await decodeEvent(stored, this.log.bodies)
        this.stream.report(
          'messages',
          `records message ${isOfType(event, 'MessageAppended') ? event.data.messageId : stored.id} again, which revision ${before.toString()} records`,
          stored.revision,
        )
      }
    }
  }

  /** At the end of the stream. */
  async end(): Promise<void> {
    const last = this.stream.count - 1n
    if (this.stopped) return
    if (this.archived.length > 0)
      this.stream.report('archive-before-prune', 'archives batches, and no prune follows', last)
    this.stream.found(this.context.end(this.state), last)
    await this.twice()
  }

  /** The state at the end, for whoever compares it with a load. */
  get folded(): Conversation {
    return this.state
  }
}
