/** The difference between two revisions: removed and added parts of the context, and the cost. */
import type { Child } from 'hono/jsx'
import { summaryOf } from '../../domain/conversation/batch.js'
import { contentText } from '../../domain/values/message.js'
import type { Difference, ForgottenCycle } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { Mark } from '../reading/history.js'
import { ROLES } from './chat.js'
import { differenceLink } from './cycles.js'
import { eventLabel } from './event-label.js'
import { ForgottenParts } from './forgotten-cycle.js'
import { Headlines } from './forgotten-headlines.js'
import { Lines } from './lines.js'
import { TextDifference } from './text-difference.js'
import { ToolCallView } from './tool-call.js'
import { cut, count, many, Name, oneLine, plain, visible, Time } from './text.js'

type RemovedMessage = Difference['messages']['left'][number]

/** A removed message in one line that folds out. */
function RemovedMessageView({ c, before, message }: { c: string; before: number; message: RemovedMessage }): Child {
  const { messageId, role, content, toolCalls = [], batchId, tokens, createdAt } = message
  const text = contentText(content)
  const first = toolCalls[0] === undefined ? '' : (toolCalls[0].function?.name ?? toolCalls[0].type)
  const place = conversationLink({ c, at: before, m: messageId })
  return (
    <details class={`removed ${role}`}>
      <summary>
        <b class="role">{ROLES[role]}</b>{' '}
        <span class="preview">{visible(oneLine(text === '' ? first : text, 120))}</span>{' '}
        <span class="facts">{many(tokens, 'token')}</span>
      </summary>
      <p class="facts">
        <a href={place} title={plain(messageId.slice(0, 200))}>
          in the conversation, <Time at={createdAt} isShort />
        </a>
        {batchId === undefined ? null : (
          <>
            {' · '}
            <a href={link('/explain', { c, batch: batchId })}>its summary</a>
          </>
        )}
      </p>
      <Lines
        lines={text === '' ? [] : text.split(/\r\n|\n|\r/u)}
        most={40}
        more={place}
        isMarkdown={role !== 'tool'}
        isCode={role === 'tool'}
      />
      {toolCalls.map((call) => (
        <ToolCallView call={call} result={NO_RESULT} isOpen={false} />
      ))}
    </details>
  )
}

/** The result of a call is a message of its own here. */
const NO_RESULT = { text: '', attributes: {} }
const MAX_REMOVED = 120

/** Links to the cycles between two revisions; their pages report what was lost. */
function CyclesBetween({ c, marks }: { c: string; marks: readonly Mark[] }): Child {
  if (marks.length === 0) return null
  return (
    <>
      <h3>Compactions in between</h3>
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

/** Size of the context on both sides, with links to them. */
function Sides({ difference: { conversationId: c, from, to } }: { difference: Difference }): Child {
  return (
    <p class="figures">
      <span>
        <b>{count(from.tokens)}</b> → <b>{count(to.tokens)}</b> tokens
      </span>
      <span>
        <b>{count(from.liveMessages)}</b> → <b>{count(to.liveMessages)}</b> messages in full
      </span>
      <span>
        <b>{count(from.batches)}</b> → <b>{count(to.batches)}</b> summaries
      </span>
      <a href={conversationLink({ c, at: from.revision })}>Context before</a>
      <a href={conversationLink({ c, at: to.revision, since: from.revision })}>Context after</a>
    </p>
  )
}

/** A summary by its first line, linked to its sources. */
function SummaryLine({ c, batch }: { c: string; batch: Difference['batches']['left'][number] }): Child {
  return (
    <li>
      <a href={link('/explain', { c, batch: batch.batchId })}>
        {visible(oneLine(summaryOf(batch).replaceAll('#', ' '), 80))}
      </a>{' '}
      <span class="muted">of {many(batch.messageCount, 'message')}</span>
    </li>
  )
}

/** The removed messages, folded, and the removed summaries. */
function Removed({ difference }: { difference: Difference }): Child {
  const { conversationId: c, from, messages, batches } = difference
  const { left, passed } = messages
  return (
    <section aria-label="Removed">
      {left.length === 0 ? null : (
        <details class="fold">
          <summary>
            {many(left.length, 'message')} removed
            {passed.length === 0 ? null : `, ${count(passed.length)} added and removed in between`}
          </summary>
          {left.slice(0, MAX_REMOVED).map((message) => (
            <RemovedMessageView c={c} before={from.revision} message={message} />
          ))}
          {left.length <= MAX_REMOVED ? null : (
            <p>
              <a href={conversationLink({ c, at: from.revision })}>
                {many(left.length - MAX_REMOVED, 'more', 'more')}, in the context before
              </a>
            </p>
          )}
        </details>
      )}
      {batches.left.length === 0 ? null : (
        <>
          <h3>{many(batches.left.length, 'summary', 'summaries')} removed</h3>
          <ul class="ids">
            {batches.left.map((batch) => (
              <SummaryLine c={c} batch={batch} />
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

type AddedBatch = Difference['batches']['came'][number]

/** Lines of a summary that are not folded. */
const SUMMARY_LINES = 14

/** A summary: its first lines, and the others folded. */
function AddedSummary({ c, batch }: { c: string; batch: AddedBatch }): Child {
  const { batchId, messageCount, tokens } = batch
  const lines = summaryOf(batch).split('\n')
  const rest = lines.slice(SUMMARY_LINES)
  return (
    <article class="msg card" aria-label={`Summary ${batchId}`}>
      <header>
        <b class="role">Summary</b>
        <span class="facts">
          of {many(messageCount, 'message')} · {many(tokens, 'token')} ·{' '}
          <a href={link('/explain', { c, batch: batchId })}>sources</a>
        </span>
      </header>
      <Lines lines={lines.slice(0, SUMMARY_LINES)} more={link('/explain', { c, batch: batchId })} isMarkdown />
      {rest.length === 0 ? null : (
        <details class="fold">
          <summary>{many(rest.length, 'more line')}</summary>
          <Lines lines={rest} most={400} more={link('/explain', { c, batch: batchId })} isMarkdown />
        </details>
      )}
    </article>
  )
}

/** The added parts. */
function Added({ difference }: { difference: Difference }): Child {
  const { conversationId: c, to, messages, batches } = difference
  return (
    <>
      <h3>
        {many(batches.came.length, 'summary', 'summaries')} added
        {messages.came.length === 0 ? null : `, ${many(messages.came.length, 'message')} added`}
      </h3>
      {batches.came.map((batch) => (
        <AddedSummary c={c} batch={batch} />
      ))}
      {messages.came.length === 0 ? null : (
        <ul class="ids">
          {messages.came.slice(0, 200).map(({ messageId, role, content }) => (
            <li>
              <b>{role}</b>{' '}
              <a href={conversationLink({ c, at: to.revision, m: messageId })}>
                {visible(cut(contentText(content).slice(0, 400).replaceAll(/\s+/gu, ' '), 100)) || (
                  <Name text={messageId} most={40} />
                )}
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function EventsBetween({ difference: { conversationId: c, events } }: { difference: Difference }): Child {
  return (
    <details class="fold">
      <summary>{many(events.length, 'event')} in between</summary>
      <ul class="ids">
        {events.slice(0, 400).map(({ revision, type, recordedAt }) => (
          <li>
            <a href={conversationLink({ c, at: revision })}>{count(revision)}</a> {eventLabel(type)}{' '}
            <Time at={recordedAt} />
          </li>
        ))}
      </ul>
    </details>
  )
}

/** The changes between two revisions: the summaries, what was lost, and the removed messages, folded. */
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
  const { conversationId: c, from, to, cycle, view } = difference
  return (
    <>
      <h2>
        {cycle === undefined ? 'Difference' : `Compaction ${String(cycle.cycle)}`}
        <span class="facts">
          {' '}
          revision {count(from.revision)} to {count(to.revision)}
        </span>
      </h2>
      {cycle?.outOfForce === undefined ? null : (
        <p class="note warn">
          Inactive since revision {count(cycle.outOfForce.revision)} ({eventLabel(cycle.outOfForce.type)}).
        </p>
      )}
      <Sides difference={difference} />
      <section aria-label="Added">
        <Added difference={difference} />
      </section>
      {forgotten !== undefined ? (
        <>
          <h3>What the agent no longer knew</h3>
          <Headlines cycles={[forgotten]} names={undefined} linked />
          <ForgottenParts found={forgotten} linked />
        </>
      ) : cycle !== undefined ? (
        <p class="note muted">This compaction belongs to an adopted edition. See the edition for what it lost.</p>
      ) : (
        <CyclesBetween c={c} marks={cyclesBetween} />
      )}
      <Removed difference={difference} />
      {view.length === 0 ? (
        <p class="muted">The text of the summaries is unchanged.</p>
      ) : (
        <details class="fold">
          <summary>Changes in the text of the summaries</summary>
          <TextDifference changes={view} />
        </details>
      )}
      <EventsBetween difference={difference} />
    </>
  )
}
