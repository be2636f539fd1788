/**
 * One process at a time makes an edition of a conversation. It holds a claim beside the log, and extends it while it
 * works.
 */
import type { Claims } from '../ports/claims.js'
import { sleep } from '../ports/clock.js'

export interface HeldEdition {
  /** True where the claim ran out and another process took it: what is under way may end, and nothing more is begun. */
  readonly isLost: () => boolean
  release(): Promise<void>
}

/** Longer than a database is slow, and as short as nobody minds waiting for what a killed process held. */
const EDITION_CLAIM_MS = 15_000
/** Longer than a claim lasts: what a killed process held is waited for. */
export const EDITION_PATIENCE_MS = EDITION_CLAIM_MS + 3_000
const POLL_MS = 250

/** How long a claim is waited for that another process has. */
interface Patience {
  readonly ms: number
  readonly signal: AbortSignal
  /** Default: by the machine's clock. */
  readonly wait?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

const NONE: Patience = { ms: 0, signal: new AbortController().signal }

/** Takes the claim; undefined where another process has it for longer than one has patience. */
export async function holdEdition(
  claims: Claims,
  editionId: string,
  conversationId: string,
  owner: string,
  { ms, signal, wait = sleep } = NONE,
): Promise<HeldEdition | undefined> {
  const take = (): ReturnType<Claims['take']> =>
    claims.take(`edition:${editionId}:${conversationId}`, owner, EDITION_CLAIM_MS)
  let claim = await take()
  for (let waited = 0; claim === undefined && waited < ms && !signal.aborted; waited += POLL_MS) {
    await wait(POLL_MS, signal)
    claim = await take()
  }
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
