/** Who asks, and for which request: recorded with every fact. */
import type { Provenance } from '../domain/events/codec.js'
import { nameOf } from './options.js'
import type { LedgerParts } from './parts.js'

/** The provenance of one call; what the caller does not say is the ledger's own actor and a new request. */
export type ProvenanceOf = (given?: {
  readonly actor?: string | undefined
  readonly correlationId?: string | undefined
}) => Provenance

export function createProvenance({ clock, actor }: Pick<LedgerParts, 'clock' | 'actor'>): ProvenanceOf {
  return (given = {}) => {
    const correlationId =
      given.correlationId === undefined ? clock.newId() : nameOf('correlationId', given.correlationId)
    return {
      actor: given.actor === undefined ? actor : nameOf('actor', given.actor),
      correlationId,
      causationId: correlationId,
    }
  }
}
