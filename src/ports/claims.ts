/**
 * Claims with an expiry, stored outside the log. They prevent two compactors from buying the same summary, and two
 * processes from applying events to the same read models. A lost claim costs money or work, never data: the expected
 * revision of the append and the checkpoint's fence protect the data.
 */
interface Claim {
  /**
   * Increases each time the key is claimed. A writer stores its fence with the data and rejects a smaller one, so a
   * process that was suspended and lost its claim changes nothing after it resumes.
   */
  readonly fence: number
  /** Extends the claim by `ttlMs`. Returns false if another process has claimed the key. */
  extend(): Promise<boolean>
  release(): Promise<void>
}

/** The current owner of a claim. */
export interface ClaimHolder {
  readonly owner: string
  readonly fence: number
}

export interface Claims {
  /** Claims `key` for `ttlMs`. Returns undefined if another owner holds it. */
  take(key: string, owner: string, ttlMs: number): Promise<Claim | undefined>
  /** The owner of `key`; undefined if it is not claimed or the claim has expired. */
  holder(key: string): Promise<ClaimHolder | undefined>
}
