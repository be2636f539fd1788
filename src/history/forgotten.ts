/**
 * What compactions forgot: each cycle of a conversation, ours or another program's, with what left the context, what the
 * summary still has of it, and what was done again behind it. The conversation is read once.
 */
import { Fold } from '../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import type { EventData, RecordedEvent } from '../domain/events/index.js'
import { forgottenOf, type ForgottenReport } from '../domain/reports/forgotten/forgotten.js'
import type { Forgetting, Said, SummaryLeft } from '../domain/reports/forgotten/said.js'
import type { TotalKey } from '../domain/reports/forgotten/totals.js'
import { conversationStream } from '../domain/values/ids.js'
import { contentText, type MessageBody } from '../domain/values/message.js'
import { findEstimator } from '../recording/estimators.js'
import type { Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType, isReplacement } from '../recording/read-event.js'

/** What one cycle forgot. */
export interface ForgottenCycle {
  /** The conversation. */
  readonly conversationId: string
  /** Its number; where a cycle was undone another one has the same. */
  readonly cycle: number
  /** Revision of the event that it ended with. */
  readonly revision: bigint
  /** When that was recorded, ISO 8601. */
  readonly recordedAt: string
  /** Who compacted, by what asked for it and by which strategy: what totals are told apart by. */
  readonly keys: Readonly<Partial<Record<TotalKey, string>>>
  /** What left, what the summary has of it, and what was done again. */
  readonly report: ForgottenReport
}

/** A cycle whose messages behind it are still to come. */
interface OpenCycle {
  readonly event: RecordedEvent<'MessagesPruned'>
  readonly keys: ForgottenCycle['keys']
  readonly forgetting: Omit<Forgetting, 'after'>
  readonly after: Said[]
}

type Sayable = Pick<LiveMessage, 'messageId' | 'revision' | 'createdAt' | 'tokens' | 'attributes' | keyof MessageBody>

/** A message as the report reads it; with a content, where a model was given that one in its place. */
function saidOf(message: Sayable, content: MessageBody['content'] = message.content): Said {
  const { messageId, revision, role, toolCalls, toolCallId, attributes, createdAt, tokens } = message
  return {
    messageId,
    revision,
    role,
    text: contentText(content),
    ...(toolCalls === undefined
      ? {}
      : {
          toolCalls: toolCalls.map((call) => ({
            id: call.id,
            name: call.function?.name ?? customOf(call).name,
            arguments: call.function?.arguments ?? customOf(call).input,
          })),
        }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(attributes?.['isError'] === true ? { isError: true } : {}),
    ...(attributes?.['byProgram'] === true ? { byProgram: true } : {}),
    at: createdAt,
    tokens,
  }
}

/** A call of a tool that takes free text, or of a kind that we do not know. */
function customOf(call: Readonly<Record<string, unknown>> & { readonly type: string }): {
  name: string
  input: string
} {
  const { custom } = call
  const of = (key: string): string => {
    const value: unknown = typeof custom === 'object' && custom !== null ? Reflect.get(custom, key) : undefined
    return typeof value === 'string' ? value : ''
  }
  return { name: of('name') === '' ? call.type : of('name'), input: of('input') }
}

/** What stands in the context behind a cycle word for word, and what a program put beside its summary. */
function stayedAfter(after: Conversation): Said[] {
  const live = [...after.leading, ...after.retained, ...after.window]
  const compaction = after.observed?.compaction
  if (compaction === undefined) return live.map((message) => saidOf(message))
  const byId = new Map(live.map((message) => [message.messageId, message]))
  return compaction.context.flatMap((entry, at): Said[] => {
    if (entry.kind === 'missing') return []
    if (entry.kind === 'message') {
      const message = byId.get(entry.messageId)
      return message === undefined ? [] : [saidOf(message, entry.content)]
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
    return [saidOf(message)]
  })
}

const summaryAfter = (after: Conversation): SummaryLeft =>
  after.observed?.compaction?.summary ?? { kind: 'text', text: after.view?.text ?? '' }

/** Follows one conversation. */
class Forgotten {
  private readonly fold: Fold
  private readonly said = new Map<string, Said>()
  private readonly strategies = new Map<string, string>()
  /** Chunks that were archived since the last cycle. */
  private archived: string[] = []
  private open: OpenCycle | undefined

  constructor(
    private readonly conversationId: string,
    private readonly cycle: number | undefined,
  ) {
    this.fold = new Fold(initialState(conversationId, findEstimator))
  }

  private keysOf({ why }: EventData<'MessagesPruned'>, { observed }: Conversation): ForgottenCycle['keys'] {
    if (observed?.compaction !== undefined) {
      const { program, programVersion, trigger } = observed.compaction
      // A version alone says little: programs number theirs alike.
      return { program, ...(programVersion === undefined ? {} : { version: `${program} ${programVersion}` }), trigger }
    }
    const strategies = [...new Set(this.archived.flatMap((chunk) => this.strategies.get(chunk) ?? []))].toSorted()
    return {
      program: 'context-ledger',
      trigger: why.trigger,
      ...(strategies.length === 0 ? {} : { strategy: strategies.join(', ') }),
    }
  }

  /** The cycle that is over: nothing behind it belongs to it any more. */
  close(): ForgottenCycle | undefined {
    if (this.open === undefined) return undefined
    const { event, keys, forgetting, after } = this.open
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

  /** Takes the next event; gives the cycle that ends with it. */
  take(event: RecordedEvent): ForgottenCycle | undefined {
    this.fold.take(event)
    if (isOfType(event, 'MessageAppended')) {
      const said = saidOf({ ...event.data, revision: event.revision })
      this.said.set(said.messageId, said)
      this.open?.after.push(said)
    } else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) this.said.delete(messageId)
    else if (isOfType(event, 'ChunkSummarized')) this.strategies.set(event.data.chunkId, event.data.summarizer.strategy)
    else if (isOfType(event, 'BatchArchived')) this.archived.push(event.data.chunkId)
    else if (isReplacement(event)) return this.close()
    else if (isOfType(event, 'MessagesPruned')) {
      const closed = this.close()
      const after = this.fold.state
      if (this.cycle === undefined || event.data.cycle === this.cycle)
        this.open = {
          event,
          keys: this.keysOf(event.data, after),
          forgetting: {
            left: event.data.pruned.flatMap(({ messageIds }) => messageIds.flatMap((id) => this.said.get(id) ?? [])),
            stayed: stayedAfter(after),
            summary: summaryAfter(after),
            before: [...this.said.values()],
          },
          after: [],
        }
      this.archived = []
      return closed
    }
    return undefined
  }
}

/**
 * The cycles of a conversation, oldest first, each with what it forgot.
 * @param cycle only those with this number
 */
export async function* forgottenIn(log: Log, conversationId: string, cycle?: number): AsyncGenerator<ForgottenCycle> {
  const forgotten = new Forgotten(conversationId, cycle)
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const closed = forgotten.take(await decodeEvent(stored, log.bodies))
    if (closed !== undefined) yield closed
  }
  const last = forgotten.close()
  if (last !== undefined) yield last
}
