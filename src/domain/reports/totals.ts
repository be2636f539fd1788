/**
 * Totals of conversations by program and project: messages, and the usage and cost of the models. The answers of programs
 * count with the usage that the programs reported, and with their own figure of the cost if they have one.
 */
import { costOf, totalOf, type Charge, type Cost, type PriceTable, type TokenUsage } from './prices.js'

/** Prompt tokens, the parts of them that were read from a cache and written to it, and completion tokens. */
interface TokenCounts extends TokenUsage {
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
}

/** The usage of the conversations of a program and project that is of one kind and model. */
export interface CountedUse extends TokenCounts {
  /** `conversations`: their number and messages. The others: calls of models. */
  readonly kind: 'conversations' | 'answers' | 'summaries'
  readonly program: string | undefined
  readonly project: string | undefined
  /** The provider of the model of a summary. */
  readonly provider: string | undefined
  /** Undefined if the program did not record it. */
  readonly model: string | undefined
  /** Number of conversations, answers or summaries. */
  readonly times: number
  readonly messages: number
  /** Estimated tokens of the messages. */
  readonly tokens: number
  /** Answers without reported usage. */
  readonly unreported: number
  /** Summaries without reported usage, whose tokens are estimates. */
  readonly estimated: number
  /** In US dollars, if the program reported it. */
  readonly reportedCost: number | undefined
}

/** The usage of one model. */
export interface ModelTotals extends TokenCounts {
  /** Absent if the program did not record it. */
  readonly model?: string
  /** Answers of the agents. */
  readonly answers: number
  /** Answers without reported usage. They are not part of the tokens and the cost. */
  readonly unreported: number
  /** Summaries of the ledger. */
  readonly summaries: number
  /** Summaries without reported usage. Their tokens are estimates. */
  readonly estimated: number
  /** One sum per currency. */
  readonly cost: readonly Cost[]
  /** True if a part of the usage has no known price. */
  readonly isUnpriced: boolean
}

/** Totals of conversations. */
export interface Totals {
  /** Number of conversations. */
  readonly conversations: number
  /** Messages, without withdrawn ones. */
  readonly messages: number
  /** Estimated tokens of these messages. */
  readonly tokens: number
  /** The models that were called, the one with the most tokens first. */
  readonly models: readonly ModelTotals[]
  /** One sum per currency, without usage that has no price. */
  readonly cost: readonly Cost[]
  /** Models with usage that has no known price. */
  readonly unpriced: readonly string[]
  /** Answers without reported usage. */
  readonly unreported: number
}

/** The properties of conversations by which totals are grouped. */
export const TOTAL_GROUPS = ['program', 'project'] as const
/** A property of conversations by which totals are grouped. */
export type TotalGroup = (typeof TOTAL_GROUPS)[number]

/** Totals of the conversations of one program, one project folder, or both. */
export interface GroupTotals extends Totals {
  /** The program whose transcripts were imported; absent for other conversations. */
  readonly program?: string
  /** The project folder; absent if it is not known. */
  readonly project?: string
}

/** The name of a model that a program did not record. */
const UNKNOWN_MODEL = 'unknown model'

const sumOf = <T>(items: readonly T[], valueOf: (item: T) => number): number =>
  items.reduce((sum, item) => sum + valueOf(item), 0)

/** Groups items by a text, in the order of their first items. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return [...groups.values()]
}

const hasUsage = (use: CountedUse): boolean =>
  use.promptTokens + use.completionTokens > 0 || use.reportedCost !== undefined

function chargeOf(use: CountedUse, prices: PriceTable): Charge {
  if (use.reportedCost !== undefined) return { kind: 'priced', currency: 'USD', amount: use.reportedCost }
  return hasUsage(use)
    ? costOf(use, { provider: use.provider ?? '', model: use.model ?? '' }, prices)
    : { kind: 'free' }
}

function modelTotals(uses: readonly CountedUse[], prices: PriceTable): ModelTotals {
  const charges = uses.map((use) => chargeOf(use, prices))
  const timesOf = (kind: CountedUse['kind']): number => sumOf(uses, (use) => (use.kind === kind ? use.times : 0))
  const model = uses[0]?.model
  return {
    ...(model === undefined ? {} : { model }),
    answers: timesOf('answers'),
    unreported: sumOf(uses, (use) => use.unreported),
    summaries: timesOf('summaries'),
    estimated: sumOf(uses, (use) => use.estimated),
    promptTokens: sumOf(uses, (use) => use.promptTokens),
    completionTokens: sumOf(uses, (use) => use.completionTokens),
    cachedTokens: sumOf(uses, (use) => use.cachedTokens),
    cacheWriteTokens: sumOf(uses, (use) => use.cacheWriteTokens),
    cost: totalOf(charges),
    isUnpriced: charges.some(({ kind }) => kind === 'unpriced'),
  }
}

const spentBy = (models: readonly TokenUsage[]): number =>
  sumOf(models, (use) => use.promptTokens + use.completionTokens)

/** The totals of counted usage. */
export function totalsOf(uses: readonly CountedUse[], prices: PriceTable): Totals {
  const counted = uses.filter(({ kind }) => kind === 'conversations')
  const models = groupBy(
    uses.filter(({ kind }) => kind !== 'conversations'),
    ({ model }) => JSON.stringify(model ?? null),
  )
    .map((each) => modelTotals(each, prices))
    .toSorted((a, b) => spentBy([b]) - spentBy([a]) || ((a.model ?? '') < (b.model ?? '') ? -1 : 1))
  return {
    conversations: sumOf(counted, ({ times }) => times),
    messages: sumOf(counted, ({ messages }) => messages),
    tokens: sumOf(counted, ({ tokens }) => tokens),
    models,
    cost: totalOf(models.flatMap(({ cost }) => cost.map((each) => ({ kind: 'priced' as const, ...each })))),
    unpriced: models.flatMap(({ model, isUnpriced }) => (isUnpriced ? [model ?? UNKNOWN_MODEL] : [])),
    unreported: sumOf(models, ({ unreported }) => unreported),
  }
}

/** Totals by program, project or both. The group that spent the most tokens is first. */
export function groupTotals(
  uses: readonly CountedUse[],
  by: readonly TotalGroup[],
  prices: PriceTable,
): readonly GroupTotals[] {
  const namesOf = (use: CountedUse): readonly (string | null)[] => by.map((name) => use[name] ?? null)
  return groupBy(uses, (use) => JSON.stringify(namesOf(use)))
    .map((group): GroupTotals => {
      const names = by.flatMap((name) => {
        const value = group[0]?.[name]
        return value === undefined ? [] : [[name, value]]
      })
      return { ...Object.fromEntries(names), ...totalsOf(group, prices) }
    })
    .toSorted((a, b) => spentBy(b.models) - spentBy(a.models) || b.tokens - a.tokens || orderOf(a, b))
}

const nameOf = ({ program = '', project = '' }: GroupTotals): string => `${program}\n${project}`
const orderOf = (a: GroupTotals, b: GroupTotals): number => (nameOf(a) < nameOf(b) ? -1 : 1)
