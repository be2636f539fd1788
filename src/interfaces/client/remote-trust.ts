/** Calls about proofs, erasure and retention that are not sent as they are. */
import { KeyObject } from 'node:crypto'
import { signDraft } from '../../domain/proof/checkpoint.js'
import { publicPart } from '../../domain/proof/public-key.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import type {
  ErasureTarget,
  GivenCheckpoint,
  LedgerErasure,
  LedgerProofs,
  LedgerRetention,
  RecordedCheckpoint,
} from '../../library/ledger.js'
import { bad } from '../../library/options.js'
import { signingKey } from '../../library/signing-key.js'
import type { AnswerOf } from '../../schema/index.js'
import { recordedEvent } from './remote-events.js'
import { withoutActor, type Remote } from './remote.js'

const checkpointOf = ({ timeStamp, ...checkpoint }: AnswerOf<'storeCheckpoint'>): RecordedCheckpoint => ({
  ...checkpoint,
  ...(timeStamp === undefined ? {} : { timeStamp: Buffer.from(timeStamp, 'base64') }),
})

/** The required signer as JSON has it: a public key as its PEM text. */
function signerInJson(signer: GivenCheckpoint['signer']): string | undefined {
  if (signer === undefined || typeof signer === 'string') return signer
  if (!(signer instanceof KeyObject)) throw bad('signer', 'must be a public key of node:crypto, or a fingerprint')
  return publicPart(signer).export({ type: 'spki', format: 'pem' }).toString()
}

/** A checkpoint to compare with, as JSON has it. */
export const checkpointInJson = ({ note, signer, witnesses }: GivenCheckpoint) =>
  withoutUndefined({ note, signer: signerInJson(signer), witnesses })

/** Checkpoints. A signing key stays in this process: the service gets the signature. */
export const remoteProofs = ({
  value,
  result,
}: Remote): Pick<LedgerProofs, 'createCheckpoint' | 'storeCheckpoint' | 'checkpoints' | 'attach'> => {
  const storeCheckpoint: LedgerProofs['storeCheckpoint'] = async (body) =>
    checkpointOf(await value('storeCheckpoint', { body }))
  const checkpoints = async () => (await value('listCheckpoints', {})).checkpoints.map(checkpointOf)
  return {
    storeCheckpoint,
    checkpoints,
    async createCheckpoint(options) {
      const key = signingKey(options.key)
      return await storeCheckpoint(signDraft(await result('draftCheckpoint', {}), key))
    },
    async attach({ signatures, timeStamp }, size) {
      const newest = size ?? (await checkpoints()).at(-1)?.size
      const body = {
        signatures,
        timeStamp: timeStamp === undefined ? undefined : Buffer.from(timeStamp).toString('base64'),
      }
      // Without a checkpoint, the service reports that there is none.
      return checkpointOf(await value('attachToCheckpoint', { params: { size: String(newest ?? 1) }, body }))
    },
  }
}

/** A target of one conversation, as the service takes it. */
type OfConversation = Extract<ErasureTarget, { readonly conversationId: string }>
const isOfConversation = (target: ErasureTarget): target is OfConversation => 'conversationId' in target

/** Erasure of a conversation and of a person have a route each. */
export const remoteErasure = ({ value, result }: Remote): Pick<LedgerErasure, 'plan' | 'run'> => ({
  async plan(target) {
    if (!isOfConversation(target)) return (await value('planErasureOfPerson', { body: target })).planned
    const { conversationId: conversation, ...body } = target
    return (await value('planErasure', { params: { conversation }, body })).planned
  },
  async run(target, options) {
    const recorded = withoutActor(options)
    if (!isOfConversation(target)) return await result('erasePerson', { body: { ...target, ...recorded } })
    const { conversationId: conversation, ...choice } = target
    return await result('erase', { params: { conversation }, body: { ...choice, ...recorded } })
  },
})

/** Changes of retention, and its events. */
export const remoteRetention = ({ value }: Remote): Pick<LedgerRetention, 'set' | 'hold' | 'history'> => ({
  set: async (settings, options) =>
    await value('setRetentionRules', { body: { ...settings, ...withoutActor(options) } }),
  hold: async (target, options) => await value('placeRetentionHold', { body: { ...target, ...withoutActor(options) } }),
  history: async () => (await value('getRetentionLog', {})).facts.map(recordedEvent),
})
