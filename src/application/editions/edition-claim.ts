/** Only one process builds an edition of a conversation at a time: it holds a lease while it works. */
import type { Claims } from '../../ports/claims.js'
import { takeLease, type Lease, type LeaseOptions } from '../../ports/lease.js'

/** Longer than the delays of a slow database, and short enough to wait for the lease of a killed process. */
const CLAIM_MS = 15_000
/** Longer than a lease, so that the lease of a killed process expires while waiting. */
export const EDITION_PATIENCE_MS = CLAIM_MS + 3_000
const POLL_MS = 250

/**
 * Takes the lease; undefined if another process holds it longer than the patience. After a loss, running work may
 * finish but no new work starts.
 */
export const holdEdition = (
  claims: Claims,
  editionId: string,
  conversationId: string,
  owner: string,
  patience: Pick<LeaseOptions, 'patienceMs' | 'signal' | 'wait'> = { patienceMs: 0 },
): Promise<Lease | undefined> =>
  takeLease({
    claims,
    key: `edition:${editionId}:${conversationId}`,
    owner,
    ttlMs: CLAIM_MS,
    pollMs: POLL_MS,
    ...patience,
  })
