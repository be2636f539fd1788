/** The span of several messages or batches. Time texts sort by time. */

export const earliest = (times: readonly string[]): string => times.reduce((a, b) => (a <= b ? a : b))
export const latest = (times: readonly string[]): string => times.reduce((a, b) => (a >= b ? a : b))
export const lowest = (revisions: readonly number[]): number => revisions.reduce((a, b) => (a <= b ? a : b))
export const highest = (revisions: readonly number[]): number => revisions.reduce((a, b) => (a >= b ? a : b))
