/**
 * The losses of a compaction in the order of their consequence: first what made the agent repeat work, then requests,
 * constraints, decisions, open work and errors, then names and numbers, those that were needed again first.
 */
import type { RepeatedPair } from './repeated-work.js'
import { findNames, type WantedName } from './find-names.js'
import type { ItemKind } from './items.js'
import { isEnoughOf } from './judge.js'
import type { JudgedItem } from './judged-item.js'
import { unescaped } from './passages.js'
import type { MessageProof } from './proofs.js'
import type { ReportMessage } from './report-input.js'
import { addCosts, NO_COST, type Cost } from './tool-calls.js'

/** Calls that asked the same again after the compaction. */
interface RepeatedWork {
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

/** The losses that a report names; the others are counted. */
export interface Foremost {
  /** At most 15; 10 if no summary can be read. The most important first. */
  readonly losses: readonly Loss[]
  /** Items that are lost, partial or unknown and not named, by kind. */
  readonly others: Readonly<Partial<Record<ItemKind, number>>>
}

const MOST_LOSSES = 15
/** If the context has no summary of the removed messages, everything is lost, and a few examples are enough. */
const MOST_WITHOUT_SUMMARY = 10
const MOST_REPEATED = 5
/** Items of one message: the others of it are similar. */
const MOST_OF_MESSAGE = 3
/** Sentences that may be in the context in other words. */
const MOST_UNKNOWN = 10
/** A sentence of which no passage has more is probably lost. */
const PROBABLY_LOST = 0.35
/** A sentence of which one passage has more is probably said in other words. */
const MOST_OVERLAP = 0.55

const KIND_ORDER: readonly ItemKind[] = [
  'request',
  'constraint',
  'decision',
  'openCall',
  'subAgent',
  'error',
  'file',
  'identifier',
  'number',
]
const VERDICT_ORDER = ['lost', 'unknown', 'partial', 'kept'] as const
export const NAMES: ReadonlySet<ItemKind> = new Set(['file', 'identifier', 'number'])

/** The repeated calls by subject, those with the most tokens first. */
function repeatedWork(pairs: readonly RepeatedPair[]): readonly RepeatedWork[] {
  const groups = new Map<string, RepeatedWork>()
  for (const { verdict, use, tool, subject, first, again, cost } of pairs) {
    if (verdict !== 'doneAgain') continue
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

/** The names that messages after the compaction write out. */
function neededAgain(items: readonly JudgedItem[], after: readonly ReportMessage[]): ReadonlySet<JudgedItem> {
  const named = items.filter(({ kind }) => NAMES.has(kind))
  const wantedOf = ({ kind, text }: JudgedItem): WantedName => ({
    kind: kind === 'file' ? 'file' : kind === 'identifier' ? 'identifier' : 'number',
    key: text,
  })
  const texts = after
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .flatMap((message) =>
      [message.text, ...(message.toolCalls ?? []).map((call) => unescaped(call.arguments))].map((text) => ({
        text,
        source: { kind: 'message', message } as const,
      })),
    )
  const paths = named.flatMap(({ kind, text }) => (kind === 'file' ? [text] : []))
  const names = findNames(named.map(wantedOf), texts, isEnoughOf(paths))
  return new Set(named.filter((item) => names.find(wantedOf(item))?.nearness === 'whole'))
}

/** Whether the context has so few words of an item, in one place, that it does not say the same in other words. */
export const isProbablyLost = ({ verdict, overlap = 0 }: Pick<JudgedItem, 'verdict' | 'overlap'>): boolean =>
  verdict === 'lost' || (verdict === 'unknown' && overlap <= PROBABLY_LOST)

function mayBeLost({ kind, verdict, why, overlap = 0 }: JudgedItem): boolean {
  if (verdict === 'lost' || verdict === 'partial') return true
  if (verdict !== 'unknown') return false
  if (why === 'opaque') return true
  // Whether a name is in the context is known; a sentence may be there in other words.
  return !NAMES.has(kind) && why !== 'short' && overlap <= MOST_OVERLAP
}

const compareRevisions = (a: JudgedItem, b: JudgedItem): number =>
  Number(a.said.revision) < Number(b.said.revision) ? 1 : -1

/**
 * Sentences that are lost come first, then those that probably are, then those that may be or are partial, then names.
 * An error that a later call resolved comes last: the work is done.
 */
function tierOf(item: JudgedItem): number {
  if (item.resolvedBy !== undefined) return 4
  if (NAMES.has(item.kind)) return 3
  if (item.verdict === 'lost') return 0
  return isProbablyLost(item) ? 1 : 2
}

/** Names that were needed again come first, then those that the user wrote. */
const weightOfName = ({ isNeededAgain, saidBy }: JudgedItem): number =>
  (isNeededAgain === true ? 2 : 0) + (saidBy === 'user' ? 1 : 0)

/**
 * The items in the order of their consequence.
 * @param after the messages after the compaction
 */
export function inOrderOfConsequence(
  items: readonly JudgedItem[],
  after: readonly ReportMessage[],
): readonly JudgedItem[] {
  const needed = neededAgain(items, after)
  return items
    .map((item) => (needed.has(item) ? { ...item, isNeededAgain: true as const } : item))
    .toSorted(
      (a, b) =>
        tierOf(a) - tierOf(b) ||
        (NAMES.has(a.kind) ? weightOfName(b) - weightOfName(a) : 0) ||
        KIND_ORDER.indexOf(a.kind) - KIND_ORDER.indexOf(b.kind) ||
        VERDICT_ORDER.indexOf(a.verdict) - VERDICT_ORDER.indexOf(b.verdict) ||
        b.mentions - a.mentions ||
        compareRevisions(a, b),
    )
}

/** Chooses the items that a report names: first few of each message, then others, in the order of the items. */
function chosenFrom(
  items: readonly JudgedItem[],
  repeated: readonly RepeatedWork[],
  most: number,
): readonly JudgedItem[] {
  const sentences = items.filter((item) => !NAMES.has(item.kind) && mayBeLost(item)).slice(0, most)
  const texts = [...repeated.map(({ subject }) => subject), ...sentences.map(({ text }) => text)]
  const candidates = items.filter(
    (item) => mayBeLost(item) && !(NAMES.has(item.kind) && texts.some((text) => text.includes(item.text))),
  )
  const ofMessage = new Map<string, number>()
  const isFirst = ({ said }: JudgedItem): boolean => {
    const count = (ofMessage.get(said.messageId) ?? 0) + 1
    ofMessage.set(said.messageId, count)
    return count <= MOST_OF_MESSAGE
  }
  let unknown = 0
  const isOfFew = (item: JudgedItem): boolean => {
    if (item.verdict === 'unknown') unknown += 1
    return item.verdict !== 'unknown' || unknown <= MOST_UNKNOWN
  }
  const first = new Set(candidates.filter(isFirst).filter(isOfFew).slice(0, most))
  const fill = new Set(candidates.filter((item) => !first.has(item)).slice(0, most - first.size))
  return candidates.filter((item) => first.has(item) || fill.has(item))
}

/**
 * The most important losses of a compaction.
 * @param items all items of the removed messages, in the order of their consequence
 * @param hasSummary whether a summary that can be read replaced the removed messages
 */
export function foremostOf(
  items: readonly JudgedItem[],
  pairs: readonly RepeatedPair[],
  hasSummary: boolean,
): Foremost {
  const repeated = repeatedWork(pairs).slice(0, MOST_REPEATED)
  const chosen = chosenFrom(items, repeated, (hasSummary ? MOST_LOSSES : MOST_WITHOUT_SUMMARY) - repeated.length)
  const isChosen = new Set(chosen)
  const countsByKind: Partial<Record<ItemKind, number>> = {}
  for (const item of items)
    if (item.verdict !== 'kept' && !isChosen.has(item)) countsByKind[item.kind] = (countsByKind[item.kind] ?? 0) + 1
  return { losses: [...repeated, ...chosen.map((item) => ({ kind: 'item', item }) as const)], others: countsByKind }
}
