/** Where a line or a batch comes from: what `explain` answers, down to the messages. */
import type { Child } from 'hono/jsx'
import { contentText } from '../../domain/values/message.js'
import type { BatchOrigin, Explanation, LineSource, OriginalMessage, RecordedAt } from '../../library/ledger.js'
import type { SummarizerRecord } from '../../domain/events/index.js'
import { conversationLink, link } from '../links.js'
import { coveredBy } from './graph.js'
import { count, Lines, linesOf, many, Name, oneLine, plain, seen, Time } from './text.js'

const STATES: Readonly<Record<BatchOrigin['state'], string>> = {
  shown: 'in the view',
  active: 'not in the view, searchable',
  retired: 'not active',
}

/** Where and when a fact was recorded, and by whom. */
function Recorded({ c, recorded }: { c: string; recorded: RecordedAt }): Child {
  const own = recorded.stream.startsWith('conversation-')
  return (
    <>
      {own ? (
        <a href={conversationLink({ c, at: recorded.revision })}>revision {count(recorded.revision)}</a>
      ) : (
        <>revision {count(recorded.revision)} of an edition</>
      )}
      , <Time at={recorded.recordedAt} /> by <Name text={recorded.actor} most={40} />
    </>
  )
}

function Summarizer({ c, by, recorded }: { c: string; by: SummarizerRecord; recorded: RecordedAt }): Child {
  return (
    <dl class="made">
      <dt>by</dt>
      <dd>
        {by.strategy}, <Name text={by.model} /> of <Name text={by.provider} />
        {by.standIn === true ? <b class="warn"> as the fallback</b> : null}
        {by.reused === true ? ' (reused)' : null}
      </dd>
      {by.usage === undefined ? null : (
        <>
          <dt>tokens</dt>
          <dd>
            {count(by.usage.promptTokens)} asked, {count(by.usage.completionTokens)} answered
          </dd>
        </>
      )}
      <dt>prompt</dt>
      <dd>
        <Name text={by.prompt.name} /> <code>{by.prompt.sha256.slice(0, 12)}</code>
      </dd>
      <dt>request</dt>
      <dd>
        <code>{by.requestHash.slice(0, 16)}</code>
      </dd>
      <dt>recorded</dt>
      <dd>
        <Recorded c={c} recorded={recorded} />
      </dd>
    </dl>
  )
}

/** A message as it was recorded. */
function Original({ c, message: original }: { c: string; message: OriginalMessage }): Child {
  const { message, messageId, recorded, tokens, answers } = original
  return (
    <article class={`msg ${message.role}`} aria-label={plain(`${message.role} ${messageId.slice(0, 60)}`)}>
      <header>
        <b class="role">{message.role}</b>
        <a class="id" href={conversationLink({ c, at: recorded.revision, m: messageId })}>
          <Name text={messageId} most={50} />
        </a>
        <span class="facts">
          {many(tokens, 'token')} · <Recorded c={c} recorded={recorded} />
          {answers === undefined ? null : (
            <>
              {' · answers the context at '}
              <a href={conversationLink({ c, at: answers.revision })}>revision {answers.revision}</a>
            </>
          )}
        </span>
      </header>
      <Lines lines={linesOf(message)} more={conversationLink({ c, at: recorded.revision, m: messageId })} />
    </article>
  )
}

/** The messages that a batch covers: whole, or by their ids. */
function Covered({ c, batch, children }: { c: string; batch: BatchOrigin; children?: Child }): Child {
  const covered = coveredBy(batch)
  if (covered === undefined) return null
  const { messageIds, firstRevision, lastRevision, messages } = covered
  const [first = ''] = messageIds
  return (
    <details class="chunk" open>
      <summary>
        {many(messageIds.length, 'message')}, revisions {count(firstRevision)} to {count(lastRevision)}
      </summary>
      {children}
      {messages === undefined ? (
        <ul class="ids">
          {messageIds.slice(0, 200).map((id) => (
            <li>
              <a href={conversationLink({ c, at: lastRevision, m: id })}>
                <Name text={id} most={40} />
              </a>
            </li>
          ))}
          {messageIds.length > 200 ? (
            <li class="muted">
              and {count(messageIds.length - 200)} more from <Name text={first} most={40} />
            </li>
          ) : null}
        </ul>
      ) : (
        messages.map((message) => <Original c={c} message={message} />)
      )}
    </details>
  )
}

const SUMMARIES: Readonly<Record<NonNullable<BatchOrigin['observed']>['summary'], string>> = {
  text: 'as it stands above',
  opaque: 'only its provider reads it',
  none: 'none',
}

/** What is told of a compaction that another program did. */
function Observed({ c, observed }: { c: string; observed: NonNullable<BatchOrigin['observed']> }): Child {
  const { program, programVersion, trigger, at, summary, unknown, where, recorded } = observed
  return (
    <dl class="made">
      <dt>by</dt>
      <dd>
        <Name text={[program, programVersion ?? ''].join(' ').trim()} />, {seen(trigger)} <Time at={at} />
      </dd>
      <dt>summary</dt>
      <dd>{SUMMARIES[summary]}</dd>
      {unknown.length === 0 ? null : (
        <>
          <dt>unknown</dt>
          <dd>
            of {many(unknown.length, 'message')} the transcript does not tell whether the model was still given them
          </dd>
        </>
      )}
      <dt>told in</dt>
      <dd>
        <Name text={where.file} />
        {where.line === undefined ? null : `, line ${count(where.line)}`}
        {where.path === undefined ? null : <> {seen(where.path)}</>}
      </dd>
      <dt>recorded</dt>
      <dd>
        <Recorded c={c} recorded={recorded} />
      </dd>
    </dl>
  )
}

/** A batch with what it was made of, deeper ones folded in. */
function Batch({ c, batch, isTop }: { c: string; batch: BatchOrigin; isTop: boolean }): Child {
  const {
    batchId,
    depth,
    messageCount,
    tokens,
    state,
    cycle,
    sources,
    chunk,
    observed,
    summarizer,
    recorded,
    missing,
    content,
  } = batch
  const inside = (
    <>
      <Lines lines={content.split('\n')} />
      {summarizer === undefined ? null : <Summarizer c={c} by={summarizer} recorded={recorded} />}
      {cycle === undefined ? null : (
        <p class="facts">
          <a href={link('/difference', { c, cycle: cycle.cycle })}>cycle {cycle.cycle}</a>,{' '}
          {cycle.trigger === 'observed' ? 'by another program' : `${cycle.trigger} limit`}, {count(cycle.tokensBefore)}{' '}
          → {count(cycle.tokensAfter)} tokens
          {cycle.undone === undefined ? null : <b class="warn"> undone</b>}
        </p>
      )}
      {missing.map((id) => (
        <p class="note bad">
          <Name text={id} /> is not recorded
        </p>
      ))}
      <Covered c={c} batch={batch}>
        {chunk === undefined ? null : <Summarizer c={c} by={chunk.summarizer} recorded={chunk.recorded} />}
        {observed === undefined ? null : <Observed c={c} observed={observed} />}
      </Covered>
      {sources.map((source) => (
        <Batch c={c} batch={source} isTop={false} />
      ))}
    </>
  )
  const head = (
    <>
      <b>{batchId.slice(0, 12)}</b> depth {depth}, {many(messageCount, 'message')}, {many(tokens, 'token')},{' '}
      {STATES[state]}
    </>
  )
  return isTop ? (
    <section class="batch" aria-label={`batch ${batchId}`}>
      <p>
        {head}{' '}
        <a class="facts" href={link('/graph', { c, batch: batchId })}>
          graph
        </a>
      </p>
      {inside}
    </section>
  ) : (
    <details class="batch">
      <summary>{head}</summary>
      {inside}
    </details>
  )
}

function Source({ c, source }: { c: string; source: LineSource }): Child {
  return (
    <li>
      {source.kind === 'batch' ? (
        <a href={link('/explain', { c, batch: source.batchId })}>batch {source.batchId.slice(0, 12)}</a>
      ) : (
        <>
          <a href={conversationLink({ c, at: source.revision, m: source.messageId })}>
            <Name text={source.messageId} most={40} />
          </a>
          {source.withdrawn === undefined
            ? source.batchId === undefined
              ? ', live'
              : ', compacted'
            : `, withdrawn (${source.withdrawn.why})`}
        </>
      )}
      <p class="muted">{seen(oneLine(source.excerpt, 200))}</p>
    </li>
  )
}

const WHAT_BECAME = {
  live: 'Said in a live message.',
  compacted: 'Said in a message that left the context; the batch below covers it.',
  withdrawn: 'Said in a message that was withdrawn.',
} as const

/** What explains a line or a batch. */
export function ExplanationView({ explanation, line }: { explanation: Explanation; line: string | undefined }): Child {
  const c = explanation.conversationId
  return (
    <>
      <h2>Where it comes from</h2>
      {line === undefined ? null : (
        <blockquote class="text">
          <span class="ln">{seen(oneLine(line, 400))}</span>
        </blockquote>
      )}
      <Answer c={c} explanation={explanation} />
    </>
  )
}

function Answer({ c, explanation }: { c: string; explanation: Explanation }): Child {
  switch (explanation.kind) {
    case 'batch':
      return (
        <>
          {(explanation.said ?? []).map((message) => (
            <>
              <p class="muted">Said by {message.message.role}, in these words:</p>
              <Original c={c} message={message} />
            </>
          ))}
          <Batch c={c} batch={explanation.batch} isTop />
        </>
      )
    case 'message':
      return (
        <>
          <p>
            {
              WHAT_BECAME[
                explanation.withdrawn !== undefined
                  ? 'withdrawn'
                  : explanation.batch === undefined
                    ? 'live'
                    : 'compacted'
              ]
            }
          </p>
          <Original c={c} message={explanation.message} />
          {explanation.batch === undefined ? null : <Batch c={c} batch={explanation.batch} isTop />}
        </>
      )
    case 'view':
      return (
        <>
          <p>
            {explanation.asOf === undefined
              ? `${many(explanation.batches.length, 'active batch', 'active batches')} after ${many(explanation.cycles, 'cycle')}, ${many(explanation.liveMessages, 'live message')}.`
              : `A line of the view itself, which counts, orders or omits what it is made of, as revision ${String(explanation.asOf.revision)} made it.`}
          </p>
          <ul class="ids">
            {explanation.batches.map(({ batchId, depth, messageCount, content }) => (
              <li>
                <a href={link('/explain', { c, batch: batchId })}>{batchId.slice(0, 12)}</a> depth {depth},{' '}
                {many(messageCount, 'message')}{' '}
                <span class="muted">{seen(oneLine(content.split('\n').slice(1).join(' '), 120))}</span>
              </li>
            ))}
          </ul>
        </>
      )
    case 'several':
      return (
        <>
          <p>It stands in {many(explanation.sources.length, 'place')}.</p>
          <ul class="ids">
            {explanation.sources.slice(0, 100).map((source) => (
              <Source c={c} source={source} />
            ))}
          </ul>
        </>
      )
    case 'shown-only':
      return (
        <p>
          {explanation.what === 'placeholder'
            ? 'A placeholder for a result of a call that was not there yet'
            : 'A note of what is left out to fit the window'}
          , which the ledger itself puts there and which is recorded nowhere:{' '}
          {seen(oneLine(contentText(explanation.text), 300))}
        </p>
      )
  }
}
