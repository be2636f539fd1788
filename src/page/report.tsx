/**
 * The report of one conversation as a single page that can be sent to somebody: it needs no server, no script and no
 * network, and says so to the browser. What it shows is of the moment at which it was written.
 */
import type { Child } from 'hono/jsx'
import type { ContextAsOf, ForgottenCycle, Ledger, Verification } from '../library/ledger.js'
import { faultOf } from '../library/problem.js'
import { documentOf } from './document.js'
import { forgottenFound } from './reading/forgotten.js'
import { createHistories } from './reading/history.js'
import { ContextFigures } from './views/context.js'
import { MarkTable } from './views/cycles.js'
import { ForgottenCycleView, TotalTable } from './views/forgotten.js'
import { Graph } from './views/graph.js'
import { Plot } from './views/plot.js'
import { count, cut, linesOf, many, Name, seen, Time } from './views/text.js'
import type { Words } from './words.js'

/** What a report is made of. */
export interface ReportOptions {
  readonly ledger: Pick<Ledger, 'log' | 'context' | 'explain' | 'verify' | 'forgotten'>
  readonly conversationId: string
  readonly words: Words
  /** When it is written. */
  readonly now: Date
}

interface Cycle {
  readonly cycle: number
  readonly revision: bigint
  readonly recordedAt: string
  readonly says: string
  /** What the batches of the cycle say. */
  readonly summaries: readonly { readonly batchId: string; readonly messages: number; readonly content: string }[]
}

const MOST_OF_A_MESSAGE = 20_000
const MOST_MESSAGES = 2_000

/** A part of the answer, or the sentence why there is none. */
async function orRefusal<T>(work: Promise<T>): Promise<T | string> {
  try {
    return await work
  } catch (error) {
    const { fault, message } = faultOf(error)
    if (fault === 'bug') throw error
    return message
  }
}

/** What cycles made, oldest first. */
async function cyclesOf(ledger: ReportOptions['ledger'], conversationId: string): Promise<readonly Cycle[]> {
  const cycles: Cycle[] = []
  let summaries: Cycle['summaries'][number][] = []
  for await (const event of ledger.log(conversationId)) {
    if (event.type === 'BatchArchived') {
      const { batchId, messageCount, content } = event.data
      summaries.push({ batchId, messages: messageCount, content })
    } else if (event.type === 'MessagesPruned') {
      const { cycle, tokensBefore, tokensAfter, why } = event.data
      cycles.push({
        cycle,
        revision: event.revision,
        recordedAt: event.metadata.recordedAt,
        says: `${why.trigger === 'observed' ? 'by another program' : `${why.trigger} limit`}, ${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
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
        Cycle {count(cycle.cycle)} at revision {count(cycle.revision)}: {cycle.says} <Time at={cycle.recordedAt} />
      </summary>
      {cycle.summaries.map(({ batchId, messages, content }) => (
        <article class="msg view">
          <header>
            <b class="role">{batchId.slice(0, 12)}</b>
            <span class="facts">{many(messages, 'message')}</span>
          </header>
          <div class="text">
            <span class="ln">{seen(cut(content, MOST_OF_A_MESSAGE))}</span>
          </div>
        </article>
      ))}
      {found === undefined ? (
        <p class="muted">
          What it forgot is in the totals; <code>context-ledger forgotten</code> names each item.
        </p>
      ) : (
        <ForgottenCycleView found={found} linked={false} />
      )}
    </details>
  )
}

function Verdict({ verification }: { verification: Verification | string }): Child {
  if (typeof verification === 'string') return <p class="note warn">No proof: {seen(verification)}</p>
  const { ok, events, problems, summaries } = verification
  return (
    <>
      <p class={ok ? 'good' : 'bad'}>
        <b>{ok ? 'Nothing lost, nothing changed' : many(problems.length, 'problem')}</b>: {many(events, 'event')} read,{' '}
        {many(summaries.recomputed, 'summary', 'summaries')} proved by the request that made them,{' '}
        {count(summaries.notRecomputed)} not recomputed.
      </p>
      <ul>
        {problems.slice(0, 200).map(({ rule, stream, revision, detail }) => (
          <li>
            <b class="bad">{rule}</b> <Name text={stream} /> revision {count(revision)}: {seen(detail)}
          </li>
        ))}
      </ul>
    </>
  )
}

function ContextPart({ context, words }: { context: ContextAsOf | string; words: Words }): Child {
  if (typeof context === 'string') return <p class="note warn">{seen(context)}</p>
  return (
    <>
      <ContextFigures context={context} whole />
      {words.contextNotes(context).map((sentence) => (
        <p class="note warn">{seen(sentence)}</p>
      ))}
      {context.messages.slice(0, MOST_MESSAGES).map((message, at) => {
        const text = linesOf(message).join('\n')
        return (
          <article class={`msg ${message.role}${at === context.viewAt ? ' view' : ''}`}>
            <header>
              <b class="role">{message.role}</b>
              <span class="id">
                {at === context.viewAt ? (
                  'What was compacted'
                ) : (
                  <Name text={context.messageIds[at] ?? 'shown only, not recorded'} />
                )}
              </span>
            </header>
            <div class="text">
              <span class="ln">{seen(cut(text, MOST_OF_A_MESSAGE))}</span>
              {text.length > MOST_OF_A_MESSAGE ? (
                <span class="ln muted">{many(text.length - MOST_OF_A_MESSAGE, 'further character')} in the ledger</span>
              ) : null}
            </div>
          </article>
        )
      })}
      {context.messages.length > MOST_MESSAGES ? (
        <p class="muted">{many(context.messages.length - MOST_MESSAGES, 'further message')} in the ledger</p>
      ) : null}
    </>
  )
}

/** The whole report, as the text of a file. */
export async function reportOf({ ledger, conversationId, words, now }: ReportOptions): Promise<string> {
  const { course, head } = await createHistories(ledger).read(conversationId)
  const context = await orRefusal(ledger.context(conversationId))
  const explanation = await orRefusal(ledger.explain(conversationId))
  const verification = await orRefusal(ledger.verify(conversationId))
  const cycles = await cyclesOf(ledger, conversationId)
  const { whole, totals } = await forgottenFound(ledger, conversationId)
  const batches = typeof explanation !== 'string' && explanation.kind === 'view' ? explanation.batches : []
  return await documentOf(
    cut(conversationId, 80),
    <>
      <h1>
        <Name text={conversationId} most={600} />
      </h1>
      <p class="muted">
        Written <Time at={now.toISOString()} /> UTC, as of revision {count(head)}.
      </p>
      <h2>Course of the context</h2>
      <div class="wide" role="region" aria-label="Course of the context" tabindex={0}>
        <Plot course={course} />
      </div>
      <h2>Verified</h2>
      <Verdict verification={verification} />
      <h2>{many(course.marks.length, 'cycle or other mark', 'cycles and other marks')}</h2>
      <MarkTable c={conversationId} marks={course.marks} withLinks={false} />
      {cycles.length === 0 ? null : (
        <>
          <h2>What the cycles forgot, and what they made</h2>
          <TotalTable totals={totals} />
        </>
      )}
      {cycles.map((cycle) => (
        <CyclePart cycle={cycle} found={whole.find(({ revision }) => revision === cycle.revision)} />
      ))}
      <h2>Batches, sources, messages</h2>
      {typeof explanation === 'string' ? (
        <p class="note warn">{seen(explanation)}</p>
      ) : (
        <Graph c={conversationId} batches={batches} linked={false} />
      )}
      <h2>The context now</h2>
      <ContextPart context={context} words={words} />
    </>,
  )
}
