/**
 * Checkpoints, proofs and evidence, as callers of the library see them. These types refer to none of Node's, so that the
 * package can be type-checked without them.
 */
import type { StoredCheckpoint } from '../ports/proof-store.js'

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
  /** The required signer: a public key, or the fingerprint of a key that the ledger has used. */
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

/** The place of an event of the evidence. */
export interface EvidencePlace {
  /** Name of the stream. */
  readonly stream: string
  /** Decimal digits. */
  readonly revision: string
}

/** An event, with the proof that it is in the log. */
export interface EvidenceEvent {
  /** Number of its leaf in the Merkle tree, from 0. */
  readonly leaf: number
  /** The exact text that the hash of the event covers: a JSON list with everything that is recorded of it. */
  readonly record: string
  /** The data of the event, if they are stored outside the log and the record has only their hash. */
  readonly body?: string
  /** The inclusion proof: indexes into `nodes`, from the leaf up. */
  readonly proof: readonly number[]
}

/** A summary that is part of the context, and what it was made of. */
export interface EvidenceSummary {
  /** Id of the batch. */
  readonly batchId: string
  /** The event that recorded it. */
  readonly recorded: EvidencePlace
  /** The event with the model's answer, for a summary of messages. Absent if another program wrote the summary. */
  readonly chunk?: EvidencePlace
  /** The event of the other program's compaction. */
  readonly observed?: EvidencePlace
  /** The summaries that it merges; empty for a summary of messages. */
  readonly sources: readonly EvidenceSummary[]
}

/** What a model saw, with proofs. Everything in it is JSON. */
export interface Evidence {
  /** Name of the format. */
  readonly format: 'context-ledger-evidence'
  /** Version of the format. */
  readonly version: 1
  /** The conversation. */
  readonly conversationId: string
  /** The checkpoint that covers all events of the evidence. */
  readonly checkpoint: {
    /** The signed note. */
    readonly note: string
    /** The keys of the ledger's operator that signed it. */
    readonly verifierKeys: readonly string[]
    /** A time stamp of the note (RFC 3161, DER, base64), if the operator requested one. */
    readonly timeStamp?: string
  }
  /** Hashes of the Merkle tree, base64, that the proofs refer to. */
  readonly nodes: readonly string[]
  /** The events of the conversation from its first one on, then those of its prompts and editions. */
  readonly events: readonly EvidenceEvent[]
  /** The messages that the model saw. */
  readonly context: {
    /** Revision of the last event that it was built from, in decimal digits. */
    readonly revision: string
    /** The messages as canonical JSON (RFC 8785). */
    readonly text: string
    /** Id of the recorded message that each message shows; null for an inserted one, such as a view of summaries. */
    readonly messageIds: readonly (string | null)[]
    /** Indexes of messages that differ from the recorded ones: shortened, joined, or with the view. */
    readonly adapted: readonly number[]
    /** The event that states the hash of `text`: the answer to this context, or the compaction that made it. */
    readonly statedBy?: EvidencePlace
  }
  /** The summaries in the context, with their sources. */
  readonly summaries: readonly EvidenceSummary[]
}
