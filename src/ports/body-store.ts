/**
 * Where bodies lie that are too large for the log (claim check): text under the SHA-256 of its UTF-8 bytes.
 * Putting twice is putting once. `get` gives the text as it was put; who calls verifies the hash.
 */
export interface BodyStore {
  put(sha256: string, body: string): Promise<void>
  /** The text under this hash, or undefined where there is none. */
  get(sha256: string): Promise<string | undefined>
}
