import type { RecordedEvent } from '../../../domain/events/index.js'
import { callFlags } from '../call-flags.js'
import { conversation, type CliCommand } from '../command.js'
import { colours, line, printable, write } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

const colourOfType: Partial<Record<RecordedEvent['type'], (type: string) => string>> = {
  MessageAppended: (type) => type,
  CompactionFailed: colours.red,
  CompactionCouldNotHelp: colours.yellow,
  MessagesPruned: colours.green,
  EditionAdopted: colours.green,
  EditionReverted: colours.green,
  CycleUndone: colours.green,
}

const TYPE_WIDTH = 'CompactionCouldNotHelp'.length

const call = callFlags(async () => (await import('../../../schema/calls/history.js')).log, { omitted: ['direction'] })

export const log: CliCommand = {
  words: 'log <conversation>',
  describe: 'Print the events of a conversation, including failures',
  uses: ['open'],
  reads: true,
  positionals: { conversation },
  call,
  async run(args) {
    const options = await call.read(args)
    const { actorChanges, describeEvent } = await import('../../../domain/events/describe-event.js')
    const actorOf = actorChanges()
    const asLine = (event: RecordedEvent): string => {
      const { recordedAt } = event.metadata
      const actor = actorOf(event)
      const by = actor === undefined ? '' : colours.dim(` (by ${printable(actor)})`)
      return `${event.revision.toString().padStart(5)}  ${colours.dim(recordedAt)}  ${(colourOfType[event.type] ?? colours.cyan)(event.type.padEnd(TYPE_WIDTH))}  ${describeEvent(event)}${by}`
    }
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const events = ledger.log(conversationId, options)
      if (!args.json) {
        for await (const event of events) await line(asLine(event))
        return
      }
      // The document is streamed, because a log may exceed memory. Positions are specific to a store and are left out,
      // so the document is the same for every store.
      let separator = `{"conversationId":${JSON.stringify(conversationId)},"events":[`
      for await (const { revision, id, type, data, metadata } of events) {
        await write(`${separator}${toWire({ revision, id, type, data, metadata })}`)
        separator = ','
      }
      await line(`${separator === ',' ? '' : separator}]}`)
    })
  },
}
