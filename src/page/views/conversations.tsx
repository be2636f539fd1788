/** The list of conversations: searched, filtered and sorted, each with its sizes and what is known of it. */
import type { Child } from 'hono/jsx'
import type { ConversationList, ConversationOrder, ConversationSummary } from '../../library/ledger.js'
import type { RowDetails } from '../reading/rows.js'
import { standingOf, STANDINGS, type Standing, type ToldVerdict } from '../reading/verdicts.js'
import { conversationLink, link } from '../links.js'
import { count, many, Name, Time, seen } from './text.js'

/** What the list goes by, as it was asked for. */
export interface ListAsked {
  readonly match: string | undefined
  readonly scope: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  /** What is known of a proof. */
  readonly verified: Standing | undefined
  readonly sort: ConversationOrder
  readonly page: number
}

const STANDING_NAMES: Readonly<Record<Standing, string>> = {
  verified: 'verified',
  'not-verified': 'not verified',
  never: 'never verified',
}

/** What is known of a proof, in a word, and when it was made. */
function VerdictWord({ told, head }: { told: ToldVerdict | undefined; head: bigint }): Child {
  if (told === undefined) return <span class="muted">never</span>
  const { refusal, problems, revision, at } = told
  return (
    <>
      {refusal !== undefined ? (
        <span class="warn">refused</span>
      ) : problems > 0 ? (
        <strong class="bad">{many(problems, 'problem')}</strong>
      ) : standingOf(told, head) === 'verified' ? (
        <span class="good">verified</span>
      ) : (
        <span class="warn">up to revision {count(revision)}</span>
      )}{' '}
      <span class="facts">
        <Time at={at} />
      </span>
    </>
  )
}

/** The cells of a row that are read from the log. */
export function RowCells({ details }: { details: RowDetails | undefined }): Child {
  return (
    <>
      <td class="time" data-label="last cycle">
        {details?.lastCycle === undefined ? (
          <span class="muted">{details === undefined ? '…' : 'none'}</span>
        ) : (
          <Time at={details.lastCycle.recordedAt} />
        )}
      </td>
      <td data-label="by">
        {details === undefined ? <span class="muted">…</span> : <Name text={details.recordedBy} most={28} />}
      </td>
    </>
  )
}

function Row({
  row,
  details,
  told,
}: {
  row: ConversationSummary
  details: RowDetails | undefined
  told: ToldVerdict | undefined
}): Child {
  const { conversationId: c } = row
  return (
    <tr data-row={details === undefined ? link('/row', { c }) : undefined}>
      <th scope="row">
        <a href={conversationLink({ c })}>
          <Name text={c} most={70} />
        </a>
        {row.stopped === undefined ? null : <span class="bad"> stopped: {seen(row.stopped)}</span>}
      </th>
      <td class="n" data-label="messages">
        {count(row.messages)}
      </td>
      <td class="n" data-label="live">
        {count(row.liveMessages)}
      </td>
      <td class="n" data-label="live tokens">
        {count(row.liveTokens)}
      </td>
      <td class="n" data-label="cycles">
        {count(row.cycles)}
      </td>
      <td class="time" data-label="recorded">
        <Time at={row.lastRecordedAt} />
      </td>
      <RowCells details={details} />
      <td data-label={row.scope === undefined ? undefined : 'scope'}>
        {row.scope === undefined ? null : <Name text={row.scope} most={24} />}
      </td>
      <td data-label="verified">
        <a class="plain" href={link('/verify', { c })}>
          <VerdictWord told={told} head={row.revision} />
        </a>
      </td>
    </tr>
  )
}

const ORDERS: readonly (readonly [ConversationOrder, string])[] = [
  ['updated', 'last recorded'],
  ['messages', 'messages'],
  ['tokens', 'live tokens'],
  ['id', 'id'],
]

function Head({ asked, order, children }: { asked: ListAsked; order: ConversationOrder; children?: Child }): Child {
  return (
    <th
      scope="col"
      class={order === 'messages' || order === 'tokens' ? 'n' : undefined}
      aria-sort={asked.sort === order ? (order === 'id' ? 'ascending' : 'descending') : undefined}
    >
      <a href={link('/', { ...asked, page: undefined, sort: order })}>{children}</a>
    </th>
  )
}

/** The list. */
export function Conversations({
  asked,
  list,
  more,
  detailsOf,
  toldOf,
}: {
  asked: ListAsked
  list: ConversationList
  /** Whether there are further ones behind these. */
  more: boolean
  detailsOf: (row: ConversationSummary) => RowDetails | undefined
  toldOf: (conversationId: string) => ToldVerdict | undefined
}): Child {
  const { conversations, unlisted = [], behind } = list
  const filtered = [asked.match, asked.scope, asked.since, asked.until, asked.verified].some(
    (each) => each !== undefined,
  )
  return (
    <>
      <h1 class="title">Conversations</h1>
      <form class="filters" action="/">
        <label>
          Id has
          <input type="search" name="match" value={asked.match} data-filter />
        </label>
        <label>
          Scope
          <input name="scope" value={asked.scope} />
        </label>
        <label>
          Last recorded since
          <input name="since" value={asked.since} placeholder="2026-03-01T00:00:00Z" />
        </label>
        <label>
          before
          <input name="until" value={asked.until} placeholder="2026-04-01T00:00:00Z" />
        </label>
        <label>
          Verified
          <select name="verified">
            <option value="">any</option>
            {STANDINGS.map((standing) => (
              <option value={standing} selected={standing === asked.verified}>
                {STANDING_NAMES[standing]}
              </option>
            ))}
          </select>
        </label>
        <label>
          Sorted by
          <select name="sort">
            {ORDERS.map(([order, name]) => (
              <option value={order} selected={order === asked.sort}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit">Show</button>
        {filtered ? (
          <a class="plain" href="/">
            all
          </a>
        ) : null}
      </form>
      <p class="muted">
        A proof is known where somebody asked this page for one, since it was started:{' '}
        <a href={link('/verify', { run: 1 })}>verify all</a>, or one in its row. Not verified: it found a problem, was
        refused, or is older than the last fact.
      </p>
      {behind === undefined ? null : (
        <p class="note warn">The read models are behind by {many(behind.events, 'event')}.</p>
      )}
      {unlisted.map(({ conversationId, reason }) => (
        <p class="note bad">
          <Name text={conversationId} /> is stopped: {seen(reason)}
        </p>
      ))}
      {conversations.length === 0 ? (
        <p class="empty">{filtered ? 'No conversation is like that.' : 'No conversations so far.'}</p>
      ) : (
        <div class="wide" role="region" aria-label="Conversations" tabindex={0}>
          <table class="rows cards">
            <thead>
              <tr>
                <Head asked={asked} order="id">
                  Conversation
                </Head>
                <Head asked={asked} order="messages">
                  Messages
                </Head>
                <th scope="col" class="n">
                  Live
                </th>
                <Head asked={asked} order="tokens">
                  Live tokens
                </Head>
                <th scope="col" class="n">
                  Cycles
                </th>
                <Head asked={asked} order="updated">
                  Last recorded (UTC)
                </Head>
                <th scope="col">Last cycle</th>
                <th scope="col">Program or person</th>
                <th scope="col">Scope</th>
                <th scope="col">Verified (UTC)</th>
              </tr>
            </thead>
            <tbody>
              {conversations.map((row) => (
                <Row row={row} details={detailsOf(row)} told={toldOf(row.conversationId)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="pages">
        {asked.page > 0 ? <a href={link('/', { ...asked, page: asked.page - 1 })}>previous</a> : null}
        {more ? <a href={link('/', { ...asked, page: asked.page + 1 })}>next</a> : null}
      </p>
    </>
  )
}
