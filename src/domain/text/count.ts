/** Number formats for people. */

// Created on first use, and not for whole numbers: it loads language tables, which take longer than the rest of `--help`.
let grouped: Intl.NumberFormat | undefined

/** 12345 → 12,345. */
export const count = (value: number): string =>
  Number.isSafeInteger(value)
    ? String(value).replaceAll(/\B(?=(?:\d{3})+$)/gu, ',')
    : (grouped ??= new Intl.NumberFormat('en-US')).format(value)

/** "1 message", "2 messages". */
export const many = (value: number, one: string, several = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : several}`

/** 75 → "1 min 15 s". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${String(whole)} s`
  return whole < 3600
    ? `${String(Math.floor(whole / 60))} min ${String(whole % 60)} s`
    : `${String(Math.floor(whole / 3600))} h ${String(Math.floor((whole % 3600) / 60))} min`
}

/** "63 %", rounded; empty if the total is 0. */
export const percent = (part: number, total: number): string =>
  total === 0 ? '' : `${String(Math.round((100 * part) / total))} %`
