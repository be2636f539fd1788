/** Figures as people read them, in sentences and in tables. */

// Made with the first figure: it loads tables of languages, which take longer than all else that `--help` does.
let grouped: Intl.NumberFormat | undefined

/** 12345 → 12,345. */
export const count = (value: number | bigint): string => (grouped ??= new Intl.NumberFormat('en-US')).format(value)

/** 75 → "1 min 15 s". */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${String(whole)} s`
  return whole < 3600
    ? `${String(Math.floor(whole / 60))} min ${String(whole % 60)} s`
    : `${String(Math.floor(whole / 3600))} h ${String(Math.floor((whole % 3600) / 60))} min`
}
