/** What the processes that work in the background are made of: `compose.ts` opens it, and their commands run on it. */
import type { ProjectionSource } from '../../projections/engine/target.js'
import type { CompactionRun } from '../application/compaction/compact.js'
import type { Claims } from '../ports/claims.js'
import type { JobStore, KeyStore } from '../ports/service-state.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { TokenBudget, TokenLimits } from '../ports/token-budget.js'
import type { WorkQueue } from '../ports/work-queue.js'
import type { Log } from '../application/recording/load-conversation.js'
import type { SummarizerConfig } from '../application/summarizers/index.js'

export type { CompactionRun }

/** What a compaction worker works with. */
export interface CompactionProcess {
  readonly log: Log
  /** The log's address for people. */
  readonly name: string
  readonly summarizer: Summarizer
  /** Summarizes at the hard limit where the summarizer fails. */
  readonly fallback: Summarizer
  /** Claims, queue and budget: in the database that all workers share. */
  readonly claims: Claims
  readonly queue: WorkQueue
  readonly budget: (limits: TokenLimits) => TokenBudget
  close(): Promise<void>
}

/**
 * Opens the log, and the database of the queue where that is another. The summarizer is asked for with the log, which
 * knows the prompts by name.
 */
export type OpenCompactionProcess = (where: {
  readonly store: string
  readonly database?: string
  /** The folder of the keys of an erasable ledger. */
  readonly keys?: string
  readonly summarizerFor: (log: Log) => Promise<'extractive' | SummarizerConfig>
}) => Promise<CompactionProcess>

/** What a worker of the read models works with. */
export interface ProjectionProcess extends Omit<ProjectionSource, 'fence'> {
  readonly claims: Claims
  close(): Promise<void>
}

/** Opens the log, and the database of the read models where that is another. */
export type OpenProjectionProcess = (where: {
  readonly store: string
  readonly database?: string
  /** The folder of the keys of an erasable ledger. */
  readonly keys?: string
}) => Promise<ProjectionProcess>

/** Stores of the service in the ledger's database. */
export interface ServiceStores {
  readonly keys: KeyStore
  readonly jobs: JobStore
  /** False where the ledger belongs to this one process. */
  readonly isShared: boolean
  /** A token budget that counts the requests of this process only. */
  readonly budget: (limits: TokenLimits) => TokenBudget
  /** Calls back whenever a run of compaction begins in this process. */
  readonly onCompaction: (began: (running: Promise<CompactionRun>) => void) => void
  /** Throws where the database or the log does not answer. */
  readonly ping: () => Promise<void>
}
