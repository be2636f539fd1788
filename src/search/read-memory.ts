/** What an agent finds of its own conversation: hits that it does not see in its context anyway. */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type NoContext } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { RecordedEvent } from '../domain/events/index.js'
import { conversationStream } from '../domain/values/ids.js'
import { contentText } from '../domain/values/message.js'
import type { EventStore, StoredEvent } from '../ports/event-store.js'
import type { SearchHit, SearchOptions } from './search.js'

/** The name of the agent's tool that searches. */
export const MEMORY_READ = 'memory_read'

export interface MemoryDependencies {
  readonly store: EventStore
  readonly decode: (stored: StoredEvent) => Promise<RecordedEvent>
  /** Searches, as anybody does. */
  readonly find: (query: string, options: SearchOptions) => Promise<{ readonly hits: readonly SearchHit[] }>
}

/** How far before an answer its call is looked for. */
const ANSWER_REACH = 64

/** The messages and batches that the agent sees whole: a shortened or left-out one is not among them. */
function seenIn(context: Context, state: Conversation) {
  const messages = new Set(context.messageIds)
  const batches = new Set(state.view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : [])))
  for (const { id } of context.shortened ?? []) {
    messages.delete(id)
    batches.delete(id)
  }
  return { messages, batches }
}

/**
 * Whether a message is a call of `memory_read` and nothing else, or an answer to one: what it found would be found
 * again and again.
 */
async function isOfMemoryRead(
  { store, decode }: MemoryDependencies,
  conversationId: string,
  revision: bigint,
): Promise<boolean> {
  let callId: string | undefined
  // An answer stands closely behind its call.
  for await (const stored of store.readStream(conversationStream(conversationId), {
    from: revision,
    direction: 'backwards',
    limit: ANSWER_REACH,
  })) {
    const event = await decode(stored)
    if (event.type !== 'MessageAppended') continue
    const { role, content, toolCalls = [], toolCallId } = event.data
    const isReading = ({ function: called }: (typeof toolCalls)[number]): boolean => called?.name === MEMORY_READ
    if (callId !== undefined) {
      const call = toolCalls.find(({ id }) => id === callId)
      if (call !== undefined) return isReading(call)
    } else if (role === 'tool' && toolCallId !== undefined) callId = toolCallId
    else return toolCalls.length > 0 && toolCalls.every(isReading) && contentText(content).trim() === ''
  }
  return false
}

/** The best hits that the agent does not see, best first. */
export async function readMemory(
  deps: MemoryDependencies,
  state: Conversation,
  query: string,
  limit: number,
): Promise<E.Either<NoContext, readonly SearchHit[]>> {
  const context = contextOf(state)
  if (E.isLeft(context)) return context
  const { conversationId } = state
  const seen = seenIn(context.right, state)
  const { hits } = await deps.find(query, {
    within: { conversationId },
    limit: limit + seen.messages.size + seen.batches.size,
  })
  const found: SearchHit[] = []
  for (const hit of hits) {
    if (found.length >= limit) break
    const isSeen =
      hit.kind === 'batch'
        ? hit.batchId !== null && seen.batches.has(hit.batchId)
        : hit.messageIds.every((id) => seen.messages.has(id))
    if (!isSeen && !(hit.kind === 'message' && (await isOfMemoryRead(deps, conversationId, hit.firstRevision))))
      found.push(hit)
  }
  return E.right(found)
}
