/** The sources of a line or a batch, down to the messages. */
import { summarizerNotes } from '../../../domain/reports/summarizer-notes.js'
import type { Child } from 'hono/jsx'
import { summaryOf } from '../../../domain/conversation/batch.js'
import { contentText } from '../../../domain/values/message.js'
import type { BatchOrigin, Explanation, LineSource, OriginalMessage, RecordedAt } from '../../../library/ledger.js'
import type { SummarizerRecord } from '../../../domain/events/index.js'
import { conversationLink, link } from '../links.js'
import { ROLES } from './chat.js'
import { coveredBy } from './graph.js'
import { Lines } from './lines.js'
import { turnsText, turnText, type Places } from './places.js'
import { count, linesOf, many, Name, oneLine, plain, visible, Time } from './text.js'

const STATES: Readonly<Record<BatchOrigin['state'], string>> = {
  shown: 'in the context',
  active: 'not in the context, searchable',
  retired: 'inactive',
}

/** The conversation of an explanation, and the places of its messages. */
interface Of {
  readonly c: string
  readonly places: Places
}

/** A revision of the conversation as the turn that it is in. The revision is the title of the link. */
function RevisionPlace({ c, revision, places: { turnOf } }: Of & { revision: number }): Child {
  return (
    <a href={conversationLink({ c, at: revision })} title={`event ${count(revision)}`}>
      {turnText(turnOf, c, revision)}
    </a>
  )
}

/** Turn, time and actor of an event. */
function Recorded({ c, places, recorded }: Of & { recorded: RecordedAt }): Child {
  const isOwnStream = recorded.stream.startsWith('conversation-')
  return (
    <>
      {isOwnStream ? (
        <RevisionPlace c={c} places={places} revision={recorded.revision} />
      ) : (
        <span title={`event ${count(recorded.revision)} of the edition`}>in an edition</span>
      )}
      , <Time at={recorded.recordedAt} /> by <Name text={recorded.actor} most={40} />
    </>
  )
}

function Summarizer({ c, places, by, recorded }: Of & { by: SummarizerRecord; recorded: RecordedAt }): Child {
  return (
    <dl class="made">
      <dt>by</dt>
      <dd>
        {by.strategy}, <Name text={by.model} />
        {by.provider === 'none' ? (
          ', without a model'
        ) : (
          <>
            {' '}
            of <Name text={by.provider} />
          </>
        )}
        {summarizerNotes(by).map((note) => (
          <b class="warn">; {note}</b>
        ))}
      </dd>
      {by.usage === undefined ? null : (
        <>
          <dt>tokens</dt>
          <dd>
            {count(by.usage.promptTokens)} prompt, {count(by.usage.completionTokens)} completion
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
        <Recorded c={c} places={places} recorded={recorded} />
      </dd>
    </dl>
  )
}

/** A recorded message. */
function Original({ c, places, message: original }: Of & { message: OriginalMessage }): Child {
  const { message, messageId, recorded, tokens, answers } = original
  return (
    <article class={`msg ${message.role}`} aria-label={plain(`${message.role} ${messageId.slice(0, 60)}`)}>
      <header>
        <b class="role">{ROLES[message.role]}</b>
        <a class="id" href={conversationLink({ c, at: recorded.revision, m: messageId })}>
          <Name text={messageId} most={50} />
        </a>
        <span class="facts">
          {many(tokens, 'token')} · <Recorded c={c} places={places} recorded={recorded} />
          {answers === undefined ? null : (
            <>
              {' · answers the context of '}
              <RevisionPlace c={c} places={places} revision={Number(answers.revision)} />
            </>
          )}
        </span>
      </header>
      <Lines lines={linesOf(message)} more={conversationLink({ c, at: recorded.revision, m: messageId })} />
    </article>
  )
}

/** The messages that a batch covers, in full or as ids. */
function Covered({ c, places, batch, children }: Of & { batch: BatchOrigin; children?: Child }): Child {
  const covered = coveredBy(batch)
  if (covered === undefined) return null
  const { messageIds, firstRevision, lastRevision, messages } = covered
  const [first = ''] = messageIds
  const turns = turnsText(places.turnOf, c, firstRevision, lastRevision)
  return (
    <details class="chunk" open>
      <summary title={`events ${count(firstRevision)} to ${count(lastRevision)}`}>
        {many(messageIds.length, 'message')}
        {turns === undefined ? null : `, ${turns}`}
      </summary>
      {children}
      {messages === undefined ? (
        <details>
          <summary>Ids of the messages</summary>
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
        </details>
      ) : (
        messages.map((message) => <Original c={c} places={places} message={message} />)
      )}
    </details>
  )
}

const SUMMARIES: Readonly<Record<NonNullable<BatchOrigin['observed']>['summary'], string>> = {
  text: 'see above',
  opaque: 'not readable (encrypted, or not in the transcript)',
  none: 'none',
}

/** A compaction by another program. */
function Observed({ c, places, observed }: Of & { observed: NonNullable<BatchOrigin['observed']> }): Child {
  const { program, programVersion, trigger, at, summary, unknown, where, recorded } = observed
  return (
    <dl class="made">
      <dt>by</dt>
      <dd>
        <Name text={[program, programVersion ?? ''].join(' ').trim()} />, {visible(trigger)} <Time at={at} />
      </dd>
      <dt>summary</dt>
      <dd>{SUMMARIES[summary]}</dd>
      {unknown.length === 0 ? null : (
        <>
          <dt>unknown</dt>
          <dd>whether the model still received {many(unknown.length, 'message')}</dd>
        </>
      )}
      <dt>source</dt>
      <dd>
        <Name text={where.file} />
        {where.line === undefined ? null : `, line ${count(where.line)}`}
        {where.path === undefined ? null : <> {visible(where.path)}</>}
      </dd>
      <dt>recorded</dt>
      <dd>
        <Recorded c={c} places={places} recorded={recorded} />
      </dd>
    </dl>
  )
}

/** A batch with its sources, which are collapsed. */
function Batch({ c, places, batch, isTop }: Of & { batch: BatchOrigin; isTop: boolean }): Child {
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
  } = batch
  const content = (
    <>
      <Lines lines={summaryOf(batch).split('\n')} />
      {summarizer === undefined ? null : <Summarizer c={c} places={places} by={summarizer} recorded={recorded} />}
      {cycle === undefined ? null : (
        <p class="facts">
          <a href={link('/difference', { c, cycle: cycle.cycle })}>compaction {cycle.cycle}</a>,{' '}
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
      <Covered c={c} places={places} batch={batch}>
        {chunk === undefined ? null : (
          <Summarizer c={c} places={places} by={chunk.summarizer} recorded={chunk.recorded} />
        )}
        {observed === undefined ? null : <Observed c={c} places={places} observed={observed} />}
      </Covered>
      {sources.map((source) => (
        <Batch c={c} places={places} batch={source} isTop={false} />
      ))}
    </>
  )
  const head = (
    <>
      <b title={batchId}>Summary of {many(messageCount, 'message')}</b>
      {depth === 0 ? null : ', made from other summaries'}, {many(tokens, 'token')}, {STATES[state]}
    </>
  )
  return isTop ? (
    <section class="batch" aria-label={`summary ${batchId}`}>
      <p>
        {head}{' '}
        <a class="facts" href={link('/graph', { c, batch: batchId })}>
          as a graph
        </a>
      </p>
      {content}
    </section>
  ) : (
    <details class="batch">
      <summary>{head}</summary>
      {content}
    </details>
  )
}

function Source({ c, source }: { c: string; source: LineSource }): Child {
  return (
    <li>
      {source.kind === 'batch' ? (
        <a href={link('/explain', { c, batch: source.batchId })}>a summary</a>
      ) : (
        <>
          <a href={conversationLink({ c, at: source.revision, m: source.messageId })}>
            <Name text={source.messageId} most={40} />
          </a>
          {source.withdrawn === undefined
            ? source.batchId === undefined
              ? ', in full'
              : ', compacted'
            : `, withdrawn (${source.withdrawn.why})`}
        </>
      )}
      <p class="muted">{visible(oneLine(source.excerpt, 200))}</p>
    </li>
  )
}

const SHOWN_ONLY: Readonly<Record<Extract<Explanation, { kind: 'shown-only' }>['what'], string>> = {
  placeholder: 'A placeholder for the missing result of a tool call',
  note: 'A note about content omitted to fit the window',
  inserted: 'A user message that the API needs',
}

const MESSAGE_STATES = {
  live: 'From a message that the model still gets in full.',
  compacted: 'From a message that the summary below covers.',
  withdrawn: 'From a withdrawn message.',
} as const

/** The heading of an explanation, with the line that it is about. */
export const SourcesHeading = ({ line }: { line: string | undefined }): Child => (
  <>
    <h2>Sources</h2>
    {line === undefined ? null : (
      <blockquote class="text">
        <span class="ln">{visible(oneLine(line, 400))}</span>
      </blockquote>
    )}
  </>
)

/** The explanation of a line or a batch. */
export function ExplanationView({
  explanation,
  line,
  places,
}: {
  explanation: Explanation
  line: string | undefined
  places: Places
}): Child {
  const c = explanation.conversationId
  return (
    <>
      <SourcesHeading line={line} />
      <Answer c={c} places={places} explanation={explanation} />
    </>
  )
}

function Answer({ c, places, explanation }: Of & { explanation: Explanation }): Child {
  switch (explanation.kind) {
    case 'batch':
      return (
        <>
          {(explanation.said ?? []).map((message) => (
            <>
              <p class="muted">Original {message.message.role} message:</p>
              <Original c={c} places={places} message={message} />
            </>
          ))}
          <Batch c={c} places={places} batch={explanation.batch} isTop />
        </>
      )
    case 'message':
      return (
        <>
          <p>
            {
              MESSAGE_STATES[
                explanation.withdrawn !== undefined
                  ? 'withdrawn'
                  : explanation.batch === undefined
                    ? 'live'
                    : 'compacted'
              ]
            }
          </p>
          <Original c={c} places={places} message={explanation.message} />
          {explanation.batch === undefined ? null : <Batch c={c} places={places} batch={explanation.batch} isTop />}
        </>
      )
    case 'view':
      return (
        <>
          <p>
            {explanation.asOf === undefined
              ? `${many(explanation.batches.length, 'summary', 'summaries')} after ${many(explanation.cycles, 'compaction')}, and ${many(explanation.liveMessages, 'message')} in full.`
              : `A line that the ledger adds between the summaries, as of ${turnText(places.turnOf, c, explanation.asOf.revision)}.`}
          </p>
          <ul class="ids">
            {explanation.batches.map((batch) => (
              <li>
                <a href={link('/explain', { c, batch: batch.batchId })}>
                  {visible(oneLine(summaryOf(batch).replaceAll(/[#*`]+/gu, ''), 120)) || 'Summary'}
                </a>{' '}
                <span class="muted">of {many(batch.messageCount, 'message')}</span>
              </li>
            ))}
          </ul>
        </>
      )
    case 'several':
      return (
        <>
          <p>The line occurs in {many(explanation.sources.length, 'place')}.</p>
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
          {SHOWN_ONLY[explanation.what]}, added by the ledger and not recorded:{' '}
          {visible(oneLine(contentText(explanation.text), 300))}
        </p>
      )
  }
}
