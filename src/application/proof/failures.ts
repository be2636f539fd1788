/** Errors of proofs. */
import type { FailureKind } from '../../lib/failure-kinds.js'
import { LedgerError } from '../../lib/ledger-error.js'

type ProofErrorKind = Extract<
  FailureKind,
  | 'TreeDamaged'
  | 'EvidenceOfErasable'
  | 'NoCheckpoint'
  | 'CheckpointChanged'
  | 'OtherSigner'
  | 'BadKey'
  | 'NoSuchCheckpoint'
  | 'NoLedger'
>

/** A proof could not be made, or a checkpoint cannot be trusted. `message` is one sentence. */
export const proofError = (kind: ProofErrorKind, message: string): LedgerError => new LedgerError(kind, message)
