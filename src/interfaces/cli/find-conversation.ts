/**
 * Finds the conversation that a person named: by its id, by the beginning of its id or title, or by words of either.
 * Only the command line does this: the caller of the library may be a tenant that must not see other ids.
 */
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import type { ConversationSummary, Ledger } from '../../library/ledger.js'
import { titlesOf } from '../../library/titles.js'
import { mostSimilar } from '../../domain/text/similar.js'
import { many, note, noteColours, printable } from './output.js'

/** Conversations that an error message names. */
const MOST_NAMED = 10
const NEAREST = 3

type Named = Pick<ConversationSummary, 'conversationId' | 'title'>
export type SearchedLedger = Pick<Ledger, 'log' | 'list'>

/** The id without the name of its program: `3f0c2a54-…` of `claude-code/3f0c2a54-…`. */
const ownIdOf = ({ conversationId }: Pick<Named, 'conversationId'>): string =>
  conversationId.slice(conversationId.indexOf('/') + 1)

/** Whether a word of the title begins with this. A script without spaces has no words, so any part of it counts. */
function hasWord(title: string, word: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (!/^[\0-\u007f]*$/u.test(word)) return title.includes(word)
  for (let at = title.indexOf(word); at !== -1; at = title.indexOf(word, at + 1))
    if (!/[\p{L}\p{N}]/u.test(title.slice(Math.max(0, at - 1), at))) return true
  return false
}

const hasWords = (text: string, name: string): boolean =>
  name.split(/\s+/u).every((word) => hasWord(text.toLowerCase(), word))

/** Ways to name a conversation. The first that finds any counts. */
const WAYS: readonly ((name: string, row: Named) => boolean)[] = [
  (name, row) => row.conversationId.toLowerCase().startsWith(name) || ownIdOf(row).toLowerCase().startsWith(name),
  (name, { title = '' }) => title.toLowerCase() === name,
  (name, { title = '' }) => title.toLowerCase().startsWith(name),
  (name, { title = '' }) => hasWords(title, name),
  (name, { title = '', ...row }) => hasWords(`${title} ${ownIdOf(row)}`, name),
]

/** A word that is a placeholder for a conversation in the documentation and in the help, typed as it is written there. */
const isPlaceholder = (name: string): boolean =>
  /^(?:SESSION|CONVERSATION|CONV|ID)$/u.test(name) || /^[<[](?:session|conversation|conv|id)[>\]]$/iu.test(name)

/** The conversations that the name may mean; empty if none. */
export function conversationsMeant<Row extends Named>(name: string, rows: readonly Row[]): readonly Row[] {
  const searched = name.trim().toLowerCase()
  if (searched === '') return []
  return WAYS.map((way) => rows.filter((row) => way(searched, row))).find((found) => found.length > 0) ?? []
}

/** Whether a conversation has exactly this id. */
async function exists(ledger: SearchedLedger, conversationId: string): Promise<boolean> {
  try {
    for await (const _first of ledger.log(conversationId, { limit: 1 })) return true
    return false
  } catch (error) {
    // A key of a service may not read the log. The list has the exact id too.
    if (isLedgerError(error, 'NoSuchConversation', 'BadId', 'BadInput', 'RoleMissing')) return false
    // It exists but cannot be read, which the command reports.
    return true
  }
}

const linesOf = (rows: readonly Named[]): string =>
  rows
    .map(
      ({ conversationId, title }) =>
        `\n  ${printable(conversationId)}${title === undefined ? '' : `  ${printable(title)}`}`,
    )
    .join('')

const namedOf = ({ conversationId, title }: Named): Named =>
  title === undefined ? { conversationId } : { conversationId, title }

/** How to fill an empty ledger. */
export const HOW_TO_FILL =
  'the ledger is empty: `context-ledger start` imports the sessions of agents on this machine, `context-ledger import FILE` records one'

function unknown(name: string, rows: readonly Named[]): LedgerError {
  const nearest = mostSimilar(name, rows, (row) => [row.conversationId, ownIdOf(row), row.title ?? ''], NEAREST)
  const more =
    rows.length === 0
      ? `; ${HOW_TO_FILL}`
      : `; \`context-ledger list\` lists the conversations. The nearest:${linesOf(nearest)}`
  return new LedgerError('NoSuchConversation', `there is no conversation "${printable(name)}" in this ledger${more}`, {
    details: { conversationId: name, nearest: nearest.map(namedOf) },
  })
}

function placeholder(name: string, rows: readonly Named[]): LedgerError {
  const latest = rows.length === 0 ? `; ${HOW_TO_FILL}` : `. The latest:${linesOf(rows.slice(0, NEAREST))}`
  return new LedgerError(
    'NoSuchConversation',
    `${printable(name)} is a placeholder for a conversation: replace it by the beginning of an id or words of a title; \`context-ledger list\` lists the conversations${latest}`,
    { details: { conversationId: name, nearest: rows.slice(0, NEAREST).map(namedOf) } },
  )
}

function several(name: string, found: readonly Named[]): LedgerError {
  const rest = found.length - MOST_NAMED
  return new LedgerError(
    'SeveralConversations',
    `"${printable(name)}" may mean ${many(found.length, 'conversation')}; use more of its id or title:${linesOf(found.slice(0, MOST_NAMED))}${rest > 0 ? `\n  and ${many(rest, 'more conversation')}` : ''}`,
    { details: { name, conversations: found.slice(0, MOST_NAMED).map(namedOf) } },
  )
}

/** When the id and title are written to standard error: if a name was resolved, or always. */
type Announced = 'resolved' | 'always'

/** For a command that prints results of one conversation. A JSON document has the id. */
export const announced = ({ json }: { readonly json: boolean }): Announced => (json ? 'resolved' : 'always')

const announce = (row: Named): void => {
  note(noteColours.dim(linesOf([row]).trim()))
}

/** The id of the named conversation. Throws if there is none, or several. */
export async function conversationNamed(
  ledger: SearchedLedger,
  name: string,
  when: Announced = 'resolved',
): Promise<string> {
  if (name.trim() === '') return name
  if (await exists(ledger, name)) {
    const title = when === 'always' ? (await titlesOf(ledger, [name])).get(name) : undefined
    if (title !== undefined) announce({ conversationId: name, title })
    return name
  }
  const { conversations } = await ledger.list()
  if (conversations.some(({ conversationId }) => conversationId === name)) return name
  if (isPlaceholder(name) && !conversations.some(({ title }) => title === name)) throw placeholder(name, conversations)
  const found = conversationsMeant(name, conversations)
  const [only] = found
  if (only === undefined) throw unknown(name, conversations)
  if (found.length > 1) throw several(name, found)
  announce(only)
  return only.conversationId
}

/** The ids of the named conversations, each once. */
export async function conversationsNamed(ledger: SearchedLedger, names: readonly string[]): Promise<readonly string[]> {
  const ids = new Set<string>()
  for (const name of names) ids.add(await conversationNamed(ledger, name))
  return [...ids]
}
