/**
 * The routes of the page. All of them only read. Fragments (a slider step, a part of a list, an explanation) have the
 * same markup as on the full page.
 */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { CONVERSATION_ORDERS, defaultOrder } from '../../domain/values/conversation-order.js'
import type { ConversationOrder, ConversationSelection, ListOptions } from '../../library/ledger.js'
import { faultOf, statusOf } from '../../library/problem.js'
import { summariesOf } from '../../library/titles.js'
import { asset, ASSET_CACHE } from './assets.js'
import { link } from './links.js'
import { nameOf } from './reading/conversation-summary.js'
import { isAuthor, searchHits } from './reading/search-hits.js'
import { verifyStatusOf, VERIFY_STATUSES, type VerifyStatus } from './reading/verdicts.js'
import { ConversationRoutes } from './routes/conversation.js'
import { conversation, PageServices, param, STATUSES, wholeNumber, type AppOptions } from './routes/page-services.js'
import { RecordRoutes } from './routes/records.js'
import { Conversation } from './views/conversation.js'
import { Conversations, Entry, type ListQuery } from './views/conversations.js'
import { SEARCH, START } from './views/layout.js'
import { TotalsTable } from './views/totals.js'
import { SearchView } from './views/search.js'
import { visible } from './views/text.js'
import { VerifyView } from './views/verification.js'

const ROWS = 100
/** Programs and projects in the table of totals. */
const GROUPS = 50
/** The title of the totals. */
const TOTALS = 'Totals'
/** Delay between the start page and the first conversation that is rendered in advance. */
const WARM_UP_DELAY_MS = 120
const NO_FOCUS = { m: undefined, q: undefined, part: undefined }
/** Time to wait for a verification before the page shows its progress. */
const VERIFY_WAIT_MS = 1_500

/** Creates the app. */
export function createApp(options: AppOptions): Hono {
  return new PageRoutes(new PageServices(options)).register()
}

class PageRoutes {
  private isWarm = false

  constructor(private readonly page: PageServices) {}

  /** Registers access control, errors and routes. */
  register(): Hono {
    const app = new Hono()
    app.use(this.page.options.guard)
    app.onError(async (error, context) => {
      const { message } = faultOf(error)
      return await this.page.answer(
        context,
        { title: 'Error', status: STATUSES.find((status) => status === statusOf(error)) ?? 500 },
        <section class="verdict">
          <h1 class="bad">Cannot show this page</h1>
          <p>{visible(message)}</p>
          <p>
            <a href="/">All conversations</a>
          </p>
        </section>,
      )
    })
    app.notFound(
      async (context) => await this.page.answer(context, { title: 'Not found', status: 404 }, <h1>Page not found</h1>),
    )
    app.get('/assets/:name', async (context) => {
      const found = await asset(context.req.param('name'))
      return found === undefined
        ? context.text('no such file\n', 404)
        : context.body(found.text, 200, { 'content-type': found.type, 'cache-control': ASSET_CACHE })
    })
    app.get('/', (context) => this.conversations(context))
    app.get('/totals', (context) => this.totals(context))
    app.get('/row', (context) => this.row(context))
    app.get('/search', (context) => this.search(context))
    app.get('/verify', (context) => this.verification(context))
    new ConversationRoutes(this.page).register(app)
    new RecordRoutes(this.page).register(app)
    return app
  }

  private async conversations(context: Context): Promise<Response> {
    const selection = selectionIn(context)
    const sort = param(context, 'sort')
    const orders = ordersFor(selection.grep)
    const verified = param(context, 'verified')
    const query: ListQuery = {
      ...selection,
      verified: VERIFY_STATUSES.find((status): status is VerifyStatus => status === verified),
      sort: orders.find((order) => order === sort) ?? defaultOrder(selection.grep),
      page: wholeNumber(context, 'page') ?? 0,
    }
    const end = (query.page + 1) * ROWS
    const { foreground, verdicts, rows, options } = this.page
    const list = await foreground.answer(async () => await options.ledger.list(listOptions(query, end + 1)))
    this.page.remember(list.conversations)
    const matching = list.conversations.filter(
      ({ conversationId, revision }) =>
        query.verified === undefined || verifyStatusOf(verdicts.latest(conversationId), revision) === query.verified,
    )
    const conversations = matching.slice(query.page * ROWS, end)
    this.warmUp(conversations[0]?.conversationId)
    return await this.page.answer(
      context,
      { title: START },
      <Conversations
        query={query}
        list={{ ...list, conversations }}
        more={matching.length > end}
        now={options.now()}
        // The browser fetches the other rows, because that reads whole conversations.
        detailsOf={(row) => rows.known(row)}
        latestOf={(id) => verdicts.latest(id)}
      />,
    )
  }

  /**
   * Renders a conversation once while the user reads the start page. The first rendering takes several times as long as
   * later ones, because Node.js compiles the renderers and the database plans its queries.
   */
  private warmUp(c: string | undefined): void {
    if (c === undefined || this.isWarm) return
    this.isWarm = true
    const { foreground, steps } = this.page
    setTimeout(() => {
      foreground
        .pause()
        .then(async () => await steps.at(c, undefined))
        .then(
          async (step) => await html`${<Conversation step={step} focus={NO_FOCUS} hits={undefined} drawer={null} />}`,
        )
        // The request for this conversation reports the error.
        .catch(() => undefined)
    }, WARM_UP_DELAY_MS).unref()
  }

  private async totals(context: Context): Promise<Response> {
    const { foreground, options } = this.page
    const selection = selectionOf(selectionIn(context))
    const totals = await foreground.answer(async () => await options.ledger.totals({ ...selection, limit: GROUPS }))
    return await this.page.answer(
      context,
      { title: TOTALS },
      <>
        <h1 class="title">{TOTALS}</h1>
        <TotalsTable totals={totals} />
      </>,
    )
  }

  private async row(context: Context): Promise<Response> {
    const row = await this.page.summaryOf(conversation(context))
    if (row === undefined) return context.notFound()
    const latest = this.page.verdicts.latest(row.conversationId)
    return await context.html(html`${<Entry row={row} details={await this.page.rows.read(row)} latest={latest} />}`)
  }

  private async search(context: Context): Promise<Response> {
    const c = param(context, 'c')
    const scope = param(context, 'scope')
    const query = param(context, 'q')
    if (c !== undefined) return context.redirect(link('/conversation', { c, q: query }), 303)
    const from = param(context, 'from')
    const author = isAuthor(from) ? from : undefined
    const { ledger } = this.page.options
    const found =
      query === undefined
        ? undefined
        : await searchHits(ledger, query, { author, ...(scope === undefined ? {} : { scope }) })
    const hits = found === undefined ? [] : [...found.said, ...found.results]
    const summaries = await summariesOf(
      ledger,
      hits.map(({ conversationId }) => conversationId),
    )
    const names = new Map([...summaries].map(([id, summary]) => [id, nameOf(summary)]))
    return await this.page.answer(
      context,
      { title: SEARCH, query },
      <SearchView query={query} scope={scope} from={author} found={found} names={names} />,
    )
  }

  private async verification(context: Context): Promise<Response> {
    const c = param(context, 'c')
    const known = this.page.verdicts.known(c)
    const isRequested = param(context, 'run') !== undefined
    const isRunning = known?.state === 'running'
    const verdict = isRequested || isRunning ? await this.page.verdicts.verify(c, VERIFY_WAIT_MS) : known
    // Without a script, the browser refreshes too.
    if (verdict?.state === 'running') context.header('refresh', `1; url=${link('/verify', { c })}`)
    return await this.page.answer(
      context,
      { title: 'Verify', c, tab: c === undefined ? undefined : 'verify' },
      <>
        {c === undefined ? <h1 class="title">Verify</h1> : null}
        <VerifyView c={c} verdict={verdict} />
      </>,
    )
  }
}

/** The orders of a list: by relevance only if words are looked for. */
const ordersFor = (grep: string | undefined): readonly ConversationOrder[] =>
  CONVERSATION_ORDERS.filter((order) => order !== 'relevance' || grep !== undefined)

/** A day means the whole day, in UTC. Any other text is checked by the ledger. */
function timeOf(text: string, days: 0 | 1): string {
  if (!/^\d{4}-\d\d-\d\d$/u.test(text)) return text
  const time = Date.parse(`${text}T00:00:00Z`) + days * 86_400_000
  return Number.isNaN(time) ? text : new Date(time).toISOString()
}

/** The filters of a list that its rows have. */
type Selection = Omit<ListQuery, 'verified' | 'sort' | 'page'>

const selectionIn = (context: Context): Selection => ({
  grep: param(context, 'grep'),
  person: param(context, 'person'),
  program: param(context, 'program'),
  project: param(context, 'project'),
  scope: param(context, 'scope'),
  since: param(context, 'since'),
  until: param(context, 'until'),
})

/** The options of `list`, which does not know the verification status: then it reads all conversations. */
const listOptions = ({ verified, sort, page: _page, ...selection }: ListQuery, limit: number): ListOptions => ({
  sort,
  ...(verified === undefined ? { limit } : {}),
  ...selectionOf(selection),
})

const selectionOf = ({ since, until, ...filters }: Selection): ConversationSelection => ({
  ...(since === undefined ? {} : { since: timeOf(since, 0) }),
  ...(until === undefined ? {} : { until: timeOf(until, 1) }),
  ...withoutUndefined(filters),
})
