/** Checkpoints, proofs and evidence. */
import { z } from 'zod'
import type { Evidence } from '../../domain/proof/evidence-format.js'
import { count, optional, record, verbatim } from '../answer.js'
import { plainCall } from '../call.js'
import * as calls from '../calls/operating.js'
import { at, note, ofConversation, revision, time, whole } from '../fields.js'
import { jobOf, noProgress, WAIT } from '../answers/job.js'
import { route } from '../route.js'

const base64 = z.string().meta({ format: 'byte' })
const MOST_EVENTS = 999_999_999
const size = whole(1, MOST_EVENTS, 'Number of events of the checkpoint. From 1')
const ofCheckpoint = z.object({ size })

const checkpoint = record({
  size: count,
  note,
  verifierKeys: z.array(z.string()),
  createdAt: time,
  timeStamp: optional(base64.meta({ description: 'A time stamp of the note (RFC 3161, DER)' })),
  root: base64,
  origin: z.string(),
  signedBy: z.array(z.string()),
  otherSigners: z.array(z.string()),
}).meta({ id: 'Checkpoint' })

const draft = record({ origin: z.string(), size: count, root: base64, text: z.string() })

export const listCheckpoints = route({
  method: 'get',
  path: '/v1/checkpoints',
  summary: 'Lists the stored checkpoints, smallest first',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  answer: record({ checkpoints: z.array(checkpoint) }).meta({ id: 'Checkpoints' }),
})

export const draftCheckpoint = route({
  method: 'post',
  path: '/v1/checkpoints/drafts',
  summary: 'Returns the text of a checkpoint of the log as it is, for the operator to sign, as a job',
  roles: ['operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.proofs.draftCheckpoint') },
  headers: WAIT,
  answer: jobOf('CheckpointDraftJob', { result: draft, progress: noProgress }),
  status: 202,
})

export const storeCheckpoint = route({
  method: 'post',
  path: '/v1/checkpoints',
  summary: 'Stores a signed draft. The private key stays with its owner',
  roles: ['operate'],
  reach: 'ledger',
  body: z.strictObject({ note, verifierKey: z.string().min(1) }).meta({ id: 'SignedCheckpoint' }),
  answer: checkpoint,
})

export const attachToCheckpoint = route({
  method: 'post',
  path: '/v1/checkpoints/{size}/attachments',
  summary: 'Stores signature lines of witnesses, or a time stamp, with a checkpoint',
  roles: ['operate'],
  reach: 'ledger',
  params: ofCheckpoint,
  body: z
    .strictObject({ signatures: z.array(z.string().min(1)).optional(), timeStamp: z.base64().optional() })
    .meta({ id: 'CheckpointAttachments' }),
  answer: checkpoint,
})

export const getConsistency = route({
  method: 'get',
  path: '/v1/checkpoints/{size}/consistency',
  summary: 'Proves that the log of this checkpoint is the beginning of that of a later one (RFC 9162)',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  carries: { call: plainCall('admin.proofs.consistency'), args: ['size', 'with'] },
  params: ofCheckpoint,
  query: z.object({ with: size.optional().meta({ description: 'Size of the other. Default: the newest' }) }),
  answer: record({ notes: z.tuple([z.string(), z.string()]), hashes: z.array(base64) }).meta({
    id: 'ConsistencyProof',
  }),
})

export const getInclusion = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/proofs/{revision}',
  summary: 'Proves that an event of a conversation is in the log of a checkpoint (RFC 9162)',
  roles: ['audit', 'operate'],
  reach: 'conversation',
  carries: { call: plainCall('admin.proofs.inclusion'), args: ['conversation', 'revision', 'size'] },
  params: ofConversation.extend({ revision }),
  query: z.object({ size: size.optional() }),
  answer: record({
    note: z.string(),
    size: count,
    leaf: count,
    record: z.string(),
    hashes: z.array(base64),
  }).meta({ id: 'InclusionProof' }),
})

export const getEvidence = route({
  method: 'get',
  path: '/v1/conversations/{conversation}/evidence',
  summary: 'What the model saw at a moment, with proofs; docs/reference/evidence.md has the format',
  roles: ['audit'],
  reach: 'conversation',
  carries: { call: calls.evidence, args: ['conversation'] },
  params: ofConversation,
  query: z.object({ at: at.optional(), size: size.optional() }),
  answer: verbatim<Evidence>('object', 'Evidence. `docs/reference/evidence.md` has the format').meta({
    id: 'Evidence',
  }),
})
