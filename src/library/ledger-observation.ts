/** The public types of observations of another program. `observing.ts` implements them. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/transcripts.js'

export type { SeenCompaction } from '../schema/calls/transcripts.js'

/** Observed actions of a program. They are recorded in this order, all or none: withdrawals, edits, the compaction, messages. */
export type Observation = OptionsOf<typeof calls.observation>
