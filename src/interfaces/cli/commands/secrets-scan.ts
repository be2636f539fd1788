/** `secrets scan`: finds secrets in recorded events. Exits with the status of `verify` if there are any. */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { RecordedSecret } from '../../../library/ledger.js'
import type { KeyRequest } from '../reports/key-requests.js'
import { toggle, type CliCommand } from '../command.js'
import { CommandExit, EXIT } from '../errors.js'
import { colours, line, many, printable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { conversationNamed } from '../find-conversation.js'
import { titlesOf, type Titles } from '../../../library/titles.js'
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
  requests: readonly KeyRequest[],
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
  const { contexts, summaries, toolResults } = seenBy
  if (contexts.length > 0)
    await line(
      `  in the context of ${listed(contexts.map(({ answerId, revision, isNamed }) => `answer ${printable(answerId)} (revision ${String(revision)}${isNamed ? '' : ', assumed'})`))}`,
    )
  if (summaries.length > 0)
    await line(
      `  read for ${listed(summaries.map(({ revision, model }) => `the summary at revision ${String(revision)} by ${printable(model ?? 'another program')}`))}`,
    )
  if (toolResults.length > 0)
    await line(
      `  repeated by ${listed(toolResults.map(({ revision, tool }) => `tool ${printable(tool ?? 'without a recorded call')} at revision ${String(revision)}`))}`,
    )
  if (requests.length > 0)
    await line(
      `  perhaps returned to ${listed(requests.map(({ at, keyId, route }) => `key ${printable(keyId)} (${route}, ${at})`))}`,
    )
}

export const secretsScan: CliCommand = {
  words: 'scan [conversation]',
  describe: 'Find secrets in recorded events, and the contexts, summaries and tools that had them',
  uses: ['open'],
  reads: true,
  positionals: { conversation: { type: 'string', describe: 'Id or title of the conversation' } },
  options: { all: toggle('Scan all conversations') },
  examples: [['$0 secrets scan --all --json', 'for a check in CI: the exit status is 4 if secrets are recorded']],
  async run(args) {
    const named = args.text('conversation')
    if ((named === undefined) === !args.is('all'))
      throw new LedgerError('Usage', 'name one conversation, or scan all conversations with --all')
    const { keyRequests } = await import('../reports/key-requests.js')
    await withLedger(args.flags, { reads: true }, async ({ ledger, stores }) => {
      const conversationId = named === undefined ? undefined : await conversationNamed(ledger, named)
      const { conversations, secrets } = await ledger.admin.secrets.scan(
        conversationId === undefined ? {} : { conversationId },
      )
      const requests = await keyRequests(stores.keys, secrets)
      // An id or a title from before redaction may have a secret itself.
      const redact = await ledger.admin.secrets.redactor({ redaction: 'on' })
      if (args.json)
        await line(
          toWire({
            conversations,
            secrets: secrets.map((secret) => redact({ ...secret, requests: requests.get(secret) ?? [] })),
          }),
        )
      else {
        const titles = await titlesOf(
          ledger,
          secrets.map((secret) => secret.conversationId),
        )
        const safeTitles = new Map(redact([...titles]))
        for (const secret of secrets) await showSecret(redact(secret), requests.get(secret) ?? [], safeTitles)
        const where = many(conversations, 'conversation')
        await line(
          secrets.length === 0
            ? `${colours.green('no secrets')} in ${where}`
            : `${colours.red(many(secrets.length, 'secret'))} in ${where}. Searches and exports on this machine are not recorded and may have shown them too. Revoke each secret at its provider.`,
        )
      }
      if (secrets.length > 0) throw new CommandExit(EXIT.untrusted)
    })
  },
}
