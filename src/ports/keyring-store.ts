/**
 * Stores the wrapped keys of an erasable ledger, next to its read models. Without the key vault they are of no use. Also
 * stores which persons are erased, and keyed fingerprints of what must not be recorded again.
 */

/** The keys of the ledger as a whole. Present exactly if the ledger is erasable. */
export interface LedgerKeys {
  /** Part of the names of all keys of this ledger. */
  readonly ledgerId: string
  readonly vaultKey: string
  /** The ledger's own data key, wrapped under `vaultKey`. */
  readonly wrapped: string
}

/** The keys of a conversation. */
export interface KeyringRecord {
  readonly conversationId: string
  /** Increases with every change. */
  readonly version: number
  /** Increases with every erasure; part of the name of the vault's key. */
  readonly generation: number
  /** The data key, wrapped under the vault's key; empty if the whole conversation was erased. */
  readonly wrapped: string
  /** The keyring, encrypted under the data key; empty if the whole conversation was erased. */
  readonly keys: string
  /** Generations of keys that the vault may still have. */
  readonly toDestroy: readonly number[]
}

/** Rows of a keyring store, for a copy of the ledger. */
export interface KeyringRows {
  readonly records: readonly KeyringRecord[]
  readonly subjects: readonly { readonly subject: string; readonly isErased: boolean }[]
  /** Which person occurs in which conversation. */
  readonly occurrences: readonly { readonly subject: string; readonly conversationId: string }[]
  readonly fingerprints: readonly string[]
}

export type KeySharing = 'none' | 'readers' | 'writers'

export interface KeyringStore {
  /** The ledger's keys; undefined if the ledger is not erasable. */
  ledger(): Promise<LedgerKeys | undefined>
  /** Makes the ledger erasable. Keeps the keys that another process has stored meanwhile. */
  createLedger(keys: LedgerKeys): Promise<void>
  get(conversationId: string): Promise<KeyringRecord | undefined>
  /** What other processes can do with the store while this one has it open: nothing, read it, or change keys too. */
  readonly sharing: KeySharing
  /** The conversations with an erasure that is noted and not completed, and whether there are fingerprints. */
  erasures(): Promise<{ readonly conversationIds: readonly string[]; readonly hasFingerprints: boolean }>
  /** All conversations with keys, in order of their ids. */
  conversations(): AsyncIterable<string>
  /**
   * Stores a record, and that these persons occur in it. Returns `conflict` if the stored version is not the one before
   * (for a new record: if there is one already), and `erased` if one of the persons is erased; nothing is stored then.
   */
  put(record: KeyringRecord, subjects?: readonly string[]): Promise<'stored' | 'conflict' | 'erased'>
  /** The conversations in which a person occurs. */
  conversationsOf(subject: string): Promise<string[]>
  /** From now on no text about this person is recorded. Returns false if the person was never seen. */
  eraseSubject(subject: string): Promise<boolean>
  isSubjectErased(subject: string): Promise<boolean>
  /** Stores keyed fingerprints of erased messages. */
  addFingerprints(fingerprints: readonly string[]): Promise<void>
  /** Which of these fingerprints are stored. */
  findFingerprints(fingerprints: readonly string[]): Promise<ReadonlySet<string>>
  /** All rows, in pages. Records come first, so that the persons of each record are among the rows that are read later. */
  rows(): AsyncIterable<KeyringRows>
  /** Stores rows of the ledger that this one is a copy of: a record replaces the stored one, an erased person stays erased. */
  putRows(rows: KeyringRows): Promise<void>
}
