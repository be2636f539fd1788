/** Sentences that the command line has for facts and contexts; the page says the same with them. */
import type { RecordedEvent } from '../domain/events/index.js'
import type { Context } from '../domain/compaction/context.js'

/** What is said in words, by whoever opens the page. */
export interface Words {
  /** A fact in one line. */
  describeEvent(event: RecordedEvent): string
  /** What has to be known of a context beside its messages. */
  contextNotes(context: Context): string[]
}
