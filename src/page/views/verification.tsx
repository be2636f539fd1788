/** What `verify` found, of one conversation or of all. */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { Verdict } from '../reading/verdicts.js'
import { count, many, Name, seen, Time } from './text.js'

const MOST_SHOWN = 500

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
  const { ok, streams, conversations, events, summaries, problems } = verification
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
      {problems.length === 0 ? null : (
        <div class="wide" role="region" aria-label="Problems" tabindex={0}>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">Rule</th>
                <th scope="col">Stream</th>
                <th scope="col">Revision</th>
                <th scope="col">What</th>
              </tr>
            </thead>
            <tbody>
              {problems.slice(0, MOST_SHOWN).map(({ rule, stream, revision: place, detail, conversationId }) => (
                <tr>
                  <th scope="row" class="bad">
                    {rule}
                  </th>
                  <td>
                    <Name text={stream} most={60} />
                  </td>
                  <td class="n">
                    {place < 0n || conversationId === undefined || stream !== `conversation-${conversationId}` ? (
                      count(place)
                    ) : (
                      <a href={conversationLink({ c: conversationId, at: place })}>{count(place)}</a>
                    )}
                  </td>
                  <td>{seen(detail)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {problems.length > MOST_SHOWN ? <p>and {many(problems.length - MOST_SHOWN, 'more', 'more')}</p> : null}
      <p>
        <a class="button" href={again}>
          Verify again
        </a>
      </p>
    </section>
  )
}
