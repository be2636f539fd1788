/** `log`: every fact of a conversation as a line for people, or as one document. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { describeEvent } from '../describe-event.js'
import type { Flags } from '../flags.js'
import { colours, line, toJson, write } from '../output.js'
import { withLedger } from '../session.js'

export interface LogCommand {
  readonly conversationId: string
  readonly from: bigint | undefined
  readonly limit: number | undefined
  readonly json: boolean
}

const paint: Partial<Record<RecordedEvent['type'], (text: string) => string>> = {
  MessageAppended: (text) => text,
  CompactionFailed: colours.red,
  CompactionCouldNotHelp: colours.yellow,
  MessagesPruned: colours.green,
  EditionAdopted: colours.green,
  EditionReverted: colours.green,
  CycleUndone: colours.green,
}

const TYPE_WIDTH = 'CompactionCouldNotHelp'.length

const asLine = (event: RecordedEvent): string =>
  `${event.revision.toString().padStart(5)}  ${colours.dim(event.metadata.recordedAt)}  ${(paint[event.type] ?? colours.cyan)(event.type.padEnd(TYPE_WIDTH))}  ${describeEvent(event)}`

/**
 * Runs the command. The document is written as it is read, because a log may be longer than memory. Positions are a
 * store's own and stay out, so that the document is the same wherever the log lies.
 */
export async function runLog(flags: Flags, { conversationId, from, limit, json }: LogCommand): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const events = ledger.log(conversationId, {
      ...(from === undefined ? {} : { from }),
      ...(limit === undefined ? {} : { limit }),
    })
    if (!json) {
      for await (const event of events) await line(asLine(event))
      return
    }
    let separator = `{"conversationId":${JSON.stringify(conversationId)},"facts":[`
    for await (const { revision, id, type, data, metadata } of events) {
      await write(`${separator}${toJson({ revision, id, type, data, metadata })}`)
      separator = ','
    }
    await line(`${separator === ',' ? '' : separator}]}`)
  })
}
