/** `replay`: an edition of conversations. First what it would come to at most and, without `--yes`, a question; then the work with the time left, then what to type next. */
import { createInterface } from 'node:readline/promises'
import { tokensOf } from '../../domain/prices.js'
import type { EditionSpending, Ledger, Price, Replay, ReplayEstimate, ReplayOptions } from '../ledger.js'
import { pricesOf } from '../config.js'
import { sentenceOfProblem } from '../problem.js'
import { endSignals } from './end-signals.js'
import { Ended, EXIT, InputError } from './errors.js'
import type { Flags } from './flags.js'
import { colours, count, line, many, note, noteColours, shown, toJson, typed } from './output.js'
import { startProgress, type Progress } from './progress.js'
import { withLedger, type Session } from './session.js'

export interface ReplayCommand {
  readonly conversations: readonly string[]
  readonly all: boolean
  readonly promptName: string | undefined
  readonly concurrency: number | undefined
  readonly maxTokens: number | undefined
  readonly maxCost: number | undefined
  readonly yes: boolean
  readonly json: boolean
}

/** Failures that are named; hundreds would hide the rest. */
const NAMED_FAILURES = 10
const MICROS = 1_000_000

const money = (costMicros: number, currency: string): string => `${(costMicros / MICROS).toFixed(costMicros < MICROS / 10 ? 4 : 2)} ${currency}`

/** Either conversations or all, and not both. */
export function conversationsAsked({ conversations, all }: Pick<ReplayCommand, 'conversations' | 'all'>, allOfThem: string): readonly string[] | 'all' {
  if (all && conversations.length > 0) throw new InputError('Usage', '--all goes without ids of conversations')
  if (!all && conversations.length === 0) throw new InputError('Usage', `name conversations, or give --all for ${allOfThem}`)
  return all ? 'all' : conversations
}

/** What the summarizer's model costs, as it is configured. */
export async function priceOf(config: Session['config'], maxCost: number | undefined): Promise<Price | undefined> {
  const prices = await pricesOf(config)
  const { model = '' } = config
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined
  if (maxCost !== undefined && config.summarizer === 'extractive') throw new InputError('Usage', '--max-cost is for a summarizer with a model, and the extractive one costs nothing: leave it out, or give --summarizer openai too')
  if (maxCost !== undefined && price === undefined) throw new InputError('Usage', `--max-cost needs the price of the model "${model}": --prices names a JSON file of prices by model`)
  return price
}

/** "98,774 tokens (0.0250 USD)"; no money where there is no price. */
const spentOf = ({ costMicros, ...usage }: EditionSpending, currency: string | undefined): string =>
  `${many(tokensOf(usage), 'token')}${costMicros === undefined || currency === undefined ? '' : ` (${money(costMicros, currency)})`}`

async function tellEstimate(estimate: ReplayEstimate): Promise<void> {
  const { editionId, conversations, upToDate, messages, messagesOf, calls, promptTokens, completionTokens, reused, spent, failures } = estimate
  const done = upToDate === 0 ? '' : `, ${count(upToDate)} of them up to date`
  await line(`edition ${colours.bold(editionId)}: ${many(conversations, 'conversation')}${done}; ${count(messages)} of ${many(messagesOf, 'message')} still to be seen`)
  const cost = estimate.costMicros === undefined || estimate.currency === undefined ? '' : `, ${money(estimate.costMicros, estimate.currency)}`
  await line(`at most ${many(calls, 'model call')}, ${count(promptTokens)} tokens to the model and ${count(completionTokens)} from it${cost} (every summary reckoned as long as it may be; failed calls come on top)`)
  if (reused > 0) await line(`${many(reused, 'summary', 'summaries')} recorded for the same requests would be taken over without a call`)
  if (tokensOf(spent) > 0) await line(`spent on it so far: ${spentOf(spent, estimate.currency)}`)
  for (const { conversationId, failure } of failures.slice(0, NAMED_FAILURES)) await line(colours.yellow(`${shown(conversationId)} cannot be replayed: ${sentenceOfProblem(failure)}`))
}

async function confirmed(stop: AbortSignal): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  const close = (): void => { asking.close() }
  stop.addEventListener('abort', close, { once: true })
  // Ctrl-C or Ctrl-D at the question closes it without an answer, and that is a no: the terminal hands over the key, and nobody is signalled.
  const gone = new AbortController()
  asking.once('close', () => { gone.abort() })
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

const documentOfEstimate = (estimate: ReplayEstimate): unknown => ({ ...estimate, failures: estimate.failures.map(({ conversationId, failure }) => ({ conversationId, detail: sentenceOfProblem(failure) })) })

/** True where it is to begin. Where nobody can be asked, the estimate is all there is. Throws the signal's reason where that comes in place of an answer. */
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

/** Aborts when the process is told to end, and says what becomes of what is under way: nothing is before `begin`. */
function stopWhenTold(): { readonly signal: AbortSignal; begin(): void; forget(): void } {
  const ended = endSignals()
  const stop = new AbortController()
  let begun = false
  const stopped = async (): Promise<void> => {
    await ended.signalled
    note(`\nending${begun ? ': calls that are under way may end and are recorded' : ''}; once more ends at once`)
    stop.abort()
  }
  void stopped()
  return { signal: stop.signal, begin: () => { begun = true }, forget: () => { ended.forget() } }
}

async function work(ledger: Ledger, request: ReplayOptions, signal: AbortSignal): Promise<Replay> {
  // How many messages there are is told with the first one.
  let progress: Promise<Progress> | undefined
  const show = async (messages: number, of: number, text: string, secondsLeft: number | undefined): Promise<void> => {
    progress ??= startProgress('replaying', of)
    const bar = await progress
    bar.update(messages, text, secondsLeft)
  }
  try {
    return await ledger.editions.replay({
      ...request,
      signal,
      onProgress: ({ conversations, conversationsDone, messages, messagesOf, calls, promptTokens, completionTokens, costMicros, secondsLeft }) => {
        const cost = costMicros === undefined || request.price === undefined ? '' : `, ${money(costMicros, request.price.currency)}`
        const text = `${count(conversationsDone)} of ${many(conversations, 'conversation')}, ${count(messages)} of ${many(messagesOf, 'message')}, ${many(calls, 'call')}, ${many(tokensOf({ promptTokens, completionTokens }), 'token')}${cost}`
        void show(messages, messagesOf, text, secondsLeft)
      },
    })
  } finally {
    const bar = await progress
    bar?.stop()
  }
}

async function tellReplay(replayed: Replay, price: Price | undefined, asked: string): Promise<void> {
  const { editionId, conversations, ended, noRoom, paid, costMicros, spent } = replayed
  const done = conversations.filter(({ outcome }) => outcome.kind === 'done').length
  const sum = (of: (each: Replay['conversations'][number]) => number): number => conversations.reduce((all, each) => all + of(each), 0)
  await line(`edition ${colours.bold(editionId)}: ${count(done)} of ${many(conversations.length, 'conversation')} whole, ${count(sum(({ messages }) => messages))} of ${many(sum(({ messagesOf }) => messagesOf), 'message')} seen`)
  await line(`${many(sum(({ summaries }) => summaries), 'summary', 'summaries')} recorded, ${count(sum(({ reused }) => reused))} of them taken over; ${many(paid.calls, 'call')}, ${spentOf({ ...paid, ...(costMicros === undefined ? {} : { costMicros }) }, price?.currency)}; ${spentOf(spent, price?.currency)} on this edition in all`)
  const stopped = conversations.flatMap(({ conversationId, outcome }) => (outcome.kind === 'stopped' ? [`${shown(conversationId)}: ${sentenceOfProblem(outcome.failure)}`] : outcome.kind === 'busy' ? [`${shown(conversationId)}: another process is making it`] : []))
  for (const sentence of stopped.slice(0, NAMED_FAILURES)) await line(colours.yellow(sentence))
  if (stopped.length > NAMED_FAILURES) await line(colours.yellow(`… and ${many(stopped.length - NAMED_FAILURES, 'further conversation')}`))
  if (ended === 'bound' && noRoom !== undefined) {
    const isCost = noRoom.of === 'cost' && price !== undefined
    const told = (amount: number): string => (isCost ? money(amount, price.currency) : many(amount, 'token'))
    await line(colours.yellow(`the bound of ${told(noRoom.bound)} has no room for the next call: ${told(noRoom.spent)} are spent, and it may take ${told(noRoom.asked)}. The same command with a higher ${isCost ? '--max-cost' : '--max-tokens'} goes on`))
  } else if (done < conversations.length) await line(`${ended === 'failing' ? 'every conversation would meet this failure, so the others were left; once it is mended, ' : ''}the same command goes on where it ended`)
  else await line(colours.dim(`next: context-ledger editions compare ${editionId}; context-ledger editions adopt ${editionId} ${asked}`))
}

/** Ids as they are typed; one that begins with a dash is none of a flag behind `--` alone. */
const asTyped = (ids: readonly string[]): string => [...(ids.some((id) => id.startsWith('-')) ? ['--'] : []), ...ids.map(typed)].join(' ')

const exitOf = ({ ended, conversations }: Replay): number => (ended === 'asked' ? EXIT.interrupted : conversations.every(({ outcome }) => outcome.kind === 'done') ? EXIT.ok : EXIT.world)

const documentOf = ({ conversations, ...replayed }: Replay, estimate: ReplayEstimate | undefined): unknown => ({
  ...(estimate === undefined ? {} : { estimate: documentOfEstimate(estimate) }),
  ...replayed,
  conversations: conversations.map(({ outcome, ...each }) => ({ ...each, outcome: outcome.kind, ...(outcome.kind === 'stopped' ? { failure: outcome.failure.kind === 'SummarizerFailed' ? outcome.failure.failure : outcome.failure.kind, detail: sentenceOfProblem(outcome.failure) } : {}) })),
})

interface Made {
  readonly replayed: Replay
  readonly estimate: ReplayEstimate | undefined
}

/** The estimate, where one is wanted, the question, and the work; undefined where the answer was no. Told to stop before the work began, it has done nothing. */
async function make(ledger: Ledger, request: ReplayOptions, { estimates, yes, json }: { readonly estimates: boolean; readonly yes: boolean; readonly json: boolean }): Promise<Made | undefined> {
  const stop = stopWhenTold()
  const { signal } = stop
  try {
    const estimate = estimates ? await ledger.editions.estimate({ ...request, signal }) : undefined
    if (estimate !== undefined && !json) await tellEstimate(estimate)
    if (estimate !== undefined && !yes && !(await approved(estimate, json, signal))) return undefined
    signal.throwIfAborted()
    stop.begin()
    return { replayed: await work(ledger, request, signal), estimate }
  } catch (error) {
    if (error !== signal.reason) throw error
    note('nothing was done')
    throw new Ended(EXIT.interrupted)
  } finally {
    stop.forget()
  }
}

/** Runs the command. */
export async function runReplay(flags: Flags, command: ReplayCommand): Promise<void> {
  const { promptName, concurrency, maxTokens, maxCost, yes, json } = command
  const conversations = conversationsAsked(command, 'every conversation')
  if (concurrency === 0) throw new InputError('Usage', '--concurrency must be at least 1')
  if (maxTokens === 0) throw new InputError('Usage', '--max-tokens must be at least 1')
  await withLedger(flags, { writes: true, promptName }, async ({ ledger, config }) => {
    const price = await priceOf(config, maxCost)
    const request: ReplayOptions = {
      conversations,
      ...(config.policy === undefined ? {} : { policy: config.policy }),
      ...(price === undefined ? {} : { price }),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(maxCost === undefined ? {} : { maxCost }),
    }
    // To estimate takes as long as the work where no model is asked, and says that it costs nothing.
    const made = await make(ledger, request, { estimates: !yes || config.summarizer !== 'extractive', yes, json })
    if (made === undefined) return
    const { replayed, estimate } = made
    if (json) await line(toJson(documentOf(replayed, estimate)))
    else await tellReplay(replayed, price, command.all ? '--all' : asTyped(command.conversations))
    const exitCode = exitOf(replayed)
    if (exitCode === EXIT.interrupted && !json) note(noteColours.dim('stopped; nothing that is recorded is lost'))
    if (exitCode !== EXIT.ok) throw new Ended(exitCode)
  })
}
