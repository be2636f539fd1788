import { VIEWS } from '../../domain/values/view-names.js'
import { conversation, text, toggle, waiting, waitOf, type Command } from '../command.js'
import { InputError } from '../errors.js'
import { withLedger } from '../session.js'

const FORMATS = ['text', 'json', 'openai'] as const

export const context: Command = {
  words: 'context <conversation>',
  describe: 'Show what the model gets, or got',
  reads: true,
  positionals: { conversation },
  options: {
    at: text(
      'As it stood at this revision, time (2026-03-01T12:30:00Z) or message (its id; message:ID for one that looks like the others) [default: now]',
    ),
    view: text('What was compacted through this view [default: the one in force]', VIEWS),
    live: toggle('The live messages instead, whole as they were recorded'),
    format: text('For people, for scripts, or the messages alone [default: text]', FORMATS),
    ...waiting,
  },
  examples: [
    ['$0 context run-7 --at 2026-03-01T12:30:00Z', 'what the model would have got then'],
    ['$0 context run-7 --at 120 --view session-summary', 'the same facts through the other view'],
  ],
  async run(given) {
    const conversationId = given.word('conversation')
    const at = given.text('at')
    const view = VIEWS.find((name) => name === given.text('view'))
    const asked = given.oneOf('format', FORMATS)
    const format = asked === 'text' && given.json ? 'json' : asked
    const live = given.is('live')
    if (live && view !== undefined)
      throw new InputError('Usage', '--view goes without --live: live messages are behind every view')
    const moment = { ...(at === undefined ? {} : { at }), ...waitOf(given) }
    const { showContext, showLive } = await import('../reports/context.js')
    await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
      if (live) await showLive(await ledger.messages(conversationId, moment), format)
      else
        await showContext(
          await ledger.context(conversationId, view === undefined ? moment : { view, ...moment }),
          format,
        )
    })
  },
}
