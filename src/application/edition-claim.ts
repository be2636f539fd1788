/** One process at a time makes an edition of a conversation: a claim beside the log that is extended while the work goes on. */
import type { Claims } from '../ports/claims.js'

export interface HeldEdition {
  /** True where the claim ran out and another process took it: what is under way may end, and nothing more is begun. */
  readonly isLost: () => boolean
  release(): Promise<void>
}

/** Longer than a database is slow, and as short as nobody minds waiting for what a killed process held. */
export const EDITION_CLAIM_MS = 15_000

/** Takes the claim; undefined while another process has it. */
export async function holdEdition(claims: Claims, editionId: string, conversationId: string, owner: string): Promise<HeldEdition | undefined> {
  const claim = await claims.take(`edition:${editionId}:${conversationId}`, owner, EDITION_CLAIM_MS)
  if (claim === undefined) return undefined
  let lost = false
  const extend = async (): Promise<void> => {
    lost = !(await claim.extend().catch(() => !lost))
  }
  const extending = setInterval(() => void extend(), EDITION_CLAIM_MS / 3)
  extending.unref()
  return {
    isLost: () => lost,
    async release() {
      clearInterval(extending)
      await claim.release()
    },
  }
}
