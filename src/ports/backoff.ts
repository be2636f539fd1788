/** How long to wait before something that failed is tried again. */

/**
 * `firstMs` after the first failure, twice as long after each further one in a row, `mostMs` at most: what comes back is
 * noticed at once, and what stays away is not pressed.
 * @param failures failures in a row, this one included
 */
export const backoffMs = (
  failures: number,
  { firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number },
): number => Math.min(mostMs, firstMs * 2 ** (failures - 1))
