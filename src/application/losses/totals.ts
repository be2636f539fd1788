/** Totals of the reports on many compactions: overall, and by program, version, trigger and strategy. */
import type { RepeatedPair } from '../loss-report/repeated-work.js'
import type { ForgottenReport, Repeated, VerdictCounts } from './forgotten.js'
import { ITEM_KINDS, type ItemKind } from '../../domain/reports/loss-items.js'
import type { Verdict } from '../loss-report/judge.js'
import { totalRecovery, type RecoveryTotal } from '../loss-report/recovery.js'
import { addCosts } from '../loss-report/tool-calls.js'

/** The attributes by which totals are grouped. */
export const TOTAL_KEYS = ['program', 'version', 'trigger', 'strategy'] as const
export type TotalKey = (typeof TOTAL_KEYS)[number]

/** A compaction with its attributes; an unknown attribute is absent. */
export interface Counted {
  readonly keys: Readonly<Partial<Record<TotalKey, string>>>
  readonly report: ForgottenReport
}

/** The totals of a group of compactions. */
export interface ForgottenTotal {
  /** Number of compactions. */
  readonly compactions: number
  /** The messages removed from the contexts. */
  readonly left: { readonly messages: number; readonly tokens: number }
  /** The number of losses that matter, as `list` has it. */
  readonly losses: number
  /** Items that are kept, partial, lost or unknown. */
  readonly verdicts: VerdictCounts
  /** The same by kind of item. */
  readonly counts: Readonly<Record<ItemKind, VerdictCounts>>
  /** Repeated work after the compactions. */
  readonly behind: Repeated
  /** The same measure over stretches of equal length after and before the compactions. */
  readonly compared: { readonly messages: number; readonly behind: Repeated; readonly before: Repeated }
  /** The way from the compactions to the next edit. */
  readonly recovery: RecoveryTotal
  /** The number of repeated calls by use of a tool. */
  readonly uses: Readonly<Partial<Record<RepeatedPair['use'], number>>>
}

/** Totals of the loss report. */
export interface ForgottenTotals {
  /** All compactions. */
  readonly all: ForgottenTotal
  /** For each attribute, the totals by value; `unknown` for compactions without one. */
  readonly by: Readonly<Record<TotalKey, Readonly<Record<string, ForgottenTotal>>>>
}

const addVerdicts = (all: readonly VerdictCounts[]): VerdictCounts => {
  const sum = (verdict: Verdict): number => all.reduce((total, counts) => total + counts[verdict], 0)
  return { kept: sum('kept'), partial: sum('partial'), lost: sum('lost'), unknown: sum('unknown') }
}

/** The verdicts of all kinds together. Every count of what compactions lost is computed here. */
export const verdictsOf = (counts: Readonly<Record<ItemKind, VerdictCounts>>): VerdictCounts =>
  addVerdicts(Object.values(counts))

const NOTHING: Repeated = { messages: 0, calls: 0, tokens: 0, milliseconds: 0, unknown: 0 }
const addRepeated = (all: readonly Repeated[]): Repeated =>
  all.reduce(
    (a, b) => ({ messages: a.messages + b.messages, ...addCosts(a, b), unknown: a.unknown + b.unknown }),
    NOTHING,
  )

const sumOf = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

function usesOf(reports: readonly ForgottenReport[]): Partial<Record<RepeatedPair['use'], number>> {
  const uses: Partial<Record<RepeatedPair['use'], number>> = {}
  for (const { use, verdict } of reports.flatMap(({ doneAgain }) => doneAgain))
    if (verdict === 'doneAgain') uses[use] = (uses[use] ?? 0) + 1
  return uses
}

function totalOf(reports: readonly ForgottenReport[]): ForgottenTotal {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- there is an entry for each kind
  const counts = Object.fromEntries(
    ITEM_KINDS.map((kind) => [kind, addVerdicts(reports.map((report) => report.counts[kind]))]),
  ) as Record<ItemKind, VerdictCounts>
  return {
    compactions: reports.length,
    left: {
      messages: sumOf(reports.map(({ left }) => left.messages)),
      tokens: sumOf(reports.map(({ left }) => left.tokens)),
    },
    losses: sumOf(reports.map(({ losses }) => losses)),
    verdicts: verdictsOf(counts),
    counts,
    behind: addRepeated(reports.map(({ behind }) => behind)),
    compared: {
      messages: sumOf(reports.map(({ compared }) => compared.messages)),
      behind: addRepeated(reports.map(({ compared }) => compared.behind)),
      before: addRepeated(reports.map(({ compared }) => compared.before)),
    },
    recovery: totalRecovery(reports),
    uses: usesOf(reports),
  }
}

function totalsBy(key: TotalKey, counted: readonly Counted[]): Record<string, ForgottenTotal> {
  const groups = new Map<string, ForgottenReport[]>()
  for (const { keys, report } of counted) {
    const value = keys[key] ?? 'unknown'
    const known = groups.get(value)
    if (known === undefined) groups.set(value, [report])
    else known.push(report)
  }
  return Object.fromEntries(
    [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([value, reports]) => [value, totalOf(reports)]),
  )
}

export const totalForgotten = (counted: readonly Counted[]): ForgottenTotals => ({
  all: totalOf(counted.map(({ report }) => report)),
  by: {
    program: totalsBy('program', counted),
    version: totalsBy('version', counted),
    trigger: totalsBy('trigger', counted),
    strategy: totalsBy('strategy', counted),
  },
})
