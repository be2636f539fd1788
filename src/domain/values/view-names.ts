/** The views by name, as plain data: `--help` shows them, and loads no schema for it. */
export const VIEWS = ['clip-archive', 'session-summary'] as const
/** A way to show what was compacted. */
export type ViewName = (typeof VIEWS)[number]
