/** Counts and times, in words. */

export const many = (count: number, one: string, more = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : more}`

/** A time for people: `2026-11-27 16:04 UTC`. */
export const timeOf = (instant: string): string => `${instant.slice(0, 16).replace('T', ' ')} UTC`
