/** The event log of a conversation, loaded in parts. */
import { toWire } from '../../domain/values/revision.js'
import type { Child } from 'hono/jsx'
import type { RecordedEvent } from '../../domain/events/index.js'
import { contentText, type ToolCall } from '../../domain/values/message.js'
import { toReportCall } from '../../forgotten/compaction-reports.js'
import { conversationLink, link } from '../links.js'
import { toolSummary } from '../reading/tool-summary.js'
import type { Words } from '../words.js'
import { ROLES } from './chat.js'
import { EVENT_KINDS, type EventKind } from './event-kinds.js'
import { eventLabel } from './event-label.js'
import { count, many, Name, oneLine, visible, Time } from './text.js'

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

const MAX_CHARACTERS = 200

interface Line {
  readonly label: string
  /** When it was said; of other events, when it was recorded. */
  readonly at: string
  readonly text: string
}

/** A tool call in short: "→ edit src/date.ts". */
function callText(call: ToolCall): string {
  const { tool, subject } = toolSummary(toReportCall(call))
  return `→ ${tool} ${subject}`
}

/** An event in one line: a message as it was said, any other event in words. */
function lineOf(event: RecordedEvent, words: Words): Line {
  if (event.type !== 'MessageAppended')
    return { label: eventLabel(event.type), at: event.metadata.recordedAt, text: words.describeEvent(event) }
  const { role, content, toolCalls: calls = [], createdAt } = event.data
  return {
    label: ROLES[role],
    at: createdAt,
    text: oneLine([contentText(content), ...calls.map(callText)].join(' '), MAX_CHARACTERS),
  }
}

/** Events, one per line. */
export function EventList({ c, events, words }: { c: string; events: readonly RecordedEvent[]; words: Words }): Child {
  return (
    <>
      {events.map((event) => {
        const { label, at, text } = lineOf(event, words)
        return (
          <article class="event" aria-label={`revision ${String(event.revision)}: ${label}`} tabindex={-1}>
            <a class="n" href={conversationLink({ c, at: event.revision })}>
              {count(event.revision)}
            </a>
            <Time at={at} />
            <b class={TONES[event.type]} title={event.type}>
              {label}
            </b>
            <p>
              {visible(text)}{' '}
              <a class="event-link" href={link('/event', { c, r: event.revision })}>
                details
              </a>
            </p>
          </article>
        )
      })}
    </>
  )
}

/** Links that limit the log to a kind. */
function KindLinks({ c, kind }: { c: string; kind: EventKind | undefined }): Child {
  return (
    <p class="choices">
      <a href={link('/log', { c })} aria-current={kind === undefined ? 'true' : undefined}>
        Everything
      </a>
      {Object.entries(EVENT_KINDS).map(([each, { name }]) => (
        <a href={link('/log', { c, kind: each })} aria-current={each === kind ? 'true' : undefined}>
          {name}
        </a>
      ))}
    </p>
  )
}

/** The log of one kind of events, a page at a time. */
export function KindLog({
  c,
  kind,
  events,
  next,
  words,
}: {
  c: string
  kind: EventKind
  events: readonly RecordedEvent[]
  /** Where the next page starts; undefined after the last one. */
  next: number | undefined
  words: Words
}): Child {
  return (
    <>
      <h2>Everything that was recorded</h2>
      <KindLinks c={c} kind={kind} />
      {events.length === 0 ? (
        <p class="empty">
          No such events. <a href={link('/log', { c })}>Show everything</a>
        </p>
      ) : null}
      <div class="events">
        <EventList c={c} events={events} words={words} />
      </div>
      {next === undefined ? null : (
        <p class="pages">
          <a href={link('/log', { c, kind, from: next })}>next</a>
        </p>
      )}
    </>
  )
}

/** The log: the events of the selected part, and placeholders for the other parts. */
export function Log({
  c,
  head,
  from,
  events,
  words,
}: {
  c: string
  head: number
  /** Index of the selected part. */
  from: number
  events: readonly RecordedEvent[]
  words: Words
}): Child {
  const all = head + 1
  const parts = Math.ceil(all / LOG_PART)
  return (
    <>
      <h2>Everything that was recorded</h2>
      <KindLinks c={c} kind={undefined} />
      <form class="filters" action="/log">
        <input type="hidden" name="c" value={c} />
        <label>
          From revision
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
              <EventList c={c} events={events} words={words} />
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
export function EventDetails({ c, event }: { c: string; event: RecordedEvent }): Child {
  const { revision, id, type, data, metadata } = event
  const text = toWire({ revision, id, type, data, metadata }, 2)
  return (
    <>
      <h2>
        {eventLabel(type)}{' '}
        <span class="facts">
          {type}, revision {count(revision)}
        </span>
      </h2>
      <p class="figures">
        {revision > 0 ? <a href={link('/event', { c, r: revision - 1 })}>previous</a> : null}
        <a href={link('/event', { c, r: revision + 1 })}>next</a>
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
