/** The part of the ledger's interface that proves the log to outsiders. */
import type { KeyObject } from 'node:crypto'
import type { CheckpointAttachments, RecordedCheckpoint } from '../proof/checkpoints.js'

export type { CheckpointCoverage } from '../proof/against-checkpoint.js'
export type { CheckpointAttachments, GivenCheckpoint, RecordedCheckpoint } from '../proof/checkpoints.js'

/** Options of a new checkpoint. */
export interface CreateCheckpointOptions {
  /** The operator's Ed25519 private key, or its PEM text. */
  readonly key: KeyObject | string
}

/** Signed checkpoints of the log, and proofs that outsiders can verify. */
export interface LedgerProofs {
  /**
   * Signs the size and the Merkle root of the log as it is now, and stores the checkpoint. Reads the events since the
   * last one. Refuses a log that does not continue from its last checkpoint.
   */
  createCheckpoint(options: CreateCheckpointOptions): Promise<RecordedCheckpoint>
  /** The stored checkpoints, smallest first. */
  checkpoints(): Promise<readonly RecordedCheckpoint[]>
  /** Stores signature lines of witnesses or a time stamp with a checkpoint. Default: the newest. */
  attach(attachments: CheckpointAttachments, size?: number): Promise<RecordedCheckpoint>
}
