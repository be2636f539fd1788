/**
 * The changes of a compaction, or between two revisions: a headline, the summary, lost and kept items, the cost, and the
 * removed messages, folded.
 */
import type { Child } from 'hono/jsx'
import { summaryOf } from '../../../domain/conversation/batch.js'
import { contentText } from '../../../domain/values/message.js'
import type { Difference, ForgottenCycle } from '../../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { Mark } from '../reading/history.js'
import { ROLES } from './chat.js'
import { differenceLink } from './cycles.js'
import { eventLabel } from '../../../domain/events/describe-event.js'
import { ForgottenParts } from './forgotten-cycle.js'
import { Lines } from './lines.js'
import { MessagePlace, type Places } from './places.js'
import { FoldedProse, Prose } from './prose.js'
import { TextDifference } from './text-difference.js'
import { ToolCallView } from './tool-call.js'
import { count, many, oneLine, visible, Time } from './text.js'

type RemovedMessage = Difference['messages']['left'][number]

interface DifferenceProps {
  readonly difference: Difference
  readonly places: Places
}

/** A compaction that failed, or could not reduce enough, changes nothing. */
const isWithoutEffect = ({ kind }: Mark): boolean => kind === 'failure' || kind === 'could-not-help'

/** When the compaction ran, how much it removed, and the tokens before and after. */
function Headline({
  difference,
  compactedAt,
  mark,
}: Pick<DifferenceViewProps, 'difference' | 'compactedAt' | 'mark'>): Child {
  const { from, to, cycle, messages } = difference
  const removed = messages.left.length + messages.passed.length
  if (mark !== undefined && isWithoutEffect(mark))
    return (
      <>
        <h2>{eventLabel(mark.kind === 'failure' ? 'CompactionFailed' : 'CompactionCouldNotHelp')}</h2>
        <p class="lede" title={`event ${count(to.revision)}`}>
          <Time at={mark.at} isShort />: {visible(mark.text)}. The context did not change:{' '}
          <b>{many(to.tokens, 'token')}</b>.
        </p>
      </>
    )
  return (
    <>
      <h2>{cycle === undefined ? 'Difference' : `Compaction ${count(cycle.cycle)}`}</h2>
      <p class="lede" title={`event ${count(from.revision)} to ${count(to.revision)}`}>
        {cycle === undefined ? (
          <>
            <Time at={from.recordedAt} isShort /> to <Time at={to.recordedAt} isShort />
          </>
        ) : (
          <Time at={compactedAt ?? to.recordedAt} isShort />
        )}
        : <b>{many(removed, 'message')}</b> removed, <b>{count(from.tokens)}</b> → <b>{many(to.tokens, 'token')}</b>
      </p>
    </>
  )
}

/** Size of the context on both sides, with links to them. */
function Sides({ difference: { conversationId: c, from, to } }: { difference: Difference }): Child {
  return (
    <p class="figures">
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

type AddedBatch = Difference['batches']['came'][number]

/** A summary: its beginning, and the rest folded. */
function AddedSummary({ c, batch }: { c: string; batch: AddedBatch }): Child {
  const { batchId, messageCount, tokens } = batch
  const sources = link('/explain', { c, batch: batchId })
  return (
    <article class="msg card" aria-label={`Summary ${batchId}`}>
      <header>
        <b class="role">Summary</b>
        <span class="facts">
          of {many(messageCount, 'message')} · {many(tokens, 'token')} · <a href={sources}>sources</a>
        </span>
      </header>
      <FoldedProse text={summaryOf(batch)} more={sources} />
    </article>
  )
}

/** Summaries that are not folded. */
const MAX_SUMMARIES = 2

/** The summary that replaced the messages, and added messages. */
function Added({ difference, places }: DifferenceProps): Child {
  const { conversationId: c, messages, batches } = difference
  return (
    <section aria-label="Added">
      <h3>
        {batches.came.length === 0
          ? 'No summary added'
          : batches.came.length === 1
            ? 'The summary that replaced them'
            : `The ${count(batches.came.length)} summaries that replaced them`}
      </h3>
      {batches.came.slice(0, MAX_SUMMARIES).map((batch) => (
        <AddedSummary c={c} batch={batch} />
      ))}
      {batches.came.length <= MAX_SUMMARIES ? null : (
        <details class="fold">
          <summary>Show {many(batches.came.length - MAX_SUMMARIES, 'more summary', 'more summaries')}</summary>
          {batches.came.slice(MAX_SUMMARIES).map((batch) => (
            <AddedSummary c={c} batch={batch} />
          ))}
        </details>
      )}
      {messages.came.length === 0 ? null : (
        <details class="fold">
          <summary>{many(messages.came.length, 'message')} added</summary>
          {messages.came.slice(0, MAX_LISTED).map((message) => (
            <MessageLine c={c} at={difference.to.revision} message={message} places={places} />
          ))}
        </details>
      )}
    </section>
  )
}

/** The result of a call is a message of its own here. */
const NO_RESULT = { text: '', attributes: {} }
const MAX_LISTED = 120
/** Lines of a tool result. */
const MAX_RESULT_LINES = 40

/** A message in one line that folds out. */
function MessageLine({
  c,
  at,
  message,
  places,
}: {
  c: string
  /** A revision at which the message is in the context. */
  at: number
  message: RemovedMessage
  places: Places
}): Child {
  const { messageId, role, content, toolCalls = [], batchId, tokens, createdAt } = message
  const text = contentText(content)
  const first = toolCalls[0] === undefined ? '' : (toolCalls[0].function?.name ?? toolCalls[0].type)
  const href = conversationLink({ c, at, m: messageId })
  return (
    <details class={`removed ${role}`}>
      <summary>
        <b class="role">{ROLES[role]}</b>{' '}
        <span class="preview">
          {visible(oneLine(text.trim() === '' ? first : text.replaceAll(/[#*`]+/gu, ''), 160))}
        </span>
      </summary>
      <p class="facts">
        <MessagePlace c={c} revision={message.revision} messageId={messageId} places={places} />
        {', '}
        <Time at={createdAt} isShort />, {many(tokens, 'token')}
        {batchId === undefined ? null : (
          <>
            {' · '}
            <a href={link('/explain', { c, batch: batchId })}>its summary</a>
          </>
        )}
      </p>
      {role === 'tool' ? (
        <Lines lines={text === '' ? [] : text.split(/\r\n|\n|\r/u)} most={MAX_RESULT_LINES} more={href} isCode />
      ) : (
        <Prose text={text} more={href} />
      )}
      {toolCalls.map((call) => (
        <ToolCallView call={call} result={NO_RESULT} isOpen={false} />
      ))}
    </details>
  )
}

/** Messages of a user, each followed by the answers and results up to the next one. */
function groupsOf(messages: readonly RemovedMessage[]): readonly (readonly RemovedMessage[])[] {
  const groups: RemovedMessage[][] = []
  for (const message of messages) {
    const last = groups.at(-1)
    const isAnswer = message.role === 'assistant' || message.role === 'tool'
    if (isAnswer && last?.[0] !== undefined && (last[0].role === 'assistant' || last[0].role === 'tool'))
      last.push(message)
    else groups.push([message])
  }
  return groups
}

/** Shorter groups are not folded. */
const MIN_GROUP = 3

/** The removed messages: those of a user in a line each, the answers between them folded together. */
function MessageLines({
  c,
  at,
  messages,
  places,
}: {
  c: string
  at: number
  messages: readonly RemovedMessage[]
  places: Places
}): Child {
  return groupsOf(messages).map((group) => {
    const lines = group.map((message) => <MessageLine c={c} at={at} message={message} places={places} />)
    if (group.length < MIN_GROUP) return lines
    const results = group.filter(({ role }) => role === 'tool').length
    const tokens = group.reduce((sum, message) => sum + message.tokens, 0)
    return (
      <details class="removed group">
        <summary>
          {many(group.length - results, 'answer')}
          {results === 0 ? null : ` and ${many(results, 'tool result')}`}{' '}
          <span class="facts">{many(tokens, 'token')}</span>
        </summary>
        {lines}
      </details>
    )
  })
}

/** The removed messages, folded, and the removed summaries. */
function Removed({ difference, places }: DifferenceProps): Child {
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
          <MessageLines c={c} at={from.revision} messages={left.slice(0, MAX_LISTED)} places={places} />
          {left.length <= MAX_LISTED ? null : (
            <p>
              <a href={conversationLink({ c, at: from.revision })}>
                {many(left.length - MAX_LISTED, 'more', 'more')}, in the context before
              </a>
            </p>
          )}
        </details>
      )}
      {batches.left.length === 0 ? null : (
        <details class="fold">
          <summary>{many(batches.left.length, 'summary', 'summaries')} removed</summary>
          {batches.left.map((batch) => (
            <AddedSummary c={c} batch={batch} />
          ))}
        </details>
      )}
    </section>
  )
}

/** Links to the cycles between two revisions; their pages report what was lost. */
function CyclesBetween({ c, marks }: { c: string; marks: readonly Mark[] }): Child {
  if (marks.length === 0) return null
  return (
    <>
      <h3>Compactions in between</h3>
      <ul class="ids">
        {marks.slice(0, MAX_LISTED).map((mark) => (
          <li>
            <a href={differenceLink(c, mark)}>{visible(mark.text)}</a>
          </li>
        ))}
        {marks.length > MAX_LISTED ? (
          <li>
            <a href={link('/cycles', { c })}>{many(marks.length - MAX_LISTED, 'more', 'more')}</a>
          </li>
        ) : null}
      </ul>
    </>
  )
}

/** Changes of the text of all summaries, and the recorded events, folded. */
function Details({ difference: { conversationId: c, view, events } }: { difference: Difference }): Child {
  return (
    <>
      {view.length === 0 ? null : (
        <details class="fold">
          <summary>Changes in the text of the summaries</summary>
          <TextDifference changes={view} />
        </details>
      )}
      <details class="fold">
        <summary>{many(events.length, 'event')} in the log</summary>
        <ul class="ids">
          {events.slice(0, 400).map(({ revision, type, recordedAt }) => (
            <li>
              <a href={conversationLink({ c, at: revision })}>event {count(revision)}</a> {eventLabel(type)}{' '}
              <Time at={recordedAt} />
            </li>
          ))}
        </ul>
      </details>
    </>
  )
}

interface DifferenceViewProps extends DifferenceProps {
  /** The time of a compaction by another program, if its transcript has it. */
  readonly compactedAt: string | undefined
  /** The report of the cycle, if the difference is of one. */
  readonly forgotten: ForgottenCycle | undefined
  /** Otherwise, the cycles between the two revisions. */
  readonly cyclesBetween: readonly Mark[]
  /** The mark that the difference is of, if it is of one event. */
  readonly mark: Mark | undefined
}

/** The changes between two revisions. */
export function DifferenceView({
  difference,
  compactedAt,
  forgotten,
  cyclesBetween,
  mark,
  places,
}: DifferenceViewProps): Child {
  const { conversationId: c, cycle } = difference
  return (
    <>
      <Headline difference={difference} compactedAt={compactedAt} mark={mark} />
      {cycle?.outOfForce === undefined ? null : (
        <p class="note warn" title={`event ${count(cycle.outOfForce.revision)}`}>
          Inactive since <Time at={cycle.outOfForce.recordedAt} isShort /> ({eventLabel(cycle.outOfForce.type)}).
        </p>
      )}
      {mark !== undefined && isWithoutEffect(mark) ? null : (
        <>
          <Sides difference={difference} />
          <Added difference={difference} places={places} />
        </>
      )}
      {forgotten !== undefined ? (
        <ForgottenParts found={forgotten} places={places} />
      ) : cycle !== undefined ? (
        <p class="note muted">This compaction belongs to an adopted edition. See the edition for what it lost.</p>
      ) : (
        <CyclesBetween c={c} marks={cyclesBetween} />
      )}
      <Removed difference={difference} places={places} />
      <Details difference={difference} />
    </>
  )
}
