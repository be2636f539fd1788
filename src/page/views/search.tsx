/** The search in all messages: a form, and the hits by conversation. */
import type { Child } from 'hono/jsx'
import type { Ledger } from '../../library/ledger.js'
import type { Titles } from '../../library/titles.js'
import { link } from '../links.js'
import { HitList } from './conversation.js'
import { many, Name } from './text.js'

type Found = Awaited<ReturnType<Ledger['search']>>

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
  found,
  titles,
  most,
}: {
  query: string | undefined
  scope: string | undefined
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
        <Results query={query} found={found} titles={titles} most={most} />
      )}
    </>
  )
}
