import type { RecordedEvent } from '../../domain/events/index.js'
import { conversation, text, type Command } from '../command.js'
import { colours, line, toJson, write } from '../output.js'
import { withLedger } from '../session.js'

const paint: Partial<Record<RecordedEvent['type'], (type: string) => string>> = {
  MessageAppended: (type) => type,
  CompactionFailed: colours.red,
  CompactionCouldNotHelp: colours.yellow,
  MessagesPruned: colours.green,
  EditionAdopted: colours.green,
  EditionReverted: colours.green,
  CycleUndone: colours.green,
}

const TYPE_WIDTH = 'CompactionCouldNotHelp'.length

export const log: Command = {
  words: 'log <conversation>',
  describe: 'Show every fact: what happened, when, and what failed',
  reads: true,
  positionals: { conversation },
  options: { from: text('First revision to show'), limit: text('Facts at most') },
  async run(given) {
    const conversationId = given.word('conversation')
    const from = given.whole('from')
    const limit = given.whole('limit')
    const { describeEvent } = await import('../reports/describe-event.js')
    const asLine = (event: RecordedEvent): string =>
      `${event.revision.toString().padStart(5)}  ${colours.dim(event.metadata.recordedAt)}  ${(paint[event.type] ?? colours.cyan)(event.type.padEnd(TYPE_WIDTH))}  ${describeEvent(event)}`
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      const events = ledger.log(conversationId, {
        ...(from === undefined ? {} : { from: BigInt(from) }),
        ...(limit === undefined ? {} : { limit }),
      })
      if (!given.json) {
        for await (const event of events) await line(asLine(event))
        return
      }
      // The document is written as it is read, because a log may be longer than memory. Positions are a store's own and
      // stay out, so that the document is the same wherever the log lies.
      let separator = `{"conversationId":${JSON.stringify(conversationId)},"events":[`
      for await (const { revision, id, type, data, metadata } of events) {
        await write(`${separator}${toJson({ revision, id, type, data, metadata })}`)
        separator = ','
      }
      await line(`${separator === ',' ? '' : separator}]}`)
    })
  },
}
