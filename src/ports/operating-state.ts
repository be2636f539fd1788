/**
 * Settings of operators and spending: not part of the log, and not derived from it. A copy between stores contains it, a
 * file does not.
 */

/** Rows by kind, as JSON texts of one version of this program. */
export type OperatingRows = Readonly<Record<OperatingKind, readonly string[]>>
export type OperatingKind = 'service keys' | 'fingerprint key' | 'spent tokens' | 'spending of editions'

export interface OperatingState {
  read(): Promise<OperatingRows>
  /** Adds rows. Existing rows stay, except that a key revoked in either store is revoked, and the higher spending counts. */
  add(rows: OperatingRows): Promise<void>
}
