/** Projections: running them, their status, and their vectors. */
import { createProjectionRunner, projectionStopped, type ProjectionRunner } from '../../projections/engine/runner.js'
import { createVectorFiller, type VectorFiller } from '../../projections/read-models/archive-index/vector-filler.js'
import { decodeEvent } from '../application/recording/read-event.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import * as calls from '../schema/calls/operating.js'
import { namedOrAll } from '../schema/option-values.js'
import type { Admin } from './ledger.js'
import { bad, valueGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

/** What keeps the rows of this ledger; nothing runs until it is asked. */
export function runnerOf({ log, db, projections, claims, onProblem }: LedgerParts): ProjectionRunner {
  /** Conversations with a reported stop of their rows. */
  const reportedStops = new Set<string>()
  return createProjectionRunner({
    db,
    store: log.store,
    decode: (stored) => decodeEvent(stored, log),
    projections,
    claims,
    onFailure: onProblem,
    // An event that cannot be read stops a conversation in every projection. Report it once.
    onStop: (projection, stop) => {
      if (stop.stream === undefined || reportedStops.has(stop.stream)) return
      reportedStops.add(stop.stream)
      onProblem(projectionStopped(projection, stop))
    },
  })
}

/** What makes the vectors of this ledger; undefined where there is no model, no pgvector, or another process does. */
export function fillerOf({ log, db, embedding, claims, clock, readOnly, onProblem }: LedgerParts) {
  return embedding === undefined || !db.hasVector || readOnly?.keptBy !== undefined
    ? undefined
    : createVectorFiller({ db, store: log.store, embedding, claims, owner: clock.newId(), onProblem })
}

export interface ProjectionsParts extends Pick<LedgerParts, 'db' | 'embedding'> {
  readonly runner: ProjectionRunner
  readonly filler: VectorFiller | undefined
  readonly gate: Gate
  readonly freshness: Freshness
}

export function createProjections(parts: ProjectionsParts): Admin['projections'] {
  const { db, embedding, runner, filler, gate, freshness } = parts
  return {
    async status() {
      gate.open()
      return await runner.status()
    },
    async rebuild(names, given) {
      const how = gate.enter(calls.rebuild, given)
      await runner.rebuild(valueGiven('names', namedOrAll('names', 'read models'), names), how)
    },
    async catchUp() {
      gate.writes('admin.projections.catchUp')
      return await runner.catchUp()
    },
    async fillVectors(options) {
      const how = gate.enter(calls.fillVectors, options)
      if (filler === undefined)
        throw bad(
          'embedding',
          embedding === undefined
            ? 'is missing: no embedding model is configured'
            : `cannot be used: ${db.name} has no pgvector`,
        )
      await freshness.bringRowsToHead()
      return valueOf(await filler.make(how), problem)
    },
  }
}
