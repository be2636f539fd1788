/**
 * The routes of the page. All of them only read. Fragments (a slider step, a part of a list, an explanation) have the
 * same markup as on the full page.
 */
import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { html } from 'hono/html'
import type { Child } from 'hono/jsx'
import { CONVERSATION_ORDERS } from '../../projections/read-models/live-messages/queries.js'
import type { ConversationOrder, DiffOptions, ExplainOptions, Ledger } from '../library/ledger.js'
import { LedgerError } from '../lib/ledger-error.js'
import { faultOf, statusOf } from '../library/problem.js'
import type { RecordedEvent } from '../domain/events/index.js'
import { asset } from './assets.js'
import { link } from './links.js'
import { forgottenAt, forgottenFound } from './reading/forgotten.js'
import { createHistories, type Histories } from './reading/history.js'
import { createRows, type Rows } from './reading/rows.js'
import { createSteps, type Step, type Steps } from './reading/step.js'
import {
  createVerdicts,
  type Verdicts,
  verifyStatusOf,
  VERIFY_STATUSES,
  type VerifyStatus,
} from './reading/verdicts.js'
import { lineAt, Part, StepView, FullMessage, type ContextFocus } from './views/context.js'
import { Conversation, HitList, type Hits } from './views/conversation.js'
import { Conversations, RowCells, type ListQuery } from './views/conversations.js'
import { Cycles, DifferenceView } from './views/cycles.js'
import { Editions, EditionView, type ConversationEdition } from './views/editions.js'
import { ExplanationView } from './views/explanation.js'
import { ForgottenView } from './views/forgotten.js'
import { coveredBy, Graph, type OpenChunk } from './views/graph.js'
import { Layout, type Tab } from './views/layout.js'
import { EventDetails, EventList, Log, LOG_PART } from './views/log.js'
import { many, Name, oneLine, visible } from './views/text.js'
import { VerifyView } from './views/verification.js'
import type { Words } from './words.js'

/** The part of the ledger that the page uses. */
type PageLedger = Pick<
  Ledger,
  'context' | 'messages' | 'log' | 'diff' | 'explain' | 'search' | 'list' | 'forgotten'
> & {
  readonly admin: Pick<Ledger['admin'], 'verify'>
  readonly editions: Pick<Ledger['editions'], 'list' | 'show' | 'compare'>
}

export interface AppOptions {
  readonly ledger: PageLedger
  /** Display name of the ledger. */
  readonly name: string
  readonly words: Words
  readonly now: () => Date
  /** Access control. */
  readonly guard: MiddlewareHandler
}

const ROWS = 100
/** Failure kinds with status 404. */
/** Time for reading row details before the list is sent; the browser fetches the rest. */
const ROWS_MS = 120
const HITS = 50
/** Time to wait for a verification before the page shows its progress. */
const VERIFY_WAIT_MS = 1_500
/** Delay between the first view and reading the full history. */
const BACKGROUND_DELAY_MS = 40

/** Creates the app. */
export function createApp(options: AppOptions): Hono {
  return new PageRoutes(options).register()
}

/** HTTP statuses of pages. */
const STATUSES = [200, 400, 404, 409, 500, 503] as const

class PageRoutes {
  private readonly histories: Histories
  private readonly steps: Steps
  private readonly rows: Rows
  private readonly verdicts: Verdicts

  constructor(private readonly options: AppOptions) {
    const { ledger, now } = options
    this.histories = createHistories(ledger)
    this.steps = createSteps(ledger, this.histories)
    this.rows = createRows(ledger)
    this.verdicts = createVerdicts(ledger, now)
  }

  /** Registers access control, errors and routes. */
  register(): Hono {
    const app = new Hono()
    app.use(this.options.guard)
    app.onError(async (error, context) => {
      const { message } = faultOf(error)
      return await this.answer(
        context,
        { title: 'Error', status: STATUSES.find((status) => status === statusOf(error)) ?? 500 },
        <section class="verdict">
          <h1 class="bad">Cannot show this page</h1>
          <p>{visible(message)}</p>
          <p>
            <a href="/">Conversations</a>
          </p>
        </section>,
      )
    })
    app.notFound(
      async (context) => await this.answer(context, { title: 'Not found', status: 404 }, <h1>Page not found</h1>),
    )
    app.get('/assets/:name', async (context) => {
      const found = await asset(context.req.param('name'))
      return found === undefined
        ? context.text('no such file\n', 404)
        : context.body(found.text, 200, { 'content-type': found.type })
    })
    app.get('/course', async (context) => context.json((await this.histories.read(conversation(context))).course))
    app.get('/', (context) => this.conversations(context))
    app.get('/row', (context) => this.row(context))
    app.get('/conversation', (context) => this.timeline(context))
    app.get('/conversation/step', (context) => this.step(context))
    app.get('/conversation/part', (context) => this.contextPart(context))
    app.get('/conversation/why', (context) => this.explanationOfLine(context))
    app.get('/message', (context) => this.message(context))
    app.get('/cycles', (context) => this.cycles(context))
    app.get('/difference', (context) => this.difference(context))
    app.get('/forgotten', (context) => this.forgotten(context))
    app.get('/explain', (context) => this.explain(context))
    app.get('/graph', (context) => this.graph(context))
    app.get('/editions', (context) => this.editions(context))
    app.get('/edition', (context) => this.edition(context))
    app.get('/search', (context) => this.search(context))
    app.get('/log', (context) => this.log(context))
    app.get('/log/part', (context) => this.logPart(context))
    app.get('/fact', (context) => this.event(context))
    app.get('/verify', (context) => this.verification(context))
    return app
  }

  /** Responds with a fragment, or with the full page. */
  private async answer(
    context: Context,
    { title, c, tab, query, status = 200 }: PageOf,
    content: Child,
  ): Promise<Response> {
    const isPart = context.req.header('x-part') !== undefined
    return await context.html(
      isPart
        ? html`${content}`
        : html`${(
            <Layout title={title} ledger={this.options.name} conversationId={c} tab={tab} query={query}>
              {content}
            </Layout>
          )}`,
      status,
    )
  }

  private async conversations(context: Context): Promise<Response> {
    const sort = param(context, 'sort')
    const verified = param(context, 'verified')
    const filters: ListQuery = {
      match: param(context, 'match'),
      scope: param(context, 'scope'),
      since: param(context, 'since'),
      until: param(context, 'until'),
      verified: VERIFY_STATUSES.find((status): status is VerifyStatus => status === verified),
      sort: CONVERSATION_ORDERS.find((order): order is ConversationOrder => order === sort) ?? 'updated',
      page: wholeNumber(context, 'page') ?? 0,
    }
    const { match, scope, since, until } = filters
    const end = (filters.page + 1) * ROWS
    const list = await this.options.ledger.list({
      sort: filters.sort,
      // The ledger does not know the verification status, so a list filtered by status reads all conversations.
      ...(filters.verified === undefined ? { limit: end + 1 } : {}),
      ...(match === undefined ? {} : { match }),
      ...(scope === undefined ? {} : { scope }),
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
    })
    const matching = list.conversations.filter(
      ({ conversationId, revision }) =>
        filters.verified === undefined ||
        verifyStatusOf(this.verdicts.latest(conversationId), revision) === filters.verified,
    )
    const conversations = matching.slice(filters.page * ROWS, end)
    const deadline = performance.now() + ROWS_MS
    for (const row of conversations) {
      if (performance.now() > deadline) break
      // The page of the conversation reports the error.
      await this.rows.read(row).catch(() => undefined)
    }
    return await this.answer(
      context,
      { title: 'Conversations' },
      <Conversations
        query={filters}
        list={{ ...list, conversations }}
        more={matching.length > end}
        detailsOf={(row) => this.rows.known(row)}
        latestOf={(id) => this.verdicts.latest(id)}
      />,
    )
  }

  private async row(context: Context): Promise<Response> {
    const c = conversation(context)
    const { conversations } = await this.options.ledger.list({ match: c })
    const row = conversations.find(({ conversationId }) => conversationId === c)
    return await context.html(
      html`<table>
        <tbody>
          <tr>
            ${<RowCells details={row === undefined ? undefined : await this.rows.read(row)} />}
          </tr>
        </tbody>
      </table>`,
    )
  }

  private async hitsOf(c: string, query: string | undefined): Promise<Hits | undefined> {
    if (query === undefined) return undefined
    const { hits } = await this.options.ledger.search(query, { conversationId: c, limit: HITS })
    return { query, hits }
  }

  /** The explanation of the selected line; null if none is selected. */
  private async drawerOf(step: Step, why: string | undefined): Promise<Child> {
    if (why === undefined) return null
    const line = lineAt(step, why)
    if (line === undefined) return <p class="empty">The line does not exist.</p>
    return await this.explainLine(step.conversationId, { line })
  }

  private async explainLine(c: string, { line, ...options }: ExplainOptions): Promise<Child> {
    try {
      const explanation = await this.options.ledger.explain(c, line === undefined ? options : { ...options, line })
      return <ExplanationView explanation={explanation} line={line} />
    } catch (error) {
      const { fault, message } = faultOf(error)
      if (fault === 'bug') throw error
      return (
        <>
          <h2>Sources</h2>
          {line === undefined ? null : (
            <blockquote class="text">
              <span class="ln">{visible(oneLine(line, 400))}</span>
            </blockquote>
          )}
          <p class="note warn">{visible(message)}</p>
        </>
      )
    }
  }

  private async timeline(context: Context): Promise<Response> {
    const c = conversation(context)
    const focus = focusOf(context)
    const step = await this.steps.at(c, param(context, 'at'), param(context, 'since'))
    // The history for the slider is read after the first view.
    readInBackground(this.histories, c)
    return await this.answer(
      context,
      { title: oneLine(c, 60), c, tab: 'timeline', query: focus.q },
      <Conversation
        step={step}
        focus={focus}
        words={this.options.words}
        hits={await this.hitsOf(c, focus.q)}
        drawer={await this.drawerOf(step, param(context, 'why'))}
      />,
    )
  }

  private async step(context: Context): Promise<Response> {
    const step = await this.steps.at(conversation(context), param(context, 'at'), param(context, 'since'))
    return await context.html(html`${<StepView step={step} focus={focusOf(context)} words={this.options.words} />}`)
  }

  private async contextPart(context: Context): Promise<Response> {
    const step = await this.steps.at(conversation(context), param(context, 'at'), param(context, 'since'))
    const focus = focusOf(context)
    return await context.html(html`${<Part step={step} part={focus.part ?? 0} focus={focus} />}`)
  }

  private async explanationOfLine(context: Context): Promise<Response> {
    const step = await this.steps.at(conversation(context), param(context, 'at'), undefined)
    return await context.html(html`${await this.drawerOf(step, param(context, 'why') ?? '')}`)
  }

  private async message(context: Context): Promise<Response> {
    const c = conversation(context)
    const step = await this.steps.at(c, param(context, 'at'))
    return await this.answer(
      context,
      { title: 'Message', c },
      <FullMessage step={step} at={wholeNumber(context, 'i') ?? 0} from={wholeNumber(context, 'from') ?? 0} />,
    )
  }

  private async cycles(context: Context): Promise<Response> {
    const c = conversation(context)
    const { course } = await this.histories.read(c)
    return await this.answer(context, { title: 'Cycles', c, tab: 'cycles' }, <Cycles c={c} course={course} />)
  }

  private async difference(context: Context): Promise<Response> {
    const c = conversation(context)
    const difference = await this.options.ledger.diff(c, diffOptions(context))
    const { cycle, from, to } = difference
    const forgotten =
      cycle === undefined ? undefined : await forgottenAt(this.options.ledger, c, cycle.cycle, to.revision)
    const { marks } = cycle === undefined ? (await this.histories.read(c)).course : { marks: [] }
    const cyclesBetween = marks.filter(
      ({ kind, revision }) => kind === 'cycle' && revision > from.revision && revision <= to.revision,
    )
    return await this.answer(
      context,
      { title: 'Difference', c, tab: 'cycles' },
      <DifferenceView difference={difference} forgotten={forgotten} cyclesBetween={cyclesBetween} />,
    )
  }

  private async forgotten(context: Context): Promise<Response> {
    const c = conversation(context)
    return await this.answer(
      context,
      { title: 'Forgotten', c, tab: 'forgotten' },
      <>
        <h2>What compactions forgot</h2>
        <ForgottenView found={await forgottenFound(this.options.ledger, c)} withNames={false} linked />
      </>,
    )
  }

  private async explain(context: Context): Promise<Response> {
    const c = conversation(context)
    const batchId = param(context, 'batch')
    const line = param(context, 'line')
    const options = batchId !== undefined ? { batchId } : line !== undefined ? { line } : {}
    const open = param(context, 'open') !== undefined
    return await this.answer(
      context,
      { title: 'Sources', c },
      <section class="explained">
        <form class="filters" action="/explain">
          <input type="hidden" name="c" value={c} />
          <label>
            A line of the model’s context, or part of one
            <input type="search" name="line" value={line} size={60} />
          </label>
          <button type="submit">Explain</button>
        </form>
        {await this.explainLine(c, { ...options, open })}
        {batchId === undefined || open ? null : (
          <p>
            <a href={link('/explain', { c, batch: batchId, open: 1 })}>show messages in full</a>
          </p>
        )}
      </section>,
    )
  }

  private async graph(context: Context): Promise<Response> {
    const c = conversation(context)
    const batchId = param(context, 'batch')
    const explanation = await this.options.ledger.explain(c, batchId === undefined ? {} : { batchId })
    const batches =
      explanation.kind === 'view' ? explanation.batches : explanation.kind === 'batch' ? [explanation.batch] : []
    return await this.answer(
      context,
      { title: 'Graph', c, tab: 'graph' },
      <>
        <h2>{batchId === undefined ? 'Batches and their sources' : `Batch ${batchId.slice(0, 12)}`}</h2>
        <p>
          {batchId === undefined ? (
            <a href={link('/explain', { c })}>Find the sources of a line</a>
          ) : (
            <a href={link('/graph', { c })}>all batches</a>
          )}
        </p>
        <Graph c={c} batches={batches} open={await this.openChunk(c, param(context, 'open'))} within={batchId} />
      </>,
    )
  }

  /** The messages of the expanded chunk; undefined if the batch covers no messages directly. */
  private async openChunk(c: string, batchId: string | undefined): Promise<OpenChunk | undefined> {
    if (batchId === undefined) return undefined
    const found = await this.options.ledger.explain(c, { batchId, open: true })
    const messages = found.kind === 'batch' ? coveredBy(found.batch)?.messages : undefined
    return messages === undefined ? undefined : { batchId, messages }
  }

  private async editionsOf(c: string): Promise<ConversationEdition[]> {
    const found: ConversationEdition[] = []
    for (const edition of await this.options.ledger.editions.list()) {
      const entry = (await this.options.ledger.editions.show(edition.editionId)).conversations.find(
        ({ conversationId }) => conversationId === c,
      )
      if (entry !== undefined) found.push({ edition, entry })
    }
    return found
  }

  private async editions(context: Context): Promise<Response> {
    const c = conversation(context)
    return await this.answer(
      context,
      { title: 'Editions', c, tab: 'editions' },
      <>
        <h2>Editions</h2>
        <Editions c={c} editions={await this.editionsOf(c)} />
      </>,
    )
  }

  private async edition(context: Context): Promise<Response> {
    const c = conversation(context)
    const editionId = param(context, 'e')
    if (editionId === undefined) throw new LedgerError('BadRequest', 'the address has no edition id')
    const against = param(context, 'against')
    const compared = await this.options.ledger.editions.compare([c], editionId, {
      record: false,
      ...(against === undefined ? {} : { against }),
    })
    const [comparison] = compared.conversations
    if (comparison === undefined) throw new LedgerError('BadRequest', 'the conversation is not in this edition')
    const editions = (await this.editionsOf(c)).map(({ edition }) => edition.editionId)
    return await this.answer(
      context,
      { title: 'Edition', c, tab: 'editions' },
      <EditionView
        comparison={comparison}
        against={compared.against}
        editions={editions}
        editionId={compared.editionId}
      />,
    )
  }

  private async search(context: Context): Promise<Response> {
    const c = param(context, 'c')
    const scope = param(context, 'scope')
    const query = param(context, 'q')
    if (c !== undefined) return context.redirect(link('/conversation', { c, q: query }), 303)
    const found =
      query === undefined
        ? undefined
        : await this.options.ledger.search(query, { limit: HITS, ...(scope === undefined ? {} : { scope }) })
    return await this.answer(
      context,
      { title: 'Search', query },
      <>
        <h1 class="title">Search</h1>
        <form class="filters" action="/search">
          <label>
            Words
            <input type="search" name="q" value={query} />
          </label>
          <label>
            Scope
            <input name="scope" value={scope} placeholder="none" />
          </label>
          <button type="submit">Search</button>
        </form>
        {found === undefined || query === undefined ? null : (
          <>
            {found.behind === undefined ? null : (
              <p class="note warn">The read models lag by {many(found.behind.events, 'event')}.</p>
            )}
            <p class="muted">
              {many(found.hits.length, 'hit')} for <Name text={query} />
            </p>
            <HitList query={query} hits={found.hits} withName />
          </>
        )}
      </>,
    )
  }

  private async eventsOf(c: string, from: number, limit: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = []
    for await (const event of this.options.ledger.log(c, { from: BigInt(from), limit })) events.push(event)
    return events
  }

  private async log(context: Context): Promise<Response> {
    const c = conversation(context)
    const { revision: head } = await this.headOf(c)
    const part = Math.floor(Math.min(wholeNumber(context, 'from') ?? 0, Number(head)) / LOG_PART)
    const events = await this.eventsOf(c, part * LOG_PART, LOG_PART)
    return await this.answer(
      context,
      { title: 'Log', c, tab: 'log' },
      <Log c={c} head={head} from={part} events={events} words={this.options.words} />,
    )
  }

  private async logPart(context: Context): Promise<Response> {
    const c = conversation(context)
    const events = await this.eventsOf(c, (wholeNumber(context, 'part') ?? 0) * LOG_PART, LOG_PART)
    return await context.html(html`${<EventList c={c} events={events} words={this.options.words} />}`)
  }

  /** The last event. It is read from the log, because a damaged conversation has no state. */
  private async headOf(c: string): Promise<{ readonly revision: bigint }> {
    for await (const { revision } of this.options.ledger.log(c, { direction: 'backwards', limit: 1 }))
      return { revision }
    throw new LedgerError('BadRequest', 'this conversation has no events')
  }

  private async event(context: Context): Promise<Response> {
    const c = conversation(context)
    const [event] = await this.eventsOf(c, wholeNumber(context, 'r') ?? 0, 1)
    if (event === undefined) throw new LedgerError('BadRequest', 'the event does not exist: the log ends before it')
    return await this.answer(context, { title: 'Event', c, tab: 'log' }, <EventDetails c={c} event={event} />)
  }

  private async verification(context: Context): Promise<Response> {
    const c = param(context, 'c')
    const known = this.verdicts.known(c)
    const isRequested = param(context, 'run') !== undefined
    const isRunning = known?.state === 'running'
    const verdict = isRequested || isRunning ? await this.verdicts.verify(c, VERIFY_WAIT_MS) : known
    // Without a script, the browser refreshes too.
    if (verdict?.state === 'running') context.header('refresh', `1; url=${link('/verify', { c })}`)
    return await this.answer(
      context,
      { title: 'Verify', c, tab: c === undefined ? undefined : 'verify' },
      <>
        {c === undefined ? <h1 class="title">Verify</h1> : null}
        <VerifyView c={c} verdict={verdict} />
      </>,
    )
  }
}

interface PageOf {
  readonly title: string
  readonly c?: string | undefined
  readonly tab?: Tab | undefined
  readonly query?: string | undefined
  readonly status?: (typeof STATUSES)[number]
}

const param = (context: Context, field: string): string | undefined => {
  const value = context.req.query(field)
  return value === undefined || value === '' ? undefined : value
}

const wholeNumber = (context: Context, field: string): number | undefined => {
  const value = param(context, field)
  return value !== undefined && /^\d{1,15}$/u.test(value) ? Number(value) : undefined
}

const conversation = (context: Context): string => {
  const c = param(context, 'c')
  if (c === undefined) throw new LedgerError('BadRequest', 'the address has no conversation id')
  return c
}

const focusOf = (context: Context): ContextFocus => ({
  m: param(context, 'm'),
  q: param(context, 'q'),
  part: wholeNumber(context, 'part'),
})

function diffOptions(context: Context): DiffOptions {
  const cycle = wholeNumber(context, 'cycle')
  const from = param(context, 'from')
  const to = param(context, 'to')
  if (from !== undefined) return { from, ...(to === undefined ? {} : { to }) }
  if (cycle === undefined) throw new LedgerError('BadRequest', 'the address has neither a cycle nor a revision')
  return { cycle }
}

/** Reads the history in the background. A later request reports errors. */
function readInBackground(histories: Histories, c: string): void {
  // Send the first view first.
  setTimeout(() => {
    histories.read(c).catch(() => undefined)
  }, BACKGROUND_DELAY_MS).unref()
}
