/** `handoff`: continues a conversation in another program. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { HANDOFF_PROGRAMS, SAME_PROGRAM } from '../../../domain/values/handoff-programs.js'
import { callFlags } from '../call-flags.js'
import { conversation, type CliCommand } from '../command.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { count, line, many, note, noteColours } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import type { Handoff, Repaired } from '../../../library/ledger.js'
import { withLedger } from '../session.js'

const call = callFlags(async () => (await import('../../../schema/calls/transcripts.js')).handoff, {
  omitted: ['actor'],
  texts: {
    to: 'Program that continues the conversation',
    repair: 'Write the session again for the program that recorded it and cannot resume it',
    withdrawn: 'Id of a withdrawn message: hand the conversation over as it was with that message',
    budget: 'Most tokens of the new session, estimated [default: 100,000]',
    home: 'Directory of the program [default: the one that it uses on this machine]',
    cwd: 'Directory in which the work continues [default: that of the conversation]',
  },
})

/** How older messages travel. */
function olderText({ older, summary, note: { entries, omitted } }: Handoff): string {
  const left = Object.values(omitted).reduce((sum, each) => sum + each, 0)
  const texts = [
    ...(summary === 'text' ? ['their summary'] : []),
    ...(entries.length + left === 0
      ? []
      : [
          `a note of ${many(entries.length, 'line')}${left === 0 ? '' : ` (${many(left, 'entry', 'entries')} left out)`}`,
        ]),
  ]
  return `${many(older, 'older message')} as ${texts.join(' and ')}`
}

/** What each number of a repair counts. */
const REPAIRS: readonly { readonly kind: keyof Repaired; readonly what: string }[] = [
  { kind: 'openCalls', what: 'calls without a result, closed as interrupted' },
  { kind: 'resultsWithoutCall', what: 'results without their call, now texts' },
  { kind: 'repeatedResults', what: 'repeated results, left out' },
  { kind: 'furtherResults', what: 'further results of a call, now texts' },
  { kind: 'incompleteArguments', what: 'calls with arguments that were cut off' },
  { kind: 'missingSummaries', what: 'compactions without a readable summary: a note instead' },
  { kind: 'unreadableRecords', what: 'unreadable records, left out' },
]

/** The kinds of which a repair found any. */
function repairedLines(repaired: Repaired): readonly string[] {
  const kinds = REPAIRS.flatMap(({ kind, what }) => (repaired[kind] > 0 ? [{ what, number: repaired[kind] }] : []))
  return kinds.length === 0
    ? ['  repaired: nothing; the context is whole']
    : kinds.map(({ what, number }) => `  repaired: ${what} (${count(number)})`)
}

async function report(handoff: Handoff): Promise<void> {
  const { file, messageIds, older, summary, notHandedOver, withdrawn, repaired, tokens, conversationId, resume } =
    handoff
  await line(file)
  await line(`  ${many(messageIds.length, 'message')} verbatim, ${count(tokens)} tokens in all`)
  if (older > 0) await line(`  ${olderText(handoff)}`)
  if (summary === 'opaque') await line('  not handed over: the summary, which only its provider can read')
  if (repaired !== undefined) for (const each of repairedLines(repaired)) await line(each)
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
  call,
  examples: [
    ['$0 handoff "date bug" --to codex', 'a session that `codex resume` lists'],
    ['$0 handoff 3f0c --to gemini --budget 30000', 'fewer messages verbatim; the rest as summary and note'],
    ['$0 handoff 3f0c --to same --repair', 'a new session of the same program, which resumes'],
  ],
  async run(args) {
    const options = await call.read(args)
    if (options.to === undefined && options.repair !== true)
      throw new LedgerError('Usage', `name a program with --to: ${[...HANDOFF_PROGRAMS, SAME_PROGRAM].join(', ')}`)
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const found = await ledger.transcripts.handoff(conversationId, options)
      if (args.json) await line(toWire(found))
      else await report(found)
    })
  },
}
