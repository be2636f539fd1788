/** The part of the ledger's interface that proves the log to outsiders. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/operating.js'
import type {
  CheckpointAttachments,
  CheckpointDraft,
  ConsistencyProof,
  Evidence,
  InclusionProof,
  RecordedCheckpoint,
  SignedDraft,
} from '../application/proof/types.js'

export type * from '../application/proof/types.js'

/** Options of a new checkpoint. */
export type CreateCheckpointOptions = OptionsOf<typeof calls.createCheckpoint>

/** Options of evidence. */
export type EvidenceOptions = OptionsOf<typeof calls.evidence>

/** Signed checkpoints of the log, and proofs that outsiders can verify. */
export interface LedgerProofs {
  /**
   * Signs the size and the Merkle root of the log as it is now, and stores the checkpoint. Reads the events since the
   * last one. Refuses a log that does not continue from its last checkpoint.
   */
  createCheckpoint(options: CreateCheckpointOptions): Promise<RecordedCheckpoint>
  /** The text that `createCheckpoint` would sign, for a key in another place, such as a key management service. */
  draftCheckpoint(): Promise<CheckpointDraft>
  /** Stores a signed draft. Refuses one with an invalid signature, or with a root that the log did not have. */
  storeCheckpoint(signed: SignedDraft): Promise<RecordedCheckpoint>
  /** The stored checkpoints, smallest first. */
  checkpoints(): Promise<readonly RecordedCheckpoint[]>
  /** Stores signature lines of witnesses or a time stamp with a checkpoint. Default: the newest. */
  attach(attachments: CheckpointAttachments, size?: number): Promise<RecordedCheckpoint>
  /**
   * Proves that an event of a conversation is in the log of a checkpoint.
   * @param size number of events of the checkpoint. Default: the first one that covers the event
   */
  inclusion(conversationId: string, revision: number, size?: number): Promise<InclusionProof>
  /**
   * Proves that the log of one checkpoint is the beginning of that of a later one.
   * @param from number of events of the one
   * @param to number of events of the other. Default: the newest
   */
  consistency(from: number, to?: number): Promise<ConsistencyProof>
  /**
   * What the model saw at a moment: the context, all events of the conversation up to it, the summaries and their
   * prompts, and proofs that they are in the log of a checkpoint. `docs/reference/evidence.md` has the format.
   */
  evidence(conversationId: string, options?: EvidenceOptions): Promise<Evidence>
}
