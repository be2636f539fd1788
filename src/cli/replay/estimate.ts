/**
 * Before tokens are bought for an edition, by `replay` and by `editions adopt`: what it would come to at most and,
 * without `--yes`, a question. What the bounds and the price are is read here too, so that both ask and refuse alike.
 */
import { createInterface } from 'node:readline/promises'
import { tokensOf } from '../../domain/reports/prices.js'
import { pricesOf } from '../config/prices.js'
import type { EditionBound, EditionSpending, Price, ReplayEstimate } from '../../library/ledger.js'
import { sentenceOfProblem } from '../../library/problem.js'
import { endSignals } from '../end-signals.js'
import { Ended, EXIT, InputError } from '../errors.js'
import { colours, count, line, many, note, printable, toJson } from '../output.js'
import type { Session } from '../session.js'

/** Failures that are named; hundreds would hide the rest. */
export const NAMED_FAILURES = 10
const MICROS = 1_000_000

export const money = (costMicros: number, currency: string): string =>
  `${(costMicros / MICROS).toFixed(costMicros < MICROS / 10 ? 4 : 2)} ${currency}`

/** What the summarizer's model costs, as it is configured. */
export async function priceOf(config: Session['config'], maxCost: number | undefined): Promise<Price | undefined> {
  const prices = await pricesOf(config)
  const { model = '' } = config
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined
  if (maxCost !== undefined && config.summarizer === 'extractive')
    throw new InputError(
      'Usage',
      '--max-cost is for a summarizer with a model, and the extractive one costs nothing: leave it out, or give --summarizer openai too',
    )
  if (maxCost !== undefined && price === undefined)
    throw new InputError(
      'Usage',
      `--max-cost needs the price of the model "${model}": --prices names a JSON file of prices by model`,
    )
  return price
}

/** "98,774 tokens (0.0250 USD)"; no money where there is no price. */
export const spentOf = ({ costMicros, ...usage }: EditionSpending, currency: string | undefined): string =>
  `${many(tokensOf(usage), 'token')}${costMicros === undefined || currency === undefined ? '' : ` (${money(costMicros, currency)})`}`

async function tellEstimate(estimate: ReplayEstimate): Promise<void> {
  const {
    editionId,
    conversations,
    upToDate,
    messages,
    messagesOf,
    calls,
    promptTokens,
    completionTokens,
    reused,
    spent,
    failures,
  } = estimate
  const done = upToDate === 0 ? '' : `, ${count(upToDate)} of them up to date`
  await line(
    `edition ${colours.bold(editionId)}: ${many(conversations, 'conversation')}${done}; ${count(messages)} of ${many(messagesOf, 'message')} still to be seen`,
  )
  const cost =
    estimate.costMicros === undefined || estimate.currency === undefined
      ? ''
      : `, ${money(estimate.costMicros, estimate.currency)}`
  await line(
    `at most ${many(calls, 'model call')}, ${count(promptTokens)} tokens to the model and ${count(completionTokens)} from it${cost} (every summary reckoned as long as it may be; failed calls come on top)`,
  )
  if (reused > 0)
    await line(`${many(reused, 'summary', 'summaries')} recorded for the same requests would be reused without a call`)
  if (tokensOf(spent) > 0) await line(`spent on it so far: ${spentOf(spent, estimate.currency)}`)
  for (const { conversationId, failure } of failures.slice(0, NAMED_FAILURES))
    await line(colours.yellow(`${printable(conversationId)} cannot be replayed: ${sentenceOfProblem(failure)}`))
}

async function confirmed(stop: AbortSignal): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  const close = (): void => {
    asking.close()
  }
  stop.addEventListener('abort', close, { once: true })
  // Ctrl-C or Ctrl-D at the question closes it without an answer, and that is a no: the terminal hands over the key,
  // and nobody is signalled.
  const gone = new AbortController()
  asking.once('close', () => {
    gone.abort()
  })
  try {
    return /^y(?:es)?$/iu.test((await asking.question('begin? [y/N] ', { signal: gone.signal })).trim())
  } catch (error) {
    if (!gone.signal.aborted) throw error
    if (!stop.aborted) note('')
    return false
  } finally {
    stop.removeEventListener('abort', close)
    asking.close()
  }
}

/** The estimate as the documents have it. */
export const documentOfEstimate = (estimate: ReplayEstimate): unknown => ({
  ...estimate,
  failures: estimate.failures.map(({ conversationId, failure }) => ({
    conversationId,
    detail: sentenceOfProblem(failure),
  })),
})

/**
 * True where it is to begin. Where nobody can be asked, the estimate is all there is. Throws the signal's reason where
 * that comes in place of an answer.
 */
async function approved(estimate: ReplayEstimate, json: boolean, stop: AbortSignal): Promise<boolean> {
  if (json) await line(toJson({ estimate: documentOfEstimate(estimate) }))
  if (json || !process.stdin.isTTY || !process.stderr.isTTY) {
    note('nothing was done: --yes begins')
    throw new Ended(EXIT.input)
  }
  if (estimate.calls === 0 || (await confirmed(stop))) return true
  stop.throwIfAborted()
  note('nothing was done')
  return false
}

/** Aborts at the first Ctrl-C, and says what becomes of calls that are under way. Before `begin` there are none. */
function stopWhenTold(): { readonly signal: AbortSignal; begin(): void; forget(): void } {
  const ended = endSignals()
  const stop = new AbortController()
  let begun = false
  const stopped = async (): Promise<void> => {
    await ended.signalled
    note(`\nending${begun ? ': calls that are under way may end and are recorded' : ''}. A second Ctrl-C ends at once`)
    stop.abort()
  }
  void stopped()
  return {
    signal: stop.signal,
    begin: () => {
      begun = true
    },
    forget: () => {
      ended.forget()
    },
  }
}

export interface Asking {
  /** Reckons what it would come to; undefined where nothing can be bought. */
  readonly estimate: ((signal: AbortSignal) => Promise<ReplayEstimate>) | undefined
  /** True where an estimate of no calls is not shown, and no question is asked. */
  readonly quietWhenFree: boolean
  readonly yes: boolean
  readonly json: boolean
}

export interface Approved<T> {
  readonly done: T
  readonly estimate: ReplayEstimate | undefined
}

/**
 * Shows the estimate, asks, and does the work. It returns undefined where the answer was no. Where somebody stops it
 * before the work began, nothing was done.
 */
export async function onceApproved<T>(
  { estimate: reckon, quietWhenFree, yes, json }: Asking,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Approved<T> | undefined> {
  const stop = stopWhenTold()
  const { signal } = stop
  try {
    const estimate = await reckon?.(signal)
    if (estimate !== undefined && !(quietWhenFree && estimate.calls === 0)) {
      if (!json) await tellEstimate(estimate)
      if (!yes && !(await approved(estimate, json, signal))) return undefined
    }
    signal.throwIfAborted()
    stop.begin()
    return { done: await work(signal), estimate }
  } catch (error) {
    if (error !== signal.reason) throw error
    note('nothing was done')
    throw new Ended(EXIT.interrupted)
  } finally {
    stop.forget()
  }
}

/** The bounds as the library takes them, checked as they were typed. */
export function boundsOf({
  maxTokens,
  maxCost,
}: {
  readonly maxTokens: number | undefined
  readonly maxCost: number | undefined
}): EditionBound {
  if (maxTokens === 0) throw new InputError('Usage', '--max-tokens must be at least 1')
  return { ...(maxTokens === undefined ? {} : { maxTokens }), ...(maxCost === undefined ? {} : { maxCost }) }
}
