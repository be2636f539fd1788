/**
 * Indexes of event ids for tests: an empty one, so that the store searches the whole stream, and one with scripted
 * answers.
 */
import type { EventIdIndex } from '../../src/ports/event-id-index.js'

export const noIndex: EventIdIndex = { find: async () => ({ revisions: [], upTo: -1 }) }

/** An index that has come to `upTo` and gives these revisions of every stream, whatever it is asked for. */
export const indexUpTo = (upTo: number, ...revisions: readonly number[]): EventIdIndex => ({
  find: async () => ({ revisions, upTo }),
})
