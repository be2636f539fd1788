/**
 * Settings of operators and spending: not part of the log, and not derived from it. A copy between stores contains it, a
 * file does not.
 */

export type OperatingKind = 'service keys' | 'fingerprint key' | 'spent tokens' | 'spending of editions'

/** The rows of a kind, as JSON texts of one version of this program. */
export interface OperatingRows {
  readonly kind: OperatingKind
  readonly rows: readonly string[]
}

export interface OperatingState {
  /** The kinds that have rows. */
  read(): Promise<readonly OperatingRows[]>
  /** Adds rows. Existing rows stay, except that a key revoked in either store is revoked, and the higher spending counts. */
  add(rows: readonly OperatingRows[]): Promise<void>
}
