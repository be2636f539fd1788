/**
 * The order of items: requests, constraints, decisions, open work and errors, then names and numbers, those that were
 * needed again first.
 */
import { findNames, type WantedName } from './find-names.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import { isEnoughOf } from './judge.js'
import type { JudgedItem } from './judged-item.js'
import { unescaped } from './passages.js'
import type { ReportMessage } from './report-input.js'

/** A sentence of which no passage has more is probably lost. */
const PROBABLY_LOST = 0.35
const KIND_ORDER: readonly ItemKind[] = [
  'request',
  'constraint',
  'refusal',
  'decision',
  'task',
  'statement',
  'openCall',
  'subAgent',
  'error',
  'file',
  'identifier',
  'number',
]
const VERDICT_ORDER = ['lost', 'unknown', 'partial', 'kept'] as const
export const NAMES: ReadonlySet<ItemKind> = new Set(['file', 'identifier', 'number'])

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
const isProbablyLost = ({ verdict, overlap = 0 }: Pick<JudgedItem, 'verdict' | 'overlap'>): boolean =>
  verdict === 'lost' || (verdict === 'unknown' && overlap <= PROBABLY_LOST)

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
