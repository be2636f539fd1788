/**
 * Reports the losses of compactions: for each cycle of a conversation, ours or another program's, the removed messages,
 * how much of them the summary has, and repeated work afterwards. The conversation is read once.
 */
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import type { EventData, RecordedEvent } from '../../domain/events/index.js'
import { forgottenOf, type ForgottenReport } from './forgotten.js'
import type { ReportInput, ReportMessage, ReportToolCall, RemainingSummary } from './report-input.js'
import type { TotalKey } from './totals.js'
import { toolOfCall } from '../../domain/conversation/call-groups.js'
import { conversationStream } from '../../domain/values/ids.js'
import { authorOfMessage, ownContent } from '../../domain/text/authorship.js'
import { contentText, type MessageBody, type ToolCall } from '../../domain/values/message.js'
import { findEstimator } from '../recording/estimators.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'

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

type MessageFields = Pick<
  LiveMessage,
  'messageId' | 'revision' | 'createdAt' | 'tokens' | 'attributes' | keyof MessageBody
>

/** A message in the report's form; with another content, if the model received that instead. */
export function toReportMessage(
  message: MessageFields,
  content: MessageBody['content'] = message.content,
): ReportMessage {
  const { messageId, revision, role, toolCalls, toolCallId, attributes, createdAt, tokens } = message
  const authored = { role, content, attributes }
  const author = authorOfMessage(authored)
  const byProgram = author === 'program' || author === 'ledger'
  return {
    messageId,
    revision,
    role,
    text: contentText(content),
    ownText: byProgram ? '' : contentText(ownContent(authored)),
    ...(toolCalls === undefined
      ? {}
      : {
          toolCalls: toolCalls.map((call) => toReportCall(call)),
        }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(attributes?.['isError'] === true ? { isError: true } : {}),
    ...(byProgram ? { byProgram } : {}),
    ...(attributes?.['recallNote'] === undefined ? {} : { hadNote: true }),
    at: createdAt,
    tokens,
  }
}

/** A tool call in the report's form. */
export function toReportCall(call: ToolCall): ReportToolCall {
  const { name, input } = toolOfCall(call)
  return { id: call.id, name, arguments: input }
}

/** The messages that are in the context verbatim after a cycle, and those that a program added with its summary. */
export function remainingAfter(after: Conversation): ReportMessage[] {
  const live = [...after.leading, ...after.retained, ...after.window]
  const compaction = after.observed?.compaction
  if (compaction === undefined) return live.map((message) => toReportMessage(message))
  const byId = new Map(live.map((message) => [message.messageId, message]))
  return compaction.context.flatMap((entry, at): ReportMessage[] => {
    if (entry.kind === 'missing') return []
    if (entry.kind === 'message') {
      const message = byId.get(entry.messageId)
      return message === undefined ? [] : [toReportMessage(message, entry.content)]
    }
    if (entry.isSummary === true) return []
    const message = {
      ...entry.body,
      messageId: `inserted ${String(at)}`,
      revision: compaction.revision,
      createdAt: after.recordedAt ?? '',
      tokens: 0,
      attributes: { byProgram: true },
    }
    return [toReportMessage(message)]
  })
}

export const summaryAfter = (after: Conversation): RemainingSummary =>
  after.observed?.compaction?.summary ?? { kind: 'text', text: after.view?.text ?? '' }

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
  private readonly messages = new Map<string, ReportMessage>()
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
    if (isOfType(event, 'MessageAppended')) {
      const message = toReportMessage({ ...event.data, revision: event.revision })
      this.messages.set(message.messageId, message)
      this.open?.after.push(message)
    } else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) this.messages.delete(messageId)
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
            removed: event.data.pruned.flatMap(({ messageIds }) =>
              messageIds.flatMap((id) => this.messages.get(id) ?? []),
            ),
            remaining: remainingAfter(after),
            summary: summaryAfter(after),
            before: [...this.messages.values()],
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
