/** The search in all messages: a form, and the hits by conversation. */
import type { Child } from 'hono/jsx'
import type { SearchHit } from '../../../library/ledger.js'
import { link } from '../links.js'
import { AUTHORS, isAuthor, MAX_SAID, type Author, type Hits } from '../reading/search-hits.js'
import { HitList } from './conversation.js'
import { many, Name } from './text.js'

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

function Results({ found, names }: { found: Hits; names: ReadonlyMap<string, string> }): Child {
  const { query, said, results, behind } = found
  const conversations = new Set([...said, ...results].map(({ conversationId }) => conversationId))
  return (
    <>
      {behind === undefined ? null : <p class="note warn">The read models lag by {many(behind.events, 'event')}.</p>}
      <p class="muted">
        {said.length < MAX_SAID ? many(said.length, 'hit') : `Top ${many(MAX_SAID, 'hit')}`}
        {results.length === 0
          ? null
          : ` and ${many(results.length, 'tool call or result', 'tool calls and results')}`}{' '}
        for <Name text={query} />
      </p>
      {[...conversations].map((c) => {
        const isHere = ({ conversationId }: SearchHit): boolean => conversationId === c
        return (
          <section class="card">
            <h2>
              <a href={link('/conversation', { c, q: query })}>
                <Name text={names.get(c) ?? c} most={110} />
              </a>
            </h2>
            <HitList found={{ ...found, said: said.filter(isHere), results: results.filter(isHere) }} />
          </section>
        )
      })}
      {conversations.size > 0 ? null : <p class="empty">Nothing found. Fewer or other words may help.</p>}
    </>
  )
}

export function SearchView({
  query,
  scope,
  from,
  found,
  names,
}: {
  query: string | undefined
  scope: string | undefined
  /** Only messages of this author. */
  from: Author | undefined
  found: Hits | undefined
  /** Names of the conversations for people. */
  names: ReadonlyMap<string, string>
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
          <Results found={found} names={names} />
        </>
      )}
    </>
  )
}
