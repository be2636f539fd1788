/** The cycles and other marks of a conversation, and the difference view. */
import type { Child } from 'hono/jsx'
import { summaryOf } from '../../domain/conversation/batch.js'
import { contentText, toChatMessage } from '../../domain/values/message.js'
import type { Difference, ForgottenCycle } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { Course, Mark } from '../reading/history.js'
import { ForgottenParts } from './forgotten.js'
import { MARKS } from './plot.js'
import { figure, Table } from './table.js'
import { TextDifference } from './text-difference.js'
import { Lines } from './lines.js'
import { cut, count, linesOf, many, Name, plain, visible, Time } from './text.js'

const differenceLink = (c: string, { kind, cycle, revision }: Mark): string =>
  kind === 'cycle' && cycle !== undefined
    ? link('/difference', { c, cycle, at: revision })
    : link('/difference', { c, from: Math.max(0, revision - 1), to: revision })

/** All marks, oldest first. */
export function MarkTable({
  c,
  marks,
  withLinks = true,
}: {
  c: string
  marks: readonly Mark[]
  withLinks?: boolean
}): Child {
  if (marks.length === 0) return <p class="empty">No cycles and no failures.</p>
  return (
    <Table
      label="Cycles, failures, undo, adoption"
      columns={[
        figure('Revision'),
        { name: 'Event', is: 'heading' },
        { name: 'Recorded (UTC)', is: 'time' },
        ...(withLinks ? ['Context'] : []),
      ]}
      rows={marks.map((mark) => [
        count(mark.revision),
        <>
          <i class={`sign ${mark.kind}`} aria-hidden="true">
            {MARKS[mark.kind].sign}
          </i>{' '}
          {withLinks ? <a href={differenceLink(c, mark)}>{visible(mark.text)}</a> : visible(mark.text)}
        </>,
        <Time at={mark.recordedAt} />,
        ...(withLinks
          ? [
              <a href={conversationLink({ c, at: mark.revision, since: String(Math.max(0, mark.revision - 1)) })}>
                View context after
              </a>,
            ]
          : []),
      ])}
    />
  )
}

/** The table of marks. */
export function Cycles({ c, course }: { c: string; course: Course }): Child {
  return (
    <>
      <h2>{many(course.marks.filter(({ kind }) => kind === 'cycle').length, 'compaction')} and other marks</h2>
      <MarkTable c={c} marks={course.marks} />
    </>
  )
}

type RemovedMessage = Difference['messages']['left'][number]

function RemovedMessageView({ c, before, message }: { c: string; before: bigint; message: RemovedMessage }): Child {
  const { messageId, role, batchId, tokens } = message
  return (
    <article class={`msg ${role}`} aria-label={plain(`${role} ${messageId.slice(0, 60)}`)}>
      <header>
        <b class="role">{role}</b>
        <a class="id" href={conversationLink({ c, at: before, m: messageId })}>
          <Name text={messageId} most={40} />
        </a>
        <span class="facts">
          {many(tokens, 'token')}
          {batchId === undefined ? null : (
            <>
              {' · in '}
              <a href={link('/explain', { c, batch: batchId })}>{batchId.slice(0, 12)}</a>
            </>
          )}
        </span>
      </header>
      <Lines
        lines={linesOf(toChatMessage(message))}
        most={6}
        more={conversationLink({ c, at: before, m: messageId })}
      />
    </article>
  )
}

const MAX_REMOVED = 120

/** Links to the cycles between two revisions; their pages report what was lost. */
function CyclesBetween({ c, marks }: { c: string; marks: readonly Mark[] }): Child {
  if (marks.length === 0) return null
  return (
    <>
      <h3>Cycles in between</h3>
      <ul class="ids">
        {marks.slice(0, MAX_REMOVED).map((mark) => (
          <li>
            <a href={differenceLink(c, mark)}>{visible(mark.text)}</a>
          </li>
        ))}
        {marks.length > MAX_REMOVED ? (
          <li>
            <a href={link('/cycles', { c })}>{many(marks.length - MAX_REMOVED, 'more', 'more')}</a>
          </li>
        ) : null}
      </ul>
    </>
  )
}

/** The changes between two revisions: removed parts in the first column, added parts in the second. */
export function DifferenceView({
  difference,
  forgotten,
  cyclesBetween,
}: {
  difference: Difference
  /** The report of the cycle, if the difference is of one. */
  forgotten: ForgottenCycle | undefined
  /** Otherwise, the cycles between the two revisions. */
  cyclesBetween: readonly Mark[]
}): Child {
  const { conversationId: c, from, to, cycle, messages, batches, view, events } = difference
  return (
    <>
      <h2>
        {cycle === undefined ? 'Difference' : `Cycle ${String(cycle.cycle)}`}
        <span class="facts">
          {' '}
          revision {count(from.revision)} to {count(to.revision)}
        </span>
      </h2>
      {cycle?.outOfForce === undefined ? null : (
        <p class="note warn">
          Inactive since revision {count(cycle.outOfForce.revision)} ({cycle.outOfForce.type}).
        </p>
      )}
      <p class="figures">
        <span>
          <b>{count(from.tokens)}</b> → <b>{count(to.tokens)}</b> tokens
        </span>
        <span>
          <b>{count(from.liveMessages)}</b> → <b>{count(to.liveMessages)}</b> live messages
        </span>
        <span>
          <b>{count(from.batches)}</b> → <b>{count(to.batches)}</b> batches in the view
        </span>
        <a href={conversationLink({ c, at: from.revision })}>before</a>
        <a href={conversationLink({ c, at: to.revision, since: from.revision })}>after</a>
      </p>
      <div class="columns">
        <section aria-label="Removed">
          <h3>
            {many(messages.left.length, 'message')} removed
            {messages.passed.length === 0 ? null : `, ${count(messages.passed.length)} added and removed in between`}
          </h3>
          {messages.left.slice(0, MAX_REMOVED).map((message) => (
            <RemovedMessageView c={c} before={from.revision} message={message} />
          ))}
          {messages.left.length <= MAX_REMOVED ? null : (
            <p class="muted">and {many(messages.left.length - MAX_REMOVED, 'more', 'more')}</p>
          )}
          {batches.left.length === 0 ? null : (
            <>
              <h3>{many(batches.left.length, 'summary', 'summaries')} removed</h3>
              <ul class="ids">
                {batches.left.map(({ batchId, depth, messageCount }) => (
                  <li>
                    <a href={link('/explain', { c, batch: batchId })}>{batchId.slice(0, 12)}</a> depth {depth},{' '}
                    {many(messageCount, 'message')}
                  </li>
                ))}
              </ul>
            </>
          )}
        </section>
        <section aria-label="Added" class="stays">
          <h3>
            {many(batches.came.length, 'summary', 'summaries')} added
            {messages.came.length === 0 ? null : `, ${many(messages.came.length, 'message')} added`}
          </h3>
          {batches.came.map((batch) => {
            const { batchId, depth, messageCount, tokens } = batch
            return (
              <article class="msg view" aria-label={`batch ${batchId}`}>
                <header>
                  <b class="role">batch</b>
                  <a class="id" href={link('/explain', { c, batch: batchId })}>
                    {batchId.slice(0, 12)}
                  </a>
                  <span class="facts">
                    depth {depth} · {many(messageCount, 'message')} · {many(tokens, 'token')}
                  </span>
                </header>
                <Lines lines={summaryOf(batch).split('\n')} more={link('/explain', { c, batch: batchId })} />
              </article>
            )
          })}
          {messages.came.length === 0 ? null : (
            <ul class="ids">
              {messages.came.slice(0, 200).map(({ messageId, role, content }) => (
                <li>
                  <b>{role}</b>{' '}
                  <a href={conversationLink({ c, at: to.revision, m: messageId })}>
                    <Name text={messageId} most={40} />
                  </a>{' '}
                  <span class="muted">
                    {visible(cut(contentText(content).slice(0, 400).replaceAll(/\s+/gu, ' '), 100))}
                  </span>
                </li>
              ))}
            </ul>
          )}
          {forgotten !== undefined ? (
            <ForgottenParts found={forgotten} linked />
          ) : cycle !== undefined ? (
            <p class="note muted">This cycle belongs to an adopted edition. See the edition for what it lost.</p>
          ) : (
            <CyclesBetween c={c} marks={cyclesBetween} />
          )}
        </section>
      </div>
      {view.length === 0 ? (
        <p class="muted">The text of the view is unchanged.</p>
      ) : (
        <section aria-label="Text of the view">
          <h3>Text of the view</h3>
          <TextDifference changes={view} />
        </section>
      )}
      <details>
        <summary>{many(events.length, 'event')} in between</summary>
        <ul class="ids">
          {events.slice(0, 400).map(({ revision, type, recordedAt }) => (
            <li>
              <a href={conversationLink({ c, at: revision })}>{count(revision)}</a> {type} <Time at={recordedAt} />
            </li>
          ))}
        </ul>
      </details>
    </>
  )
}
