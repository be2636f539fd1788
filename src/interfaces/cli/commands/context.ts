import { LedgerError } from '../../../lib/ledger-error.js'
import { VIEWS } from '../../../domain/values/view-names.js'
import { conversation, text, toggle, waiting, waitOf, type CliCommand } from '../command.js'
import { conversationNamed } from '../find-conversation.js'
import { withLedger } from '../session.js'

const FORMATS = ['text', 'json', 'openai'] as const

export const context: CliCommand = {
  words: 'context <conversation>',
  describe: 'Print the model’s context, now or at an earlier point',
  uses: ['open'],
  reads: true,
  positionals: { conversation },
  options: {
    at: text(
      'Revision, time (2026-03-01T12:30:00Z) or message id; write message:ID if the id looks like a revision or a time [default: now]',
    ),
    view: text('Show the compacted part in this view [default: the active view]', VIEWS),
    live: toggle('Show the live messages as recorded, instead of the context'),
    format: text('text for people, json for scripts, openai for the messages only [default: text]', FORMATS),
    ...waiting,
  },
  examples: [
    ['$0 context run-7 --at 2026-03-01T12:30:00Z', 'the context at that time'],
    ['$0 context run-7 --at 120 --view session-summary', 'the same events in the other view'],
  ],
  async run(args) {
    const at = args.text('at')
    const view = VIEWS.find((name) => name === args.text('view'))
    const formatFlag = args.oneOf('format', FORMATS)
    const format = formatFlag === 'text' && args.json ? 'json' : formatFlag
    const live = args.is('live')
    if (live && view !== undefined)
      throw new LedgerError('Usage', '--view cannot be combined with --live: live messages are not part of a view')
    const readOptions = { ...(at === undefined ? {} : { at }), ...waitOf(args) }
    const { showContext, showLive } = await import('../reports/context.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'))
      if (live) await showLive(await ledger.messages(conversationId, readOptions), format)
      else
        await showContext(
          await ledger.context(conversationId, view === undefined ? readOptions : { view, ...readOptions }),
          format,
        )
    })
  },
}
