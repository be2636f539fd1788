/** `page` serves a page to look at the ledger with, or writes the report of one conversation as a single file. */
import { withoutPassword } from '../../library/addresses.js'
import { text, type Command } from '../command.js'
import { InputError } from '../errors.js'
import { line, note, toJson } from '../output.js'
import { portOf, unusablePort } from '../port.js'
import { withLedger } from '../session.js'

export const page: Command = {
  words: 'page [conversation]',
  describe: 'Look at the ledger in a browser, on this machine alone; or write a conversation’s report as a file',
  positionals: {
    conversation: { type: 'string', describe: 'Id of the conversation to begin with, or to report on' },
  },
  options: {
    port: text('Port to serve it on [default: any that is free]'),
    html: text('Write the report of the conversation to this new file instead: one file, without a script'),
  },
  examples: [
    ['$0 page', 'prints the address to open; Ctrl+C ends it'],
    ['$0 page run-7 --html run-7.html', 'a report that can be sent to somebody'],
  ],
  async run(given) {
    const conversation = given.text('conversation')
    const file = given.text('html')
    const port = portOf(given)
    if (file !== undefined && conversation === undefined)
      throw new InputError('Usage', '--html goes with a conversation: it is the report of one')
    if (file?.trim() === '') throw new InputError('Usage', '--html names no file')
    if (file !== undefined && port !== undefined) throw new InputError('Usage', '--html goes without --port')
    const [{ describeEvent }, { contextNotes }] = await Promise.all([
      import('../reports/describe-event.js'),
      import('../reports/context.js'),
    ])
    const words = { describeEvent, contextNotes }
    // It searches by words alone: no model on another machine is asked.
    await withLedger(given.flags, { reads: true, ahead: false }, async ({ ledger, config }) => {
      if (file !== undefined && conversation !== undefined) {
        const [{ writeReportFile }, { reportOf }] = await Promise.all([
          import('../report-file.js'),
          import('../../page/report.js'),
        ])
        const bytes = await writeReportFile(
          file,
          async () => await reportOf({ ledger, conversationId: conversation, words, now: new Date() }),
        )
        if (given.json) await line(toJson({ file, conversationId: conversation, bytes }))
        else await line(`${file} holds the report of ${conversation}`)
        return
      }
      // A conversation that is not there is told now, and not in the browser.
      if (conversation !== undefined) await ledger.messages(conversation)
      const [{ startPage }, { endSignals }] = await Promise.all([
        import('../../page/server.js'),
        import('../end-signals.js'),
      ])
      const ended = endSignals()
      try {
        const served = await startPage({ ledger, name: withoutPassword(config.store), words, port: port ?? 0 }).catch(
          (error: unknown) => {
            throw unusablePort(error, 'the page', port)
          },
        )
        try {
          const address = new URL(served.url)
          if (conversation !== undefined) {
            address.pathname = '/conversation'
            address.searchParams.set('c', conversation)
          }
          await line(given.json ? toJson({ url: address.href }) : address.href)
          note('only this machine reaches it, and only with this address; Ctrl+C ends it')
          await ended.signalled
        } finally {
          await served.close()
        }
      } finally {
        ended.forget()
      }
    })
  },
}
