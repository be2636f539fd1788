/**
 * Limit for the depth of a value. Deeper values can overflow the stack of recursive readers, depending on the caller.
 */
export const MAX_LEVELS = 200

/** Whether a JSON value is nested deeper than the limit. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const item of Object.values(value)) if (isTooDeep(item, levels - 1)) return true
  return false
}
