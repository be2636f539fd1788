/** Searches an agent's own conversation for hits that are not in its current context. */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type NoContext } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import { answeredCalls, callName } from '../../domain/conversation/call-groups.js'
import { contentText, type MessageBody } from '../../domain/values/message.js'
import type { EventStore, StoredEvent } from '../../ports/event-store.js'
import type { SearchHit, SearchOptions } from './search.js'

/** The name of the agent's tool that searches. */
export const MEMORY_READ = 'memory_read'

export interface MemoryDependencies {
  readonly store: EventStore
  readonly decode: (stored: StoredEvent) => Promise<RecordedEvent>
  /** The general search. */
  readonly find: (query: string, options: SearchOptions) => Promise<{ readonly hits: readonly SearchHit[] }>
}

/** A tool call is searched within this number of events before its answer. */
const CALL_SEARCH_EVENTS = 64

/** The messages and batches that the agent's context contains unshortened. */
function visibleIn(context: Context, state: Conversation) {
  const messages = new Set(context.messageIds)
  const batches = new Set(state.view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : [])))
  for (const { id } of context.shortened ?? []) {
    messages.delete(id)
    batches.delete(id)
  }
  return { messages, batches }
}

/**
 * Whether a message consists only of a call of `memory_read`, or answers one. Such messages are skipped, since they
 * would match every repetition of the search.
 */
async function isMemoryRead(
  { store, decode }: MemoryDependencies,
  conversationId: string,
  revision: number,
): Promise<boolean> {
  const messages: MessageBody[] = []
  // The call is one of the last events before its answer.
  for await (const stored of store.readStream(conversationStream(conversationId), {
    from: revision,
    direction: 'backwards',
    limit: CALL_SEARCH_EVENTS,
  })) {
    const event = await decode(stored)
    if (event.type !== 'MessageAppended') continue
    messages.unshift(event.data)
    const callId = messages.at(-1)?.toolCallId
    if (callId === undefined || event.data.toolCalls?.some(({ id }) => id === callId) === true) break
  }
  const last = messages.at(-1)
  if (last?.role === 'tool') {
    const answered = answeredCalls(messages).get(messages.length - 1)
    return answered !== undefined && callName(answered.call) === MEMORY_READ
  }
  const { toolCalls = [], content = null } = last ?? {}
  return (
    toolCalls.length > 0 &&
    toolCalls.every((call) => callName(call) === MEMORY_READ) &&
    contentText(content).trim() === ''
  )
}

/** The best hits that are not in the agent's context, best first. */
export async function readMemory(
  deps: MemoryDependencies,
  state: Conversation,
  query: string,
  limit: number,
): Promise<E.Either<NoContext, readonly SearchHit[]>> {
  const context = contextOf(state)
  if (E.isLeft(context)) return context
  const { conversationId } = state
  const visible = visibleIn(context.right, state)
  const { hits } = await deps.find(query, {
    within: { conversationId },
    limit: limit + visible.messages.size + visible.batches.size,
  })
  const found: SearchHit[] = []
  for (const hit of hits) {
    if (found.length >= limit) break
    const isVisible =
      hit.kind === 'batch'
        ? hit.batchId !== null && visible.batches.has(hit.batchId)
        : hit.messageIds.every((id) => visible.messages.has(id))
    if (!isVisible && !(hit.kind === 'message' && (await isMemoryRead(deps, conversationId, hit.firstRevision))))
      found.push(hit)
  }
  return E.right(found)
}
