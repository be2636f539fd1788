/** Adopts, reverts or drops an edition in each of its conversations. Where one conversation refuses, the others go on. */
import type { OverBudget } from '../../domain/compaction/context.js'
import type { EditionOfConversation, Ledger, PutIntoForce, ReplayEstimate } from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { conversationsAsked } from '../conversations-asked.js'
import { Ended, EXIT } from '../errors.js'
import type { Given } from '../given.js'
import { colours, count, line, many, printable, toJson, typed } from '../output.js'
import { documentOfEstimate } from '../replay/estimate.js'
import { whyOverBudget } from '../reports/context.js'

export interface EditionCommand {
  readonly edition: string
  readonly conversations: readonly string[]
  readonly all: boolean
  readonly json: boolean
}

/** The conversations that are meant: those that were named, or those of the edition that `takes` them. */
export async function conversationsOf(
  ledger: Ledger,
  command: EditionCommand,
  takes: (each: EditionOfConversation) => boolean,
): Promise<readonly string[]> {
  const asked = conversationsAsked(command, 'all that the edition is of')
  if (asked !== 'all') return asked
  const { editionId, conversations } = await ledger.editions.show(command.edition)
  const ids = conversations.filter(takes).map(({ conversationId }) => conversationId)
  if (ids.length === 0 && !command.json)
    await line(`nothing to do: \`context-ledger editions show ${editionId}\` tells how it stands in each conversation`)
  return ids
}

export interface Done {
  readonly conversationId: string
  readonly editionId: string
  readonly changed: boolean
}

function wereSo(done: readonly Done[]): string {
  const already = done.filter(({ changed }) => !changed).length
  return `${count(already)} ${already === 1 ? 'was' : 'were'}`
}

interface Outcome<T extends Done> {
  readonly done: readonly T[]
  readonly refused: readonly { readonly conversationId: string; readonly error: LedgerError }[]
  /** Somebody asked it to stop, and conversations behind that were left. */
  readonly stopped: boolean
}

/**
 * Does the work in each conversation until somebody asks to stop. Where one conversation refuses, its reason is shown,
 * and the others go on.
 */
export async function toEach<T extends Done>(
  ids: readonly string[],
  json: boolean,
  work: (conversationId: string) => Promise<T>,
  sentence: (done: T) => string,
  signal?: AbortSignal,
): Promise<Outcome<T>> {
  const done: T[] = []
  const refused: Outcome<T>['refused'][number][] = []
  const isStopped = (): boolean => signal?.aborted === true
  for (const conversationId of ids) {
    if (isStopped()) break
    try {
      const one = await work(conversationId)
      done.push(one)
      if (!json) await line(`${printable(conversationId)}: ${sentence(one)}`)
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error
      // Alone it is the command's own error.
      if (ids.length === 1 && !isStopped()) throw error
      refused.push({ conversationId, error })
      if (!json) await line(colours.yellow(`${printable(conversationId)}: ${error.message}`))
    }
  }
  return { done, refused, stopped: isStopped() }
}

/** What it came to; a refusal is the command's failure in the end. */
export async function tellOutcome<T extends Done>(
  given: string,
  { done, refused, stopped }: Outcome<T>,
  json: boolean,
  estimate?: ReplayEstimate,
): Promise<void> {
  const editionId = done[0]?.editionId ?? given
  if (json)
    await line(
      toJson({
        ...(estimate === undefined ? {} : { estimate: documentOfEstimate(estimate) }),
        editionId,
        conversations: done,
        refused: refused.map(({ conversationId, error }) => ({
          conversationId,
          kind: error.failure.kind,
          message: error.message,
        })),
      }),
    )
  else
    await line(
      `${many(done.filter(({ changed }) => changed).length, 'conversation')} changed${done.every(({ changed }) => changed) ? '' : `, ${wereSo(done)} so already`}${refused.length === 0 ? '' : `, ${count(refused.length)} refused`}`,
    )
  if (stopped) throw new Ended(EXIT.interrupted)
  if (refused.length > 0)
    throw new Ended(refused.some(({ error }) => error.fault === 'world') ? EXIT.world : EXIT.input)
}

/** What somebody can do who does not want to wait, where there is something. */
const byHand: Partial<Record<OverBudget['reason'], (compact: string) => string>> = {
  'compaction-due': (compact) => `, and \`${compact}\` does now`,
  'compaction-failed': (compact) => `, and \`${compact}\` tries now`,
  'cycle-undone': (compact) => `, and \`${compact} --force\` does not`,
}

/**
 * The tokens of the context before and after; where it is above its limit that too, for no compaction runs behind these
 * commands.
 */
export function tokensText({
  conversationId,
  tokensBefore,
  tokensAfter,
  overBudget,
  shortened = [],
}: PutIntoForce): string {
  const told = `${count(tokensBefore)} → ${count(tokensAfter)} tokens`
  if (overBudget === undefined) return told
  const fitted =
    shortened.length === 0
      ? ''
      : `, though ${many(shortened.length, 'text is', 'texts are')} shortened or left out to fit the window`
  return `${told}, at or above the limit of ${count(overBudget.limit)}${fitted}: ${whyOverBudget[overBudget.reason]}${byHand[overBudget.reason]?.(`context-ledger compact ${typed(conversationId)}`) ?? ''}`
}

/** What was asked of an edition. */
export const editionAsked = (given: Given): EditionCommand => ({
  edition: given.word('edition'),
  conversations: given.words('conversations'),
  all: given.is('all'),
  json: given.json,
})
