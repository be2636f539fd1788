/**
 * Claims that expire, beside the log and no facts: they keep two compactors from buying the same summary, and two
 * processes from keeping the same read models. A lost claim costs money or work, never data: the append at an expected
 * revision decides, and the checkpoint's fence.
 */
interface Claim {
  /**
   * Grows with each taking of a key. Who writes under a claim writes its fence beside it and refuses a smaller one, so
   * that a process which was stopped, lost its claim and woke up changes nothing any more.
   */
  readonly fence: bigint
  /** Holds it for another `ttlMs`; false where it was lost to another taking. */
  extend(): Promise<boolean>
  release(): Promise<void>
}

/** Who has a claim at the moment. */
export interface ClaimHolder {
  readonly owner: string
  readonly fence: bigint
}

export interface Claims {
  /** Takes the claim on `key` for `ttlMs`, or gives undefined while another owner holds it. */
  take(key: string, owner: string, ttlMs: number): Promise<Claim | undefined>
  /** Who holds `key`; undefined where nobody does, or the claim ran out. */
  holder(key: string): Promise<ClaimHolder | undefined>
}
