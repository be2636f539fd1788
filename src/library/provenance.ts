/** Actor and correlation id, which are recorded with every event. */
import type { Provenance } from '../domain/events/codec.js'
import type { LedgerParts } from './parts.js'

/** Provenance of one call. Defaults: the ledger's actor and a new correlation id. */
export type ProvenanceOf = (given?: {
  readonly actor?: string | undefined
  readonly correlationId?: string | undefined
}) => Provenance

export function createProvenance({ clock, actor }: Pick<LedgerParts, 'clock' | 'actor'>): ProvenanceOf {
  return (given = {}) => {
    const correlationId = given.correlationId ?? clock.newId()
    return {
      actor: given.actor ?? actor,
      correlationId,
      causationId: correlationId,
    }
  }
}
