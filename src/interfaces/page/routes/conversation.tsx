/** The routes of one conversation at a revision: the chat, its steps, its chart and its images. */
import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { Child } from 'hono/jsx'
import { imagesOf } from '../reading/images.js'
import { searchHits, type Hits } from '../reading/search-hits.js'
import { shownAs } from '../reading/shown-message.js'
import type { Step } from '../reading/step.js'
import { Part, type ContextFocus } from '../views/chat.js'
import { StepView } from '../views/context.js'
import { Conversation } from '../views/conversation.js'
import { FullMessage, lineAt } from '../views/message.js'
import { Plot } from '../views/plot.js'
import { oneLine } from '../views/text.js'
import { explainedLine } from './explained-line.js'
import { conversation, param, wholeNumber, type PageServices } from './page-services.js'

/** Delay between the first view and reading the full history. */
const BACKGROUND_DELAY_MS = 40
/** Time to wait for the losses of the compactions before the chart is sent without them. */
const LOSSES_MS = 800

export class ConversationRoutes {
  constructor(private readonly page: PageServices) {}

  register(app: Hono): void {
    app.get('/conversation', (context) => this.timeline(context))
    app.get('/conversation/step', (context) => this.step(context))
    app.get('/conversation/part', (context) => this.contextPart(context))
    app.get('/conversation/why', (context) => this.explanationOfLine(context))
    app.get('/course', (context) => this.course(context))
    app.get('/message', (context) => this.message(context))
    app.get('/image', (context) => this.image(context))
  }

  private async hitsOf(c: string, query: string | undefined): Promise<Hits | undefined> {
    if (query === undefined) return undefined
    return await searchHits(this.page.options.ledger, query, { conversationId: c })
  }

  /** The explanation of the selected line; null if none is selected. */
  private async drawerOf(step: Step, why: string | undefined): Promise<Child> {
    if (why === undefined) return null
    const line = lineAt(step, why)
    if (line === undefined) return <p class="empty">The line does not exist.</p>
    return await explainedLine(this.page, step.conversationId, { line })
  }

  private async timeline(context: Context): Promise<Response> {
    const c = conversation(context)
    const step = await this.stepOf(context)
    const focus = focusOf(context, step)
    // The history for the slider is read after the first view.
    readInBackground(this.page, c)
    return await this.page.answer(
      context,
      { title: oneLine(c, 60), c, tab: 'timeline', query: focus.q, head: step.head },
      <Conversation
        step={step}
        focus={focus}
        hits={await this.hitsOf(c, focus.q)}
        drawer={await this.drawerOf(step, param(context, 'why'))}
      />,
    )
  }

  /** Reads the step that the address names. Background reads pause meanwhile. */
  private async stepOf(context: Context): Promise<Step> {
    const { foreground, steps } = this.page
    return await foreground.answer(
      async () => await steps.at(conversation(context), param(context, 'at'), param(context, 'since')),
    )
  }

  private async step(context: Context): Promise<Response> {
    const step = await this.stepOf(context)
    return await context.html(html`${<StepView step={step} focus={focusOf(context, step)} />}`)
  }

  private async contextPart(context: Context): Promise<Response> {
    const step = await this.stepOf(context)
    const focus = focusOf(context, step)
    return await context.html(html`${<Part step={step} part={focus.part ?? 0} focus={focus} />}`)
  }

  private async explanationOfLine(context: Context): Promise<Response> {
    const step = await this.page.steps.at(conversation(context), param(context, 'at'), undefined)
    return await context.html(html`${await this.drawerOf(step, param(context, 'why') ?? '')}`)
  }

  private async message(context: Context): Promise<Response> {
    const c = conversation(context)
    const step = await this.page.steps.at(c, param(context, 'at'))
    return await this.page.answer(
      context,
      { title: 'Message', c },
      <FullMessage step={step} at={wholeNumber(context, 'i') ?? 0} from={wholeNumber(context, 'from') ?? 0} />,
    )
  }

  /** The chart. If the losses take long, it is sent without them, and the browser fetches it again. */
  private async course(context: Context): Promise<Response> {
    const c = conversation(context)
    const { course, head } = await this.page.histories.read(c)
    const hasCycles = course.marks.some(({ kind }) => kind === 'cycle')
    const losses = hasCycles ? await this.page.losses.within(c, head, LOSSES_MS) : new Map<number, number>()
    const hits = (param(context, 'hits') ?? '')
      .split(' ')
      .flatMap((text) => (/^\d{1,15}$/u.test(text) ? [Number(text)] : []))
    return await this.page.answer(
      context,
      { title: 'Chart', c, tab: 'timeline' },
      <Plot course={course} c={c} losses={losses} hits={hits} />,
    )
  }

  private async image(context: Context): Promise<Response> {
    const step = await this.page.steps.at(conversation(context), param(context, 'at'))
    const message = step.context?.messages[wholeNumber(context, 'i') ?? 0]
    const image = message === undefined ? undefined : imagesOf(message)[wholeNumber(context, 'n') ?? 0]
    return image === undefined
      ? context.notFound()
      : context.body(new Uint8Array(Buffer.from(image.base64, 'base64')), 200, { 'content-type': image.type })
  }
}

function focusOf(context: Context, step: Step): ContextFocus {
  const m = param(context, 'm')
  return {
    m: m === undefined ? undefined : shownAs(step, m),
    q: param(context, 'q'),
    part: wholeNumber(context, 'part'),
    why: param(context, 'why'),
  }
}

/** Reads the history in the background. A later request reports errors. */
function readInBackground({ histories, foreground }: PageServices, c: string): void {
  // Send the first view first.
  setTimeout(() => {
    histories.read(c, foreground.pause).catch(() => undefined)
  }, BACKGROUND_DELAY_MS).unref()
}
