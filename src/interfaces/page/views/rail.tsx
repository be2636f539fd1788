/** The rail: size, summaries, changes, notes and fingerprint of the context at a revision. */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import { SUMMARY_UNKNOWN } from '../../../domain/compaction/context.js'
import { contextNotes } from '../../../domain/compaction/context-notes.js'
import type { ContextAsOf } from '../../../library/ledger.js'
import type { Change, Step } from '../reading/step.js'
import { firstNew } from './chat.js'
import { describeEvent, eventLabel } from '../../../domain/events/describe-event.js'
import { turnName } from './places.js'
import { count, many, Name, percent, plain, visible, Time } from './text.js'

/** "by this event", or "since turn 7"; the event if the turn is not known. */
const sinceText = (revision: number, { since, sinceTurn }: Change): string =>
  since === revision - 1
    ? 'by this event'
    : sinceTurn === undefined
      ? `since event ${count(since)}`
      : turnName(sinceTurn, 'since')

/** Removed messages and removed lines of the view. */
export function RemovedParts({ step }: { step: Step }): Child {
  const { change, conversationId: c } = step
  if (change === undefined) return null
  const removedLines = change.view
    .filter(({ kind }) => kind === 'removed')
    .flatMap(({ text }) => text.trimEnd().split('\n'))
  if (change.removed.length === 0 && removedLines.length === 0) return null
  return (
    <details class="removed-parts">
      <summary>
        {change.removed.length === 0 ? null : (
          <>
            {many(change.removed.length, 'message')} removed {sinceText(step.revision, change)}
          </>
        )}
        {change.removed.length > 0 && removedLines.length > 0 ? '; ' : null}
        {removedLines.length === 0 ? null : `${many(removedLines.length, 'line')} of the summary removed`}
      </summary>
      {change.removed.length === 0 ? null : (
        <ul class="ids">
          {change.removed.slice(0, 400).map(({ messageId, batchId }) => (
            <li>
              <a href={conversationLink({ c, at: change.since, m: messageId })}>
                <Name text={messageId} most={40} />
              </a>
              {batchId === undefined ? null : (
                <>
                  {' in '}
                  <a href={link('/explain', { c, batch: batchId })}>{batchId.slice(0, 12)}</a>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {removedLines.length === 0 ? null : (
        <div class="text removed">
          {removedLines.slice(0, 80).map((line) => (
            <span class="ln">{line === '' ? '\u00a0' : visible(line.slice(0, 1_500))}</span>
          ))}
        </div>
      )}
    </details>
  )
}

/** Notes about a context. The rail names its program and its open calls itself, without ids. */
function Notes({ context }: { context: ContextAsOf }): Child {
  const { observed, openCalls = [], ...own } = context
  return (
    <>
      {contextNotes(own).map((sentence) => (
        <p class="note warn">{visible(sentence)}</p>
      ))}
      {openCalls.length === 0 ? null : (
        <p class="note warn" title={plain(openCalls.map(({ callId }) => callId).join(', '))}>
          {many(openCalls.length, 'tool call')} without a result:{' '}
          {visible([...new Set(openCalls.map(({ name }) => name))].join(', '))}
        </p>
      )}
      {observed?.summaryUnknown === true ? <p class="note warn">{plain(SUMMARY_UNKNOWN)}</p> : null}
      {observed === undefined ? null : (
        <p class="muted">
          As {visible(observed.program)}
          {observed.programVersion === undefined ? null : ` ${plain(observed.programVersion)}`} built it, according to
          its transcript
        </p>
      )}
    </>
  )
}

/** The number of messages in full, and the author of the summary of the earlier ones. */
function Contents({ c, context: { messages, viewAt, observed } }: { c: string; context: ContextAsOf }): Child {
  const { summaries = [], program } = observed ?? {}
  const inFull = messages.length - (viewAt === undefined ? 0 : 1) - summaries.length
  return (
    <p>
      {many(inFull, 'message')} in full
      {viewAt === undefined && summaries.length === 0 ? null : (
        <>
          {' and '}
          <a href={link('/explain', { c })}>
            a summary of the earlier ones{program === undefined ? null : ` by ${plain(program)}`}
          </a>
        </>
      )}
    </p>
  )
}

/** Size and hash of a context. */
export function ContextFigures({
  context,
  whole = false,
  children,
}: {
  context: ContextAsOf
  /** Show the full hash. */
  whole?: boolean
  children?: Child
}): Child {
  return (
    <p class="figures">
      <span>
        <b>{count(context.messages.length)}</b> messages
      </span>
      <span>
        <b>{count(context.tokens)}</b> tokens
      </span>
      {children}
      <span class="hash" title="SHA-256 of the messages as they are sent">
        SHA-256 <code>{whole ? context.hash : `${context.hash.slice(0, 16)}…`}</code>
      </span>
    </p>
  )
}

/** New and removed messages, compared with another revision. */
function Changed({ step, q }: { step: Step; q: string | undefined }): Child {
  const { change, conversationId: c, revision } = step
  if (change === undefined) return null
  const { added, removed, since } = change
  return (
    <p>
      {added.size === 0 ? (
        'no message'
      ) : (
        <a class="plus" href={conversationLink({ c, at: revision, since, q, m: firstNew(step) })} data-new>
          <b>{many(added.size, 'message')}</b>
        </a>
      )}
      {' added, '}
      <b class="minus">{count(removed.length)}</b>
      {' removed '}
      {sinceText(revision, change)}
    </p>
  )
}

function Amount({ context, limit }: { context: ContextAsOf; limit: number | undefined }): Child {
  return (
    <>
      <p class="amount">{count(context.tokens)}</p>
      <p class="muted">
        tokens
        {limit !== undefined
          ? `, ${percent(context.tokens, limit)} of the limit of ${count(limit)}`
          : context.observed === undefined
            ? null
            : `; its program’s limit is not recorded`}
      </p>
      {limit === undefined ? null : (
        <meter
          min="0"
          max={String(limit)}
          high={limit * 0.9}
          value={String(context.tokens)}
          aria-label="Share of the limit"
        />
      )}
    </>
  )
}

/** The context at this turn, and the event there. */
export function Rail({ step, q }: { step: Step; q: string | undefined }): Child {
  const { conversationId: c, context, event, limit } = step
  return (
    <aside class="rail" aria-label="What the model had at this turn" tabindex={0}>
      {context === undefined ? null : (
        <>
          <h2>What the model had at this turn</h2>
          <Amount context={context} limit={limit} />
          <Contents c={c} context={context} />
          <Changed step={step} q={q} />
          <Notes context={context} />
        </>
      )}
      {event === undefined ? null : (
        <details>
          <summary>
            <span class="muted">This step: </span>
            <b class="happened" data-type={event.type}>
              {eventLabel(event.type)}
            </b>
          </summary>
          <p>{visible(describeEvent(event))}</p>
          <p class="muted">
            <Time at={event.metadata.recordedAt} /> by <Name text={event.metadata.actor} most={40} />
          </p>
          <p>
            <a href={link('/event', { c, r: event.revision })}>The recorded event</a>
          </p>
          {context === undefined ? null : (
            <p class="hash muted" title="SHA-256 of the messages as they are sent">
              SHA-256 of the context: <code>{context.hash}</code>
            </p>
          )}
        </details>
      )}
    </aside>
  )
}
