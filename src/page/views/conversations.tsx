/** The list of conversations, with filters, sizes and verification status. */
import type { Child } from 'hono/jsx'
import type { ConversationList, ConversationOrder, ConversationSummary } from '../../library/ledger.js'
import type { RowDetails } from '../reading/rows.js'
import { verifyStatusOf, VERIFY_STATUSES, type VerifyStatus, type VerdictSummary } from '../reading/verdicts.js'
import { conversationLink, link } from '../links.js'
import { count, many, Name, Time, visible } from './text.js'

/** The filters and the order of the list. */
export interface ListQuery {
  readonly match: string | undefined
  readonly scope: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  /** Verification status. */
  readonly verified: VerifyStatus | undefined
  readonly sort: ConversationOrder
  readonly page: number
}

const STATUS_NAMES: Readonly<Record<VerifyStatus, string>> = {
  verified: 'verified',
  'not-verified': 'failed or outdated',
  never: 'not checked',
}

/** The verification status, and its time. */
function VerdictCell({ latest, head }: { latest: VerdictSummary | undefined; head: bigint }): Child {
  if (latest === undefined) return <span class="muted">not checked</span>
  const { refusal, problems, revision, at } = latest
  return (
    <>
      {refusal !== undefined ? (
        <span class="warn">not possible</span>
      ) : problems > 0 ? (
        <strong class="bad">{many(problems, 'problem')}</strong>
      ) : verifyStatusOf(latest, head) === 'verified' ? (
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

/** The cells with details from the log. */
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
  latest,
}: {
  row: ConversationSummary
  details: RowDetails | undefined
  latest: VerdictSummary | undefined
}): Child {
  const { conversationId: c } = row
  return (
    <tr data-row={details === undefined ? link('/row', { c }) : undefined}>
      <th scope="row">
        <a href={conversationLink({ c })}>
          <Name text={c} most={70} />
        </a>
        {row.stopped === undefined ? null : <span class="bad"> stopped: {visible(row.stopped)}</span>}
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
        {count(row.compactions)}
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
          <VerdictCell latest={latest} head={row.revision} />
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

function Head({ query, order, children }: { query: ListQuery; order: ConversationOrder; children?: Child }): Child {
  return (
    <th
      scope="col"
      class={order === 'messages' || order === 'tokens' ? 'n' : undefined}
      aria-sort={query.sort === order ? (order === 'id' ? 'ascending' : 'descending') : undefined}
    >
      <a href={link('/', { ...query, page: undefined, sort: order })}>{children}</a>
    </th>
  )
}

/** The list. */
export function Conversations({
  query,
  list,
  more,
  detailsOf,
  latestOf,
}: {
  query: ListQuery
  list: ConversationList
  /** Whether there are more pages. */
  more: boolean
  detailsOf: (row: ConversationSummary) => RowDetails | undefined
  latestOf: (conversationId: string) => VerdictSummary | undefined
}): Child {
  const { conversations, unlisted = [], behind } = list
  const filtered = [query.match, query.scope, query.since, query.until, query.verified].some(
    (each) => each !== undefined,
  )
  return (
    <>
      <h1 class="title">Conversations</h1>
      <form class="filters" action="/">
        <label>
          Id contains
          <input type="search" name="match" value={query.match} data-filter />
        </label>
        <label>
          Scope
          <input name="scope" value={query.scope} />
        </label>
        <label>
          Last recorded since <input name="since" value={query.since} placeholder="2026-03-01T00:00:00Z" />
        </label>
        <label>
          before
          <input name="until" value={query.until} placeholder="2026-04-01T00:00:00Z" />
        </label>
        <label>
          Verified
          <select name="verified">
            <option value="">any</option>
            {VERIFY_STATUSES.map((status) => (
              <option value={status} selected={status === query.verified}>
                {STATUS_NAMES[status]}
              </option>
            ))}
          </select>
        </label>
        <label>
          Sorted by
          <select name="sort">
            {ORDERS.map(([order, name]) => (
              <option value={order} selected={order === query.sort}>
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
        Shows verification results from this session: <a href={link('/verify', { run: 1 })}>verify all</a>, or one
        conversation in its row. A result older than the last event is outdated.
      </p>
      {behind === undefined ? null : <p class="note warn">The read models lag by {many(behind.events, 'event')}.</p>}
      {unlisted.map(({ conversationId, reason }) => (
        <p class="note bad">
          <Name text={conversationId} /> is stopped: {visible(reason)}
        </p>
      ))}
      {conversations.length === 0 ? (
        <p class="empty">{filtered ? 'No conversations match.' : 'No conversations.'}</p>
      ) : (
        <div class="wide" role="region" aria-label="Conversations" tabindex={0}>
          <table class="rows cards">
            <thead>
              <tr>
                <Head query={query} order="id">
                  Conversation
                </Head>
                <Head query={query} order="messages">
                  Messages
                </Head>
                <th scope="col" class="n">
                  Live
                </th>
                <Head query={query} order="tokens">
                  Live tokens
                </Head>
                <th scope="col" class="n">
                  Cycles
                </th>
                <Head query={query} order="updated">
                  Last recorded (UTC)
                </Head>
                <th scope="col">Last cycle</th>
                <th scope="col">Recorded by</th>
                <th scope="col">Scope</th>
                <th scope="col">Verified (UTC)</th>
              </tr>
            </thead>
            <tbody>
              {conversations.map((row) => (
                <Row row={row} details={detailsOf(row)} latest={latestOf(row.conversationId)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="pages">
        {query.page > 0 ? <a href={link('/', { ...query, page: query.page - 1 })}>previous</a> : null}
        {more ? <a href={link('/', { ...query, page: query.page + 1 })}>next</a> : null}
      </p>
    </>
  )
}
