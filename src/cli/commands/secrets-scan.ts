/** `secrets scan`: finds secrets in recorded events. Exits with the status of `verify` if there are any. */
import { LedgerError } from '../../lib/ledger-error.js'
import type { RecordedSecret } from '../../library/ledger.js'
import { toggle, type CliCommand } from '../command.js'
import { CommandExit, EXIT } from '../errors.js'
import { colours, line, many, printable } from '../output.js'
import { toWire } from '../../domain/values/revision.js'
import { conversationNamed } from '../find-conversation.js'
import { titlesOf, type Titles } from '../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { withLedger } from '../session.js'

/** The most places and answers that the text lists of one secret. */
const MOST_LISTED = 5

const listed = (all: readonly string[]): string =>
  all.length <= MOST_LISTED
    ? all.join(', ')
    : `${all.slice(0, MOST_LISTED).join(', ')} and ${String(all.length - MOST_LISTED)} more`

async function showSecret(
  { conversationId, kind, fingerprint, places, seenBy }: RecordedSecret,
  titles: Titles,
): Promise<void> {
  await line(`${colours.red(kind)} ${fingerprint} in ${idWithTitle(conversationId, titles)}`)
  const where = places.map(({ revision, type, messageId, editionId }) =>
    [
      `revision ${revision.toString()}`,
      messageId === undefined ? `(${type})` : `(message ${printable(messageId)})`,
      ...(editionId === undefined ? [] : [`of edition ${printable(editionId)}`]),
    ].join(' '),
  )
  await line(`  recorded at ${listed(where)}`)
  if (seenBy.answers.length > 0)
    await line(`  in the context of the answers at revisions ${listed(seenBy.answers.map(String))}`)
  if (seenBy.summaries.length > 0)
    await line(`  read by the summaries at revisions ${listed(seenBy.summaries.map(String))}`)
}

export const secretsScan: CliCommand = {
  words: 'scan [conversation]',
  describe: 'Find secrets in recorded events, and the answers and summaries that had them',
  uses: ['open'],
  reads: true,
  positionals: { conversation: { type: 'string', describe: 'Id or title of the conversation' } },
  options: { all: toggle('Scan all conversations') },
  examples: [['$0 secrets scan --all --json', 'for a check in CI: the exit status is 4 if secrets are recorded']],
  async run(args) {
    const named = args.text('conversation')
    if ((named === undefined) === !args.is('all'))
      throw new LedgerError('Usage', 'name one conversation, or scan all conversations with --all')
    await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
      const conversationId = named === undefined ? undefined : await conversationNamed(ledger, named)
      const { conversations, secrets } = await ledger.admin.secrets.scan(
        conversationId === undefined ? {} : { conversationId },
      )
      if (args.json) await line(toWire({ conversations, secrets }))
      else {
        const titles = await titlesOf(
          ledger,
          secrets.map((secret) => secret.conversationId),
        )
        for (const secret of secrets) await showSecret(secret, titles)
        const where = many(conversations, 'conversation')
        await line(
          secrets.length === 0
            ? `${colours.green('no secrets')} in ${where}`
            : `${colours.red(many(secrets.length, 'secret'))} in ${where}. The log does not record searches and exports, which may have shown them too. Revoke each secret at its provider.`,
        )
      }
      if (secrets.length > 0) throw new CommandExit(EXIT.untrusted)
    })
  },
}
