/**
 * `replay`: creates an edition of conversations. Prints an upper bound, asks for confirmation without `--yes`, shows
 * progress, and suggests the next commands.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { moneyText, tokensOf } from '../../../domain/reports/prices.js'
import type { Ledger, Price, Replay, ReplayEstimate, ReplayOptions } from '../../../library/ledger.js'
import { sentenceOfProblem } from '../../../library/problem.js'
import { titlesOf, type Titles } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { requestedConversations, requestedIds } from '../requested-conversations.js'
import { CommandExit, EXIT } from '../errors.js'
import {
  boundsOf,
  documentOfEstimate,
  MAX_PRINTED_FAILURES,
  onceApproved,
  configuredPrice,
  replayEstimate,
  spentOf,
} from './estimate.js'
import type { Flags } from '../flags.js'
import { colours, count, line, many, note, noteColours, typed } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { startProgress, type Progress } from '../progress.js'
import { withLedger } from '../session.js'
import { Waiting } from '../waiting.js'

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

async function replayWithProgress(
  ledger: Ledger,
  request: ReplayOptions,
  waiting: Waiting,
  signal: AbortSignal,
): Promise<Replay> {
  // The number of messages is known with the first progress update.
  let progress: Promise<Progress> | undefined
  const show = async (messages: number, of: number, text: string, secondsLeft: number | undefined): Promise<void> => {
    progress ??= startProgress('replaying', of, () => waiting.text())
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
            : `, ${moneyText(costMicros, request.price.currency)}`
        const text = `${count(conversationsDone)} of ${many(conversations, 'conversation')}, ${count(messages)} of ${many(messagesOf, 'message')}, ${many(calls, 'call')}, ${many(tokensOf({ promptTokens, completionTokens }), 'token')}${cost}`
        void show(messages, messagesOf, text, secondsLeft)
      },
    })
  } finally {
    const bar = await progress
    bar?.stop()
  }
}

async function showReplay(
  replayed: Replay,
  price: Price | undefined,
  conversationArguments: string,
  titles: Titles,
): Promise<void> {
  const { editionId, conversations, ended, noRoom, paid, costMicros, spent } = replayed
  const replayedCount = conversations.filter(({ outcome }) => outcome.kind === 'done').length
  const sum = (of: (each: Replay['conversations'][number]) => number): number =>
    conversations.reduce((all, each) => all + of(each), 0)
  await line(
    `edition ${colours.bold(editionId)}: ${count(replayedCount)} of ${many(conversations.length, 'conversation')} complete, ${count(sum(({ messages }) => messages))} of ${many(
      sum(({ messagesOf }) => messagesOf),
      'message',
    )} processed`,
  )
  await line(
    `${many(
      sum(({ summaries }) => summaries),
      'summary',
      'summaries',
    )} recorded, ${count(sum(({ reused }) => reused))} of them reused; ${many(paid.calls, 'call')}, ${spentOf({ ...paid, ...(costMicros === undefined ? {} : { costMicros }) }, price?.currency)}; ${spentOf(spent, price?.currency)} on this edition in total`,
  )
  const stopped = conversations.flatMap(({ conversationId, outcome }) =>
    outcome.kind === 'stopped'
      ? [`${idWithTitle(conversationId, titles)}: ${sentenceOfProblem(outcome.failure)}`]
      : outcome.kind === 'busy'
        ? [`${idWithTitle(conversationId, titles)}: another process is replaying it`]
        : [],
  )
  for (const sentence of stopped.slice(0, MAX_PRINTED_FAILURES)) await line(colours.yellow(sentence))
  if (stopped.length > MAX_PRINTED_FAILURES)
    await line(colours.yellow(`… and ${many(stopped.length - MAX_PRINTED_FAILURES, 'more conversation')}`))
  if (ended === 'bound' && noRoom !== undefined) {
    const isCost = noRoom.of === 'cost' && price !== undefined
    const amountText = (amount: number): string => (isCost ? moneyText(amount, price.currency) : many(amount, 'token'))
    await line(
      colours.yellow(
        `the limit of ${amountText(noRoom.bound)} does not allow the next call: ${amountText(noRoom.spent)} are spent, and the call may take ${amountText(noRoom.asked)}. To continue, run the same command with a higher ${isCost ? '--max-cost' : '--max-tokens'}`,
      ),
    )
  } else if (replayedCount < conversations.length)
    await line(
      `${ended === 'failing' ? 'every conversation would fail this way, so the rest were skipped; after you fix the cause, ' : ''}run the same command again to continue`,
    )
  else
    await line(
      colours.dim(
        `next: context-ledger editions compare ${editionId}; context-ledger editions adopt ${editionId} ${conversationArguments}`,
      ),
    )
}

/** Ids quoted for a shell; `--` comes first if an id begins with a dash. */
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
  const requested = requestedConversations(command, 'every conversation')
  if (concurrency === 0) throw new LedgerError('Usage', '--concurrency must be at least 1')
  const bounds = boundsOf(command)
  const waiting = new Waiting()
  await withLedger(flags, { writes: true, promptName, onRequest: waiting.add }, async ({ ledger, config }) => {
    const price = await configuredPrice(config, maxCost)
    const scope = {
      conversations: await requestedIds(ledger, requested),
      ...(config.policy === undefined ? {} : { policy: config.policy }),
      ...(price === undefined ? {} : { price }),
    }
    const request: ReplayOptions = { ...scope, ...(concurrency === undefined ? {} : { concurrency }), ...bounds }
    // Without a model the estimate takes as long as the work itself and is always free.
    const estimates = !yes || config.summarizer !== 'extractive'
    const made = await onceApproved(
      {
        estimate: estimates ? (signal) => ledger.editions.estimate({ ...scope, signal }) : undefined,
        ...replayEstimate(ledger),
        isSilentIfFree: false,
        yes,
        json,
      },
      (signal, estimate) => {
        if (estimate !== undefined) waiting.expect(estimate.calls)
        return replayWithProgress(ledger, request, waiting, signal)
      },
    )
    if (made === undefined) return
    const { done: replayed, estimate } = made
    if (json) await line(toWire(documentOf(replayed, estimate)))
    else {
      const titles = await titlesOf(
        ledger,
        replayed.conversations.map(({ conversationId }) => conversationId),
      )
      await showReplay(replayed, price, command.all ? '--all' : asTyped(command.conversations), titles)
    }
    const exitCode = exitOf(replayed)
    if (exitCode === EXIT.interrupted && !json) note(noteColours.dim('stopped; everything recorded so far is kept'))
    if (exitCode !== EXIT.ok) throw new CommandExit(exitCode)
  })
}
