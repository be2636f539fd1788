/**
 * What every origin event says: a load starts at the last one, and needs nothing from before it but what it carries
 * forward.
 */
import { carryForwardSchema } from './carry-forward.js'
import { count, hash, revision } from './fields.js'
import { saysNoMore, type Upcasters } from './upcast.js'

export const origin = {
  /** The live window now starts at this revision. */
  windowStart: revision,
  tokensBefore: count,
  tokensAfter: count,
  carried: carryForwardSchema,
  /** SHA-256 of the canonical JSON of the messages of the context that this makes. */
  contextHash: hash,
  /** SHA-256 of the text of the view that this makes, so that it is recognized when it is given back. */
  viewHash: hash,
  /** The origin event before this one. */
  previous: revision.optional(),
}

// Version 2 knows that messages are withdrawn. An older program would take a withdrawn message for a live one.
export const originUpcasters: Upcasters = { 1: saysNoMore }
