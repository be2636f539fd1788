/**
 * Checks one conversation, event by event, in memory that does not grow with its length. It keeps the decider's state
 * and the events that a load reads by revision, but no message after it was removed.
 *
 * Coverage is proved step by step. After every append, the live and the removed messages together are all appended
 * messages. A message is removed only once, because only a live one can be removed, and only with the batch that
 * archives it directly before. Batches become part of the batch that replaces them, and the checkpoint event carries
 * exactly the active ones, which cover as many messages as were removed. So each removed message is covered by exactly
 * one chain of batches, without a list of all messages. An event that activates other batches contains them and the
 * restored messages in full: these are compared with the events that recorded them, and counted in the same way.
 */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState, messagesInForce, type Conversation } from '../../domain/conversation/conversation.js'
import { revisionsCarried } from '../../domain/conversation/resume-at.js'
import type { RecordedEvent, ReplacementType } from '../../domain/events/index.js'
import { findEstimator, isRegisteredEstimator } from '../recording/estimators.js'
import { conversationStream, editionStream } from '../../domain/values/ids.js'
import { isSummarized, type RequestWatch } from './check-requests.js'
import type { StreamCheck } from './check-stream.js'
import { closesBooks, originLaws, restoredLaws, type ArchivedEvent, type OriginEvent } from './origin-laws.js'
import { ContextWatch } from './context-laws.js'
import { ErasureWatch } from './erasure-laws.js'
import { eventLaws, type Finding } from './event-laws.js'
import { decodeEvent, isOfType, isReplacement, isUnreadableEvent } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import type { IdFilter } from './id-filter.js'

/** The events that a load may read by revision. */
const isNeededByLoad = (event: RecordedEvent): boolean =>
  isOfType(event, 'MessageAppended', 'BatchArchived', 'BatchesResummarized', 'ChunkSummarized', 'CompactionObserved') ||
  isReplacement(event)

export class ConversationCheck {
  private readonly fold: Fold
  private readonly context = new ContextWatch()
  /**
   * By revision: the events of live messages, of batches and chunks since the last checkpoint event, and those that it
   * carries.
   */
  private loadable = new Map<number, RecordedEvent>()
  private readonly erasures = new ErasureWatch()
  /** The batches archived directly before, until their prune follows. */
  private archived: ArchivedEvent[] = []
  /** Ids of events that may be duplicates. */
  private readonly possibleDuplicates = new Set<string>()
  private stopped = false

  constructor(
    private readonly conversationId: string,
    private readonly stream: StreamCheck,
    private readonly requests: RequestWatch,
    private readonly ids: IdFilter,
    private readonly log: Log,
  ) {
    this.fold = new Fold(initialState(conversationId, findEstimator))
    ids.begin()
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
      return [{ rule: 'archive-before-prune', detail: 'prunes, but no batch was archived directly before it' }]
    const follows = isOfType(event, 'BatchArchived', 'MessagesPruned')
    return this.archived.length === 0 || follows
      ? []
      : [{ rule: 'archive-before-prune', detail: 'separates archived batches from their prune' }]
  }

  private origin(before: Conversation, event: OriginEvent): Finding[] {
    const findings = [
      ...originLaws(before, event, this.state, this.archived, { messages: this.loadable, made: this.loadable }),
      ...this.context.closed(before, this.state),
    ]
    const { messages, made } = revisionsCarried(event)
    const carried = new Set([...messages, ...made])
    const stillLoadable = [...this.loadable].filter(
      ([revision, each]) =>
        carried.has(revision) || (isOfType(each, 'MessageAppended') && revision >= event.data.windowStart),
    )
    this.loadable = new Map(stillLoadable)
    if (isNeededByLoad(event)) this.loadable.set(event.revision, event)
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
      if (isNeededByLoad(event)) this.loadable.set(event.revision, event)
      if (isOfType(event, 'MessagesWithdrawn'))
        for (const { revision } of event.data.messages) this.loadable.delete(revision)
    }
    findings.push(...this.appendLaws(event))
    return findings
  }

  /**
   * Takes the next event. Asynchronous only for a summary, whose prompt may have to be read, and for an event that
   * activates other batches.
   */
  take(event: RecordedEvent): Promise<void> | undefined {
    if (this.stopped) return undefined
    this.erasures.take(event)
    if (isOfType(event, 'ConversationConfigured') && !isRegisteredEstimator(event.data.estimator)) {
      this.stopped = true
      this.stream.report(
        'readable',
        `uses the token estimator "${event.data.estimator}", which is not registered here, so nothing after it can be proved`,
        event.revision,
      )
      return undefined
    }
    if (isOfType(event, 'MessageAppended') && this.ids.add(event.id)) this.possibleDuplicates.add(event.id)
    const before = this.state
    this.fold.take(event)
    if (closesBooks(event) || isOfType(event, 'ConversationConfigured')) this.requests.follow(this.state)
    if (isReplacement(event)) return this.replacement(before, event)
    this.stream.found(this.laws(before, event), event.revision)
    return isSummarized(event) ? this.summary(before, event) : undefined
  }

  /** Restored messages are read again from the log, since they are no longer in memory. */
  private async replacement(before: Conversation, event: RecordedEvent<ReplacementType>): Promise<void> {
    const { findings, restored } = await restoredLaws(event, async (editionId, revisions) => {
      const stream =
        editionId === undefined
          ? conversationStream(this.conversationId)
          : editionStream(editionId, this.conversationId)
      const events: RecordedEvent[] = []
      for (const stored of await this.log.store.readRevisions(stream, revisions)) {
        const read = await decodeEvent(stored, this.log).catch((error: unknown) => {
          // The check of that stream reports the reason; here it only counts as a difference.
          if (isUnreadableEvent(error)) return undefined
          throw error
        })
        if (read !== undefined) events.push(read)
      }
      return events
    })
    for (const each of restored) this.loadable.set(each.revision, each)
    this.stream.found([...findings, ...this.laws(before, event)], event.revision)
  }

  private async summary(before: Conversation, event: Parameters<RequestWatch['summarized']>[1]): Promise<void> {
    this.stream.found(await this.requests.summarized(before, event), event.revision)
  }

  /** Reads the stream again and reports messages with the same id. */
  private async twice(): Promise<void> {
    if (this.possibleDuplicates.size === 0) return
    const first = new Map<string, number>()
    for await (const stored of this.log.store.readStream(conversationStream(this.conversationId))) {
      if (!this.possibleDuplicates.has(stored.id)) continue
      const before = first.get(stored.id)
      if (before === undefined) first.set(stored.id, stored.revision)
      else {
        const event = await decodeEvent(stored, this.log)
        this.stream.report(
          'messages',
          `records message ${isOfType(event, 'MessageAppended') ? event.data.messageId : stored.id} again, which revision ${before.toString()} records`,
          stored.revision,
        )
      }
    }
  }

  async end(): Promise<void> {
    const last = this.stream.count - 1
    if (this.stopped) return
    if (this.archived.length > 0)
      this.stream.report('archive-before-prune', 'archives batches, but no prune follows', last)
    const { keys } = this.log
    const missing = keys === undefined ? [] : await this.erasures.missingMarks(keys)
    this.stream.found([...this.context.end(this.state), ...this.erasures.end(), ...missing], last)
    await this.twice()
  }

  /** The state at the end, for comparison with a load. */
  get folded(): Conversation {
    return this.state
  }
}
