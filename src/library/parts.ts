/** What a ledger is made of: `compose.ts` opens it, `create-ledger.ts` puts it together. */
import type { CompactionRun } from '../application/compaction/compact.js'
import type { Projection } from '../../projections/engine/projection.js'
import type { PriceTable } from '../domain/reports/prices.js'
import type { PolicySettings } from '../domain/values/policy-settings.js'
import type { Claims } from '../ports/claims.js'
import type { Clock } from '../ports/clock.js'
import type { CheckModel } from '../ports/model-check.js'
import type { ImportedFiles } from '../ports/imported-files.js'
import type { LostCounts } from '../ports/lost-counts.js'
import type { Tallies } from '../ports/tallies.js'
import type { PendingErasures } from '../ports/pending-erasures.js'
import type { CleanStorage } from '../ports/storage-cleaner.js'
import type { EmbeddingModel } from '../ports/embedding-model.js'
import type { CheckRows } from '../ports/row-check.js'
import type { ProofStore } from '../ports/proof-store.js'
import type { Spending } from '../ports/spending.js'
import type { Database } from '../ports/sql.js'
import type { LanguageModel } from '../ports/language-model.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { WorkQueue } from '../ports/work-queue.js'
import type { Log } from '../application/recording/load-conversation.js'
import type { LedgerOptions } from './ledger-options.js'

export interface LedgerParts {
  readonly log: Log
  /** The log's address for people. */
  readonly name: string
  /** Where the read models are. */
  readonly db: Database
  readonly projections: readonly Projection[]
  /** True where no other process can write to this log. */
  readonly alone: boolean
  /** `inside`: this ledger keeps the read models and compacts. `elsewhere`: processes of their own do. */
  readonly workers: 'inside' | 'elsewhere'
  /** True where it also summarizes before a limit asks for it. */
  readonly ahead: boolean
  readonly claims: Claims
  /** Compares rows in a thread of its own; undefined where the database has one connection. */
  readonly checkRowsApart: CheckRows | undefined
  /** What editions have cost. */
  readonly spending: Spending
  /** The Merkle tree of the log and its checkpoints. */
  readonly proofs: ProofStore
  /** Which transcripts were imported, and how they were then. */
  readonly importedFiles: ImportedFiles
  /** How many items the compactions of each conversation lost. */
  readonly lostCounts: LostCounts
  /** Tallies of the conversations, for their statistics. */
  readonly tallies: Tallies
  /** Erasures that are not completed. */
  readonly pendingErasures: PendingErasures
  readonly cleanStorage: CleanStorage
  /** What this process has still to compact. */
  readonly queue: WorkQueue
  readonly summarizer: Summarizer
  /** The model of the summarizer; undefined if it has none, or one that only the caller knows. */
  readonly languageModel: LanguageModel | undefined
  /** The summarizer of editions. It does not retry, because each request of an edition is counted. */
  readonly editionSummarizer: Summarizer
  /** Makes the summarizer of a candidate; like `editionSummarizer`, it sends each request once. Throws `BadInput`. */
  readonly candidateSummarizer: (given: NonNullable<LedgerOptions['summarizer']>) => Summarizer
  /** Checks a model before a candidate buys anything from it. */
  readonly checkModel: CheckModel
  /** Summarizes at the hard limit where the summarizer fails. */
  readonly fallback: Summarizer
  readonly persona: string
  readonly embedding: EmbeddingModel | undefined
  /** Settings for what is appended through this ledger. */
  readonly policy: PolicySettings | undefined
  /**
   * Name of the estimator that what is appended through this ledger is counted by; undefined keeps a conversation's
   * own.
   */
  readonly estimator: string | undefined
  /** What models cost, for `stats`. */
  readonly prices: PriceTable
  readonly actor: string
  readonly clock: Clock
  readonly onProblem: (problem: unknown) => void
  /** Called at the start of each compaction run of this process, except those of editions. */
  readonly onCompaction: (running: Promise<CompactionRun>) => void
  /** Set if nothing is recorded; `keptBy` is another process that has the folder open and runs the projections. */
  readonly readOnly: { readonly keptBy: string | undefined } | undefined
  /** Registers a callback for each process that begins to read through this one. */
  readonly onReader: (begun: () => void) => void
  /** Lets go of the log and the database. */
  readonly close: () => Promise<void>
}
