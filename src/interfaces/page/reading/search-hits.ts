/** The hits of a search: messages of people and of the model, and separately the calls and results of tools, which are many. */
import type { Ledger, SearchHit } from '../../../library/ledger.js'
import { onlyCalls, toolsOfHits } from './tool-names.js'

/** The authors that a search can be limited to. */
export const AUTHORS = {
  user: { name: 'Users', roles: ['user'] },
  assistant: { name: 'Assistants', roles: ['assistant'] },
  tool: { name: 'Tool results', roles: ['tool'] },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly roles: readonly string[] }>>
export type Author = keyof typeof AUTHORS
export const isAuthor = (text: string | undefined): text is Author => text !== undefined && Object.hasOwn(AUTHORS, text)

export interface Hits {
  readonly query: string
  /** Messages of people and of the model, and summaries; the best first. */
  readonly said: readonly SearchHit[]
  /** Results of tools, and messages that only call tools. */
  readonly results: readonly SearchHit[]
  /** The tools of results, as far as they are known. */
  readonly tools: ReadonlyMap<SearchHit, string>
  /** How far the read models lag. */
  readonly behind: { readonly events: number } | undefined
}

/** Hits of people and the model. */
export const MAX_SAID = 50
/** Calls and results of tools; reading the name of a tool reads a part of a log. */
const MAX_RESULTS = 20
/** Hits that are read from the log to find those that only call tools. */
const MAX_READ = 2 * MAX_SAID

/** Searches. Hits are chosen from more than are shown, because most are results of tools. */
export async function searchHits(
  ledger: Pick<Ledger, 'search' | 'log'>,
  query: string,
  options: { readonly conversationId?: string; readonly scope?: string; readonly author?: Author | undefined },
): Promise<Hits> {
  const { author, ...within } = options
  const { hits, behind } = await ledger.search(query, { ...within, limit: MAX_SAID * 10 })
  const roles: readonly string[] | undefined = author === undefined ? undefined : AUTHORS[author].roles
  const matching = hits.filter(({ role = '' }) => roles === undefined || roles.includes(role))
  const calls = await onlyCalls(ledger, matching.filter(({ role }) => role !== 'tool').slice(0, MAX_READ))
  const isOfTools = (hit: SearchHit): boolean => hit.role === 'tool' || calls.has(hit)
  const results = matching.filter(isOfTools).slice(0, MAX_RESULTS)
  return {
    query,
    said: matching.filter((hit) => !isOfTools(hit)).slice(0, MAX_SAID),
    results,
    tools: await toolsOfHits(ledger, results),
    behind,
  }
}
