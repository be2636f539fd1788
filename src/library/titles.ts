/** Titles of conversations, for entry points that name them. */
import type { Ledger, ListOptions } from './ledger.js'

/** Titles by conversation id. */
export type Titles = ReadonlyMap<string, string>

/** From this number on, one list is read instead of a row for each conversation. */
const FEW = 10

/** The titles of these conversations, as far as the read models have them. A title is an addition, so this never fails. */
export async function titlesOf(ledger: Pick<Ledger, 'list'>, conversationIds: Iterable<string>): Promise<Titles> {
  const ids = [...new Set(conversationIds)]
  const options: readonly ListOptions[] =
    ids.length > FEW ? [{}] : ids.map((prefix) => ({ prefix, sort: 'id', limit: 1 }))
  const lists = await Promise.all(options.map((each) => ledger.list(each))).catch(() => [])
  const wanted = new Set(ids)
  return new Map(
    lists
      .flatMap(({ conversations }) => conversations)
      .flatMap(({ conversationId, title }) =>
        title === undefined || !wanted.has(conversationId) ? [] : [[conversationId, title]],
      ),
  )
}
