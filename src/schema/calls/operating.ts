/** Calls of operators: read models, proofs, erasure and retention. */
import type { AnyKey } from '../../application/proof/types.js'
import type { RebuildProgress } from '../../../projections/engine/rebuild.js'
import type { FillProgress } from '../../../projections/read-models/archive-index/vector-filler.js'
import { call, option, required } from '../call.js'
import {
  flag,
  listener,
  moment,
  recordedName,
  recordedText,
  signal,
  text,
  unchecked,
  wholeNumber,
} from '../option-values.js'
import { actor } from './common.js'

/** Rebuilds rows from the log. */
export const rebuild = call('admin.projections.rebuild', {
  writes: true,
  options: () => ({
    onProgress: option('Called with the progress', listener<[progress: RebuildProgress]>()),
    signal: option('Stops the rebuild after the current step. A later rebuild resumes it', signal()),
    batchSize: option(
      'Events in a transaction. Default 8,000 on a server, 1,000 on the embedded engine. Larger batches write less, since a row that is added and removed within one batch is never written',
      wholeNumber(1),
    ),
    fresh: option('Start from the beginning instead of resuming an unfinished rebuild', flag()),
  }),
})

/** Makes missing vectors. */
export const fillVectors = call('admin.projections.fillVectors', {
  writes: true,
  options: () => ({
    limit: option('Ends after about this number of texts. Default: when none is missing', wholeNumber(0)),
    signal: option('Ends the run after the current request. Stored vectors remain', signal()),
    onProgress: option('Called with the progress', listener<[progress: FillProgress]>()),
  }),
})

/** Signs a checkpoint. */
export const createCheckpoint = call('admin.proofs.createCheckpoint', {
  writes: true,
  options: () => ({
    key: required('The operator’s Ed25519 private key, or its PEM text', unchecked<AnyKey | string>()),
  }),
})

/** Stores a signed draft. */
export const storeCheckpoint = call('admin.proofs.storeCheckpoint', {
  writes: true,
  options: () => ({
    note: required('The signed note', text()),
    verifierKey: required('The key that verifies it', text()),
  }),
})

/** Evidence of what the model saw. */
export const evidence = call('admin.proofs.evidence', {
  options: () => ({
    at: option(
      'The moment. If its event is an answer that names its context, the evidence is of that context. Default: the context of the newest such answer; without one, that of the newest compaction, or the one now',
      moment(),
    ),
    size: option(
      'Number of events of the checkpoint. Default: the first one that covers all events of the evidence',
      wholeNumber(1),
    ),
  }),
})

/** What to erase. */
export const erasureTarget = call('admin.erasure', {
  options: () => ({
    conversationId: option('The conversation', unchecked<string>()),
    messageId: option('Only this message', text()),
    subject: option('Everything about this person, in all conversations', text()),
  }),
  check: ({ conversationId, messageId, subject }) =>
    subject !== undefined && (conversationId !== undefined || messageId !== undefined)
      ? {
          field: 'subject',
          detail: 'erases everything about a person: name no conversation and no message with it',
        }
      : subject === undefined && conversationId === undefined
        ? {
            field: 'conversationId',
            detail: 'is missing: name what to erase, a conversation, one of its messages, or a subject',
          }
        : undefined,
})

/** Erases. */
export const erase = call('admin.erasure.run', {
  writes: true,
  options: () => ({
    reason: required('Recorded with the erasure. Name no personal data in it', recordedText()),
    ...actor(),
    legalBasis: option(
      'Why messages are erased that a retention rule keeps. Recorded, also in the receipt',
      recordedText(),
    ),
  }),
})

/** Continues interrupted erasures. */
export const resumeErasures = call('admin.erasure.resume', { writes: true, options: actor })

/** A rule of retention, or null to remove it. */
const rule = () => unchecked<string | null>()

/** Rules to set. A rule that is not named stays; null removes it. */
export const retentionRules = call('admin.retention.set', {
  writes: true,
  options: () => ({
    scope: option(
      'The scope of the rules. Default: all conversations; a rule of a scope replaces that of all conversations',
      recordedName(),
    ),
    keepAtLeast: option('No younger message is erased without a legal basis: `6 months`, `180 days`, `P6M`', rule()),
    eraseAfter: option('A conversation is erased if its last message is older. Requires an erasable ledger', rule()),
  }),
})

const change = () => ({
  reason: required('Recorded with the change. Name no personal data in it', recordedText()),
  ...actor(),
})
/** Reason and actor of new rules. */
export const setRetention = call('admin.retention.set', { writes: true, options: change })
/** Reason and actor of a hold. */
export const holdRetention = call('admin.retention.hold', { writes: true, options: change })
/** Reason and actor of the end of a hold. */
export const releaseRetention = call('admin.retention.release', { writes: true, options: change })
/** Erases the conversations that are due. */
export const runRetention = call('admin.retention.run', { writes: true, options: actor })

/** What a hold is on. */
export const holdTarget = call('admin.retention.hold', {
  writes: true,
  options: () => ({
    conversationId: option('The conversation', recordedName()),
    scope: option('All conversations of this scope', recordedName()),
  }),
  check: ({ conversationId, scope }) =>
    (conversationId === undefined) === (scope === undefined)
      ? { field: 'conversationId', detail: 'or scope: name one of them' }
      : undefined,
})
