/** Compaction: in the background after appends, on request, and undo. */
import type { VectorFiller } from '../../projections/read-models/archive-index/vector-filler.js'
import { createCompact, isCompactionDue, type Compaction } from '../application/compaction/compact.js'
import { compactNow } from '../application/compaction/compact-now.js'
import { createCompactionWorker } from '../application/compaction/compaction-worker.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Command } from '../domain/decide/index.js'
import type { Provenance } from '../domain/events/codec.js'
import { undoCycles, undoneBy } from '../application/editions/undo-and-revert.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { RegisterPrompt } from '../application/recording/register-prompt.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import * as calls from '../schema/calls/history.js'
import type { Admin, EditionsTried, Ledger } from './ledger.js'
import type { Lookup } from './lookup.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'
import { notifyingCompact, tracedCompact } from './spans.js'

/** Summaries that one process asks for at the same time. */
const CONVERSATIONS_AT_ONCE = 16

export interface CompactingParts extends Pick<
  LedgerParts,
  | 'log'
  | 'workers'
  | 'ahead'
  | 'claims'
  | 'queue'
  | 'summarizer'
  | 'fallback'
  | 'persona'
  | 'policy'
  | 'estimator'
  | 'actor'
  | 'clock'
  | 'onProblem'
  | 'onCompaction'
> {
  readonly conversations: Conversations
  readonly registerPrompt: RegisterPrompt
  /** What configures a conversation that this ledger records in. */
  readonly configure: () => Extract<Command, { type: 'Configure' }>
  /** Undefined where no vectors are made here. */
  readonly filler: VectorFiller | undefined
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
}

export interface Compacting {
  readonly calls: Pick<Ledger, 'compact'> & Pick<EditionsTried, 'undo'> & Pick<Admin, 'waitForCompaction'>
  /**
   * Starts background work after an append: vectors, and compaction if this process compacts. Compaction is recorded
   * with the correlation id of the append.
   */
  readonly wakeWhereDue: (state: Conversation, provenance: Provenance) => void
  /** Runs what a conversation is due for and waits for it. */
  readonly compactDue: (conversationId: string, provenance: Provenance) => Promise<Compaction>
  /** Waits for what is under way, and takes nothing more. */
  readonly stop: () => Promise<void>
}

export function createCompacting(parts: CompactingParts): Compacting {
  const { log, workers, ahead, conversations, gate, freshness, lookup, provenanceOf, onProblem } = parts
  const compact = notifyingCompact(tracedCompact(createCompact(parts)), parts.onCompaction)
  const worker = createCompactionWorker({
    queue: parts.queue,
    load: (conversationId) => conversations.load(conversationId),
    compact,
    clock: parts.clock,
    concurrency: CONVERSATIONS_AT_ONCE,
    backsOffByTime: false,
    ahead,
    // Report a summarizer that is down even if the fallback replaced it. Otherwise only the log would show an outage
    // of days.
    onCompaction: (_conversationId, run) => {
      const failure = run.failure ?? run.fallbackFor
      if (failure !== undefined) onProblem(failure)
    },
    onProblem: (failure) => {
      onProblem(failure)
    },
  })

  return {
    calls: {
      async compact(conversationId, options) {
        const { force, ...by } = gate.enter(calls.compact, options)
        const provenance = provenanceOf(by)
        await lookup.existing(conversationId)
        freshness.follow()
        const isConfigured = parts.policy !== undefined || parts.estimator !== undefined
        const configure = isConfigured ? parts.configure() : undefined
        const onRecorded = freshness.noteRecorded
        const mode = force === true ? 'force' : 'now'
        return valueOf(
          await compactNow({ log, conversations, compact, configure, onRecorded }, conversationId, mode, provenance),
          problem,
        )
      },
      async undo(conversationId, options) {
        const { cycle, ...by } = gate.enter(calls.undo, options)
        const provenance = provenanceOf(by)
        await lookup.existing(conversationId)
        const handled = valueOf(await undoCycles({ log, conversations }, conversationId, cycle, provenance), problem)
        freshness.noteRecorded(handled)
        return undoneBy(handled)
      },
      async waitForCompaction(conversationId) {
        gate.open()
        await worker.settled(conversationId)
      },
    },
    wakeWhereDue(state, provenance) {
      if (ahead) parts.filler?.wake()
      if (workers === 'inside' && isCompactionDue(state, ahead ? 'ahead' : 'due'))
        worker.wake(state.conversationId, provenance)
    },
    async compactDue(conversationId, provenance) {
      // Summaries that are made ahead may continue. At a limit the host gets the context after the cycle.
      if (isCompactionDue(await conversations.load(conversationId))) await worker.settled(conversationId)
      return await compact(conversationId, 'due', { provenance })
    },
    async stop() {
      await worker.settled().catch(onProblem)
      await worker.stop()
    },
  }
}
