/** Finds in the ledger why a request of the proxy begins differently from the one before it. */
import { SMALLEST_CAP_TOKENS } from '../../src/domain/compaction/fit.js'
import { hardLimit } from '../../src/domain/values/policy.js'
import type { Ledger } from '../../src/index.js'

/** Why a request did not begin like the one before it. `neither` is a defect. */
export type Cause = 'cycle' | 'hard limit' | 'neither'

/**
 * Returns the cause of each change, with its turn.
 * @param changed turns with a request that does not begin like the one before it
 */
export async function causesOf(
  ledger: Ledger,
  id: string,
  changed: readonly number[],
): Promise<(readonly [number, Cause])[]> {
  const madeFrom: number[] = []
  const cycles: number[] = []
  const reported: { readonly revision: number; readonly tokens: number; readonly least: number }[] = []
  let limit = 0
  for await (const event of ledger.log(id)) {
    const { revision } = event
    if (event.type === 'ConversationConfigured') limit = hardLimit(event.data.policy)
    if (event.type === 'MessagesPruned') cycles.push(revision)
    if (event.type !== 'MessageAppended') continue
    const { role, tokens } = event.data
    reported.push({ revision, tokens, least: role === 'tool' ? Math.min(tokens, SMALLEST_CAP_TOKENS) : tokens })
    if (role === 'assistant') madeFrom.push(Number(event.data.answers?.revision ?? -1))
  }
  const causes: (readonly [number, Cause])[] = []
  for (const turn of changed) {
    const [from = 0, to = 0] = madeFrom.slice(turn - 1, turn + 1)
    const isBetween = (revision: number): boolean => revision > from && revision <= to
    if (cycles.some(isBetween)) {
      causes.push([turn, 'cycle'])
      continue
    }
    // The newest message is shown whole. The other new messages are shortened first, down to the smallest cap.
    const [newest, ...others] = reported.filter(({ revision }) => isBetween(revision)).toReversed()
    const least = others.reduce((sum, other) => sum + other.least, newest?.tokens ?? 0)
    const before = await ledger.context(id, { at: from })
    // A context that is shortened already is shortened by another cap when more has to fit.
    const isAtLimit = before.shortened !== undefined || before.tokens + least > limit
    causes.push([turn, isAtLimit ? 'hard limit' : 'neither'])
  }
  return causes
}
