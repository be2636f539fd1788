/**
 * The step before a command spends tokens on an edition (`replay`, `editions adopt`, `evaluate`): it shows an upper
 * bound and, without `--yes`, asks for confirmation. Limits and prices are read here too, so that all commands behave
 * alike.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { moneyText, priceOf, tokensOf } from '../../../domain/reports/prices.js'
import { pricesOf } from '../config/prices.js'
import type { EditionBound, EditionSpending, Ledger, Price, ReplayEstimate } from '../../../library/ledger.js'
import { sentenceOfProblem } from '../../../library/problem.js'
import { titlesOf } from '../../../library/titles.js'
import { confirmed } from '../confirm.js'
import { endSignals } from '../end-signals.js'
import { CommandExit, EXIT } from '../errors.js'
import { colours, count, line, many, note } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import type { Session } from '../session.js'
import { idWithTitle } from '../titles.js'

/** Maximum number of failures that are printed. */
export const MAX_PRINTED_FAILURES = 10

/** The price of the configured model. */
export async function configuredPrice(
  config: Session['config'],
  maxCost: number | undefined,
): Promise<Price | undefined> {
  const prices = await pricesOf(config)
  const { model = '' } = config
  const price = priceOf(model, prices)
  if (maxCost !== undefined && config.summarizer === 'extractive')
    throw new LedgerError(
      'Usage',
      '--max-cost requires a summarizer with a model; the extractive one costs nothing: remove it, or add --summarizer openai',
    )
  if (maxCost !== undefined && price === undefined)
    throw new LedgerError(
      'Usage',
      `--max-cost needs the price of the model "${model}": pass a JSON file of prices with --prices`,
    )
  return price
}

/** "98,774 tokens (0.0250 USD)"; without a price only the tokens. */
export const spentOf = ({ costMicros, ...usage }: EditionSpending, currency: string | undefined): string =>
  `${many(tokensOf(usage), 'token')}${costMicros === undefined || currency === undefined ? '' : ` (${moneyText(costMicros, currency)})`}`

async function showEstimate(ledger: Pick<Ledger, 'list'>, estimate: ReplayEstimate): Promise<void> {
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
  const upToDateText = upToDate === 0 ? '' : `, ${count(upToDate)} of them up to date`
  await line(
    `edition ${colours.bold(editionId)}: ${many(conversations, 'conversation')}${upToDateText}; ${count(messages)} of ${many(messagesOf, 'message')} to process`,
  )
  const cost =
    estimate.costMicros === undefined || estimate.currency === undefined
      ? ''
      : `, ${moneyText(estimate.costMicros, estimate.currency)}`
  await line(
    `at most ${many(calls, 'model call')}, ${count(promptTokens)} prompt tokens and ${count(completionTokens)} completion tokens${cost} (if every summary has its maximum length; failed calls are extra)`,
  )
  if (reused > 0)
    await line(`${many(reused, 'summary', 'summaries')} recorded for the same requests will be reused without a call`)
  if (tokensOf(spent) > 0) await line(`spent so far: ${spentOf(spent, estimate.currency)}`)
  const printed = failures.slice(0, MAX_PRINTED_FAILURES)
  const titles = await titlesOf(
    ledger,
    printed.map(({ conversationId }) => conversationId),
  )
  for (const { conversationId, failure } of printed)
    await line(
      colours.yellow(`${idWithTitle(conversationId, titles)} cannot be replayed: ${sentenceOfProblem(failure)}`),
    )
}

/** The estimate as a JSON document. */
export const documentOfEstimate = (estimate: ReplayEstimate): unknown => ({
  ...estimate,
  failures: estimate.failures.map(({ conversationId, failure }) => ({
    conversationId,
    detail: sentenceOfProblem(failure),
  })),
})

/**
 * Asks for confirmation. Without a terminal it ends the command after the estimate. Throws the reason of the signal if
 * the signal is aborted during the prompt.
 */
async function confirmOrExit<E extends Purchase>(
  estimate: E,
  { json, document }: Pick<Confirmation<E>, 'json' | 'document'>,
  stop: AbortSignal,
): Promise<boolean> {
  if (json) await line(toWire({ estimate: document(estimate) }))
  if (json || !process.stdin.isTTY || !process.stderr.isTTY) {
    note('nothing was done: pass --yes to start')
    throw new CommandExit(EXIT.input)
  }
  if (estimate.calls === 0 || (await confirmed('start?', stop))) return true
  stop.throwIfAborted()
  note('nothing was done')
  return false
}

/** Aborts at the first Ctrl-C and prints a note about open calls. There are none before `begin`. */
function stopOnSignal(): { readonly signal: AbortSignal; begin(): void; forget(): void } {
  const ended = endSignals()
  const stop = new AbortController()
  let hasBegun = false
  const stopped = async (): Promise<void> => {
    await ended.signalled
    note(`\nstopping${hasBegun ? ' after the open model calls are recorded' : ''}; press Ctrl-C again to stop now`)
    stop.abort()
  }
  void stopped()
  return {
    signal: stop.signal,
    begin: () => {
      hasBegun = true
    },
    forget: () => {
      ended.forget()
    },
  }
}

/** The common part of all estimates. */
export interface Purchase {
  /** Maximum number of model calls. */
  readonly calls: number
}

export interface Confirmation<E extends Purchase> {
  /** Estimates the purchase; undefined if nothing can be bought. */
  readonly estimate: ((signal: AbortSignal) => Promise<E>) | undefined
  /** Prints an estimate. */
  readonly show: (estimate: E) => Promise<void>
  /** The estimate as a JSON document. */
  readonly document: (estimate: E) => unknown
  /** If the estimate has no calls, do not print it and do not ask. */
  readonly isSilentIfFree: boolean
  readonly yes: boolean
  readonly json: boolean
}

export interface Approved<T, E> {
  readonly done: T
  readonly estimate: E | undefined
}

export const replayEstimate = (
  ledger: Pick<Ledger, 'list'>,
): Pick<Confirmation<ReplayEstimate>, 'show' | 'document'> => ({
  show: (estimate) => showEstimate(ledger, estimate),
  document: documentOfEstimate,
})

/**
 * Prints the estimate, asks for confirmation, and does the work. Returns undefined if the answer was no. If the user
 * interrupts it before the work starts, nothing is done.
 */
export async function onceApproved<T, E extends Purchase>(
  { estimate: computeEstimate, show, document, isSilentIfFree, yes, json }: Confirmation<E>,
  work: (signal: AbortSignal, estimate: E | undefined) => Promise<T>,
): Promise<Approved<T, E> | undefined> {
  const stop = stopOnSignal()
  const { signal } = stop
  try {
    const estimate = await computeEstimate?.(signal)
    if (estimate !== undefined && !(isSilentIfFree && estimate.calls === 0)) {
      if (!json) await show(estimate)
      if (!yes && !(await confirmOrExit(estimate, { json, document }, signal))) return undefined
    }
    signal.throwIfAborted()
    stop.begin()
    return { done: await work(signal, estimate), estimate }
  } catch (error) {
    if (error !== signal.reason) throw error
    note('nothing was done')
    throw new CommandExit(EXIT.interrupted)
  } finally {
    stop.forget()
  }
}

/** The limits as library options. */
export function boundsOf({
  maxTokens,
  maxCost,
}: {
  readonly maxTokens: number | undefined
  readonly maxCost: number | undefined
}): EditionBound {
  if (maxTokens === 0) throw new LedgerError('Usage', '--max-tokens must be at least 1')
  return { ...(maxTokens === undefined ? {} : { maxTokens }), ...(maxCost === undefined ? {} : { maxCost }) }
}
