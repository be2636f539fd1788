/** The names of the views, as plain data: `--help` shows them without loading a schema. */
export const VIEWS = ['clip-archive', 'session-summary', 'working-state'] as const
/** A way to show compacted messages. */
export type ViewName = (typeof VIEWS)[number]
