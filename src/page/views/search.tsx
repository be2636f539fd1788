/** The search in all messages: a form, and the hits by conversation. */
import type { Child } from 'hono/jsx'
import type { Ledger } from '../../library/ledger.js'
import type { Titles } from '../../library/titles.js'
import { link } from '../links.js'
import { HitList } from './conversation.js'
import { many, Name } from './text.js'

type Found = Awaited<ReturnType<Ledger['search']>>

/** The authors that a search can be limited to. */
export const AUTHORS = {
  user: { name: 'Users', roles: ['user'] },
  assistant: { name: 'Assistants', roles: ['assistant'] },
  tool: { name: 'Tool results', roles: ['tool'] },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly roles: readonly string[] }>>
export type Author = keyof typeof AUTHORS
export const isAuthor = (text: string | undefined): text is Author => text !== undefined && Object.hasOwn(AUTHORS, text)

/** Links that limit the search to an author. */
function AuthorLinks({
  query,
  scope,
  from,
}: {
  query: string
  scope: string | undefined
  from: Author | undefined
}): Child {
  const choices: readonly (readonly [Author | undefined, string])[] = [
    [undefined, 'Everything'],
    ...Object.entries(AUTHORS).flatMap(([author, { name }]) => (isAuthor(author) ? [[author, name] as const] : [])),
  ]
  return (
    <p class="choices">
      {choices.map(([author, name]) => (
        <a
          href={link('/search', { q: query, scope, from: author })}
          aria-current={author === from ? 'true' : undefined}
        >
          {name}
        </a>
      ))}
    </p>
  )
}

function Results({ query, found, titles, most }: { query: string; found: Found; titles: Titles; most: number }): Child {
  const conversations = new Set(found.hits.map(({ conversationId }) => conversationId))
  return (
    <>
      {found.behind === undefined ? null : (
        <p class="note warn">The read models lag by {many(found.behind.events, 'event')}.</p>
      )}
      <p class="muted">
        {found.hits.length < most ? many(found.hits.length, 'hit') : `The best ${many(most, 'hit')}`} for{' '}
        <Name text={query} />
      </p>
      {[...conversations].map((c) => (
        <section class="card">
          <h2>
            <a href={link('/conversation', { c, q: query })}>
              <Name text={titles.get(c) ?? c} most={110} />
            </a>
          </h2>
          <HitList query={query} hits={found.hits.filter(({ conversationId }) => conversationId === c)} />
        </section>
      ))}
      {found.hits.length > 0 ? null : <p class="empty">Nothing found. Fewer or other words may help.</p>}
    </>
  )
}

export function SearchView({
  query,
  scope,
  from,
  found,
  titles,
  most,
}: {
  query: string | undefined
  scope: string | undefined
  /** Only messages of this author. */
  from: Author | undefined
  found: Found | undefined
  titles: Titles
  /** The search stops at this number of hits. */
  most: number
}): Child {
  return (
    <>
      <h1 class="title">Search all messages</h1>
      <form class="filters" action="/search">
        <label>
          Words
          <input type="search" name="q" value={query} data-search />
        </label>
        <label>
          Scope
          <input name="scope" value={scope} placeholder="all" />
        </label>
        <button type="submit">Search</button>
      </form>
      {found === undefined || query === undefined ? null : (
        <>
          <AuthorLinks query={query} scope={scope} from={from} />
          <Results query={query} found={found} titles={titles} most={most} />
        </>
      )}
    </>
  )
}
