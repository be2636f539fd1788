/**
 * Events for tests, one builder for each type; a field that the test omits has a plain default. `recorded` puts them
 * into a stream, and `storedEvents` encodes them for a store.
 */
import { either as E } from 'fp-ts'
import { RENDERER_VERSION } from '../../src/domain/conversation/clip-archive.js'
import { decode, encode, encodeData, GENESIS_HASH } from '../../src/domain/events/codec.js'
import type {
  Configuration,
  Event,
  EventData,
  EventType,
  RecordedEvent,
  SummarizerRecord,
} from '../../src/domain/events/index.js'
import { conversationStream, eventIdOf, messageEventId } from '../../src/domain/values/ids.js'
import { resolvePolicy } from '../../src/domain/values/policy.js'
import type { EventToAppend, StoredEvent } from '../../src/ports/event-store.js'

type Of<Type extends EventType> = Extract<Event, { type: Type }>
type Some<Type extends EventType> = Partial<EventData<Type>>

const hash = (digit: string): string => digit.repeat(64)

/** The clock of these facts: the second of this number, counted from the first of January 2026. */
export const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString()

/** A configuration with the defaults. */
export function configuration(some: Partial<Configuration> = {}): Configuration {
  const policy = resolvePolicy({})
  if (E.isLeft(policy)) throw new Error(policy.left.detail)
  return {
    policy: policy.right,
    settings: {},
    rendererVersion: RENDERER_VERSION,
    estimator: 'four-characters',
    ...some,
  }
}

export const summarizer = (some: Partial<SummarizerRecord> = {}): SummarizerRecord => ({
  strategy: 'fold-in',
  provider: 'scripted',
  model: 'scripted',
  parameters: { temperature: 0 },
  prompt: { name: 'default', sha256: hash('a') },
  formatterVersion: 1,
  requestHash: hash('b'),
  durationMs: 1,
  ...some,
})

export const configured = (some: Partial<Configuration> = {}): Of<'ConversationConfigured'> => ({
  type: 'ConversationConfigured',
  data: configuration(some),
})

export const appended = (messageId: string, some: Some<'MessageAppended'> = {}): Of<'MessageAppended'> => ({
  type: 'MessageAppended',
  data: { messageId, role: 'user', content: `content of ${messageId}`, createdAt: at(0), tokens: 6, ...some },
})

/** An assistant's message that calls a tool, once for each id. */
export const calls = (messageId: string, ...callIds: string[]): Of<'MessageAppended'> =>
  appended(messageId, {
    role: 'assistant',
    content: null,
    toolCalls: callIds.map((callId) => ({ id: callId, type: 'function', function: { name: 'run', arguments: '{}' } })),
  })

export const result = (messageId: string, callId: string): Of<'MessageAppended'> =>
  appended(messageId, { role: 'tool', content: `result of ${callId}`, toolCallId: callId })

export const pinned = (messageId: string, revision = 1): Of<'MessagePinned'> => ({
  type: 'MessagePinned',
  data: { messageId, revision },
})

export const unpinned = (messageId: string, revision = 1): Of<'MessageUnpinned'> => ({
  type: 'MessageUnpinned',
  data: { messageId, revision },
})

const span = (messageCount: number): { startTime: string; endTime: string; messageCount: number } => ({
  startTime: at(0),
  endTime: at(messageCount),
  messageCount,
})

export const summarized = (
  chunkId: string,
  messageIds: readonly string[],
  some: Some<'ChunkSummarized'> = {},
): Of<'ChunkSummarized'> => ({
  type: 'ChunkSummarized',
  data: {
    chunkId,
    messageIds: [...messageIds],
    firstRevision: 1,
    lastRevision: messageIds.length,
    ...span(messageIds.length),
    summary: `summary of ${chunkId}`,
    summarizer: summarizer(),
    ...some,
  },
})

export const archived = (
  batchId: string,
  messageIds: readonly string[],
  some: Some<'BatchArchived'> = {},
): Of<'BatchArchived'> => ({
  type: 'BatchArchived',
  data: {
    batchId,
    label: `compaction-batch-${batchId}`,
    depth: 0,
    ...span(messageIds.length),
    firstRevision: 1,
    lastRevision: messageIds.length,
    messageIds: [...messageIds],
    content: `[depth:0|start:${at(0)}|end:${at(messageIds.length)}|count:${String(messageIds.length)}]\nsummary of ${batchId}`,
    tokens: 20,
    chunkId: `chunk-of-${batchId}`,
    ...some,
  },
})

export const resummarized = (
  batchId: string,
  sourceBatchIds: readonly string[],
  some: Some<'BatchesResummarized'> = {},
): Of<'BatchesResummarized'> => ({
  type: 'BatchesResummarized',
  data: {
    batchId,
    label: `compaction-batch-${batchId}`,
    sourceBatchIds: [...sourceBatchIds],
    depth: 1,
    ...span(sourceBatchIds.length),
    firstRevision: 1,
    lastRevision: sourceBatchIds.length,
    content: `[depth:1|start:${at(0)}|end:${at(1)}|count:${String(sourceBatchIds.length)}]\nsummary of ${batchId}`,
    tokens: 20,
    summarizer: summarizer(),
    ...some,
  },
})

/** @param covered the messages that left, by the batch that covers them */
export const prunedBy = (
  covered: Readonly<Record<string, readonly string[]>>,
  some: Some<'MessagesPruned'> = {},
): Of<'MessagesPruned'> => {
  const pruned = Object.entries(covered).map(([batchId, messageIds]) => ({ batchId, messageIds: [...messageIds] }))
  const count = pruned.reduce((sum, { messageIds }) => sum + messageIds.length, 0)
  return {
    type: 'MessagesPruned',
    data: {
      cycle: 1,
      windowStart: count + 1,
      pruned,
      tokensBefore: 1_000,
      tokensAfter: 100,
      why: {
        trigger: 'soft',
        threshold: 800,
        terms: { modelMaxTokens: 1_000, systemReserve: 0, outputReserve: 0, safetyBuffer: 0, contextBudget: 0.8 },
      },
      carried: {
        configuration: configuration(),
        messagesCompressed: count,
        messagesAppended: count,
        leading: [],
        kept: [],
        batches: Object.keys(covered).map((batchId, place) => ({ batchId, revision: count + 1 + place })),
        chunks: [],
        compactedCalls: [],
      },
      contextHash: hash('c'),
      viewHash: hash('d'),
      ...some,
    },
  }
}

export const compactionFailed = (some: Some<'CompactionFailed'> = {}): Of<'CompactionFailed'> => ({
  type: 'CompactionFailed',
  data: {
    step: 'chunk',
    failure: 'Timeout',
    detail: 'no answer',
    trigger: 'soft',
    attempt: 1,
    retryAfterMessages: 1,
    strategy: 'fold-in',
    provider: 'scripted',
    model: 'scripted',
    ...some,
  },
})

export const compactionCouldNotHelp = (some: Some<'CompactionCouldNotHelp'> = {}): Of<'CompactionCouldNotHelp'> => ({
  type: 'CompactionCouldNotHelp',
  data: { reason: 'recent-messages', tokens: 1_000, limit: 800, trigger: 'soft', messageIds: [], ...some },
})

export const promptRegistered = (some: Some<'PromptRegistered'> = {}): Of<'PromptRegistered'> => ({
  type: 'PromptRegistered',
  data: { name: 'default', kind: 'template', sha256: hash('a'), text: 'Summarize {messages}', ...some },
})

/** Facts as one stream keeps them, encoded and chained, from a revision on; a second apart. */
export function eventsFor(
  stream: string,
  events: readonly Event[],
  from = 0,
  previous = GENESIS_HASH,
): { readonly events: readonly EventToAppend[]; readonly hash: string } {
  let previousHash = previous
  const encodedEvents = events.map((event, place) => {
    const revision = from + place
    const data = encodeData(event)
    const id =
      event.type === 'MessageAppended'
        ? messageEventId(stream, event.data.messageId)
        : eventIdOf(stream, revision, event.type, data)
    const provenance = { actor: 'test', correlationId: 'correlation', causationId: 'causation' }
    const encoded = encode(event, data, { stream, revision, id, previousHash, recordedAt: at(revision) }, provenance)
    previousHash = encoded.hash
    return encoded.toStore
  })
  return { events: encodedEvents, hash: previousHash }
}

/** Facts of one conversation as a log that holds nothing else would keep them. */
function storedEvents(conversationId: string, events: readonly Event[], firstPosition = 0): StoredEvent[] {
  const stream = conversationStream(conversationId)
  return eventsFor(stream, events).events.map((event, place) => ({
    ...event,
    stream,
    revision: place,
    position: firstPosition + place,
  }))
}

/** A stored event as the fact that it holds; throws where it holds none. */
export async function decodeStored(stored: StoredEvent): Promise<RecordedEvent> {
  const event = decode(stored)
  if (E.isLeft(event)) throw new Error(event.left.detail)
  return await Promise.resolve(event.right)
}

/** Facts of one conversation as they come back from a log that holds nothing else. */
export async function recorded(
  conversationId: string,
  events: readonly Event[],
  firstPosition = 0,
): Promise<RecordedEvent[]> {
  return await Promise.all(storedEvents(conversationId, events, firstPosition).map(decodeStored))
}
