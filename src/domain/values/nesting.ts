/**
 * How deep a value may be nested. Beyond that, whoever walks through it runs out of stack, and whether that happens
 * hangs on who calls it from where.
 */
export const MOST_LEVELS = 200

/** Whether a value that JSON gave is nested deeper than that. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const item of Object.values(value)) if (isTooDeep(item, levels - 1)) return true
  return false
}
