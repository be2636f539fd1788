/** Prints checkpoints. */
import type { RecordedCheckpoint } from '../../../library/ledger.js'
import { toWire } from '../../../domain/values/revision.js'
import { colours, line, many, printable } from '../output.js'

/** A checkpoint as JSON. */
const checkpointDocument = ({ timeStamp, ...checkpoint }: RecordedCheckpoint): object => ({
  ...checkpoint,
  ...(timeStamp === undefined ? {} : { timeStamp: Buffer.from(timeStamp).toString('base64') }),
})

/** Prints a checkpoint as JSON. */
export async function showCheckpoint(checkpoint: RecordedCheckpoint): Promise<void> {
  await line(toWire(checkpointDocument(checkpoint)))
}

/** Prints a list of checkpoints. */
export async function showCheckpoints(checkpoints: readonly RecordedCheckpoint[], json: boolean): Promise<void> {
  if (json) {
    await line(toWire({ checkpoints: checkpoints.map(checkpointDocument) }))
    return
  }
  if (checkpoints.length === 0) await line('no checkpoints: `checkpoint create` signs the log as it is now')
  for (const { size, createdAt, root, signedBy, otherSigners, timeStamp } of checkpoints) {
    await line(`${colours.bold(many(size, 'event'))}  ${createdAt}  root ${root}`)
    await line(`  signed by ${signedBy.join(', ')}`)
    if (otherSigners.length > 0) await line(`  other signatures: ${otherSigners.map(printable).join(', ')}`)
    if (timeStamp !== undefined) await line('  with a time stamp')
  }
}
