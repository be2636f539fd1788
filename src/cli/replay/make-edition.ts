/**
 * `replay`: an edition of conversations. First what it would come to at most and, without `--yes`, a question; then the
 * work with the time left, then what to type next.
 */
import { tokensOf } from '../../domain/reports/prices.js'
import type { Ledger, Price, Replay, ReplayEstimate, ReplayOptions } from '../../library/ledger.js'
import { sentenceOfProblem } from '../../library/problem.js'
import { conversationsAsked } from '../conversations-asked.js'
import { Ended, EXIT, InputError } from '../errors.js'
import { boundsOf, documentOfEstimate, money, NAMED_FAILURES, onceApproved, priceOf, spentOf } from './estimate.js'
import type { Flags } from '../flags.js'
import { colours, count, line, many, note, noteColours, printable, toJson, typed } from '../output.js'
import { startProgress, type Progress } from '../progress.js'
import { withLedger } from '../session.js'

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
      onProgress: ({
        conversations,
        conversationsDone,
        messages,
        messagesOf,
        calls,
        promptTokens,
        completionTokens,
        costMicros,
        secondsLeft,
      }) => {
        const cost =
          costMicros === undefined || request.price === undefined
            ? ''
            : `, ${money(costMicros, request.price.currency)}`
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
  const sum = (of: (each: Replay['conversations'][number]) => number): number =>
    conversations.reduce((all, each) => all + of(each), 0)
  await line(
    `edition ${colours.bold(editionId)}: ${count(done)} of ${many(conversations.length, 'conversation')} whole, ${count(sum(({ messages }) => messages))} of ${many(
      sum(({ messagesOf }) => messagesOf),
      'message',
    )} seen`,
  )
  await line(
    `${many(
      sum(({ summaries }) => summaries),
      'summary',
      'summaries',
    )} recorded, ${count(sum(({ reused }) => reused))} of them reused; ${many(paid.calls, 'call')}, ${spentOf({ ...paid, ...(costMicros === undefined ? {} : { costMicros }) }, price?.currency)}; ${spentOf(spent, price?.currency)} on this edition in all`,
  )
  const stopped = conversations.flatMap(({ conversationId, outcome }) =>
    outcome.kind === 'stopped'
      ? [`${printable(conversationId)}: ${sentenceOfProblem(outcome.failure)}`]
      : outcome.kind === 'busy'
        ? [`${printable(conversationId)}: another process is making it`]
        : [],
  )
  for (const sentence of stopped.slice(0, NAMED_FAILURES)) await line(colours.yellow(sentence))
  if (stopped.length > NAMED_FAILURES)
    await line(colours.yellow(`… and ${many(stopped.length - NAMED_FAILURES, 'further conversation')}`))
  if (ended === 'bound' && noRoom !== undefined) {
    const isCost = noRoom.of === 'cost' && price !== undefined
    const told = (amount: number): string => (isCost ? money(amount, price.currency) : many(amount, 'token'))
    await line(
      colours.yellow(
        `the bound of ${told(noRoom.bound)} has no room for the next call: ${told(noRoom.spent)} are spent, and it may take ${told(noRoom.asked)}. The same command with a higher ${isCost ? '--max-cost' : '--max-tokens'} goes on`,
      ),
    )
  } else if (done < conversations.length)
    await line(
      `${ended === 'failing' ? 'every conversation would meet this failure, so the others were left; once it is mended, ' : ''}the same command goes on where it ended`,
    )
  else
    await line(
      colours.dim(
        `next: context-ledger editions compare ${editionId}; context-ledger editions adopt ${editionId} ${asked}`,
      ),
    )
}

/** Ids as they are typed; one that begins with a dash is none of a flag behind `--` alone. */
const asTyped = (ids: readonly string[]): string =>
  [...(ids.some((id) => id.startsWith('-')) ? ['--'] : []), ...ids.map(typed)].join(' ')

const exitOf = ({ ended, conversations }: Replay): number =>
  ended === 'asked'
    ? EXIT.interrupted
    : conversations.every(({ outcome }) => outcome.kind === 'done')
      ? EXIT.ok
      : EXIT.world

const documentOf = ({ conversations, ...replayed }: Replay, estimate: ReplayEstimate | undefined): unknown => ({
  ...(estimate === undefined ? {} : { estimate: documentOfEstimate(estimate) }),
  ...replayed,
  conversations: conversations.map(({ outcome, ...each }) => ({
    ...each,
    outcome: outcome.kind,
    ...(outcome.kind === 'stopped'
      ? {
          failure: outcome.failure.kind === 'SummarizerFailed' ? outcome.failure.failure : outcome.failure.kind,
          detail: sentenceOfProblem(outcome.failure),
        }
      : {}),
  })),
})

/** Runs the command. */
export async function runReplay(flags: Flags, command: ReplayCommand): Promise<void> {
  const { promptName, concurrency, maxCost, yes, json } = command
  const conversations = conversationsAsked(command, 'every conversation')
  if (concurrency === 0) throw new InputError('Usage', '--concurrency must be at least 1')
  const bounds = boundsOf(command)
  await withLedger(flags, { writes: true, promptName }, async ({ ledger, config }) => {
    const price = await priceOf(config, maxCost)
    const asked = {
      conversations,
      ...(config.policy === undefined ? {} : { policy: config.policy }),
      ...(price === undefined ? {} : { price }),
    }
    const request: ReplayOptions = { ...asked, ...(concurrency === undefined ? {} : { concurrency }), ...bounds }
    // To estimate takes as long as the work where no model is asked, and says that it costs nothing.
    const estimates = !yes || config.summarizer !== 'extractive'
    const made = await onceApproved(
      {
        estimate: estimates ? (signal) => ledger.editions.estimate({ ...asked, signal }) : undefined,
        quietWhenFree: false,
        yes,
        json,
      },
      (signal) => work(ledger, request, signal),
    )
    if (made === undefined) return
    const { done: replayed, estimate } = made
    if (json) await line(toJson(documentOf(replayed, estimate)))
    else await tellReplay(replayed, price, command.all ? '--all' : asTyped(command.conversations))
    const exitCode = exitOf(replayed)
    if (exitCode === EXIT.interrupted && !json) note(noteColours.dim('stopped; nothing that is recorded is lost'))
    if (exitCode !== EXIT.ok) throw new Ended(exitCode)
  })
}
