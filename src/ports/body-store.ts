/**
 * Stores bodies that are too large for the log (claim check): text under the SHA-256 of its UTF-8 bytes. `put` is
 * idempotent. `get` returns the text unchanged; the caller verifies the hash.
 */
export interface BodyStore {
  put(sha256: string, body: string): Promise<void>
  /** The text with this hash; undefined if there is none. */
  get(sha256: string): Promise<string | undefined>
}
