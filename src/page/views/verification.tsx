/** What `verify` found, of one conversation or of all. */
import type { Child } from 'hono/jsx'
import type { Verification } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { Verdict } from '../reading/verdicts.js'
import { figure, Table } from './table.js'
import { count, many, Name, seen, Time } from './text.js'

const MOST_SHOWN = 500

type Problem = Verification['problems'][number]

/** What was found, each with its place; nothing where there is none. */
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
  // Of one conversation all may stand in its own stream, whose name says nothing then.
  const withStream = problems.some(({ stream }) => c === undefined || stream !== `conversation-${c}`)
  return (
    <>
      <Table
        label={label}
        columns={['Rule', ...(withStream ? ['Stream'] : []), figure('Revision'), 'What']}
        rows={problems
          .slice(0, MOST_SHOWN)
          .map(({ rule, stream, revision: place, detail, conversationId }) => [
            <span class={tone}>{rule}</span>,
            ...(withStream ? [<Name text={stream} most={60} />] : []),
            place < 0n || conversationId === undefined || stream !== `conversation-${conversationId}` ? (
              count(place)
            ) : (
              <a href={conversationLink({ c: conversationId, at: place })}>{count(place)}</a>
            ),
            seen(detail),
          ])}
      />
      {problems.length > MOST_SHOWN ? <p>and {many(problems.length - MOST_SHOWN, 'more', 'more')}</p> : null}
    </>
  )
}

/** The result of a proof, how far it is, or the way to ask for one. */
export function VerifyView({ c, verdict }: { c: string | undefined; verdict: Verdict | undefined }): Child {
  const again = link('/verify', { c, run: 1 })
  const what = c === undefined ? 'all conversations, editions and prompts' : 'this conversation and its editions'
  if (verdict === undefined)
    return (
      <section class="verdict">
        <h2>Not proved yet</h2>
        <p>
          The proof reads {what} from the log: laws, order, hash chain, origins of every summary, and every row. It
          records nothing.
        </p>
        <p>
          <a class="button" href={again}>
            Verify now
          </a>
        </p>
      </section>
    )
  if (verdict.state === 'running')
    return (
      <section class="verdict" aria-live="polite">
        <h2>Under way</h2>
        <p>
          {many(verdict.events, 'event')} of {many(verdict.conversations, 'conversation')} so far. This page asks again
          by itself.
        </p>
        <p>
          <a href={again}>Ask again</a>
        </p>
      </section>
    )
  const { verification, refusal, at, revision } = verdict
  if (verification === undefined)
    return (
      <section class="verdict">
        <h2 class="warn">No proof</h2>
        <p>{seen(refusal ?? '')}</p>
        <p>
          <a class="button" href={again}>
            Try again
          </a>
        </p>
      </section>
    )
  const { ok, streams, conversations, events, summaries, problems, observations } = verification
  return (
    <section class="verdict">
      <h2 class={ok ? 'good' : 'bad'}>
        {ok ? 'Verified: nothing lost, nothing changed' : many(problems.length, 'problem')}
      </h2>
      <dl class="made">
        <dt>proved</dt>
        <dd>
          <Time at={at} />
          {revision === undefined ? null : <>, up to revision {count(revision)}</>}
        </dd>
        <dt>read</dt>
        <dd>
          {many(streams, 'stream')} ({many(conversations, 'conversation')}), {many(events, 'event')}
        </dd>
        <dt>summaries</dt>
        <dd>
          {count(summaries.recomputed)} proved by the request that made them, {count(summaries.notRecomputed)} not
          recomputed
        </dd>
        <dt>rows</dt>
        <dd>{ok ? 'every one as the events make it' : 'see below'}</dd>
      </dl>
      <Problems c={c} label="Problems" problems={problems} tone="bad" />
      {observations.length === 0 ? null : (
        <>
          <h3>{many(observations.length, 'observation')}</h3>
          <p class="muted">What other programs did otherwise than our laws have it. Nothing of it is damage.</p>
          <Problems c={c} label="Observations" problems={observations} tone="warn" />
        </>
      )}
      <p>
        <a class="button" href={again}>
          Verify again
        </a>
      </p>
    </section>
  )
}
