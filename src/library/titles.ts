/** Titles of conversations, for entry points that name them. */
import type { ConversationSummary, Ledger, ListOptions } from './ledger.js'

/** Titles by conversation id. */
export type Titles = ReadonlyMap<string, string>

/** From this number on, one list is read instead of a row for each conversation. */
const FEW = 10

/** These conversations, as far as the read models have them. A name is an addition, so this never fails. */
export async function summariesOf(
  ledger: Pick<Ledger, 'list'>,
  conversationIds: Iterable<string>,
): Promise<ReadonlyMap<string, ConversationSummary>> {
  const ids = [...new Set(conversationIds)]
  const options: readonly ListOptions[] =
    ids.length > FEW ? [{}] : ids.map((prefix) => ({ prefix, sort: 'id', limit: 1 }))
  const lists = await Promise.all(options.map((each) => ledger.list(each))).catch(() => [])
  const untitled = new Set(ids)
  return new Map(
    lists
      .flatMap(({ conversations }) => conversations)
      .flatMap((row) => (untitled.has(row.conversationId) ? [[row.conversationId, row]] : [])),
  )
}

/** The titles of these conversations, of those that have one. */
export async function titlesOf(ledger: Pick<Ledger, 'list'>, conversationIds: Iterable<string>): Promise<Titles> {
  const summaries = await summariesOf(ledger, conversationIds)
  return new Map([...summaries].flatMap(([id, { title }]) => (title === undefined ? [] : [[id, title]])))
}
