/** Divides a budget of tokens among sections by importance, without waste. Pure. */

/** Largest share of the budget that the preferred sections get before the others. */
const FIRST_SHARE = 0.6

/** The tokens that a section needs to be shown in full. */
export interface Need {
  readonly id: string
  readonly tokens: number
  readonly weight: number
}

/** Shares by weight. A section that needs less leaves the rest to the others. */
function share(needs: readonly Need[], budget: number): Map<string, number> {
  const shares = new Map<string, number>()
  let open = needs
  let left = budget
  for (;;) {
    const weights = open.reduce((sum, { weight }) => sum + weight, 0)
    const perWeight = weights === 0 ? 0 : Math.max(0, left) / weights
    const satisfied = open.filter(({ tokens, weight }) => tokens <= perWeight * weight)
    if (satisfied.length === 0) {
      for (const { id, weight } of open) shares.set(id, Math.floor(perWeight * weight))
      return shares
    }
    for (const { id, tokens } of satisfied) {
      shares.set(id, tokens)
      left -= tokens
    }
    open = open.filter((need) => !satisfied.includes(need))
  }
}

const sumOf = (shares: ReadonlyMap<string, number>): number => [...shares.values()].reduce((sum, each) => sum + each, 0)

/**
 * The tokens of each section: first the preferred sections, then the others; what the others do not use returns to the
 * preferred ones.
 */
export function shareTokens(
  needs: readonly (Need & { readonly isFirst: boolean })[],
  budget: number,
): Map<string, number> {
  const first = needs.filter(({ isFirst }) => isFirst)
  const rest = needs.filter(({ isFirst }) => !isFirst)
  const firstShares = share(first, Math.floor(budget * FIRST_SHARE))
  const otherShares = share(rest, budget - sumOf(firstShares))
  return new Map([...share(first, budget - sumOf(otherShares)), ...otherShares])
}
