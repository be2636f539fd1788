/**
 * Reports the losses of compactions: for each cycle of a conversation, ours or another program's, the removed messages,
 * how much of them the summary has, and repeated work afterwards. The conversation is read once.
 */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import type { EventData, RecordedEvent } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import { messagesInContext, summaryInContext } from '../loss-report/compaction-reports.js'
import { RecordedMessages } from '../loss-report/recorded-messages.js'
import type { ReportInput, ReportMessage } from '../loss-report/report-input.js'
import { findEstimator } from '../recording/estimators.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'
import { forgottenOf, type ForgottenReport } from './forgotten.js'
import type { TotalKey } from './totals.js'

/** The losses of one cycle. */
export interface ForgottenCycle {
  /** The conversation. */
  readonly conversationId: string
  /** Its number. If a cycle was undone, another one may have the same. */
  readonly cycle: number
  /** Revision of the event that completed it. */
  readonly revision: number
  /** Time of that event, ISO 8601. */
  readonly recordedAt: string
  /** The attributes by which totals are grouped: program, trigger and strategy. */
  readonly keys: Readonly<Partial<Record<TotalKey, string>>>
  /** Removed messages, their items in the summary, and repeated work. */
  readonly report: ForgottenReport
}

/** A cycle whose following messages are still being read. */
interface OpenCycle {
  readonly event: RecordedEvent<'MessagesPruned'>
  readonly keys: ForgottenCycle['keys']
  readonly input: Omit<ReportInput, 'after'>
  readonly after: ReportMessage[]
}

/** Which cycles to report. */
interface CycleFilter {
  /** Only cycles with this number. */
  readonly cycle?: number | undefined
  /** Only cycles after this revision. */
  readonly after?: number
}

/** Collects the cycles of one conversation. */
class ForgottenFold {
  private readonly fold: Fold
  private readonly messages = new RecordedMessages()
  private readonly strategies = new Map<string, string>()
  /** Chunks archived since the last cycle. */
  private archived: string[] = []
  private open: OpenCycle | undefined

  constructor(
    private readonly conversationId: string,
    private readonly filter: CycleFilter,
  ) {
    this.fold = new Fold(initialState(conversationId, findEstimator))
  }

  private isWanted({ data, revision }: RecordedEvent<'MessagesPruned'>): boolean {
    const { cycle = data.cycle, after = -1 } = this.filter
    return data.cycle === cycle && revision > after
  }

  private keysOf({ why }: EventData<'MessagesPruned'>, { observed }: Conversation): ForgottenCycle['keys'] {
    if (observed?.compaction !== undefined) {
      const { program, programVersion, trigger } = observed.compaction
      // A version alone is ambiguous: programs use the same numbers.
      return { program, ...(programVersion === undefined ? {} : { version: `${program} ${programVersion}` }), trigger }
    }
    const strategies = [...new Set(this.archived.flatMap((chunk) => this.strategies.get(chunk) ?? []))].toSorted()
    return {
      program: 'context-ledger',
      trigger: why.trigger,
      ...(strategies.length === 0 ? {} : { strategy: strategies.join(', ') }),
    }
  }

  /** Completes the open cycle: later messages do not belong to it. */
  close(): ForgottenCycle | undefined {
    if (this.open === undefined) return undefined
    const { event, keys, input: forgetting, after } = this.open
    this.open = undefined
    return {
      conversationId: this.conversationId,
      cycle: event.data.cycle,
      revision: event.revision,
      recordedAt: event.metadata.recordedAt,
      keys,
      report: forgottenOf({ ...forgetting, after }),
    }
  }

  /** Takes the next event and returns the cycle that it completes. */
  take(event: RecordedEvent): ForgottenCycle | undefined {
    this.fold.take(event)
    const appended = this.messages.take(event)
    if (appended !== undefined) this.open?.after.push(appended)
    else if (isOfType(event, 'ChunkSummarized')) this.strategies.set(event.data.chunkId, event.data.summarizer.strategy)
    else if (isOfType(event, 'BatchArchived')) this.archived.push(event.data.chunkId)
    else if (isReplacement(event)) return this.close()
    else if (isOfType(event, 'MessagesPruned')) {
      const closed = this.close()
      const after = this.fold.state
      if (this.isWanted(event))
        this.open = {
          event,
          keys: this.keysOf(event.data, after),
          input: {
            removed: event.data.pruned.flatMap(({ messageIds }) => this.messages.of(messageIds)),
            remaining: messagesInContext(after),
            summary: summaryInContext(after),
            before: this.messages.all(),
          },
          after: [],
        }
      this.archived = []
      return closed
    }
    return undefined
  }
}

/** The cycles of a conversation, oldest first, with their losses. */
export async function* forgottenIn(
  log: Log,
  conversationId: string,
  filter: CycleFilter = {},
): AsyncGenerator<ForgottenCycle> {
  const forgotten = new ForgottenFold(conversationId, filter)
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const closed = forgotten.take(await decodeEvent(stored, log))
    if (closed !== undefined) yield closed
  }
  const last = forgotten.close()
  if (last !== undefined) yield last
}
