/** The delay before a retry. */

/**
 * Exponential backoff: `firstMs` after the first failure, doubled after each further one, at most `mostMs`.
 * @param failures consecutive failures, including the last one
 */
export const backoffMs = (
  failures: number,
  { firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number },
): number => Math.min(mostMs, firstMs * 2 ** (failures - 1))
