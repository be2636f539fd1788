/** The event log of a conversation, loaded in parts. */
import { toWire } from '../../../domain/values/revision.js'
import type { Child } from 'hono/jsx'
import type { RecordedEvent } from '../../../domain/events/index.js'
import { conversationLink, link } from '../links.js'
import { ALL_KINDS, EVENT_KINDS, type EventKind, type KindCounts } from '../reading/event-kinds.js'
import { eventLabel } from '../../../domain/events/describe-event.js'
import type { LogLine } from './log-line.js'
import { count, many, Name, Time, visible } from './text.js'

/** Events per part. */
export const LOG_PART = 100

const TONES: Readonly<Partial<Record<RecordedEvent['type'], string>>> = {
  CompactionFailed: 'bad',
  CompactionCouldNotHelp: 'warn',
  MessagesPruned: 'good',
  EditionAdopted: 'good',
  EditionReverted: 'warn',
  CycleUndone: 'warn',
}

/** Events, one per line. */
export function EventList({ c, lines }: { c: string; lines: readonly LogLine[] }): Child {
  return (
    <>
      {lines.map(({ event: { type, revision }, label, at, text, actor }) => (
        <article class="event" aria-label={`event ${String(revision)}: ${label}`} tabindex={-1}>
          <a class="n" href={conversationLink({ c, at: revision })}>
            {count(revision)}
          </a>
          <span class="time">
            <Time at={at} />
          </span>
          <b class={TONES[type]} title={type}>
            {visible(label)}
          </b>
          <p>
            {visible(text)}{' '}
            {actor === undefined ? null : (
              <span class="facts">
                by <Name text={actor} most={60} />{' '}
              </span>
            )}
            <a class="event-link" href={link('/event', { c, r: revision })}>
              details
            </a>
          </p>
        </article>
      ))}
    </>
  )
}

/** Links that limit the log to a kind. Without counts if they are not known yet. */
function KindLinks({
  c,
  kind,
  counts,
}: {
  c: string
  kind: EventKind | undefined
  counts: KindCounts | undefined
}): Child {
  const all = counts === undefined ? undefined : ALL_KINDS.reduce((sum, each) => sum + counts[each], 0)
  const choices = [
    { key: undefined, name: 'Everything', number: all },
    ...ALL_KINDS.map((key) => ({ key, name: EVENT_KINDS[key].name, number: counts?.[key] })),
  ]
  return (
    <p class="choices">
      {choices.map(({ key, name, number }) => (
        <a href={link('/log', { c, kind: key })} aria-current={key === kind ? 'true' : undefined}>
          {name}
          {number === undefined ? null : <span class="number"> {count(number)}</span>}
        </a>
      ))}
    </p>
  )
}

/** The log of one kind of events, a page at a time. */
export function KindLog({
  c,
  kind,
  counts,
  lines,
  from,
  next,
}: {
  c: string
  kind: EventKind
  counts: KindCounts | undefined
  lines: readonly LogLine[]
  /** Where the page starts. */
  from: number
  /** Where the next page starts; undefined after the last one. */
  next: number | undefined
}): Child {
  return (
    <>
      <h2>Everything that was recorded</h2>
      <KindLinks c={c} kind={kind} counts={counts} />
      {lines.length === 0 ? (
        <p class="empty">
          No such events{from === 0 ? '' : ` from event ${count(from)} on`}.{' '}
          <a href={link('/log', { c })}>Show everything</a>
        </p>
      ) : null}
      <div class="events">
        <EventList c={c} lines={lines} />
      </div>
      <p class="pages">
        {from === 0 ? null : <a href={link('/log', { c, kind })}>first</a>}
        {next === undefined ? null : <a href={link('/log', { c, kind, from: next })}>next</a>}
      </p>
    </>
  )
}

/** The log: the events of the selected part, and placeholders for the other parts. */
export function Log({
  c,
  head,
  from,
  counts,
  lines,
}: {
  c: string
  head: number
  /** Index of the selected part. */
  from: number
  counts: KindCounts | undefined
  lines: readonly LogLine[]
}): Child {
  const all = head + 1
  const parts = Math.ceil(all / LOG_PART)
  return (
    <>
      <h2>Everything that was recorded</h2>
      <KindLinks c={c} kind={undefined} counts={counts} />
      <form class="filters" action="/log">
        <input type="hidden" name="c" value={c} />
        <label>
          From event
          <input type="number" name="from" min="0" max={String(head)} value={String(from * LOG_PART)} />
        </label>
        <button type="submit">Show</button>
        <span class="muted">{many(all, 'event')}, oldest first; times are UTC</span>
      </form>
      <div class="events" data-parts>
        {Array.from({ length: parts }, (_none, part) => (
          <section
            class="part"
            data-part={link('/log/part', { c, part })}
            data-lines={part === from ? undefined : Math.min(LOG_PART, all - part * LOG_PART) * 2}
            data-sought={part === from && from > 0 ? '' : undefined}
          >
            {part === from ? (
              <EventList c={c} lines={lines} />
            ) : (
              <a class="more" href={link('/log', { c, from: part * LOG_PART })}>
                events {count(part * LOG_PART)} to {count(Math.min(all, (part + 1) * LOG_PART) - 1)}
              </a>
            )}
          </section>
        ))}
      </div>
    </>
  )
}

const MAX_EVENT_CHARACTERS = 100_000

/** An event with its data and metadata. */
export function EventDetails({ c, event, head }: { c: string; event: RecordedEvent; head: number }): Child {
  const { revision, id, type, data, metadata } = event
  const text = toWire({ revision, id, type, data, metadata }, 2)
  return (
    <>
      <h2>
        {eventLabel(type)}{' '}
        <span class="facts">
          {type}, event {count(revision)}
        </span>
      </h2>
      <p class="figures">
        {revision > 0 ? <a href={link('/event', { c, r: revision - 1 })}>previous</a> : null}
        {revision < head ? <a href={link('/event', { c, r: revision + 1 })}>next</a> : null}
        <a href={conversationLink({ c, at: revision })}>context after it</a>
        <span>
          recorded <Time at={metadata.recordedAt} /> by <Name text={metadata.actor} most={60} />
        </span>
      </p>
      <pre class="whole" tabindex={0}>
        {visible(text.slice(0, MAX_EVENT_CHARACTERS))}
      </pre>
      {text.length > MAX_EVENT_CHARACTERS ? (
        <p class="muted">
          {many(text.length - MAX_EVENT_CHARACTERS, 'more character')}: see <code>context-ledger log --json</code>.
        </p>
      ) : null}
    </>
  )
}
