/** Verification of the log, and the identity of the ledger. */
import { createRowCheck } from '../../projections/engine/compare.js'
import type { ProjectionRunner } from '../../projections/engine/runner.js'
import { isNamed, originOf } from '../application/audit/against-manifest.js'
import { createCheckRowsApart } from '../application/audit/check-rows.js'
import { createVerify, eventsFrom } from '../application/audit/verify.js'
import type { RowCheck, StoppedRows } from '../ports/row-check.js'
import { checkRequest } from '../application/summarizers/check-request.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import * as calls from '../schema/calls/history.js'
import type { Admin } from './ledger.js'
import type { Lookup } from './lookup.js'
import type { LedgerParts } from './parts.js'
import { isRowsFailure, problem } from './problem.js'

/** What compares the rows of a database with what the facts of a log make them. */
export function rowCheckOf({
  log,
  db,
  projections,
}: Pick<LedgerParts, 'log' | 'db' | 'projections'>): (
  everyConversation: boolean,
  catchUp: () => Promise<void>,
) => RowCheck {
  return (everyConversation, catchUp) =>
    createRowCheck({
      db,
      projections,
      everyConversation,
      catchUp,
      eventsFrom: (conversationId, seen) => eventsFrom(log, conversationId, seen),
    })
}

/** Stopped projections, as `verify` reports them. */
const stoppedAt = (
  readModel: string,
  { stream, revision, reason }: { readonly stream?: string; readonly revision?: number; readonly reason: string },
) => ({
  readModel,
  at: stream === undefined || revision === undefined ? undefined : { stream, revision },
  detail: `${readModel} ${reason}`,
})

export interface AuditingParts extends Pick<
  LedgerParts,
  'log' | 'name' | 'db' | 'proofs' | 'projections' | 'checkRowsApart' | 'readOnly' | 'onProblem'
> {
  readonly runner: ProjectionRunner
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
}

export function createAuditing(parts: AuditingParts): Pick<Admin, 'verify' | 'identity'> {
  const { log, name, checkRowsApart, readOnly, onProblem, runner, gate, freshness, lookup } = parts

  /** Conversations with rows that cannot reach the end of the log. */
  async function conversationsStopped(): Promise<StoppedRows[]> {
    return (await runner.stopped()).map((stop) => ({
      conversationId: stop.conversationId,
      ...stoppedAt(stop.projection, stop),
    }))
  }

  /** Read models that do not come there at all; `detail` where none of them says why. */
  async function readModelsStopped(detail: string): Promise<readonly StoppedRows[]> {
    const stopped = (await runner.status()).flatMap(({ name: readModel, stop }) =>
      stop === undefined ? [] : [stoppedAt(readModel, stop)],
    )
    return stopped.length > 0 ? stopped : [{ readModel: 'read models', detail }]
  }

  /** Brings the rows to the head of the log. A proof goes on where they do not come there, and says which. */
  async function rowsAtHead(): Promise<readonly StoppedRows[]> {
    gate.open()
    try {
      await freshness.bringRowsToHead()
      return await conversationsStopped()
    } catch (error) {
      if (!isRowsFailure(error)) throw error
      return await readModelsStopped(error.message)
    }
  }

  const verify = createVerify({
    log,
    proofs: parts.proofs,
    checkRequest,
    rowCheck: rowCheckOf(parts),
    catchUp: rowsAtHead,
    checkRowsApart:
      checkRowsApart === undefined
        ? undefined
        : (here) => createCheckRowsApart({ log, here, apart: checkRowsApart, onProblem }),
  })

  return {
    async verify(conversationId, options) {
      const request = gate.enter(calls.verify, options)
      // Between its facts and its rows the other process would have gone on, and a proof must not find fault with that.
      if (readOnly?.keptBy !== undefined) throw problem({ kind: 'LedgerBeingWritten', name, keptBy: readOnly.keptBy })
      // A conversation of which a manifest says that it was is proved to be gone.
      const { against } = request
      const wasThere = conversationId !== undefined && against !== undefined && (await isNamed(against, conversationId))
      if (conversationId !== undefined && !wasThere) await lookup.isThere(conversationId)
      return await verify(conversationId, request)
    },
    async identity() {
      gate.open()
      return { name, origin: await originOf(log) }
    },
  }
}
