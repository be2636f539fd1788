/**
 * The report of one conversation as a self-contained HTML file for sharing, as of the time of writing. It shows what the
 * page shows, with the same markup, and without links.
 */
import type { Child } from 'hono/jsx'
import { summaryOf as batchSummaryOf } from '../../domain/conversation/batch.js'
import type { ConversationSummary, ForgottenCycle, Ledger, Verification } from '../../library/ledger.js'
import { faultOf } from '../../library/problem.js'
import { documentOf } from './document.js'
import { summaryOf } from './reading/conversation-summary.js'
import { forgottenFound, type ForgottenFound } from './reading/forgotten.js'
import { createHistories } from './reading/history.js'
import { createSteps, type Step } from './reading/step.js'
import { turnsOf } from './reading/turns.js'
import { Messages, type ContextFocus } from './views/chat.js'
import { MarkTable } from './views/cycles.js'
import { ForgottenCycleView } from './views/forgotten-cycle.js'
import { Headlines } from './views/forgotten-headlines.js'
import { TotalTable } from './views/forgotten.js'
import { Graph } from './views/graph.js'
import { ConversationFacts } from './views/layout.js'
import { Plot } from './views/plot.js'
import type { Places } from './views/places.js'
import { Prose } from './views/prose.js'
import { ContextFigures } from './views/rail.js'
import { count, cut, many, Name, visible, Time } from './views/text.js'
import { contextNotes } from '../../domain/compaction/context-notes.js'

export interface ReportOptions {
  readonly ledger: Pick<Ledger, 'log' | 'context' | 'messages' | 'list' | 'explain' | 'forgotten'> & {
    readonly admin: Pick<Ledger['admin'], 'verify'>
  }
  readonly conversationId: string
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

const MAX_SUMMARY_CHARACTERS = 20_000
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
      summaries.push({ batchId, messages: messageCount, text: batchSummaryOf(event.data) })
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

function CyclePart({
  cycle,
  found,
  places,
}: {
  cycle: Cycle
  found: ForgottenCycle | undefined
  places: Places
}): Child {
  return (
    <details class="fold">
      <summary>
        Compaction {count(cycle.cycle)}: {cycle.description}{' '}
        <span class="facts">
          <Time at={cycle.recordedAt} />
        </span>
      </summary>
      {cycle.summaries.map(({ batchId, messages, text }) => (
        <article class="msg card" aria-label={`Summary ${batchId}`}>
          <header>
            <b class="role">Summary</b>
            <span class="facts">of {many(messages, 'message')}</span>
          </header>
          <Prose text={text} more={undefined} most={MAX_SUMMARY_CHARACTERS} />
        </article>
      ))}
      {found === undefined ? (
        <p class="muted">
          The totals include this compaction; <code>context-ledger forgotten</code> lists each item.
        </p>
      ) : (
        <ForgottenCycleView found={found} places={places} />
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
            <b class="bad">{rule}</b> <Name text={stream} /> event {count(revision)}: {visible(detail)}
          </li>
        ))}
      </ul>
    </>
  )
}

/** The current context as a chat, and its size. */
function ContextPart({ step }: { step: Step | string }): Child {
  if (typeof step === 'string') return <p class="note warn">{visible(step)}</p>
  const { context, refusal } = step
  if (context === undefined) return <p class="note warn">{visible(refusal ?? 'There is no context.')}</p>
  return (
    <>
      <ContextFigures context={context} whole />
      {contextNotes(context).map((sentence) => (
        <p class="note warn">{visible(sentence)}</p>
      ))}
      <Messages step={{ ...step, change: undefined }} from={0} to={MAX_MESSAGES} focus={NO_FOCUS} linked={false} />
      {context.messages.length > MAX_MESSAGES ? (
        <p class="muted">{many(context.messages.length - MAX_MESSAGES, 'more message')} in the ledger</p>
      ) : null}
    </>
  )
}

const NO_FOCUS: ContextFocus = { m: undefined, q: undefined, part: undefined }

/** The title of the report: that of the conversation, else its id. */
function Head({
  c,
  summary,
  head,
  now,
}: {
  c: string
  summary: ConversationSummary | undefined
  head: number
  now: Date
}): Child {
  return (
    <>
      <h1>
        <Name text={summary?.title ?? c} most={600} />
      </h1>
      <p class="figures">
        {summary === undefined ? null : <ConversationFacts summary={summary} />}
        {summary?.title === undefined ? null : <Name text={c} most={200} />}
        <span>
          written <Time at={now.toISOString()} /> UTC, as of event {count(head)}
        </span>
      </p>
    </>
  )
}

/** The losses: as sentences, then by compaction. */
function Losses({ cycles, found, places }: { cycles: readonly Cycle[]; found: ForgottenFound; places: Places }): Child {
  const { whole, totals } = found
  if (cycles.length === 0) return <p class="empty">Nothing has been compacted, so nothing was forgotten.</p>
  return (
    <>
      <Headlines cycles={whole} verdicts={totals.all.verdicts} names={undefined} places={places} />
      {cycles.map((cycle) => (
        <CyclePart cycle={cycle} found={whole.find(({ revision }) => revision === cycle.revision)} places={places} />
      ))}
      <details class="fold">
        <summary>All figures</summary>
        <TotalTable totals={totals} />
      </details>
    </>
  )
}

/** The text of the report file. */
export async function reportOf({ ledger, conversationId, now }: ReportOptions): Promise<string> {
  const histories = createHistories(ledger)
  const { course, head } = await histories.read(conversationId)
  const step = await orMessage(createSteps(ledger, histories).at(conversationId, String(head)))
  const explanation = await orMessage(ledger.explain(conversationId))
  const verification = await orMessage(ledger.admin.verify(conversationId))
  const cycles = await cyclesOf(ledger, conversationId)
  const found = await forgottenFound(ledger, conversationId)
  const places = { linked: false, turnOf: await turnsOf(histories, [conversationId]) }
  const losses = new Map(found.rows.map(({ revision, losses: number }) => [revision, number]))
  const summary = await summaryOf(ledger, conversationId)
  const batches = typeof explanation !== 'string' && explanation.kind === 'view' ? explanation.batches : []
  return await documentOf(
    cut(summary?.title ?? conversationId, 80),
    <>
      <Head c={conversationId} summary={summary} head={head} now={now} />
      <section class="course card" aria-label="Tokens over turns">
        <Plot course={course} losses={losses} />
      </section>
      <h2>What the agent no longer knew</h2>
      <Losses cycles={cycles} found={found} places={places} />
      <h2>What the model gets now</h2>
      <ContextPart step={step} />
      <h2>{many(course.marks.length, 'compaction or other mark', 'compactions and other marks')}</h2>
      <MarkTable c={conversationId} marks={course.marks} losses={losses} withLinks={false} />
      <h2>What the summaries are made from</h2>
      {typeof explanation === 'string' ? (
        <p class="note warn">{visible(explanation)}</p>
      ) : (
        <Graph c={conversationId} batches={batches} places={places} />
      )}
      <h2>Verification</h2>
      <Verdict verification={verification} />
    </>,
  )
}
