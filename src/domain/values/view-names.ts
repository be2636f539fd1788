/** The names of the views, as plain data: `--help` shows them without loading a schema. */
export const VIEWS = ['working-state', 'clip-archive', 'session-summary'] as const
/** A way to show compacted messages. */
export type ViewName = (typeof VIEWS)[number]
