/** One process at a time makes an edition of a conversation: it holds a claim beside the log while the work goes on. */
import type { Claims } from '../ports/claims.js'
import { takeLease, type Lease, type LeaseOptions } from '../ports/lease.js'

/** Longer than a database is slow, and as short as nobody minds waiting for what a killed process held. */
const CLAIM_MS = 15_000
/** Longer than a claim lasts: what a killed process held is waited for. */
export const EDITION_PATIENCE_MS = CLAIM_MS + 3_000
const POLL_MS = 250

/**
 * Takes the claim; undefined where another process has it for longer than one has patience. Where it is lost, what is
 * under way may end, and nothing more is begun.
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
