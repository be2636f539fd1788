/**
 * The state of a conversation, from its stream: backwards to the last `MessagesPruned`, the window that it names, and point reads of the
 * revisions that it carries; nothing else, however long the conversation is.
 */
import { evolve, initialState, resumeAt, revisionsCarried, type Conversation } from '../domain/conversation.js'
import type { RecordedFact } from '../domain/events.js'
import { conversationStream } from '../domain/ids.js'
import type { BodyStore } from '../ports/body-store.js'
import type { EventStore, StoredEvent } from '../ports/event-store.js'
import { decodeFact, isOfType } from './facts.js'

export interface Log {
  readonly store: EventStore
  readonly bodies: BodyStore
}

async function decodeAll(stored: readonly StoredEvent[], bodies: BodyStore): Promise<RecordedFact[]> {
  const facts: RecordedFact[] = []
  for (const event of stored) facts.push(await decodeFact(event, bodies))
  return facts
}

/** The events from the last prune at or before `at` on, oldest first; all of them where there is no prune. */
async function tailOf(log: Log, stream: string, at: bigint | undefined): Promise<StoredEvent[]> {
  const tail: StoredEvent[] = []
  // The store pages inside, from small pages to larger ones, so stopping at the prune reads little beyond it.
  for await (const event of log.store.readStream(stream, { direction: 'backwards', ...(at === undefined ? {} : { from: at }) })) {
    tail.push(event)
    if (event.type === 'MessagesPruned') break
  }
  return tail.toReversed()
}

async function windowFacts(log: Log, stream: string, from: bigint, before: bigint): Promise<RecordedFact<'MessageAppended'>[]> {
  const found: RecordedFact<'MessageAppended'>[] = []
  if (from >= before) return found
  for await (const event of log.store.readStream(stream, { from, limit: Number(before - from) })) {
    if (event.type !== 'MessageAppended') continue
    const fact = await decodeFact(event, log.bodies)
    if (isOfType(fact, 'MessageAppended')) found.push(fact)
  }
  return found
}

async function takeUp(log: Log, conversationId: string, prune: RecordedFact<'MessagesPruned'>): Promise<Conversation> {
  const stream = conversationStream(conversationId)
  const [read, window] = await Promise.all([
    log.store.readRevisions(stream, [...new Set(revisionsCarried(prune.data))]),
    windowFacts(log, stream, prune.data.windowStart, prune.revision),
  ])
  const facts = await decodeAll(read, log.bodies)
  return resumeAt(
    conversationId,
    prune,
    {
      messages: facts.filter((fact) => isOfType(fact, 'MessageAppended')),
      batches: facts.filter((fact) => isOfType(fact, 'BatchArchived', 'BatchesResummarized')),
      chunks: facts.filter((fact) => isOfType(fact, 'ChunkSummarized')),
    },
    window,
  )
}

/**
 * The state of a conversation, today or as of a revision.
 * @param at the last revision to see; default: the newest
 */
export async function loadConversation(log: Log, conversationId: string, at?: bigint): Promise<Conversation> {
  const facts = await decodeAll(await tailOf(log, conversationStream(conversationId), at), log.bodies)
  const first = facts[0]
  if (first !== undefined && isOfType(first, 'MessagesPruned')) {
    return facts.slice(1).reduce(evolve, await takeUp(log, conversationId, first))
  }
  return facts.reduce(evolve, initialState(conversationId))
}

/** A state that was loaded before, and what was appended since. */
export async function catchUpConversation(log: Log, state: Conversation): Promise<Conversation> {
  let seen = state
  for await (const event of log.store.readStream(conversationStream(state.conversationId), { from: state.revision + 1n })) {
    seen = evolve(seen, await decodeFact(event, log.bodies))
  }
  return seen
}
