/** The format of evidence: the context of a model, with proofs. `docs/reference/evidence.md` describes it. */

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

/** The context of a model, with proofs. Everything in it is JSON. */
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
  /** What the writer of the file states. No signature covers it. */
  readonly unsigned: {
    /** When the checkpoint was signed, by the clock of the ledger. ISO 8601 in UTC. */
    readonly signedAt: string
    /** Name of the operator. */
    readonly operator?: string
  }
}
