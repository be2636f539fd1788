/** Figures as people read them, in sentences and in tables. */

// Made with the first figure: it loads tables of languages, which take longer than all else that `--help` does.
let grouped: Intl.NumberFormat | undefined

/** 12345 → 12,345. */
export const count = (value: number | bigint): string => (grouped ??= new Intl.NumberFormat('en-US')).format(value)
