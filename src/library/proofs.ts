/** Checkpoints and proofs, for operators and auditors. */
import { proveConsistency, proveInclusion } from '../application/proof/single-proofs.js'
import { conversationStream } from '../domain/values/ids.js'
import { isRevision } from '../domain/values/revision.js'
import { parseMoment } from '../domain/values/moment.js'
import { conversationAt } from '../application/history/time-travel.js'
import { gatherEvidence } from '../application/proof/evidence.js'
import { loadContext } from '../application/recording/load-conversation.js'
import { problem, valueOf } from './problem.js'
import { proofError } from '../application/proof/failures.js'
import {
  attachToCheckpoint,
  createCheckpoint,
  draftCheckpoint,
  listCheckpoints,
  storeCheckpoint,
} from '../application/proof/checkpoints.js'
import type { Gate } from './gate.js'
import * as calls from '../schema/calls/operating.js'
import type { LedgerProofs } from './ledger-proofs.js'
import { bad, wholeNumberGiven } from './options.js'
import type { Lookup } from './lookup.js'
import type { LedgerParts } from './parts.js'
import { signingKey } from './signing-key.js'

export function createProofs({
  log,
  proofs,
  clock,
  gate,
  lookup,
}: Pick<LedgerParts, 'log' | 'proofs' | 'clock'> & { readonly gate: Gate; readonly lookup: Lookup }): LedgerProofs {
  const provable = { store: log.store, proofs }
  return {
    async createCheckpoint(options) {
      const { key } = gate.enter(calls.createCheckpoint, options)
      return await createCheckpoint(provable, signingKey(key), clock.now())
    },
    async draftCheckpoint() {
      gate.writes('admin.proofs.draftCheckpoint')
      return await draftCheckpoint(provable)
    },
    async storeCheckpoint(signed) {
      return await storeCheckpoint(provable, gate.enter(calls.storeCheckpoint, signed), clock.now())
    },
    async checkpoints() {
      gate.open()
      return await listCheckpoints(provable)
    },
    async attach(attachments, size) {
      gate.writes('admin.proofs.attach')
      wholeNumberGiven('size', size, 1)
      return await attachToCheckpoint(provable, size, attachments)
    },
    async inclusion(conversationId, revision, size) {
      gate.open()
      if (!isRevision(revision)) throw bad('revision', 'must be a whole number, 0 or more')
      wholeNumberGiven('size', size, 1)
      const { revision: head } = await lookup.existing(conversationId)
      const proof = await proveInclusion(provable, conversationStream(conversationId), revision, size)
      if (proof === undefined) throw problem({ kind: 'NoSuchRevision', conversationId, revision, head })
      return proof
    },
    async consistency(from, to) {
      gate.open()
      for (const [field, size] of [
        ['from', from],
        ['to', to],
      ] as const)
        wholeNumberGiven(field, size, 1)
      return await proveConsistency(proofs, [from, to])
    },
    async evidence(conversationId, options) {
      gate.open()
      if (log.keys !== undefined)
        throw proofError(
          'EvidenceOfErasable',
          'an erasable ledger makes no evidence files: its events are encrypted, and a file with readable texts would stay after an erasure. `checkpoint` and `verify --against` work',
        )
      const { at, size } = gate.enter(calls.evidence, options)
      const moment = at === undefined ? undefined : valueOf(parseMoment('at', at), problem)
      await lookup.existing(conversationId)
      const state =
        moment === undefined
          ? undefined
          : valueOf(await conversationAt(log, conversationId, moment, clock.now(), loadContext), problem)
      return valueOf(
        await gatherEvidence({ ...log, proofs }, { conversationId, revision: state?.revision, size }),
        problem,
      )
    },
  }
}
