/** The verification result of a conversation or of the whole ledger. */
import type { Child } from 'hono/jsx'
import type { Verification } from '../../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { Verdict } from '../reading/verdicts.js'
import { figure, Table } from './table.js'
import { count, many, Name, visible, Time } from './text.js'

const MAX_LISTED = 500

type Problem = Verification['problems'][number]

/** The conversation of a stream, as a link; another stream has its own name. */
function StreamName({ stream, conversationId: c }: Pick<Problem, 'stream' | 'conversationId'>): Child {
  return c === undefined || stream !== `conversation-${c}` ? (
    <Name text={stream} most={60} />
  ) : (
    <a href={conversationLink({ c })}>
      <Name text={c} most={60} />
    </a>
  )
}

/** A table of problems or observations; empty if there are none. */
function Problems({
  c,
  label,
  problems,
  tone,
}: {
  c: string | undefined
  label: string
  problems: readonly Problem[]
  tone: 'bad' | 'warn'
}): Child {
  if (problems.length === 0) return null
  // If all problems are in the conversation's own stream, the stream column is omitted.
  const withStream = problems.some(({ stream }) => c === undefined || stream !== `conversation-${c}`)
  return (
    <div class="problems">
      <Table
        label={label}
        columns={['Rule', ...(withStream ? ['Conversation'] : []), figure('Event'), 'Detail']}
        rows={problems
          .slice(0, MAX_LISTED)
          .map(({ rule, stream, revision: position, detail, conversationId }) => [
            <span class={tone}>{rule}</span>,
            ...(withStream ? [<StreamName stream={stream} conversationId={conversationId} />] : []),
            position < 0 || conversationId === undefined || stream !== `conversation-${conversationId}` ? (
              count(position)
            ) : (
              <a href={conversationLink({ c: conversationId, at: position })}>{count(position)}</a>
            ),
            visible(detail),
          ])}
      />
      {problems.length > MAX_LISTED ? <p>and {many(problems.length - MAX_LISTED, 'more', 'more')}</p> : null}
    </div>
  )
}

/** The result or the progress of a verification, and the button to start one. */
export function VerifyView({ c, verdict }: { c: string | undefined; verdict: Verdict | undefined }): Child {
  const runLink = link('/verify', { c, run: 1 })
  const what = c === undefined ? 'all conversations, editions and prompts' : 'this conversation and its editions'
  if (verdict === undefined)
    return (
      <section class="verdict">
        <h2>Not verified yet</h2>
        <p>
          Verification reads {what} from the log. It checks that no event is missing, changed or out of order, that
          every summary was made from the messages that it names, and that lists and search match the log. It records
          nothing.
        </p>
        <p>
          <a class="button main" href={runLink}>
            Verify now
          </a>
        </p>
      </section>
    )
  if (verdict.state === 'running')
    return (
      <section class="verdict" aria-live="polite">
        <h2>Running</h2>
        <p>
          {many(verdict.events, 'event')} of {many(verdict.conversations, 'conversation')} so far. This page refreshes
          itself.
        </p>
        <p>
          <a href={runLink}>Refresh</a>
        </p>
      </section>
    )
  const { verification, refusal, at, revision } = verdict
  if (verification === undefined)
    return (
      <section class="verdict">
        <h2 class="warn">Could not verify</h2>
        <p>{visible(refusal ?? '')}</p>
        <p>
          <a class="button" href={runLink}>
            Try again
          </a>
        </p>
      </section>
    )
  const { ok, streams, conversations, events, summaries, problems, observations, redactionOff = [] } = verification
  return (
    <section class="verdict">
      <h2 class={ok ? 'good' : 'bad'}>
        {ok ? 'Record intact: no event is missing or changed' : many(problems.length, 'problem')}
      </h2>
      <dl class="made">
        <dt>verified</dt>
        <dd>
          <Time at={at} />
          {revision === undefined ? null : <>, up to event {count(revision)}</>}
        </dd>
        <dt>read</dt>
        <dd>
          {many(events, 'event')} of {many(conversations, 'conversation')}
          {streams > conversations ? ' with editions and prompts' : null}
        </dd>
        <dt>summaries</dt>
        <dd>
          {count(summaries.recomputed)} match the messages that they were made from
          {summaries.notRecomputed === 0 ? null : `, ${count(summaries.notRecomputed)} could not be compared`}
        </dd>
        <dt>lists and search</dt>
        <dd>{ok ? 'match the log' : 'see below'}</dd>
      </dl>
      <Problems c={c} label="Problems" problems={problems} tone="bad" />
      {redactionOff.length === 0 ? null : (
        <p class="warn">Recorded without redaction, may contain secrets: {redactionOff.join(', ')}</p>
      )}
      {observations.length === 0 ? null : (
        <>
          <h3>{many(observations.length, 'observation')}</h3>
          <p class="muted">Irregularities in imported transcripts. Your ledger is intact.</p>
          <Problems c={c} label="Observations" problems={observations} tone="warn" />
        </>
      )}
      <p>
        <a class="button" href={runLink}>
          Verify again
        </a>
      </p>
    </section>
  )
}
