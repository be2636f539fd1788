/** The routes of what is recorded of one conversation: compactions, losses, sources, editions and the log. */
import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { RecordedEvent } from '../../../domain/events/index.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import type { Difference, DiffOptions, RuleCheck } from '../../../library/ledger.js'
import { link } from '../links.js'
import { ALL_KINDS, EVENT_KINDS, isEventKind, type KindCounts } from '../reading/event-kinds.js'
import { soon } from '../reading/soon.js'
import { LOOK_BACK } from '../reading/tool-names.js'
import { forgottenAt, forgottenFound } from '../reading/forgotten.js'
import { Cycles } from '../views/cycles.js'
import { DifferenceView } from '../views/difference.js'
import { Editions, EditionView, type ConversationEdition } from '../views/editions.js'
import { ForgottenView } from '../views/forgotten.js'
import { coveredBy, Graph, type OpenChunk } from '../views/graph.js'
import { LogLines, type LogLine } from '../views/log-line.js'
import { EventDetails, EventList, KindLog, Log, LOG_PART } from '../views/log.js'
import { explainedLine } from './explained-line.js'
import { RulesView } from '../views/rules.js'
import { conversation, param, wholeNumber, type PageServices } from './page-services.js'

/** Time to wait for the losses of the compactions before the table is sent without them. */
const LOSSES_MS = 2_000
/** Time to wait for the numbers of events before the log is sent without them. */
const COUNTS_MS = 1_000

export class RecordRoutes {
  constructor(private readonly page: PageServices) {}

  register(app: Hono): void {
    app.get('/cycles', (context) => this.cycles(context))
    app.get('/difference', (context) => this.difference(context))
    app.get('/forgotten', (context) => this.forgotten(context))
    app.get('/rules', (context) => this.rules(context))
    app.get('/explain', (context) => this.explain(context))
    app.get('/graph', (context) => this.graph(context))
    app.get('/editions', (context) => this.editions(context))
    app.get('/edition', (context) => this.edition(context))
    app.get('/log', (context) => this.log(context))
    app.get('/log/part', (context) => this.logPart(context))
    app.get('/event', (context) => this.event(context))
  }

  private async cycles(context: Context): Promise<Response> {
    const c = conversation(context)
    const { course, head } = await this.page.histories.read(c)
    const losses = await this.page.losses.within(c, head, LOSSES_MS)
    return await this.page.answer(
      context,
      { title: 'Compactions', c, tab: 'cycles' },
      <Cycles c={c} course={course} losses={losses} />,
    )
  }

  private async difference(context: Context): Promise<Response> {
    const c = conversation(context)
    const difference = await this.page.options.ledger.diff(c, diffOptions(context))
    const { cycle, from, to } = difference
    const forgotten =
      cycle === undefined ? undefined : await forgottenAt(this.page.options.ledger, c, cycle.cycle, to.revision)
    const { marks } = cycle === undefined ? (await this.page.histories.read(c)).course : { marks: [] }
    const cyclesBetween = marks.filter(
      ({ kind, revision }) => kind === 'cycle' && revision > from.revision && revision <= to.revision,
    )
    return await this.page.answer(
      context,
      { title: 'Difference', c, tab: 'cycles' },
      <DifferenceView
        difference={difference}
        compactedAt={await this.compactedAt(difference)}
        forgotten={forgotten}
        cyclesBetween={cyclesBetween}
        mark={marks.find(({ revision }) => revision === to.revision && from.revision === revision - 1)}
        places={await this.page.places(c)}
      />,
    )
  }

  /** The time of a compaction by another program, as its transcript has it; the ledger recorded it later. */
  private async compactedAt({ conversationId, cycle, from }: Difference): Promise<string | undefined> {
    if (cycle === undefined) return undefined
    const [before] = await this.eventsOf(conversationId, from.revision, 1)
    return before?.type === 'CompactionObserved' ? before.data.at : undefined
  }

  private async forgotten(context: Context): Promise<Response> {
    const c = conversation(context)
    return await this.page.answer(
      context,
      { title: 'Forgotten', c, tab: 'forgotten' },
      <>
        <h2>What the agent no longer knew</h2>
        <ForgottenView
          found={await forgottenFound(this.page.options.ledger, c)}
          names={undefined}
          places={await this.page.places(c)}
        />
      </>,
    )
  }

  private async rules(context: Context): Promise<Response> {
    const c = conversation(context)
    let checked: RuleCheck | undefined
    await this.page.options.ledger.rules.check(c, { onConversation: (found) => void (checked = found) })
    return await this.page.answer(
      context,
      { title: 'Rules', c, tab: 'rules' },
      <>
        <h2>The user’s rules, and what broke them</h2>
        {checked === undefined ? null : <RulesView checked={checked} places={await this.page.places(c)} />}
      </>,
    )
  }

  private async explain(context: Context): Promise<Response> {
    const c = conversation(context)
    const batchId = param(context, 'batch')
    const line = param(context, 'line')
    const options = batchId !== undefined ? { batchId } : line !== undefined ? { line } : {}
    const open = param(context, 'open') !== undefined
    return await this.page.answer(
      context,
      { title: 'Sources', c, tab: 'graph' },
      <section class="explained">
        <form class="filters" action="/explain">
          <input type="hidden" name="c" value={c} />
          <label>
            A line of the model’s context, or part of one
            <input type="search" name="line" value={line} size={60} />
          </label>
          <button type="submit">Explain</button>
        </form>
        {await explainedLine(this.page, c, { ...options, open })}
        {batchId === undefined || open ? null : (
          <p>
            <a href={link('/explain', { c, batch: batchId, open: 1 })}>Show the messages in full</a>
          </p>
        )}
      </section>,
    )
  }

  private async graph(context: Context): Promise<Response> {
    const c = conversation(context)
    const batchId = param(context, 'batch')
    const explanation = await this.page.options.ledger.explain(c, batchId === undefined ? {} : { batchId })
    const batches =
      explanation.kind === 'view' ? explanation.batches : explanation.kind === 'batch' ? [explanation.batch] : []
    return await this.page.answer(
      context,
      { title: 'Graph', c, tab: 'graph' },
      <>
        <h2>{batchId === undefined ? 'What the summaries are made from' : 'What this summary is made from'}</h2>
        <p>
          {batchId === undefined ? (
            <a href={link('/explain', { c })}>Find the sources of a line</a>
          ) : (
            <a href={link('/graph', { c })}>All summaries</a>
          )}
        </p>
        <Graph
          c={c}
          batches={batches}
          open={await this.openChunk(c, param(context, 'open'))}
          within={batchId}
          places={await this.page.places(c)}
        />
      </>,
    )
  }

  /** The messages of the expanded chunk; undefined if the batch covers no messages directly. */
  private async openChunk(c: string, batchId: string | undefined): Promise<OpenChunk | undefined> {
    if (batchId === undefined) return undefined
    const found = await this.page.options.ledger.explain(c, { batchId, open: true })
    const messages = found.kind === 'batch' ? coveredBy(found.batch)?.messages : undefined
    return messages === undefined ? undefined : { batchId, messages }
  }

  private async editionsOf(c: string): Promise<ConversationEdition[]> {
    const found: ConversationEdition[] = []
    for (const edition of await this.page.options.ledger.editions.list()) {
      const entry = (await this.page.options.ledger.editions.show(edition.editionId)).conversations.find(
        ({ conversationId }) => conversationId === c,
      )
      if (entry !== undefined) found.push({ edition, entry })
    }
    return found
  }

  private async editions(context: Context): Promise<Response> {
    const c = conversation(context)
    return await this.page.answer(
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
    const compared = await this.page.options.ledger.editions.compare([c], editionId, {
      record: false,
      ...(against === undefined ? {} : { against }),
    })
    const [comparison] = compared.conversations
    if (comparison === undefined) throw new LedgerError('BadRequest', 'the conversation is not in this edition')
    const editions = (await this.editionsOf(c)).map(({ edition }) => edition)
    return await this.page.answer(
      context,
      { title: 'Edition', c, tab: 'editions' },
      <EditionView
        comparison={comparison}
        against={compared.against}
        editions={editions}
        editionId={compared.editionId}
        places={await this.page.places(c)}
      />,
    )
  }

  private async eventsOf(c: string, from: number, limit: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = []
    for await (const event of this.page.options.ledger.log(c, { from: from, limit })) events.push(event)
    return events
  }

  /** A part of the log. The calls and the compaction that its first events belong to are read too. */
  private async linesOf(c: string, part: number): Promise<LogLine[]> {
    const from = part * LOG_PART
    const start = Math.max(0, from - LOOK_BACK)
    const reader = new LogLines()
    const events = await this.eventsOf(c, start, from - start + LOG_PART)
    return events.map((event) => reader.next(event)).filter(({ event }) => event.revision >= from)
  }

  /** The numbers of events; undefined if reading them takes long or fails. */
  private async countsOf(c: string): Promise<KindCounts | undefined> {
    return (await soon(this.page.histories.read(c), COUNTS_MS))?.kinds
  }

  private async log(context: Context): Promise<Response> {
    const c = conversation(context)
    const kind = param(context, 'kind')
    if (kind !== undefined) return await this.logOfKind(context, c, kind)
    const { revision: head } = await this.headOf(c)
    const part = Math.floor(Math.min(wholeNumber(context, 'from') ?? 0, head) / LOG_PART)
    return await this.page.answer(
      context,
      { title: 'Log', c, tab: 'log' },
      <Log c={c} head={head} from={part} counts={await this.countsOf(c)} lines={await this.linesOf(c, part)} />,
    )
  }

  /** A page of the events of one kind. It reads the log until the page is full. */
  private async logOfKind(context: Context, c: string, kind: string): Promise<Response> {
    if (!isEventKind(kind))
      throw new LedgerError('BadRequest', `the log has no kind "${kind}": there are ${ALL_KINDS.join(', ')}`)
    const from = wholeNumber(context, 'from') ?? 0
    const reader = new LogLines()
    const lines: LogLine[] = []
    let next: number | undefined
    for await (const event of this.page.options.ledger.log(c, { from: Math.max(0, from - LOOK_BACK) })) {
      const line = reader.next(event)
      if (event.revision < from || !EVENT_KINDS[kind].has(event)) continue
      if (lines.length === LOG_PART) {
        next = event.revision
        break
      }
      lines.push(line)
    }
    return await this.page.answer(
      context,
      { title: 'Log', c, tab: 'log' },
      <KindLog c={c} kind={kind} counts={await this.countsOf(c)} lines={lines} from={from} next={next} />,
    )
  }

  private async logPart(context: Context): Promise<Response> {
    const c = conversation(context)
    const lines = await this.linesOf(c, wholeNumber(context, 'part') ?? 0)
    return await context.html(html`${<EventList c={c} lines={lines} />}`)
  }

  /** The last event. It is read from the log, because a damaged conversation has no state. */
  private async headOf(c: string): Promise<{ readonly revision: number }> {
    for await (const { revision } of this.page.options.ledger.log(c, { direction: 'backwards', limit: 1 }))
      return { revision }
    throw new LedgerError('BadRequest', 'this conversation has no events')
  }

  private async event(context: Context): Promise<Response> {
    const c = conversation(context)
    const [event] = await this.eventsOf(c, wholeNumber(context, 'r') ?? 0, 1)
    if (event === undefined) throw new LedgerError('BadRequest', 'the event does not exist: the log ends before it')
    const { revision: head } = await this.headOf(c)
    return await this.page.answer(
      context,
      { title: 'Event', c, tab: 'log' },
      <EventDetails c={c} event={event} head={head} />,
    )
  }
}

function diffOptions(context: Context): DiffOptions {
  const cycle = wholeNumber(context, 'cycle')
  const from = param(context, 'from')
  const to = param(context, 'to')
  if (from !== undefined) return { from, ...(to === undefined ? {} : { to }) }
  if (cycle === undefined) throw new LedgerError('BadRequest', 'the address has neither a compaction nor an event')
  return { cycle }
}
