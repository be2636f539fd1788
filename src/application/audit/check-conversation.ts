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
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import type { RecordedEvent, ReplacementType } from '../../domain/events/index.js'
import { findEstimator } from '../recording/estimators.js'
import { conversationStream, editionStream } from '../../domain/values/ids.js'
import { isSummarized, type RequestWatch } from './check-requests.js'
import { isCheckpoint, restoredLaws } from './origin-laws.js'
import { coverageLaws, CycleWatch, unknownEstimator } from './cycle-laws.js'
import { ErasureWatch } from './erasure-laws.js'
import { eventLaws, type Finding } from './event-laws.js'
import { decodeEvent, isOfType, isReplacement, isUnreadableEvent } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import type { IdFilter } from './id-filter.js'
import type { StreamReport } from './stream-report.js'

export class ConversationCheck {
  private readonly fold: Fold
  private readonly cycles = new CycleWatch()
  private readonly erasures = new ErasureWatch()
  /** Ids of events that may be duplicates. */
  private readonly possibleDuplicates = new Set<string>()
  private stopped = false

  constructor(
    private readonly conversationId: string,
    private readonly report: StreamReport,
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

  private laws(before: Conversation, event: RecordedEvent): Finding[] {
    return [
      ...eventLaws(before, event),
      ...this.cycles.take(before, this.state, event),
      ...coverageLaws(this.state, event),
    ]
  }

  /**
   * Takes the next event. Asynchronous only for a summary, whose prompt may have to be read, and for an event that
   * activates other batches.
   */
  take(event: RecordedEvent): Promise<void> | undefined {
    if (this.stopped) return undefined
    this.erasures.take(event)
    if (isOfType(event, 'ConversationConfigured')) {
      const unknown = unknownEstimator(event.data.estimator)
      this.report.addFindings(unknown, event.revision)
      this.stopped = unknown.length > 0
      if (this.stopped) return undefined
    }
    if (isOfType(event, 'MessageAppended') && this.ids.add(event.id)) this.possibleDuplicates.add(event.id)
    const before = this.state
    this.fold.take(event)
    if (isCheckpoint(event) || isOfType(event, 'ConversationConfigured')) this.requests.follow(this.state)
    if (isReplacement(event)) return this.replacement(before, event)
    this.report.addFindings(this.laws(before, event), event.revision)
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
    this.cycles.restore(restored)
    this.report.addFindings([...findings, ...this.laws(before, event)], event.revision)
  }

  private async summary(before: Conversation, event: Parameters<RequestWatch['summarized']>[1]): Promise<void> {
    this.report.addFindings(await this.requests.summarized(before, event), event.revision)
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
        this.report.add(
          'messages',
          `records message ${isOfType(event, 'MessageAppended') ? event.data.messageId : stored.id} again, which revision ${before.toString()} records`,
          stored.revision,
        )
      }
    }
  }

  /** Whether the message at a revision can be read with the keys that exist now. */
  private async isReadable(revision: number): Promise<boolean> {
    this.log.keys?.forget(this.conversationId)
    const [stored] = await this.log.store.readRevisions(conversationStream(this.conversationId), [revision])
    const event = stored === undefined ? undefined : await decodeEvent(stored, this.log)
    return event !== undefined && isOfType(event, 'MessageAppended') && event.data.erased !== true
  }

  /** @param last revision of the last event */
  async end(last: number): Promise<void> {
    if (this.stopped) return
    const { keys } = this.log
    const missing = keys === undefined ? [] : await this.erasures.missingMarks(keys)
    const erasures = await this.erasures.end(async (revision) => await this.isReadable(revision))
    this.report.addFindings([...this.cycles.end(this.state), ...erasures, ...missing], last)
    await this.twice()
  }

  /** True if a text that this check has read was erased before its end. The state at the end then has that text. */
  get isErasedMeanwhile(): boolean {
    return this.erasures.isErasedMeanwhile
  }

  /** The state at the end, for comparison with a load. */
  get folded(): Conversation {
    return this.state
  }
}
