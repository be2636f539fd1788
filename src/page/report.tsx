/** The report of one conversation as a self-contained HTML file for sharing, as of the time of writing. */
import type { Child } from 'hono/jsx'
import { summaryOf } from '../domain/conversation/batch.js'
import type { ContextAsOf, ForgottenCycle, Ledger, Verification } from '../library/ledger.js'
import { titlesOf } from '../library/titles.js'
import { faultOf } from '../library/problem.js'
import { documentOf } from './document.js'
import { forgottenFound } from './reading/forgotten.js'
import { createHistories } from './reading/history.js'
import { nameOf } from './views/chat.js'
import { ContextFigures } from './views/rail.js'
import { MarkTable } from './views/cycles.js'
import { TotalTable } from './views/forgotten.js'
import { Headlines } from './views/forgotten-headlines.js'
import { ForgottenCycleView } from './views/forgotten-cycle.js'
import { Graph } from './views/graph.js'
import { Plot } from './views/plot.js'
import { count, cut, linesOf, many, Name, visible, Time } from './views/text.js'
import type { Words } from './words.js'

export interface ReportOptions {
  readonly ledger: Pick<Ledger, 'list' | 'log' | 'context' | 'explain' | 'forgotten'> & {
    readonly admin: Pick<Ledger['admin'], 'verify'>
  }
  readonly conversationId: string
  readonly words: Words
  /** Time of writing. */
  readonly now: Date
}

interface Cycle {
  readonly cycle: number
  readonly revision: number
  readonly recordedAt: string
  readonly description: string
  /** Summaries of the batches of the cycle. */
  readonly summaries: readonly { readonly batchId: string; readonly messages: number; readonly text: string }[]
}

const MAX_MESSAGE_CHARACTERS = 20_000
const MAX_MESSAGES = 2_000

/** The result, or the message of an expected error. */
async function orMessage<T>(work: Promise<T>): Promise<T | string> {
  try {
    return await work
  } catch (error) {
    const { fault, message } = faultOf(error)
    if (fault === 'bug') throw error
    return message
  }
}

/** The cycles with their summaries, oldest first. */
async function cyclesOf(ledger: ReportOptions['ledger'], conversationId: string): Promise<readonly Cycle[]> {
  const cycles: Cycle[] = []
  let summaries: Cycle['summaries'][number][] = []
  for await (const event of ledger.log(conversationId)) {
    if (event.type === 'BatchArchived') {
      const { batchId, messageCount } = event.data
      summaries.push({ batchId, messages: messageCount, text: summaryOf(event.data) })
    } else if (event.type === 'MessagesPruned') {
      const { cycle, tokensBefore, tokensAfter, why } = event.data
      cycles.push({
        cycle,
        revision: event.revision,
        recordedAt: event.metadata.recordedAt,
        description: `${why.trigger === 'observed' ? 'by another program' : `${why.trigger} limit`}, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
        summaries,
      })
      summaries = []
    }
  }
  return cycles
}

function CyclePart({ cycle, found }: { cycle: Cycle; found: ForgottenCycle | undefined }): Child {
  return (
    <details>
      <summary>
        Cycle {count(cycle.cycle)} at revision {count(cycle.revision)}: {cycle.description}{' '}
        <Time at={cycle.recordedAt} />
      </summary>
      {cycle.summaries.map(({ batchId, messages, text }) => (
        <article class="msg view">
          <header>
            <b class="role">{batchId.slice(0, 12)}</b>
            <span class="facts">{many(messages, 'message')}</span>
          </header>
          <div class="text">
            <span class="ln">{visible(cut(text, MAX_MESSAGE_CHARACTERS))}</span>
          </div>
        </article>
      ))}
      {found === undefined ? (
        <p class="muted">
          The totals include this cycle; <code>context-ledger forgotten</code> lists each item.
        </p>
      ) : (
        <>
          <Headlines cycles={[found]} names={undefined} linked={false} />
          <ForgottenCycleView found={found} linked={false} />
        </>
      )}
    </details>
  )
}

function Verdict({ verification }: { verification: Verification | string }): Child {
  if (typeof verification === 'string') return <p class="note warn">Not verified: {visible(verification)}</p>
  const { ok, events, problems, summaries } = verification
  return (
    <>
      <p class={ok ? 'good' : 'bad'}>
        <b>{ok ? 'Nothing lost, nothing changed' : many(problems.length, 'problem')}</b>: {many(events, 'event')} read,{' '}
        {many(summaries.recomputed, 'summary', 'summaries')} verified by recomputing their request,{' '}
        {count(summaries.notRecomputed)} not recomputed.
      </p>
      <ul>
        {problems.slice(0, 200).map(({ rule, stream, revision, detail }) => (
          <li>
            <b class="bad">{rule}</b> <Name text={stream} /> revision {count(revision)}: {visible(detail)}
          </li>
        ))}
      </ul>
    </>
  )
}

function ContextPart({ context, words }: { context: ContextAsOf | string; words: Words }): Child {
  if (typeof context === 'string') return <p class="note warn">{visible(context)}</p>
  return (
    <>
      <ContextFigures context={context} whole />
      {words.contextNotes(context).map((sentence) => (
        <p class="note warn">{visible(sentence)}</p>
      ))}
      {context.messages.slice(0, MAX_MESSAGES).map((message, at) => {
        const text = linesOf(message).join('\n')
        return (
          <article class={`msg ${message.role}${at === context.viewAt ? ' view' : ''}`}>
            <header>
              <b class="role">{message.role}</b>
              <span class="id">
                <Name text={nameOf(at === context.viewAt, context.messageIds[at], 'not recorded')} />
              </span>
            </header>
            <div class="text">
              <span class="ln">{visible(cut(text, MAX_MESSAGE_CHARACTERS))}</span>
              {text.length > MAX_MESSAGE_CHARACTERS ? (
                <span class="ln muted">
                  {many(text.length - MAX_MESSAGE_CHARACTERS, 'more character')} in the ledger
                </span>
              ) : null}
            </div>
          </article>
        )
      })}
      {context.messages.length > MAX_MESSAGES ? (
        <p class="muted">{many(context.messages.length - MAX_MESSAGES, 'more message')} in the ledger</p>
      ) : null}
    </>
  )
}

/** The text of the report file. */
export async function reportOf({ ledger, conversationId, words, now }: ReportOptions): Promise<string> {
  const { course, head } = await createHistories(ledger).read(conversationId)
  const context = await orMessage(ledger.context(conversationId))
  const explanation = await orMessage(ledger.explain(conversationId))
  const verification = await orMessage(ledger.admin.verify(conversationId))
  const cycles = await cyclesOf(ledger, conversationId)
  const { whole, totals } = await forgottenFound(ledger, conversationId)
  const batches = typeof explanation !== 'string' && explanation.kind === 'view' ? explanation.batches : []
  const title = (await titlesOf(ledger, [conversationId])).get(conversationId) ?? conversationId
  return await documentOf(
    cut(title, 80),
    <>
      <h1>
        <Name text={title} most={600} />
      </h1>
      <p class="muted">
        <Name text={conversationId} most={600} />. Written <Time at={now.toISOString()} /> UTC, as of revision{' '}
        {count(head)}.
      </p>
      <h2>Course of the context</h2>
      <section class="card" aria-label="Tokens over turns">
        <Plot course={course} />
      </section>
      <h2>Verification</h2>
      <Verdict verification={verification} />
      <h2>{many(course.marks.length, 'cycle or other mark', 'cycles and other marks')}</h2>
      <MarkTable c={conversationId} marks={course.marks} withLinks={false} />
      {cycles.length === 0 ? null : (
        <>
          <h2>What the cycles forgot, and their summaries</h2>
          <TotalTable totals={totals} />
        </>
      )}
      {cycles.map((cycle) => (
        <CyclePart cycle={cycle} found={whole.find(({ revision }) => revision === cycle.revision)} />
      ))}
      <h2>What the summaries are made from</h2>
      {typeof explanation === 'string' ? (
        <p class="note warn">{visible(explanation)}</p>
      ) : (
        <Graph c={conversationId} batches={batches} linked={false} />
      )}
      <h2>Current context</h2>
      <ContextPart context={context} words={words} />
    </>,
  )
}
