/** Titles of conversations, for commands that print ids. */
import type { Ledger, ListOptions } from '../library/ledger.js'
import { brief, colours, printable } from './output.js'

/** Titles by conversation id. */
export type Titles = ReadonlyMap<string, string>

/** From this number on, one list is read instead of a row for each conversation. */
const FEW = 10
const TITLE_CHARACTERS = 60

/** The titles of these conversations, as far as the read models have them. A title is an addition, so this never fails. */
export async function titlesOf(ledger: Pick<Ledger, 'list'>, conversationIds: Iterable<string>): Promise<Titles> {
  const ids = [...new Set(conversationIds)]
  const options: readonly ListOptions[] =
    ids.length > FEW ? [{}] : ids.map((prefix) => ({ prefix, sort: 'id', limit: 1 }))
  const lists = await Promise.all(options.map((each) => ledger.list(each))).catch(() => [])
  const rows = lists.flatMap(({ conversations }) => conversations)
  return new Map(rows.flatMap(({ conversationId, title }) => (title === undefined ? [] : [[conversationId, title]])))
}

/** An id with its title. */
export function idWithTitle(conversationId: string, titles: Titles): string {
  const title = titles.get(conversationId)
  const id = colours.bold(printable(conversationId))
  return title === undefined ? id : `${id} "${brief(title, TITLE_CHARACTERS)}"`
}
