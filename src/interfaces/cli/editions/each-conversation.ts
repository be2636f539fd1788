/** Adopts, reverts or drops an edition in each of its conversations. If one conversation fails, the others continue. */
import { isUnreadableEvent } from '../../../application/recording/read-event.js'
import { isStoreError } from '../../../ports/store-error.js'
import { LedgerError, isLedgerError } from '../../../lib/ledger-error.js'
import type { OverBudget } from '../../../domain/compaction/context.js'
import type { EditionOfConversation, Ledger, EditionChange, ReplayEstimate } from '../../../library/ledger.js'

import { requestedConversations, requestedIds } from '../requested-conversations.js'
import { CommandExit, EXIT } from '../errors.js'
import type { CommandArgs } from '../command-args.js'
import { colours, count, line, many, typed } from '../output.js'
import { titlesOf, type Titles } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { toWire } from '../../../domain/values/revision.js'
import { documentOfEstimate } from '../replay/estimate.js'
import { whyOverBudget } from '../../../domain/compaction/context-notes.js'

export interface EditionCommand {
  readonly edition: string
  readonly conversations: readonly string[]
  readonly all: boolean
  readonly json: boolean
}

/** The named conversations, or with `--all` the conversations of the edition that pass the filter. */
export async function conversationsOf(
  ledger: Ledger,
  command: EditionCommand,
  filter: (each: EditionOfConversation) => boolean,
): Promise<readonly string[]> {
  const requested = await requestedIds(ledger, requestedConversations(command, 'all conversations of the edition'))
  if (requested !== 'all') return requested
  const { editionId, conversations } = await ledger.editions.show(command.edition)
  const ids = conversations.filter(filter).map(({ conversationId }) => conversationId)
  if (ids.length === 0 && !command.json)
    await line(`nothing to do: \`context-ledger editions show ${editionId}\` shows its state in each conversation`)
  return ids
}

export interface EditionResult {
  readonly conversationId: string
  readonly editionId: string
  readonly changed: boolean
}

interface Outcome<T extends EditionResult> {
  readonly done: readonly T[]
  readonly refused: readonly { readonly conversationId: string; readonly error: LedgerError }[]
  /** Interrupted: the remaining conversations were not processed. */
  readonly stopped: boolean
}

/**
 * Does the work in each conversation until the signal is aborted. If one conversation fails, its reason is printed and
 * the others continue.
 */
export async function forEachConversation<T extends EditionResult>(
  ledger: Pick<Ledger, 'list'>,
  ids: readonly string[],
  json: boolean,
  work: (conversationId: string) => Promise<T>,
  sentence: (done: T) => string,
  signal?: AbortSignal,
): Promise<Outcome<T>> {
  const titles: Titles = json ? new Map() : await titlesOf(ledger, ids)
  const done: T[] = []
  const refused: Outcome<T>['refused'][number][] = []
  const isStopped = (): boolean => signal?.aborted === true
  for (const conversationId of ids) {
    if (isStopped()) break
    try {
      const one = await work(conversationId)
      done.push(one)
      if (!json) await line(`${idWithTitle(conversationId, titles)}: ${sentence(one)}`)
    } catch (error) {
      if (!isLedgerError(error) || isStoreError(error) || isUnreadableEvent(error)) throw error
      // With a single conversation, its error is the error of the command.
      if (ids.length === 1 && !isStopped()) throw error
      refused.push({ conversationId, error })
      if (!json) await line(`${idWithTitle(conversationId, titles)}: ${colours.yellow(error.message)}`)
    }
  }
  return { done, refused, stopped: isStopped() }
}

/** Prints the outcome. If a conversation failed, the command fails. */
export async function showOutcome<T extends EditionResult>(
  edition: string,
  { done, refused, stopped }: Outcome<T>,
  json: boolean,
  estimate?: ReplayEstimate,
): Promise<void> {
  const editionId = done[0]?.editionId ?? edition
  const unchanged = done.filter(({ changed }) => !changed).length
  if (json)
    await line(
      toWire({
        ...(estimate === undefined ? {} : { estimate: documentOfEstimate(estimate) }),
        editionId,
        conversations: done,
        refused: refused.map(({ conversationId, error }) => ({
          conversationId,
          kind: error.kind,
          message: error.message,
        })),
      }),
    )
  else
    await line(
      `${many(done.filter(({ changed }) => changed).length, 'conversation')} changed${unchanged === 0 ? '' : `, ${count(unchanged)} unchanged`}${refused.length === 0 ? '' : `, ${count(refused.length)} failed`}`,
    )
  if (stopped) throw new CommandExit(EXIT.interrupted)
  if (refused.length > 0)
    throw new CommandExit(refused.some(({ error }) => error.fault === 'world') ? EXIT.world : EXIT.input)
}

/** A command that the user can run instead of waiting. */
const byHand: Partial<Record<OverBudget['reason'], (compact: string) => string>> = {
  'compaction-due': (compact) => `; \`${compact}\` does it now`,
  'compaction-failed': (compact) => `; \`${compact}\` retries now`,
  'cycle-undone': (compact) => `; \`${compact} --force\` does not wait`,
}

/**
 * The tokens of the context before and after. If the context is above its limit, the text says so, because these
 * commands do not compact.
 */
export function tokensText({
  conversationId,
  tokensBefore,
  tokensAfter,
  overBudget,
  shortened = [],
}: EditionChange): string {
  const change = `${count(tokensBefore)} → ${count(tokensAfter)} tokens`
  if (overBudget === undefined) return change
  const fitted =
    shortened.length === 0
      ? ''
      : `, with ${many(shortened.length, 'text', 'texts')} shortened or omitted to fit the window`
  return `${change}, at or above the limit of ${count(overBudget.limit)}${fitted}: ${whyOverBudget[overBudget.reason]}${byHand[overBudget.reason]?.(`context-ledger compact ${typed(conversationId)}`) ?? ''}`
}

/** Reads the arguments of an edition command. */
export const editionRequest = (args: CommandArgs): EditionCommand => ({
  edition: args.word('edition'),
  conversations: args.words('conversations'),
  all: args.is('all'),
  json: args.json,
})
