/** Compaction on request: the result includes the work of other processes. */
import { either as E } from 'fp-ts'
import type { Command } from '../../domain/decide/index.js'
import type { Provenance } from '../../domain/events/codec.js'
import type { CommandFailure, Conversations, Handled } from '../recording/handle-command.js'
import type { Log } from '../recording/load-conversation.js'
import type { Compact, Compaction } from './compact.js'
import { compactedSince } from './compacted-since.js'

export interface CompactNowDependencies {
  readonly log: Log
  readonly conversations: Pick<Conversations, 'load' | 'handle'>
  readonly compact: Compact
  /** The configuration to record before compaction; undefined keeps the recorded one. */
  readonly configure: Extract<Command, { type: 'Configure' }> | undefined
  /** Called with the recorded configuration. */
  readonly onRecorded: (handled: Handled) => void
}

/** Another program manages the context of the conversation, and compacts it. */
export interface ContextObserved {
  readonly kind: 'ContextObserved'
  readonly conversationId: string
  readonly program: string
}

/** Compacts a conversation with the current configuration; fails if another program manages its context. */
export async function compactNow(
  { log, conversations, compact, configure, onRecorded }: CompactNowDependencies,
  conversationId: string,
  mode: 'now' | 'force',
  provenance: Provenance,
): Promise<E.Either<CommandFailure | ContextObserved, Compaction>> {
  const { observed } = await conversations.load(conversationId)
  if (observed !== undefined) return E.left({ kind: 'ContextObserved', conversationId, program: observed.program })
  if (configure !== undefined) {
    const configured = await conversations.handle(conversationId, [configure], provenance)
    if (E.isLeft(configured)) return configured
    onRecorded(configured.right)
  }
  const before = await conversations.load(conversationId)
  const run = await compact(conversationId, mode, { provenance })
  // A worker or another process may have compacted first: the result covers all of it.
  const { batchesCreated, messagesCompressed, failure } = await compactedSince(log, conversationId, before.revision)
  return E.right({
    ...run,
    batchesCreated,
    messagesCompressed,
    ...(run.failure !== undefined || failure === undefined ? {} : { failure }),
  })
}
