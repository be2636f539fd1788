import { LedgerError } from '../../../lib/ledger-error.js'
import type { Ledger } from '../../../library/ledger.js'
import { callFlags } from '../call-flags.js'
import { text, waiting, waitOf, type CliCommand } from '../command.js'
import { line } from '../output.js'
import { conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

const call = callFlags(async () => (await import('../../../schema/calls/conversations.js')).search, {
  omitted: ['waitFor', 'timeout', 'conversationId'],
})
/** Missing vectors that a search computes first, in one request. */
const VECTORS_PER_REQUEST = 64

export const search: CliCommand = {
  words: 'search [query..]',
  describe: 'Search messages and summaries',
  uses: ['open', 'search'],
  reads: true,
  call,
  positionals: { query: { type: 'string', array: true, describe: 'Words to search for' } },
  options: {
    conversation: text('Search only this conversation'),
    queries: text('JSON Lines of { query, conversationId?, limit? }; prints one line { hits } for each'),
    ...waiting,
  },
  async run(args) {
    const words = args.words('query')
    const file = args.text('queries')
    const named = args.text('conversation')
    const { limit: maxHits, scope, ...given } = await call.read(args)
    const wait = waitOf(args)
    if (words.length === 0 && file === undefined) throw new LedgerError('Usage', 'pass a query or --queries FILE')
    if (words.length > 0 && file !== undefined) throw new LedgerError('Usage', 'pass a query or --queries, not both')
    const optionsOf = (
      conversationId: string | undefined,
      limit: number | undefined,
    ): Parameters<Ledger['search']>[1] => ({
      ...given,
      ...wait,
      ...(conversationId === undefined ? {} : { conversationId }),
      ...(conversationId === undefined && scope !== undefined ? { scope } : {}),
      ...(limit === undefined ? {} : { limit }),
    })
    const [{ withCatchUpProgress }, { resultDocument, showHits }] = await Promise.all([
      import('../catching-up.js'),
      import('../reports/hits.js'),
    ])
    // A short command cannot compute vectors in the background. It computes a few missing vectors first. If many are
    // missing, the output names the command that computes them.
    await withLedger(args.flags, { reads: true, searches: true, ahead: false }, async ({ ledger, config }) => {
      const conversation = named === undefined ? undefined : await conversationNamed(ledger, named)
      if (config.embeddingModel !== undefined)
        await ledger.admin.projections.fillVectors({ limit: VECTORS_PER_REQUEST }).catch((failure: unknown) => failure)
      if (file !== undefined) {
        const { answerQueries } = await import('../query-file.js')
        await answerQueries(file, async ({ query, conversationId = conversation, limit = maxHits }) => {
          const found = await withCatchUpProgress(ledger.admin.projections, () =>
            ledger.search(query, optionsOf(conversationId, limit)),
          )
          await line(toWire(resultDocument(found)))
        })
        return
      }
      const found = await withCatchUpProgress(ledger.admin.projections, () =>
        ledger.search(words.join(' '), optionsOf(conversation, maxHits)),
      )
      if (args.json) await line(toWire(resultDocument(found)))
      else {
        const { titlesOf } = await import('../../../library/titles.js')
        await showHits(
          found,
          await titlesOf(
            ledger,
            found.hits.map((hit) => hit.conversationId),
          ),
        )
      }
    })
  },
}
