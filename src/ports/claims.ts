/**
 * Claims that expire, beside the log and no facts: they keep two compactors from buying the same summary.
 * A lost claim costs money, never data: the append at an expected revision decides.
 */
export interface Claim {
  /** Holds it for another `ttlMs`; false where it was lost to somebody else. */
  extend(): Promise<boolean>
  release(): Promise<void>
}

export interface Claims {
  /** Takes the claim on `key` for `ttlMs`, or gives undefined while another owner holds it. */
  take(key: string, owner: string, ttlMs: number): Promise<Claim | undefined>
}
