/** `handoff`: continues a conversation in another program. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { conversation, text, toggle, type CliCommand } from '../command.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { count, line, many, note, noteColours } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import type { Handoff } from '../../../library/ledger.js'
import { withLedger } from '../session.js'

const PROGRAMS = ['claude-code', 'codex', 'opencode', 'pi', 'gemini'] as const

/** How older messages travel. */
function olderText({ older, summary, note: { entries, omitted } }: Handoff): string {
  const left = Object.values(omitted).reduce((sum, each) => sum + each, 0)
  const texts = [
    ...(summary === 'text' ? ['their summary'] : []),
    `a note of ${many(entries.length, 'line')}${left === 0 ? '' : ` (${many(left, 'entry', 'entries')} left out)`}`,
  ]
  return `${many(older, 'older message')} as ${texts.join(' and ')}`
}

async function report(handoff: Handoff): Promise<void> {
  const { file, messageIds, older, summary, notHandedOver, withdrawn, tokens, conversationId, resume } = handoff
  await line(file)
  await line(`  ${many(messageIds.length, 'message')} verbatim, ${count(tokens)} tokens in all`)
  if (older > 0) await line(`  ${olderText(handoff)}`)
  if (summary === 'opaque') await line('  not handed over: the summary, which only its provider can read')
  for (const { what, number } of notHandedOver) await line(`  not handed over as it was: ${what} (${count(number)})`)
  for (const { messageId, messages, text: words } of withdrawn)
    await line(
      `  withdrawn, not handed over: ${many(messages, 'message')}${words === undefined ? '' : ` from “${words}”`} (--withdrawn ${messageId})`,
    )
  await line(`  recorded as ${conversationId}`)
  note(noteColours.dim('To continue there:'))
  for (const command of resume) await line(command)
}

export const handoff: CliCommand = {
  words: 'handoff <conversation>',
  describe: 'Write a conversation as a session of another program, which resumes it',
  uses: ['open', 'record'],
  positionals: { conversation },
  options: {
    to: text('Program that continues the conversation', PROGRAMS),
    repair: toggle('Write the session again for the program that recorded it and cannot resume it'),
    withdrawn: text('Id of a withdrawn message: hand the conversation over as it was with that message'),
    budget: text('Most tokens of the new session, estimated [default: 100,000]'),
    home: text('Directory of the program [default: the one that it uses on this machine]'),
    cwd: text('Directory in which the work continues [default: that of the conversation]'),
  },
  examples: [
    ['$0 handoff "date bug" --to codex', 'a session that `codex resume` lists'],
    ['$0 handoff 3f0c --to gemini --budget 30000', 'fewer messages verbatim; the rest as summary and note'],
    ['$0 handoff 3f0c --repair', 'a new session of the same program, which resumes'],
  ],
  async run(args) {
    const to = args.text('to')
    const isRepair = args.is('repair')
    const withdrawn = args.text('withdrawn')
    if (to === undefined && !isRepair)
      throw new LedgerError('Usage', `name a program with --to: ${PROGRAMS.join(', ')}`)
    const budget = args.atLeastOne('budget')
    const home = args.text('home')
    const cwd = args.text('cwd')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const found = await ledger.transcripts.handoff(conversationId, {
        ...(to === undefined ? {} : { to }),
        ...(isRepair ? { repair: true } : {}),
        ...(withdrawn === undefined ? {} : { withdrawn }),
        ...(budget === undefined ? {} : { budget }),
        ...(home === undefined ? {} : { home }),
        ...(cwd === undefined ? {} : { cwd }),
      })
      if (args.json) await line(toWire(found))
      else await report(found)
    })
  },
}
