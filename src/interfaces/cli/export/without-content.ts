/** The data of an event without texts of a conversation: ids, roles, counts, hashes and times. */
import type { EventData, EventType, RecordedEvent } from '../../../domain/events/index.js'

type Fields<Type extends EventType> = readonly (keyof EventData<Type>)[]

const SUMMARY = ['firstRevision', 'lastRevision', 'startTime', 'endTime'] as const

/** The fields of each event that contain no text of a person, a model, a tool or a file. */
const FIELDS: { readonly [Type in EventType]: Fields<Type> } = {
  ConversationConfigured: ['policy', 'rendererVersion', 'estimator', 'scope'],
  MessageAppended: ['messageId', 'role', 'toolCallId', 'createdAt', 'tokens', 'pinned', 'answers', 'leads', 'givenId'],
  MessagesWithdrawn: ['messages', 'why'],
  MessagePinned: ['messageId', 'revision'],
  MessageUnpinned: ['messageId', 'revision'],
  ChunkSummarized: ['chunkId', 'messageIds', 'continues', ...SUMMARY],
  BatchArchived: ['batchId', 'label', 'depth', 'messageIds', 'tokens', 'chunkId', ...SUMMARY],
  BatchesResummarized: ['batchId', 'label', 'sourceBatchIds', 'depth', 'tokens', ...SUMMARY],
  SummarySetAside: ['messageIds', 'sourceBatchIds', 'continues'],
  MessagesPruned: ['cycle', 'pruned', 'why', 'tokensBefore', 'tokensAfter', 'windowStart', 'contextHash', 'viewHash'],
  CompactionFailed: [
    'step',
    'failure',
    'trigger',
    'attempt',
    'strategy',
    'provider',
    'model',
    'requestHash',
    'timesSent',
  ],
  CompactionCouldNotHelp: ['reason', 'tokens', 'limit', 'trigger', 'messageIds'],
  EditionStarted: ['editionId', 'conversationId', 'summarizer', 'conversationRevision'],
  EditionAdvanced: ['conversationRevision'],
  EditionDropped: ['editionId'],
  EditionCompared: ['editionId', 'editionRevision', 'against', 'conversationRevision', 'figures', 'viewLines'],
  EditionAdopted: ['editionId', 'editionRevision', 'conversationRevision'],
  EditionReverted: ['editionId', 'restores', 'adoptedAt'],
  CycleUndone: ['undone', 'softLimitBackoffUntil'],
  ConversationObserved: ['program', 'programVersion', 'sourceId', 'parent', 'startedAt'],
  ConversationTitled: [],
  CompactionObserved: ['chunkId', 'program', 'programVersion', 'sourceId', 'trigger', 'at', 'covered', 'told'],
  ContributionEdited: ['messageId', 'revision', 'why', 'at'],
  TranscriptDamaged: [],
  PromptRegistered: ['name', 'kind', 'sha256'],
  ErasureRequested: ['erasureId', 'scope', 'subject', 'messages', 'derived', 'editions', 'epoch'],
  ErasureCompleted: ['erasureId', 'receipt'],
  RetentionRulesSet: ['scope', 'keepAtLeast', 'eraseAfter'],
  RetentionHoldPlaced: ['holdId', 'conversationId', 'scope'],
  RetentionHoldReleased: ['holdId'],
  RetentionRunStarted: ['runId', 'due'],
  RetentionRunCompleted: ['runId', 'receipt'],
}

/** How a summary was made, without rejected answers and full texts. */
const SUMMARIZER = [
  'strategy',
  'provider',
  'model',
  'requestHash',
  'responseId',
  'usage',
  'durationMs',
  'fallback',
  'reused',
]

const pick = (data: object, names: readonly PropertyKey[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([name, value]) => value !== undefined && names.includes(name)))

/** The data of an event without content. */
export function withoutContent({ type, data }: RecordedEvent): Record<string, unknown> {
  const picked = pick(data, FIELDS[type])
  return 'summarizer' in data && !('summarizer' in picked)
    ? { ...picked, summarizer: pick(data.summarizer, SUMMARIZER) }
    : picked
}
