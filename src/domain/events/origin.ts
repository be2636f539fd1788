/**
 * The common data of checkpoint events. A load starts at the last one and needs nothing before it except the events
 * that it refers to.
 */
import { z } from 'zod'
import { isRecord } from '../../lib/is-record.js'
import { carryForwardSchema } from './carry-forward.js'
import { count, hash, revision } from './fields.js'
import { configurationRenamed, withShape } from './configuration.js'
import { upcastSections } from './sections.js'
import { inOrder, renamed, saysNoMore, within, type Upcast, type Upcasters } from './upcast.js'

export const origin = {
  /** The live window now starts at this revision. */
  windowStart: revision,
  tokensBefore: count,
  tokensAfter: count,
  carried: carryForwardSchema,
  /** SHA-256 of the canonical JSON of the messages in the resulting context. */
  contextHash: hash,
  /** SHA-256 of the text of the resulting view. It identifies the view in messages that a host sends back. */
  viewHash: hash,
  /** True if the hashes were erased, with a text that they cover. A reader adds it if the key is destroyed. */
  erased: z.literal(true).optional(),
  /** The previous checkpoint event. */
  previous: revision.optional(),
}

// Version 2: messages can be withdrawn. An older program would treat a withdrawn message as live.
export const originUpcasters: Upcasters = { 1: saysNoMore }

/** The step to the version that records the shape of contexts, in the carried configuration. */
export const carriedWithShape = within('carried', withShape)

/** The same step for an event that holds complete batches with their sections. */
export const replacementWithShape: Upcast = (data) => {
  const { batches } = data
  if (!Array.isArray(batches)) return carriedWithShape(data)
  return {
    ...carriedWithShape(data),
    batches: batches.map((batch: unknown) =>
      isRecord(batch) && 'sections' in batch ? { ...batch, sections: upcastSections(batch['sections']) } : batch,
    ),
  }
}

/** Upcasts to the version with today's names of carried fields. */
export const carriedRenamed = within(
  'carried',
  inOrder(
    within('configuration', configurationRenamed),
    renamed('foldedCalls', 'compactedCalls'),
    renamed('line', 'lineage'),
  ),
)
