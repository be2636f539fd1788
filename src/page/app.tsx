/**
 * The routes of the page: each reads by the ledger, and none records anything. What a browser asks for in the course of
 * a page (a step of the slider, a part of a list, an explanation) is the same markup as on the page itself.
 */
import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { html } from 'hono/html'
import type { Child } from 'hono/jsx'
import { CONVERSATION_ORDERS } from '../../projections/read-models/live-messages/queries.js'
import type { ConversationOrder, DiffOptions, ExplainOptions, Ledger } from '../library/ledger.js'
import { faultOf, kindOf } from '../library/problem.js'
import type { RecordedEvent } from '../domain/events/index.js'
import { asset } from './assets.js'
import { link } from './links.js'
import { forgottenAt, forgottenFound } from './reading/forgotten.js'
import { createHistories, type Histories } from './reading/history.js'
import { createRows } from './reading/rows.js'
import { createSteps, type Step } from './reading/step.js'
import { createVerdicts, standingOf, STANDINGS, type Standing } from './reading/verdicts.js'
import { lineAt, Part, StepView, WholeMessage, type Shown } from './views/context.js'
import { Conversation, HitList, type Hits } from './views/conversation.js'
import { Conversations, RowCells, type ListAsked } from './views/conversations.js'
import { Cycles, DifferenceView } from './views/cycles.js'
import { Editions, EditionView, type OwnEdition } from './views/editions.js'
import { ExplanationView } from './views/explanation.js'
import { ForgottenView } from './views/forgotten.js'
import { coveredBy, Graph, type OpenChunk } from './views/graph.js'
import { Layout, type Room } from './views/layout.js'
import { Fact, Facts, Log, LOG_PART } from './views/log.js'
import { many, Name, oneLine, seen } from './views/text.js'
import { VerifyView } from './views/verification.js'
import type { Words } from './words.js'

/** What the page reads by. */
type PageLedger = Pick<
  Ledger,
  'context' | 'messages' | 'log' | 'diff' | 'explain' | 'search' | 'list' | 'verify' | 'forgotten'
> & {
  readonly editions: Pick<Ledger['editions'], 'list' | 'show' | 'compare'>
}

/** What the page is made of. */
export interface AppOptions {
  readonly ledger: PageLedger
  /** The ledger's name, as its owner gave it. */
  readonly name: string
  readonly words: Words
  readonly now: () => Date
  /** Who is let in. */
  readonly guard: MiddlewareHandler
}

const ROWS = 100
/** Kinds of failures that say that something is not there. */
const NOT_THERE = /^(?:NoSuch|CycleNotRecorded)/u
/** How long a list waits for what it reads of each row; the others come behind. */
const ROWS_MS = 120
const HITS = 50
/** How long a proof is waited for before the page says how far it is. */
const PROOF_MS = 1_500
/** How long behind a first view the conversation is read whole. */
const BEHIND_MS = 40

/** The page as something that answers requests. */
export function createApp({ ledger, name, words, now, guard }: AppOptions): Hono {
  const app = new Hono()
  const histories = createHistories(ledger)
  const steps = createSteps(ledger, histories)
  const rows = createRows(ledger)
  const verdicts = createVerdicts(ledger, now)

  app.use(guard)

  interface PageOf {
    readonly title: string
    readonly c?: string | undefined
    readonly room?: Room | undefined
    readonly query?: string | undefined
    readonly status?: 200 | 400 | 404 | 500 | 503
  }

  /** A part of a page, or the page that has it. */
  async function answer(
    context: Context,
    { title, c, room, query, status = 200 }: PageOf,
    content: Child,
  ): Promise<Response> {
    const isPart = context.req.header('x-part') !== undefined
    return await context.html(
      isPart
        ? html`${content}`
        : html`${(
            <Layout title={title} ledger={name} conversationId={c} room={room} query={query}>
              {content}
            </Layout>
          )}`,
      status,
    )
  }

  const given = (context: Context, field: string): string | undefined => {
    const value = context.req.query(field)
    return value === undefined || value === '' ? undefined : value
  }
  const wholeNumber = (context: Context, field: string): number | undefined => {
    const value = given(context, field)
    return value !== undefined && /^\d{1,15}$/u.test(value) ? Number(value) : undefined
  }
  const conversation = (context: Context): string => {
    const c = given(context, 'c')
    if (c === undefined) throw new NotAsked('the address names no conversation')
    return c
  }
  const shownOf = (context: Context): Shown => ({
    m: given(context, 'm'),
    q: given(context, 'q'),
    part: wholeNumber(context, 'part'),
  })

  app.onError(async (error, context) => {
    const { fault, message } =
      error instanceof NotAsked ? { fault: 'input' as const, message: error.message } : faultOf(error)
    const status = NOT_THERE.test(kindOf(error)) ? 404 : fault === 'input' ? 400 : fault === 'bug' ? 500 : 503
    return await answer(
      context,
      { title: 'Not to be shown', status },
      <section class="verdict">
        <h1 class="bad">This cannot be shown</h1>
        <p>{seen(message)}</p>
        <p>
          <a href="/">Conversations</a>
        </p>
      </section>,
    )
  })
  app.notFound(
    async (context) => await answer(context, { title: 'No such page', status: 404 }, <h1>There is no such page</h1>),
  )

  app.get('/assets/:name', async (context) => {
    const found = await asset(context.req.param('name'))
    return found === undefined
      ? context.text('no such file\n', 404)
      : context.body(found.text, 200, { 'content-type': found.type })
  })

  app.get('/', async (context) => {
    const sort = given(context, 'sort')
    const verified = given(context, 'verified')
    const asked: ListAsked = {
      match: given(context, 'match'),
      scope: given(context, 'scope'),
      since: given(context, 'since'),
      until: given(context, 'until'),
      verified: STANDINGS.find((standing): standing is Standing => standing === verified),
      sort: CONVERSATION_ORDERS.find((order): order is ConversationOrder => order === sort) ?? 'updated',
      page: wholeNumber(context, 'page') ?? 0,
    }
    const { match, scope, since, until } = asked
    const end = (asked.page + 1) * ROWS
    const list = await ledger.list({
      sort: asked.sort,
      // What is proved is known here, and not to the ledger: of a list of those all are looked through.
      ...(asked.verified === undefined ? { limit: end + 1 } : {}),
      ...(match === undefined ? {} : { match }),
      ...(scope === undefined ? {} : { scope }),
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
    })
    const those = list.conversations.filter(
      ({ conversationId, revision }) =>
        asked.verified === undefined || standingOf(verdicts.told(conversationId), revision) === asked.verified,
    )
    const conversations = those.slice(asked.page * ROWS, end)
    const until_ = performance.now() + ROWS_MS
    for (const row of conversations) {
      if (performance.now() > until_) break
      // What cannot be read of one conversation is said where it is opened.
      await rows.read(row).catch(() => undefined)
    }
    return await answer(
      context,
      { title: 'Conversations' },
      <Conversations
        asked={asked}
        list={{ ...list, conversations }}
        more={those.length > end}
        detailsOf={(row) => rows.known(row)}
        toldOf={(id) => verdicts.told(id)}
      />,
    )
  })

  app.get('/row', async (context) => {
    const c = conversation(context)
    const { conversations } = await ledger.list({ match: c })
    const row = conversations.find(({ conversationId }) => conversationId === c)
    return await context.html(
      html`<table>
        <tbody>
          <tr>
            ${<RowCells details={row === undefined ? undefined : await rows.read(row)} />}
          </tr>
        </tbody>
      </table>`,
    )
  })

  async function hitsOf(c: string, query: string | undefined): Promise<Hits | undefined> {
    if (query === undefined) return undefined
    const { hits } = await ledger.search(query, { conversationId: c, limit: HITS })
    return { query, hits }
  }

  /** What explains the line that is asked for; null where none is. */
  async function drawerOf(step: Step, why: string | undefined): Promise<Child> {
    if (why === undefined) return null
    const line = lineAt(step, why)
    if (line === undefined) return <p class="empty">There is no such line.</p>
    return await explained(step.conversationId, { line })
  }

  async function explained(c: string, { line, ...options }: ExplainOptions): Promise<Child> {
    try {
      const explanation = await ledger.explain(c, line === undefined ? options : { ...options, line })
      return <ExplanationView explanation={explanation} line={line} />
    } catch (error) {
      const { fault, message } = faultOf(error)
      if (fault === 'bug') throw error
      return (
        <>
          <h2>Where it comes from</h2>
          {line === undefined ? null : (
            <blockquote class="text">
              <span class="ln">{seen(oneLine(line, 400))}</span>
            </blockquote>
          )}
          <p class="note warn">{seen(message)}</p>
        </>
      )
    }
  }

  app.get('/conversation', async (context) => {
    const c = conversation(context)
    const shown = shownOf(context)
    const step = await steps.at(c, given(context, 'at'), given(context, 'since'))
    // What the slider goes by is read behind the first view.
    readBehind(histories, c)
    return await answer(
      context,
      { title: oneLine(c, 60), c, room: 'timeline', query: shown.q },
      <Conversation
        step={step}
        shown={shown}
        words={words}
        hits={await hitsOf(c, shown.q)}
        drawer={await drawerOf(step, given(context, 'why'))}
      />,
    )
  })

  app.get('/conversation/step', async (context) => {
    const step = await steps.at(conversation(context), given(context, 'at'), given(context, 'since'))
    return await context.html(html`${<StepView step={step} shown={shownOf(context)} words={words} />}`)
  })

  app.get('/conversation/part', async (context) => {
    const step = await steps.at(conversation(context), given(context, 'at'), given(context, 'since'))
    const shown = shownOf(context)
    return await context.html(html`${<Part step={step} part={shown.part ?? 0} shown={shown} />}`)
  })

  app.get('/conversation/why', async (context) => {
    const step = await steps.at(conversation(context), given(context, 'at'), undefined)
    return await context.html(html`${await drawerOf(step, given(context, 'why') ?? '')}`)
  })

  app.get('/course', async (context) => context.json((await histories.read(conversation(context))).course))

  app.get('/message', async (context) => {
    const c = conversation(context)
    const step = await steps.at(c, given(context, 'at'))
    return await answer(
      context,
      { title: 'Message', c },
      <WholeMessage step={step} at={wholeNumber(context, 'i') ?? 0} from={wholeNumber(context, 'from') ?? 0} />,
    )
  })

  app.get('/cycles', async (context) => {
    const c = conversation(context)
    const { course } = await histories.read(c)
    return await answer(context, { title: 'Cycles', c, room: 'cycles' }, <Cycles c={c} course={course} />)
  })

  app.get('/difference', async (context) => {
    const c = conversation(context)
    const difference = await ledger.diff(c, differenceAsked(context))
    const { cycle, from, to } = difference
    const forgotten = cycle === undefined ? undefined : await forgottenAt(ledger, c, cycle.cycle, to.revision)
    const { marks } = cycle === undefined ? (await histories.read(c)).course : { marks: [] }
    const within = marks.filter(
      ({ kind, revision }) => kind === 'cycle' && revision > from.revision && revision <= to.revision,
    )
    return await answer(
      context,
      { title: 'Difference', c, room: 'cycles' },
      <DifferenceView difference={difference} forgotten={forgotten} within={within} />,
    )
  })

  app.get('/forgotten', async (context) => {
    const c = conversation(context)
    return await answer(
      context,
      { title: 'Forgotten', c, room: 'forgotten' },
      <>
        <h2>What compactions forgot</h2>
        <ForgottenView found={await forgottenFound(ledger, c)} withNames={false} linked />
      </>,
    )
  })

  function differenceAsked(context: Context): DiffOptions {
    const cycle = wholeNumber(context, 'cycle')
    const from = given(context, 'from')
    const to = given(context, 'to')
    if (from !== undefined) return { from, ...(to === undefined ? {} : { to }) }
    if (cycle === undefined) throw new NotAsked('the address names no cycle, and no two revisions')
    return { cycle }
  }

  app.get('/explain', async (context) => {
    const c = conversation(context)
    const batchId = given(context, 'batch')
    const line = given(context, 'line')
    const options = batchId !== undefined ? { batchId } : line !== undefined ? { line } : {}
    const open = given(context, 'open') !== undefined
    return await answer(
      context,
      { title: 'Where it comes from', c },
      <section class="explained">
        <form class="filters" action="/explain">
          <input type="hidden" name="c" value={c} />
          <label>
            A line that the model saw, or part of one
            <input type="search" name="line" value={line} size={60} />
          </label>
          <button type="submit">Explain</button>
        </form>
        {await explained(c, { ...options, open })}
        {batchId === undefined || open ? null : (
          <p>
            <a href={link('/explain', { c, batch: batchId, open: 1 })}>with the messages whole</a>
          </p>
        )}
      </section>,
    )
  })

  app.get('/graph', async (context) => {
    const c = conversation(context)
    const batchId = given(context, 'batch')
    const explanation = await ledger.explain(c, batchId === undefined ? {} : { batchId })
    const batches =
      explanation.kind === 'view' ? explanation.batches : explanation.kind === 'batch' ? [explanation.batch] : []
    return await answer(
      context,
      { title: 'Graph', c, room: 'graph' },
      <>
        <h2>
          {batchId === undefined ? 'What is compacted, and what it was made of' : `Batch ${batchId.slice(0, 12)}`}
        </h2>
        <p>
          {batchId === undefined ? (
            <a href={link('/explain', { c })}>Where a line comes from</a>
          ) : (
            <a href={link('/graph', { c })}>all of it</a>
          )}
        </p>
        <Graph c={c} batches={batches} open={await openChunk(c, given(context, 'open'))} within={batchId} />
      </>,
    )
  })

  /** The messages of a chunk, where it is open; nothing where that batch has none, or is none. */
  async function openChunk(c: string, batchId: string | undefined): Promise<OpenChunk | undefined> {
    if (batchId === undefined) return undefined
    const found = await ledger.explain(c, { batchId, open: true })
    const messages = found.kind === 'batch' ? coveredBy(found.batch)?.messages : undefined
    return messages === undefined ? undefined : { batchId, messages }
  }

  async function editionsOf(c: string): Promise<OwnEdition[]> {
    const found: OwnEdition[] = []
    for (const edition of await ledger.editions.list()) {
      const own = (await ledger.editions.show(edition.editionId)).conversations.find(
        ({ conversationId }) => conversationId === c,
      )
      if (own !== undefined) found.push({ edition, own })
    }
    return found
  }

  app.get('/editions', async (context) => {
    const c = conversation(context)
    return await answer(
      context,
      { title: 'Editions', c, room: 'editions' },
      <>
        <h2>Editions</h2>
        <Editions c={c} editions={await editionsOf(c)} />
      </>,
    )
  })

  app.get('/edition', async (context) => {
    const c = conversation(context)
    const editionId = given(context, 'e')
    if (editionId === undefined) throw new NotAsked('the address names no edition')
    const against = given(context, 'against')
    const compared = await ledger.editions.compare([c], editionId, {
      record: false,
      ...(against === undefined ? {} : { against }),
    })
    const [comparison] = compared.conversations
    if (comparison === undefined) throw new NotAsked('this edition is none of this conversation')
    const editions = (await editionsOf(c)).map(({ edition }) => edition.editionId)
    return await answer(
      context,
      { title: 'Edition', c, room: 'editions' },
      <EditionView
        comparison={comparison}
        against={compared.against}
        editions={editions}
        editionId={compared.editionId}
      />,
    )
  })

  app.get('/search', async (context) => {
    const c = given(context, 'c')
    const scope = given(context, 'scope')
    const query = given(context, 'q')
    if (c !== undefined) return context.redirect(link('/conversation', { c, q: query }), 303)
    const found =
      query === undefined
        ? undefined
        : await ledger.search(query, { limit: HITS, ...(scope === undefined ? {} : { scope }) })
    return await answer(
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
            <input name="scope" value={scope} placeholder="those without one" />
          </label>
          <button type="submit">Search</button>
        </form>
        {found === undefined || query === undefined ? null : (
          <>
            {found.behind === undefined ? null : (
              <p class="note warn">The read models are behind by {many(found.behind.events, 'event')}.</p>
            )}
            <p class="muted">
              {many(found.hits.length, 'hit')} for <Name text={query} />
            </p>
            <HitList query={query} hits={found.hits} withName />
          </>
        )}
      </>,
    )
  })

  async function factsOf(c: string, from: number, limit: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = []
    for await (const event of ledger.log(c, { from: BigInt(from), limit })) events.push(event)
    return events
  }

  app.get('/log', async (context) => {
    const c = conversation(context)
    const { revision: head } = await headOf(c)
    const part = Math.floor(Math.min(wholeNumber(context, 'from') ?? 0, Number(head)) / LOG_PART)
    const events = await factsOf(c, part * LOG_PART, LOG_PART)
    return await answer(
      context,
      { title: 'Log', c, room: 'log' },
      <Log c={c} head={head} from={part} events={events} words={words} />,
    )
  })

  app.get('/log/part', async (context) => {
    const c = conversation(context)
    const events = await factsOf(c, (wholeNumber(context, 'part') ?? 0) * LOG_PART, LOG_PART)
    return await context.html(html`${<Facts c={c} events={events} words={words} />}`)
  })

  /** The last fact; a state that cannot be folded has one all the same. */
  async function headOf(c: string): Promise<{ readonly revision: bigint }> {
    for await (const { revision } of ledger.log(c, { direction: 'backwards', limit: 1 })) return { revision }
    throw new NotAsked('this conversation has no fact')
  }

  app.get('/fact', async (context) => {
    const c = conversation(context)
    const [event] = await factsOf(c, wholeNumber(context, 'r') ?? 0, 1)
    if (event === undefined) throw new NotAsked('there is no such fact: the log ends before it')
    return await answer(context, { title: 'Fact', c, room: 'log' }, <Fact c={c} event={event} />)
  })

  app.get('/verify', async (context) => {
    const c = given(context, 'c')
    const known = verdicts.known(c)
    const wanted = given(context, 'run') !== undefined
    const isRunning = known?.state === 'running'
    const verdict = wanted || isRunning ? await verdicts.prove(c, PROOF_MS) : known
    // A page without a script asks again as well.
    if (verdict?.state === 'running') context.header('refresh', `1; url=${link('/verify', { c })}`)
    return await answer(
      context,
      { title: 'Verify', c, room: c === undefined ? undefined : 'verify' },
      <>
        {c === undefined ? <h1 class="title">Verify</h1> : null}
        <VerifyView c={c} verdict={verdict} />
      </>,
    )
  })

  return app
}

/** The address does not say what is wanted. */
class NotAsked extends Error {
  override readonly name = 'NotAsked'
}

/** Reads a conversation without being waited for; what cannot be read is said where it is asked for. */
function readBehind(histories: Histories, c: string): void {
  // The first view is on its way before that begins.
  setTimeout(() => {
    histories.read(c).catch(() => undefined)
  }, BEHIND_MS).unref()
}
