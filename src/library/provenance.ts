/** Actor and correlation id, which are recorded with every event. */
import type { Provenance } from '../domain/events/codec.js'
import { nameOf } from './options.js'
import type { LedgerParts } from './parts.js'

/** Provenance of one call. Defaults: the ledger's actor and a new correlation id. */
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
