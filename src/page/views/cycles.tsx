/** The cycles of a conversation and what else stands out, and the difference that one of them made. */
import type { Child } from 'hono/jsx'
import { contentText, toChatMessage } from '../../domain/values/message.js'
import type { Difference, ForgottenCycle } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { Course, Mark } from '../reading/history.js'
import { ForgottenParts } from './forgotten.js'
import { MARKS, Plot } from './plot.js'
import { figure, Table } from './table.js'
import { cut, count, Lines, linesOf, many, Name, plain, seen, Time } from './text.js'

const whereOf = (c: string, { kind, cycle, revision }: Mark): string =>
  kind === 'cycle' && cycle !== undefined
    ? link('/difference', { c, cycle, at: revision })
    : link('/difference', { c, from: Math.max(0, revision - 1), to: revision })

/** All that stands out on the course, oldest first. */
export function MarkTable({
  c,
  marks,
  withLinks = true,
}: {
  c: string
  marks: readonly Mark[]
  withLinks?: boolean
}): Child {
  if (marks.length === 0) return <p class="empty">No cycle so far, and no failure.</p>
  return (
    <Table
      label="Cycles, failures, undo, adoption"
      columns={[
        figure('Revision'),
        { name: 'What', is: 'heading' },
        { name: 'Recorded (UTC)', is: 'time' },
        ...(withLinks ? ['Context'] : []),
      ]}
      rows={marks.map((mark) => [
        count(mark.revision),
        <>
          <i class={`sign ${mark.kind}`} aria-hidden="true">
            {MARKS[mark.kind].sign}
          </i>{' '}
          {withLinks ? <a href={whereOf(c, mark)}>{seen(mark.text)}</a> : seen(mark.text)}
        </>,
        <Time at={mark.recordedAt} />,
        ...(withLinks
          ? [
              <a href={conversationLink({ c, at: mark.revision, since: String(Math.max(0, mark.revision - 1)) })}>
                behind it
              </a>,
            ]
          : []),
      ])}
    />
  )
}

/** The cycles, and the course that they are on. */
export function Cycles({ c, course }: { c: string; course: Course }): Child {
  return (
    <>
      <h2>Course of the context</h2>
      <div class="wide" role="region" aria-label="Course of the context" tabindex={0}>
        <Plot course={course} />
      </div>
      <h2>{many(course.marks.filter(({ kind }) => kind === 'cycle').length, 'cycle')} and what else stands out</h2>
      <MarkTable c={c} marks={course.marks} />
    </>
  )
}

type LeftMessage = Difference['messages']['left'][number]

function LeftOne({ c, before, message }: { c: string; before: bigint; message: LeftMessage }): Child {
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

const MOST_LEFT = 120

/** Ways to the cycles between two moments: what is forgotten is told of each. */
function Within({ c, marks }: { c: string; marks: readonly Mark[] }): Child {
  if (marks.length === 0) return null
  return (
    <>
      <h3>What the cycles in between forgot</h3>
      <ul class="ids">
        {marks.slice(0, MOST_LEFT).map((mark) => (
          <li>
            <a href={whereOf(c, mark)}>{seen(mark.text)}</a>
          </li>
        ))}
        {marks.length > MOST_LEFT ? (
          <li>
            <a href={link('/cycles', { c })}>{many(marks.length - MOST_LEFT, 'more', 'more')}</a>
          </li>
        ) : null}
      </ul>
    </>
  )
}

/** What changed between two revisions, in two columns: what left, and what came in its place. */
export function DifferenceView({
  difference,
  forgotten,
  within,
}: {
  difference: Difference
  /** Of a cycle: what it forgot. */
  forgotten: ForgottenCycle | undefined
  /** Of any other two moments: the cycles between them. */
  within: readonly Mark[]
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
          Not in force any more since revision {count(cycle.outOfForce.revision)} ({cycle.outOfForce.type}).
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
        <section aria-label="What left">
          <h3>
            {many(messages.left.length, 'message')} left
            {messages.passed.length === 0 ? null : `, ${count(messages.passed.length)} came and left`}
          </h3>
          {messages.left.slice(0, MOST_LEFT).map((message) => (
            <LeftOne c={c} before={from.revision} message={message} />
          ))}
          {messages.left.length <= MOST_LEFT ? null : (
            <p class="muted">and {many(messages.left.length - MOST_LEFT, 'more', 'more')}</p>
          )}
          {batches.left.length === 0 ? null : (
            <>
              <h3>{many(batches.left.length, 'batch', 'batches')} not shown any more</h3>
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
        <section aria-label="What came" class="stays">
          <h3>
            {many(batches.came.length, 'batch', 'batches')} came
            {messages.came.length === 0 ? null : `, ${many(messages.came.length, 'message')} too`}
          </h3>
          {batches.came.map(({ batchId, depth, messageCount, tokens, content }) => (
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
              <Lines lines={content.split('\n')} more={link('/explain', { c, batch: batchId })} />
            </article>
          ))}
          {messages.came.length === 0 ? null : (
            <ul class="ids">
              {messages.came.slice(0, 200).map(({ messageId, role, content }) => (
                <li>
                  <b>{role}</b>{' '}
                  <a href={conversationLink({ c, at: to.revision, m: messageId })}>
                    <Name text={messageId} most={40} />
                  </a>{' '}
                  <span class="muted">
                    {seen(cut(contentText(content).slice(0, 400).replaceAll(/\s+/gu, ' '), 100))}
                  </span>
                </li>
              ))}
            </ul>
          )}
          {forgotten !== undefined ? (
            <ForgottenParts found={forgotten} linked />
          ) : cycle !== undefined ? (
            <p class="note muted">
              This cycle lies in an edition that was adopted. What it forgot is told beside that edition.
            </p>
          ) : (
            <Within c={c} marks={within} />
          )}
        </section>
      </div>
      {view.length === 0 ? (
        <p class="muted">The view’s text is the same.</p>
      ) : (
        <section aria-label="The view’s text">
          <h3>The view’s text</h3>
          <TextDifference changes={view} />
        </section>
      )}
      <details>
        <summary>{many(events.length, 'fact')} in between</summary>
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

const SAME_LINES = 3
const MOST_LINES = 600

/** A text's changes, line by line; of what stays the same a few lines beside what changed. */
export function TextDifference({
  changes,
  name = 'Changed lines',
}: {
  changes: Difference['view']
  /** What it is called where it is read out. */
  name?: string
}): Child {
  let room = MOST_LINES
  return (
    <div class="text diff" tabindex={0} role="region" aria-label={name}>
      {changes.map(({ kind, text }, place) => {
        const lines = text.replace(/\n$/u, '').split('\n')
        const shown =
          kind === 'same' && lines.length > 2 * SAME_LINES
            ? [
                ...(place === 0 ? [] : lines.slice(0, SAME_LINES)),
                undefined,
                ...(place === changes.length - 1 ? [] : lines.slice(-SAME_LINES)),
              ]
            : lines
        return shown.map((line) => {
          room -= 1
          if (room < 0) return null
          if (line === undefined)
            return <span class="ln skipped">… {count(lines.length - SAME_LINES)} lines the same</span>
          const words = seen(line === '' ? '\u00a0' : cut(line, 1_500))
          if (kind === 'added') return <ins class="ln">{words}</ins>
          if (kind === 'removed') return <del class="ln">{words}</del>
          return <span class="ln">{words}</span>
        })
      })}
      {room < 0 ? <span class="ln skipped">… {count(-room)} lines more</span> : null}
    </div>
  )
}
