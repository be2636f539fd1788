import type { Ledger } from '../../library/ledger.js'
import { text, waiting, waitOf, type Command } from '../command.js'
import { InputError } from '../errors.js'
import { line, toJson } from '../output.js'
import { withLedger } from '../session.js'

const KINDS = ['all', 'messages', 'batches'] as const
const MOST_HITS = 10_000
/** Vectors that a search makes first: one request. */
const VECTORS_AT_ONCE = 64

export const search: Command = {
  words: 'search [query..]',
  describe: 'Search messages and summaries',
  reads: true,
  positionals: { query: { type: 'string', array: true, describe: 'What to look for' } },
  options: {
    conversation: text('Stay in this conversation'),
    scope: text('Search the conversations of this scope [default: those without one]'),
    limit: text('Hits at most [default: 10]'),
    include: text('What to search [default: all]', KINDS),
    queries: text('JSON Lines of { query, conversationId?, limit? }, each answered by one line { hits }'),
    ...waiting,
  },
  async run(given) {
    const words = given.words('query')
    const file = given.text('queries')
    const most = given.whole('limit')
    const conversation = given.text('conversation')
    const scope = given.text('scope')
    const wait = waitOf(given)
    if (words.length === 0 && file === undefined) throw new InputError('Usage', 'give a query, or --queries FILE')
    if (words.length > 0 && file !== undefined) throw new InputError('Usage', 'give a query or --queries, not both')
    if (most !== undefined && (most < 1 || most > MOST_HITS))
      throw new InputError('Usage', '--limit must be a whole number from 1 to 10000')
    const optionsOf = (
      conversationId: string | undefined,
      limit: number | undefined,
    ): Parameters<Ledger['search']>[1] => ({
      include: given.oneOf('include', KINDS),
      ...wait,
      ...(conversationId === undefined ? {} : { conversationId }),
      ...(conversationId === undefined && scope !== undefined ? { scope } : {}),
      ...(limit === undefined ? {} : { limit }),
    })
    const [{ tellingCatchUp }, { resultDocument, showHits }] = await Promise.all([
      import('../catching-up.js'),
      import('../reports/hits.js'),
    ])
    // Nothing is made behind a command that ends right away. Where few vectors are missing they are made first; where
    // many are, it is said what makes them.
    await withLedger(given.flags, { reads: true, searches: true, ahead: false }, async ({ ledger, config }) => {
      if (config.embeddingModel !== undefined)
        await ledger.projections.fillVectors({ limit: VECTORS_AT_ONCE }).catch((failure: unknown) => failure)
      if (file !== undefined) {
        const { answerQueries } = await import('../query-file.js')
        await answerQueries(file, async ({ query, conversationId = conversation, limit = most }) => {
          const found = await tellingCatchUp(ledger.projections, () =>
            ledger.search(query, optionsOf(conversationId, limit)),
          )
          await line(toJson(resultDocument(found)))
        })
        return
      }
      const found = await tellingCatchUp(ledger.projections, () =>
        ledger.search(words.join(' '), optionsOf(conversation, most)),
      )
      if (given.json) await line(toJson(resultDocument(found)))
      else await showHits(found)
    })
  },
}
