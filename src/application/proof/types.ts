/**
 * Checkpoints, proofs and evidence, as callers of the library see them. These types refer to none of Node's, so that the
 * package can be type-checked without them.
 */
import type { StoredCheckpoint } from '../../ports/proof-store.js'

export type { Evidence, EvidenceEvent, EvidencePlace, EvidenceSummary } from '../../domain/proof/evidence-format.js'

/** A `KeyObject` of `node:crypto`. */
export interface AnyKey {
  /** `private` or `public`. */
  readonly type: string
  /** `ed25519`. */
  readonly asymmetricKeyType?: string | undefined
}

/** A verified cosignature. */
export interface Cosignature {
  /** Name of the witness. */
  readonly name: string
  /** Id of its key, 8 hexadecimal digits. */
  readonly keyId: string
  /** The stated time, in seconds since 1970. */
  readonly time?: number
}

/** A checkpoint that this ledger has stored. */
export interface RecordedCheckpoint extends StoredCheckpoint {
  /** Root of the tree, base64. */
  readonly root: string
  /** The log's name in its checkpoints. */
  readonly origin: string
  /** Fingerprints of the keys of the ledger that signed it. */
  readonly signedBy: readonly string[]
  /** Names of further signers, for example witnesses. */
  readonly otherSigners: readonly string[]
}

/** The statement of a new checkpoint, for a signer in another place. */
export interface CheckpointDraft {
  /** The log's name in its checkpoints, and the name of the signing key. */
  readonly origin: string
  /** Number of events. */
  readonly size: number
  /** Root of the tree over them, base64. */
  readonly root: string
  /** The text to sign, with its last line break. */
  readonly text: string
}

/** A draft with a signature. */
export interface SignedDraft {
  /** The signed note. */
  readonly note: string
  /** The public key that signed it: name, key id and key, joined with `+`. */
  readonly verifierKey: string
}

/** What a user's command returned for a checkpoint. */
export interface CheckpointAttachments {
  /** Signature lines of others, such as witnesses. */
  readonly signatures?: readonly string[]
  /** A time stamp (RFC 3161, DER). */
  readonly timeStamp?: Uint8Array
}

/** A checkpoint from outside, and the keys that may confirm it. */
export interface GivenCheckpoint {
  /** The signed note. */
  readonly note: string
  /** The required signer: a public key, its PEM text, or the fingerprint of a key that the ledger has used. */
  readonly signer?: AnyKey | string
  /** Verifier keys of witnesses. Each must have cosigned. */
  readonly witnesses?: readonly string[]
}

/** What a checkpoint covers, and what it does not. */
export interface CheckpointCoverage {
  /** Name of the log, from the hash of its first event. */
  readonly origin: string
  /** Number of events that the checkpoint covers. */
  readonly size: number
  /** Fingerprint of the key that signed it. */
  readonly signedBy: string
  /** Cosignatures of witnesses that were verified, with the time that each states. */
  readonly cosignatures: readonly Cosignature[]
  /** Names of signers without a given key. */
  readonly unknownSigners: readonly string[]
  /** Number of events after the checkpoint. It says nothing about them. */
  readonly after: number
  /** The newest stored checkpoint, if it covers more events. */
  readonly newest?: { readonly size: number; readonly createdAt: string }
}

/** A proof that an event is in the log of a checkpoint (RFC 9162, section 2.1.3). */
export interface InclusionProof {
  /** The signed checkpoint. */
  readonly note: string
  /** Number of its events. */
  readonly size: number
  /** Number of the event's leaf, from 0. */
  readonly leaf: number
  /** The exact text that the hash of the event covers. */
  readonly record: string
  /** The hashes from the leaf up, base64. */
  readonly hashes: readonly string[]
}

/** A proof that the log of a checkpoint is the beginning of that of a later one (RFC 9162, section 2.1.4). */
export interface ConsistencyProof {
  /** The signed checkpoints, the smaller one first. */
  readonly notes: readonly [string, string]
  /** The hashes, base64. */
  readonly hashes: readonly string[]
}
