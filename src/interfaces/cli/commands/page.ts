/** `page`: serves the web page of the ledger, or writes the report of one conversation to an HTML file. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { withoutPassword } from '../../../library/addresses.js'
import { text, type CliCommand } from '../command.js'
import { line, note } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { portOf, unusablePort } from '../port.js'
import { conversationNamed } from '../find-conversation.js'
import { withLedger } from '../session.js'
import { noteFile } from '../written-copies.js'
import { writeNewFile } from '../../../ports/new-file.js'

export const page: CliCommand = {
  words: 'page [conversation]',
  describe: 'View the ledger in a browser on this machine, or write a report file',
  uses: ['open', 'price'],
  positionals: {
    conversation: { type: 'string', describe: 'Id or title of the conversation to open, or to report on' },
  },
  options: {
    port: text('Port to listen on [default: a free port]'),
    html: text('Write the report of the conversation to this new HTML file instead: self-contained, no scripts'),
  },
  examples: [
    ['$0 page', 'print the address to open; Ctrl+C stops it'],
    ['$0 page run-7 --html run-7.html', 'write a report to share'],
  ],
  async run(args) {
    const named = args.text('conversation')
    const file = args.text('html')
    const port = portOf(args)
    if (file !== undefined && named === undefined) throw new LedgerError('Usage', '--html requires a conversation')
    if (file?.trim() === '') throw new LedgerError('Usage', '--html needs a file name')
    if (file !== undefined && port !== undefined)
      throw new LedgerError('Usage', '--html cannot be combined with --port')
    // The page searches by words only, so it needs no embedding model.
    await withLedger(args.flags, { reads: true, ahead: false, prices: true }, async ({ ledger, config }) => {
      const conversation = named === undefined ? undefined : await conversationNamed(ledger, named)
      if (file !== undefined && conversation !== undefined) {
        const { reportOf } = await import('../../page/report.js')
        const bytes = await writeNewFile(
          file,
          async () => await reportOf({ ledger, conversationId: conversation, now: new Date() }),
        )
        await noteFile(config.store, file, conversation)
        if (args.json) await line(toWire({ file, conversationId: conversation, bytes }))
        else await line(`wrote ${file}: the report of ${conversation}`)
        return
      }
      const [{ startPage }, { endSignals }] = await Promise.all([
        import('../../page/server.js'),
        import('../end-signals.js'),
      ])
      const ended = endSignals()
      try {
        const served = await startPage({ ledger, name: withoutPassword(config.store), port: port ?? 0 }).catch(
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
          await line(args.json ? toWire({ url: address.href }) : address.href)
          note('reachable from this machine only, with this address; press Ctrl+C to stop')
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
