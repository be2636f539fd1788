/**
 * `editions`: what there is, put into force, put back, given up; one conversation's no does not keep the others from
 * it.
 */
import type { OverBudget } from '../../domain/compaction/context.js'
import { tokensOf } from '../../domain/reports/prices.js'
import type {
  AdoptOptions,
  Edition,
  EditionOfConversation,
  Ledger,
  PutIntoForce,
  ReplayEstimate,
} from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { whyOverBudget } from './context.js'
import { Ended, EXIT } from '../errors.js'
import { boundsOf, documentOfEstimate, onceApproved, priceOf } from '../estimate.js'
import type { Flags } from '../flags.js'
import { table } from '../layout.js'
import { colours, count, line, many, printable, toJson, typed } from '../output.js'
import { conversationsAsked } from './replay.js'
import { withLedger } from '../session.js'

const madeBy = ({
  summarizer: { strategy, provider, model },
  prompt,
}: Pick<Edition, 'summarizer' | 'prompt'>): string =>
  [
    strategy,
    ...(provider === 'none' ? [] : [model]),
    ...(prompt === undefined ? [] : [`${prompt.name} ${prompt.sha256.slice(0, 8)}`]),
  ]
    .map(printable)
    .join(', ')

/** `editions list`. */
export async function runEditionsList(flags: Flags, json: boolean): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const editions = await ledger.editions.list()
    if (json) {
      await line(toJson({ editions }))
      return
    }
    if (editions.length === 0) {
      await line('no editions so far: `context-ledger replay` makes one')
      return
    }
    const rows = editions.map((edition) => [
      edition.editionId,
      madeBy(edition),
      count(Object.values(edition.states).reduce((all, each) => all + each, 0)),
      count(edition.states['in-force']),
      count(edition.states.dropped),
      count(edition.cycles),
      count(edition.summariesBought + edition.summariesReused),
      count(edition.summariesReused),
      count(tokensOf(edition.spent)),
      edition.startedAt,
    ])
    for (const row of table(
      [
        'edition',
        'made by',
        'conversations',
        'in force',
        'dropped',
        'cycles',
        'summaries',
        'taken over',
        'tokens',
        'begun',
      ],
      rows,
      new Set([2, 3, 4, 5, 6, 7, 8]),
    ))
      await line(row)
    await line(many(editions.length, 'edition'))
  })
}

function stateOf({ state, seenRevision, conversationHead }: EditionOfConversation): string {
  if (state === 'in-force') return 'in force'
  if (state === 'dropped') return 'dropped'
  const seen =
    seenRevision === undefined
      ? 'nothing seen'
      : seenRevision >= conversationHead
        ? 'whole'
        : `seen to revision ${String(seenRevision)} of ${String(conversationHead)}`
  return state === 'was-in-force' ? `${seen}, was in force` : seen
}

/** `editions show EDITION`. */
export async function runEditionsShow(flags: Flags, given: string, json: boolean): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const edition = await ledger.editions.show(given)
    if (json) {
      await line(toJson(edition))
      return
    }
    await line(
      `edition ${colours.bold(edition.editionId)}, made by ${madeBy(edition)}, begun ${edition.startedAt}, last recorded ${edition.lastRecordedAt}`,
    )
    const rows = edition.conversations.map((each) => [
      printable(each.conversationId),
      stateOf(each),
      count(each.cycles),
      count(each.summariesBought + each.summariesReused),
      count(each.summariesReused),
      count(each.promptTokens + each.completionTokens),
      count(each.failures),
    ])
    for (const row of table(
      ['conversation', 'state', 'cycles', 'summaries', 'taken over', 'tokens', 'failures'],
      rows,
      new Set([2, 3, 4, 5, 6]),
    ))
      await line(row)
    await line(
      `${many(edition.conversations.length, 'conversation')}, ${count(edition.states['in-force'])} in force; ${many(tokensOf(edition.spent), 'token')} spent on it, failed and lost calls included`,
    )
  })
}

export interface EditionCommand {
  readonly edition: string
  readonly conversations: readonly string[]
  readonly all: boolean
  readonly json: boolean
}

/** The conversations that are meant: those that were named, or those of the edition that `takes` them. */
async function conversationsOf(
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

interface Done {
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
 * Does it to each, until somebody asks to stop; what one refuses is told with its reason, and keeps the others from
 * nothing.
 */
async function toEach<T extends Done>(
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
async function tellOutcome<T extends Done>(
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
function tokens({ conversationId, tokensBefore, tokensAfter, overBudget, shortened = [] }: PutIntoForce): string {
  const told = `${count(tokensBefore)} → ${count(tokensAfter)} tokens`
  if (overBudget === undefined) return told
  const fitted =
    shortened.length === 0
      ? ''
      : `, though ${many(shortened.length, 'text is', 'texts are')} shortened or left out to fit the window`
  return `${told}, at or above the limit of ${count(overBudget.limit)}${fitted}: ${whyOverBudget[overBudget.reason]}${byHand[overBudget.reason]?.(`context-ledger compact ${typed(conversationId)}`) ?? ''}`
}

export interface AdoptCommand extends EditionCommand {
  readonly promptName: string | undefined
  readonly maxTokens: number | undefined
  readonly maxCost: number | undefined
  readonly yes: boolean
}

/** `editions adopt EDITION`. Where catching up has to be bought it tells the estimate and asks, as `replay` does. */
export async function runEditionsAdopt(flags: Flags, command: AdoptCommand): Promise<void> {
  const { edition: editionId, promptName, maxCost, yes, json } = command
  const bounds = boundsOf(command)
  await withLedger(flags, { writes: true, promptName }, async ({ ledger, config }) => {
    const ids = await conversationsOf(ledger, command, ({ state }) => state !== 'dropped')
    const price = await priceOf(config, maxCost)
    const request = {
      ...(config.policy === undefined ? {} : { policy: config.policy }),
      ...(price === undefined ? {} : { price }),
    }
    const options: AdoptOptions = { ...request, ...bounds }
    const buys = ids.length > 0 && config.summarizer !== 'extractive'
    const made = await onceApproved(
      {
        estimate: buys
          ? (signal) => ledger.editions.estimate({ ...request, conversations: ids, editionId, signal })
          : undefined,
        quietWhenFree: true,
        yes,
        json,
      },
      (signal) =>
        toEach(
          ids,
          json,
          (conversationId) => ledger.editions.adopt(conversationId, editionId, { ...options, signal }),
          (one) => (one.changed ? `in force, ${tokens(one)}` : 'was in force already'),
          signal,
        ),
    )
    if (made === undefined) return
    await tellOutcome(editionId, made.done, json, made.estimate)
  })
}

/** `editions revert EDITION`. */
export async function runEditionsRevert(flags: Flags, command: EditionCommand): Promise<void> {
  await withLedger(flags, {}, async ({ ledger }) => {
    const ids = await conversationsOf(ledger, command, ({ state }) => state === 'in-force')
    const outcome = await toEach(
      ids,
      command.json,
      (conversationId) => ledger.editions.revert(conversationId, command.edition),
      (one) => `put back, ${tokens(one)}`,
    )
    await tellOutcome(command.edition, outcome, command.json)
  })
}

/** `editions drop EDITION`. */
export async function runEditionsDrop(flags: Flags, command: EditionCommand): Promise<void> {
  await withLedger(flags, {}, async ({ ledger }) => {
    const ids = await conversationsOf(ledger, command, ({ state }) => state !== 'dropped')
    const outcome = await toEach(
      ids,
      command.json,
      (conversationId) => ledger.editions.drop(conversationId, command.edition),
      (one) => (one.changed ? 'dropped; what it recorded stays' : 'was dropped already'),
    )
    await tellOutcome(command.edition, outcome, command.json)
  })
}
