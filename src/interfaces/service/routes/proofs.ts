/** Checkpoints, proofs and evidence. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { RecordedCheckpoint } from '../../../library/ledger.js'
import type { Handlers } from '../service.js'

/** A checkpoint in JSON, which has no bytes. */
const inJson = ({ timeStamp, ...checkpoint }: RecordedCheckpoint) => ({
  ...checkpoint,
  ...(timeStamp === undefined ? {} : { timeStamp: Buffer.from(timeStamp).toString('base64') }),
})

/** The handlers. */
export const proofHandlers = {
  async listCheckpoints({ ledger }) {
    return { body: { checkpoints: (await ledger.admin.proofs.checkpoints()).map(inJson) } }
  },

  async storeCheckpoint({ ledger }, { body }) {
    return { body: inJson(await ledger.admin.proofs.storeCheckpoint(body)) }
  },

  async attachToCheckpoint({ ledger }, { params: { size }, body: { signatures, timeStamp } }) {
    const bytes = timeStamp === undefined ? undefined : Buffer.from(timeStamp, 'base64')
    return {
      body: inJson(await ledger.admin.proofs.attach(withoutUndefined({ signatures, timeStamp: bytes }), size)),
    }
  },
} satisfies Partial<Handlers>
