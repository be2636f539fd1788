/**
 * The losses of a compaction in the order of their consequence. Above the fold are those that matter: items that
 * the conversation needed again, rules, refusals, decisions and open work of the user, and decisions of the agent. Names, files,
 * finished requests and small errors are below it, and are only counted.
 */
import type { RepeatedPair } from '../loss-report/repeated-work.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import type { JudgedItem } from '../loss-report/judged-item.js'
import type { MessageProof } from '../loss-report/proofs.js'
import { addCosts, NO_COST, type Cost } from '../loss-report/tool-calls.js'

/** Calls that asked the same again after the compaction. */
export interface RepeatedWork {
  readonly kind: 'repeated'
  readonly use: RepeatedPair['use']
  readonly tool: string
  readonly subject: string
  readonly first: MessageProof
  /** The first repetition. */
  readonly again: MessageProof
  /** All repetitions together. */
  readonly cost: Cost
}

/** An item that the context lost, has in part, or may have lost. */
interface LostItem {
  readonly kind: 'item'
  readonly item: JudgedItem
}

type Loss = RepeatedWork | LostItem

/** The losses of a compaction that matter, and the number of the others. */
export interface Foremost {
  /** At most 15; 10 if no summary can be read. The most important first. */
  readonly losses: readonly Loss[]
  /** Losses that matter and are not in `losses`. */
  readonly more: number
  /** Items below the fold that are lost, partial or unknown, by kind. */
  readonly others: Readonly<Partial<Record<ItemKind, number>>>
}

/** An item with its importance. */
export interface WeighedItem {
  readonly item: JudgedItem
  readonly weight: number
}

const MOST_LOSSES = 15
/** If the context has no summary of the removed messages, everything is lost, and a few examples are enough. */
const MOST_WITHOUT_SUMMARY = 10
/** A cheaper repetition of a single call comes after the statements. */
const LEAST_TOKENS = 1_000
/** Ranks compared with the weights of the working state, which are at most 100. */
const NEEDED_AGAIN = 200
const COSTLY = 150
const CHEAP = 40
/** A value alone says less than the statements of the user, and a file less than a value. */
const VALUE_NEEDED = 68
const FILE_NEEDED = 30

const NAMES: ReadonlySet<ItemKind> = new Set(['file', 'identifier', 'number'])
const VERDICT_ORDER = ['lost', 'unknown', 'partial', 'kept'] as const

/** The pairs of calls that certainly ask the same. */
export const repeatedOnly = (pairs: readonly RepeatedPair[]): readonly RepeatedPair[] =>
  pairs.filter(({ verdict }) => verdict === 'doneAgain')

/** Whether an item is a name in a repeated call. The call reports its loss. */
export const isInRepeated = ({ kind, text }: JudgedItem, repeated: readonly Pick<RepeatedPair, 'subject'>[]): boolean =>
  NAMES.has(kind) && repeated.some(({ subject }) => subject.includes(text))

/** The repeated calls by subject, those with the most tokens first. */
export function repeatedWork(pairs: readonly RepeatedPair[]): readonly RepeatedWork[] {
  const groups = new Map<string, RepeatedWork>()
  for (const { use, tool, subject, first, again, cost } of repeatedOnly(pairs)) {
    const key = `${use} ${subject}`
    const known = groups.get(key)
    groups.set(key, {
      kind: 'repeated',
      use,
      tool,
      subject,
      first: known?.first ?? first,
      again: known?.again ?? again,
      cost: addCosts(known?.cost ?? NO_COST, cost),
    })
  }
  return [...groups.values()].toSorted((a, b) => b.cost.tokens - a.cost.tokens)
}

function rankOf({ item, weight }: WeighedItem): number {
  if (item.neededAt === undefined) return weight
  if (item.kind === 'file') return FILE_NEEDED
  return NAMES.has(item.kind) ? VALUE_NEEDED : NEEDED_AGAIN + weight
}

const isCostly = ({ use, cost }: RepeatedWork): boolean =>
  use === 'question' || cost.calls > 1 || cost.tokens >= LEAST_TOKENS

/** Items in the order of their consequence; among equals, certain losses first, then often mentioned and newer ones. */
const inOrder = (a: WeighedItem, b: WeighedItem): number =>
  rankOf(b) - rankOf(a) ||
  VERDICT_ORDER.indexOf(a.item.verdict) - VERDICT_ORDER.indexOf(b.item.verdict) ||
  b.item.mentions - a.item.mentions ||
  Number(b.item.said.revision) - Number(a.item.said.revision)

/** All losses that matter, in the order of their consequence. */
export function lossesInOrder(matters: readonly WeighedItem[], repeated: readonly RepeatedWork[]): readonly Loss[] {
  const items = matters
    .filter(({ item }) => !isInRepeated(item, repeated))
    .toSorted(inOrder)
    .map((each) => ({ rank: rankOf(each), loss: { kind: 'item', item: each.item } as const }))
  const works = repeated.map((work) => ({ rank: isCostly(work) ? COSTLY : CHEAP, loss: work }))
  return [...works, ...items].toSorted((a, b) => b.rank - a.rank).map(({ loss }) => loss)
}

/**
 * The losses that a report names, and the number of the others.
 * @param losses all that matter, in order
 * @param items all items of the removed messages
 * @param hasSummary whether a summary that can be read replaced the removed messages
 */
export function foremostOf(losses: readonly Loss[], items: readonly JudgedItem[], hasSummary: boolean): Foremost {
  const limit = hasSummary ? MOST_LOSSES : MOST_WITHOUT_SUMMARY
  const above = new Set(losses.flatMap((loss) => (loss.kind === 'item' ? [loss.item] : [])))
  const countsByKind: Partial<Record<ItemKind, number>> = {}
  for (const item of items)
    if (item.verdict !== 'kept' && !above.has(item)) countsByKind[item.kind] = (countsByKind[item.kind] ?? 0) + 1
  return { losses: losses.slice(0, limit), more: Math.max(0, losses.length - limit), others: countsByKind }
}
