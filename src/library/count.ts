/** Figures as people read them, in sentences and in tables. */

const grouped = new Intl.NumberFormat('en-US')

/** 12345 → 12,345. */
export const count = (value: number | bigint): string => grouped.format(value)
