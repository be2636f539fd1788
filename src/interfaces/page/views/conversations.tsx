/** The start page: the latest conversations by day and project, with one field that filters and more filters in a fold. */
import type { Child } from 'hono/jsx'
import { defaultOrder } from '../../../domain/values/conversation-order.js'
import type { ConversationList, ConversationOrder, ConversationSummary } from '../../../library/ledger.js'
import { lastTime, nameOf } from '../reading/conversation-summary.js'
import type { RowDetails } from '../reading/rows.js'
import { verifyStatusOf, VERIFY_STATUSES, type VerifyStatus, type VerdictSummary } from '../reading/verdicts.js'
import { conversationLink, link } from '../links.js'
import { Spark } from './plot.js'
import { count, many, Name, oneLine, plain, visible } from './text.js'

/** The filters and the order of the list. */
export interface ListQuery {
  /** Words of the title, the project folder and messages. */
  readonly grep: string | undefined
  readonly person: string | undefined
  readonly program: string | undefined
  readonly project: string | undefined
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

/** The verification status, with its time as title; empty if this session did not verify the conversation. */
function VerdictNote({ latest, head }: { latest: VerdictSummary | undefined; head: number }): Child {
  if (latest === undefined) return null
  const { refusal, problems, revision, at } = latest
  return (
    <span title={`verified ${plain(at.slice(0, 19).replace('T', ' '))}`}>
      {refusal !== undefined ? (
        <span class="warn">could not be verified</span>
      ) : problems > 0 ? (
        <strong class="bad">{many(problems, 'problem')}</strong>
      ) : verifyStatusOf(latest, head) === 'verified' ? (
        <span class="good">verified</span>
      ) : (
        <span class="warn">verified up to event {count(revision)}</span>
      )}
    </span>
  )
}

/** The losses of a conversation. */
function Outcome({ row, details }: { row: ConversationSummary; details: RowDetails | undefined }): Child {
  const lost = row.lost ?? details?.lost ?? 0
  if (row.compactions === 0 && lost === 0) return <p class="outcome" />
  return (
    <p class="outcome">
      {many(row.compactions, 'compaction')}
      {lost === 0 ? null : (
        <>
          {', '}
          <a class="bad" href={link('/forgotten', { c: row.conversationId })}>
            {many(lost, 'loss', 'losses')}
          </a>
        </>
      )}
    </p>
  )
}

/** A conversation of the list. Without details, the browser fetches them. */
export function Entry({
  row,
  details,
  latest,
}: {
  row: ConversationSummary
  details: RowDetails | undefined
  latest: VerdictSummary | undefined
}): Child {
  const { conversationId: c, title, person, program, project, messages, scope, stopped } = row
  const at = lastTime(row)
  return (
    <li class="entry" data-row={details === undefined ? link('/row', { c }) : undefined}>
      <div>
        <a class="name" href={conversationLink({ c })} title={title === undefined ? undefined : plain(c.slice(0, 200))}>
          <Name text={nameOf(row)} most={110} />
        </a>
        <p class="facts">
          <time datetime={at}>
            <span class="date">{at.slice(0, 10)} </span>
            {at.slice(11, 16)}
          </time>
          {title === undefined ? <Name text={c} most={60} /> : null}
          {project === undefined ? null : <span title={plain(project)}>{visible(projectName(project))}</span>}
          {person === undefined ? null : (
            <a href={link('/', { person })} title="All conversations of this person">
              {visible(person)}
            </a>
          )}
          {program === undefined || title === undefined ? null : <span>{visible(program)}</span>}
          <span>{many(messages, 'message')}</span>
          {scope === undefined ? null : <Name text={scope} most={24} />}
          <VerdictNote latest={latest} head={row.revision} />
          {stopped === undefined ? null : <span class="bad">stopped: {visible(stopped)}</span>}
        </p>
      </div>
      {details === undefined ? <span class="spark" /> : <Spark course={details.course} />}
      <Outcome row={row} details={details} />
    </li>
  )
}

const DAY_MS = 86_400_000
const dayFormat = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

const monthFormat = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
/** Days that have a heading of their own. */
const DAYS = 7

/** The heading for a day in UTC: "Today", "Tuesday, 11 August 2026", and the month of an older day. */
function headingOf(day: string, now: Date): string {
  const time = Date.parse(day)
  if (Number.isNaN(time)) return day
  const age = Date.parse(now.toISOString().slice(0, 10)) - time
  if (age === 0) return 'Today'
  if (age === DAY_MS) return 'Yesterday'
  return age >= DAYS * DAY_MS ? monthFormat.format(time) : dayFormat.format(time)
}

/** Groups items by a key, in the order of their first items. */
function groupBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): ReadonlyMap<Key, readonly T[]> {
  const groups = new Map<Key, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}

/** The name of a project: the last part of its folder. */
export const projectName = (folder: string): string => folder.split(/[/\\]/u).findLast((part) => part !== '') ?? folder

interface ListProps {
  list: ConversationList
  query: ListQuery
  now: Date
  detailsOf: (row: ConversationSummary) => RowDetails | undefined
  latestOf: (conversationId: string) => VerdictSummary | undefined
}

/** The parent of a row that is listed with it; the row itself if there is none. */
function rootOf(row: ConversationSummary, rowsById: ReadonlyMap<string, ConversationSummary>): ConversationSummary {
  let root = row
  for (let steps = 0; steps < rowsById.size; steps += 1) root = rowsById.get(root.parentId ?? '') ?? root
  return root
}

type RowsProps = Pick<ListProps, 'detailsOf' | 'latestOf'> & { rows: readonly ConversationSummary[] }

const Entries = ({ rows, detailsOf, latestOf }: RowsProps): Child =>
  rows.map((row) => <Entry row={row} details={detailsOf(row)} latest={latestOf(row.conversationId)} />)

/** Conversations, each with its listed sub-agents and branches in a fold. */
function Families({ rows, ...props }: RowsProps): Child {
  const rowsById = new Map(rows.map((row) => [row.conversationId, row]))
  return [...groupBy(rows, (row) => rootOf(row, rowsById))].map(([root, family]) => (
    <>
      <Entries rows={[root]} {...props} />
      {family.length === 1 ? null : (
        <li class="parts">
          <details>
            <summary>{many(family.length - 1, 'sub-agent or branch', 'sub-agents and branches')}</summary>
            <ul class="entries">
              <Entries rows={family.filter((row) => row !== root)} {...props} />
            </ul>
          </details>
        </li>
      )}
    </>
  ))
}

/** The conversations of a day or a month, by project. */
function Period({ name, rows, ...props }: RowsProps & { name: string }): Child {
  return (
    <section aria-label={name}>
      <h2 class="day">{name}</h2>
      <div class="group">
        <ul class="entries">
          <Families rows={[...groupBy(rows, ({ project = '' }) => project).values()].flat()} {...props} />
        </ul>
      </div>
    </section>
  )
}

const ORDERS: readonly (readonly [ConversationOrder, string])[] = [
  ['relevance', 'best match'],
  ['updated', 'last message'],
  ['lost', 'losses'],
  ['messages', 'messages'],
  ['tokens', 'tokens'],
  ['id', 'id'],
]

/** The heading of the list in each order. */
const HEADINGS: Readonly<Record<ConversationOrder, string>> = {
  relevance: 'Conversations with these words',
  updated: 'Latest conversations',
  lost: 'Conversations that lost the most',
  messages: 'The longest conversations',
  tokens: 'The largest contexts',
  id: 'All conversations',
}

/** The orders that are used most. */
const quickOrders = ({ grep }: ListQuery): readonly (readonly [ConversationOrder, string])[] => [
  ...(grep === undefined ? [] : [['relevance', 'Best match'] as const]),
  ['updated', 'Latest'],
  ['lost', 'Most lost'],
]

/** The order as the address has it: without the default, which depends on the words. */
const sortParam = (order: ConversationOrder, { grep }: ListQuery): ConversationOrder | undefined =>
  order === defaultOrder(grep) ? undefined : order

const FIELDS = [
  ['project', 'Project folder contains', 'text'],
  ['person', 'Person', 'text'],
  ['program', 'Program', 'text'],
  ['scope', 'Scope', 'text'],
  ['since', 'Last message from', 'date'],
  ['until', 'Last message up to', 'date'],
] as const

/** One field that filters, and the other filters in a fold. */
function Filters({ query }: { query: ListQuery }): Child {
  const isFiltered = [...FIELDS.map(([name]) => query[name]), query.verified].some((each) => each !== undefined)
  return (
    <form class="start" action="/" role="search">
      <span class="seek">
        <input
          type="search"
          name="grep"
          value={query.grep}
          placeholder='Words of titles, projects and messages, or "a phrase"'
          aria-label="Find a conversation"
          autocomplete="off"
          data-search
          data-filter
        />
      </span>
      <button type="submit" class="without-script">
        Find
      </button>
      <details open={isFiltered}>
        <summary class="button">Filters</summary>
        <div class="filters">
          {FIELDS.map(([name, label, type]) => (
            <label>
              {label}
              <input type={type} name={name} value={query[name]} />
            </label>
          ))}
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
              <option value="">best match, else last message</option>
              {ORDERS.filter(([order]) => order !== 'relevance').map(([order, name]) => (
                <option value={order} selected={order === sortParam(query.sort, query)}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">Show</button>
          <a href="/">Reset</a>
        </div>
      </details>
    </form>
  )
}

/** A fold with the totals of the listed conversations. The browser fetches them when it opens: they read all rows. */
function TotalsFold({ query }: { query: ListQuery }): Child {
  // The verification status is not in the rows.
  if (query.verified !== undefined) return null
  const address = link('/totals', { ...query, verified: undefined, sort: undefined, page: undefined })
  return (
    <details class="totals" data-totals={address}>
      <summary>Totals by program, project and cost</summary>
      <p>
        <a href={address}>Show the totals</a>
      </p>
    </details>
  )
}

function Nothing({ query }: { query: ListQuery }): Child {
  const { sort: _sort, page: _page, ...filters } = query
  if (Object.values(filters).every((each) => each === undefined))
    return (
      <p class="empty">
        No conversations. <code>context-ledger import</code> fills the ledger with those of your coding agents.
      </p>
    )
  return (
    <p class="empty">
      No conversations match. <a href="/">Show all</a>
    </p>
  )
}

/** The conversations that match, by day and project if the latest are first. */
function Found({ query, list, now, ...props }: ListProps & { more: boolean }): Child {
  const { conversations, unlisted = [], behind } = list
  const periods =
    query.sort === 'updated' ? groupBy(conversations, (row) => headingOf(lastTime(row).slice(0, 10), now)) : undefined
  return (
    <div id="found" aria-live="polite">
      {behind === undefined ? null : <p class="note warn">The read models lag by {many(behind.events, 'event')}.</p>}
      {unlisted.map(({ conversationId, reason }) => (
        <p class="note bad">
          <Name text={conversationId} /> is stopped: {visible(reason)}
        </p>
      ))}
      {conversations.length === 0 ? <Nothing query={query} /> : <TotalsFold query={query} />}
      {periods === undefined ? (
        <div class="group">
          <ul class="entries">
            <Entries rows={conversations} {...props} />
          </ul>
        </div>
      ) : (
        [...periods].map(([name, rows]) => <Period name={name} rows={rows} {...props} />)
      )}
      {query.grep === undefined ? null : (
        <p>
          <a href={link('/search', { q: query.grep, scope: query.scope })}>
            Search all messages for <q>{visible(oneLine(query.grep, 60))}</q>
          </a>
        </p>
      )}
      <p class="pages">
        {query.page > 0 ? <a href={link('/', { ...query, page: query.page - 1 })}>previous</a> : null}
        {props.more ? <a href={link('/', { ...query, page: query.page + 1 })}>next</a> : null}
      </p>
    </div>
  )
}

/** Links to the orders that are used most, and the name of another current order. */
function Orders({ query }: { query: ListQuery }): Child {
  const quick = quickOrders(query)
  const isQuick = quick.some(([order]) => order === query.sort)
  const current: readonly (readonly [ConversationOrder, string])[] = isQuick
    ? []
    : ORDERS.filter(([order]) => order === query.sort).map(([order, name]) => [order, `By ${name}`])
  return (
    <p class="choices">
      {[...quick, ...current].map(([sort, name]) => (
        <a
          href={link('/', { ...query, sort: sortParam(sort, query), page: undefined })}
          aria-current={sort === query.sort ? 'true' : undefined}
        >
          {name}
        </a>
      ))}
    </p>
  )
}

/** The start page. */
export function Conversations(props: ListProps & { more: boolean }): Child {
  return (
    <>
      <h1 class="title">{HEADINGS[props.query.sort]}</h1>
      <Filters query={props.query} />
      <Orders query={props.query} />
      <Found {...props} />
    </>
  )
}
