/** Checkpoints and proofs, for operators and auditors. */
import { createPrivateKey, KeyObject } from 'node:crypto'
import { proveConsistency, proveInclusion } from '../proof/single-proofs.js'
import { conversationStream } from '../domain/values/ids.js'
import { isRevision } from '../domain/values/revision.js'
import { parseMoment } from '../domain/values/moment.js'
import { conversationAt } from '../history/time-travel.js'
import { gatherEvidence } from '../proof/evidence.js'
import { loadContext } from '../recording/load-conversation.js'
import { problem, valueOf } from './problem.js'
import { proofError } from '../proof/failures.js'
import { attachToCheckpoint, createCheckpoint, listCheckpoints } from '../proof/checkpoints.js'
import type { Gate } from './gate.js'
import type { CreateCheckpointOptions, EvidenceOptions, LedgerProofs } from './ledger-proofs.js'
import { bad, optionsGiven, wholeNumberGiven, type Names } from './options.js'
import type { Lookup } from './lookup.js'
import type { LedgerParts } from './parts.js'

const EVIDENCE: Names<EvidenceOptions> = { at: true, size: true }
const CREATE: Names<CreateCheckpointOptions> = { key: true }

/** The signing key of the options. */
function signingKey(given: CreateCheckpointOptions['key'] | undefined): KeyObject {
  let key: KeyObject
  try {
    key = given instanceof KeyObject ? given : createPrivateKey(typeof given === 'string' ? given : '')
  } catch {
    throw bad('key', 'must be an Ed25519 private key: a KeyObject, or PEM text')
  }
  if (key.type !== 'private' || key.asymmetricKeyType !== 'ed25519')
    throw bad('key', 'must be a private key of type Ed25519')
  return key
}

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
      gate.writes('admin.proofs.createCheckpoint')
      const { key } = optionsGiven('admin.proofs.createCheckpoint', options, CREATE)
      return await createCheckpoint(provable, signingKey(key), clock.now())
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
      const { at, size } = optionsGiven('admin.proofs.evidence', options, EVIDENCE)
      wholeNumberGiven('size', size, 1)
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
