/** What the routes of the page share: the ledger, what was read of it, and the frame of a response. */
import type { Context, MiddlewareHandler } from 'hono'
import { html } from 'hono/html'
import type { Child } from 'hono/jsx'
import { LedgerError } from '../../../lib/ledger-error.js'
import type { ConversationSummary, Ledger } from '../../../library/ledger.js'
import { summaryOf } from '../reading/conversation-summary.js'
import { Foreground } from '../reading/foreground.js'
import { createHistories, type Histories } from '../reading/history.js'
import { createLossCounts, type LossCounts } from '../reading/losses.js'
import { soon } from '../reading/soon.js'
import { createRows, type Rows } from '../reading/rows.js'
import { createSteps, type Steps } from '../reading/step.js'
import { turnsOf } from '../reading/turns.js'
import { createVerdicts, type Verdicts } from '../reading/verdicts.js'
import { Layout, type Tab } from '../views/layout.js'
import type { Places } from '../views/places.js'

/** The part of the ledger that the page uses. */
type PageLedger = Pick<
  Ledger,
  'context' | 'messages' | 'log' | 'diff' | 'explain' | 'search' | 'list' | 'totals' | 'forgotten'
> & {
  readonly rules: Pick<Ledger['rules'], 'check'>
  readonly admin: Pick<Ledger['admin'], 'verify'>
  readonly editions: Pick<Ledger['editions'], 'list' | 'show' | 'compare'>
}

export interface AppOptions {
  readonly ledger: PageLedger
  /** Display name of the ledger. */
  readonly name: string
  readonly now: () => Date
  /** Access control. */
  readonly guard: MiddlewareHandler
}

/** Time to wait for the history of a conversation. */
const TURNS_MS = 2_000
/** Maximum number of cached rows of the list. */
const MAX_SUMMARIES = 1_000

/** HTTP statuses of pages. */
export const STATUSES = [200, 400, 404, 409, 500, 503] as const

interface PageOf {
  readonly title: string
  readonly c?: string | undefined
  readonly tab?: Tab | undefined
  readonly query?: string | undefined
  /** Revision of the last event of the conversation, if it is known. */
  readonly head?: number
  readonly status?: (typeof STATUSES)[number]
}

/** The services of one running page. */
export class PageServices {
  readonly foreground = new Foreground()
  readonly histories: Histories
  readonly steps: Steps
  readonly rows: Rows
  readonly losses: LossCounts
  readonly verdicts: Verdicts
  /** Conversations as the list had them last. */
  private readonly summaries = new Map<string, ConversationSummary>()

  constructor(readonly options: AppOptions) {
    const { ledger, now } = options
    this.histories = createHistories(ledger)
    this.steps = createSteps(ledger, this.histories)
    this.rows = createRows(ledger, this.histories, this.foreground.pause)
    this.losses = createLossCounts(ledger, this.foreground.pause)
    this.verdicts = createVerdicts(ledger, now)
  }

  /** The places of messages of a conversation. If its history takes long to read, without their turns. */
  async places(c: string): Promise<Places> {
    const turnOf = await soon(turnsOf(this.histories, [c]), TURNS_MS)
    return { linked: true, turnOf: turnOf ?? (() => undefined) }
  }

  /**
   * A conversation as the list has it.
   * @param head the revision of its last event, if it is known: then an unchanged conversation is not read again
   */
  async summaryOf(c: string, head?: number): Promise<ConversationSummary | undefined> {
    const known = this.summaries.get(c)
    if (known !== undefined && known.revision === head && known.lost !== undefined) return known
    const summary = await this.foreground.answer(async () => await summaryOf(this.options.ledger, c))
    if (summary !== undefined) this.remember([summary])
    return summary
  }

  /** Keeps rows of the list for the heads of their conversations. */
  remember(rows: readonly ConversationSummary[]): void {
    if (this.summaries.size + rows.length > MAX_SUMMARIES) this.summaries.clear()
    for (const row of rows) this.summaries.set(row.conversationId, row)
  }

  /** Responds with a fragment, or with the full page. */
  async answer(
    context: Context,
    { title, c, tab, query, head, status = 200 }: PageOf,
    content: Child,
  ): Promise<Response> {
    const isPart = context.req.header('x-part') !== undefined
    return await context.html(
      isPart
        ? html`${content}`
        : html`${(
            <Layout
              title={title}
              ledger={this.options.name}
              conversation={c === undefined ? undefined : { id: c, summary: await this.summaryOf(c, head) }}
              tab={tab}
              query={query}
            >
              {content}
            </Layout>
          )}`,
      status,
    )
  }
}

/** A parameter of the address; undefined if it is empty. */
export const param = (context: Context, field: string): string | undefined => {
  const value = context.req.query(field)
  return value === undefined || value === '' ? undefined : value
}

export const wholeNumber = (context: Context, field: string): number | undefined => {
  const value = param(context, field)
  return value !== undefined && /^\d{1,15}$/u.test(value) ? Number(value) : undefined
}

/** The conversation that the address names. */
export const conversation = (context: Context): string => {
  const c = param(context, 'c')
  if (c === undefined) throw new LedgerError('BadRequest', 'the address has no conversation id')
  return c
}
