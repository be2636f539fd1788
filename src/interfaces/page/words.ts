/** Descriptions of events and contexts, shared with the command line. */
import type { RecordedEvent } from '../../domain/events/index.js'
import type { Context } from '../../domain/compaction/context.js'

/** Text functions that the opener of the page passes in. */
export interface Words {
  /** Describes an event in one line. */
  describeEvent(event: RecordedEvent): string
  /** Notes about a context, in addition to its messages. */
  contextNotes(context: Context): string[]
}
