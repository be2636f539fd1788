/**
 * The report on one compaction: which messages were removed from the context, how much of their content the summary
 * still has, and which work was repeated afterwards. It is computed by code and gives the same result on every machine;
 * no model is called.
 */
import {
  repeatedCalls,
  costOfRepeated,
  createGround,
  repeatedQuestions,
  type RepeatedPair,
  type Comparison,
} from '../loss-report/repeated-work.js'
import { ITEM_KINDS, type ItemKind } from '../../domain/reports/loss-items.js'
import type { Verdict } from '../loss-report/judge.js'
import type { JudgedItem } from '../loss-report/judged-item.js'
import { linesOf } from '../loss-report/passages.js'
import { recoveryOf, type Recovery } from '../loss-report/recovery.js'
import { answeredCalls } from '../../domain/conversation/call-groups.js'
import type { ReportInput, ReportMessage, ReportToolCall } from '../loss-report/report-input.js'
import { worksOf, type Cost, type Work } from '../loss-report/tool-calls.js'
import { foundItems } from './found-items.js'
import { foremostOf, lossesInOrder, repeatedWork, type Foremost } from './losses.js'

/** Messages and their tokens. */
interface Amount {
  readonly messages: number
  readonly tokens: number
}

export type VerdictCounts = Readonly<Record<Verdict, number>>

/** The repeated work in a stretch of messages. */
export interface Repeated extends Cost {
  readonly messages: number
  /** Calls of which it is not known whether they were repeated. */
  readonly unknown: number
}

/** The effect of one compaction on the context. */
export interface ForgottenReport {
  /** The removed messages: in total, by role, and results by tool. */
  readonly left: Amount & {
    readonly byRole: Readonly<Record<string, Amount>>
    readonly byTool: Readonly<Record<string, Amount>>
  }
  /** What the context contains instead of them. */
  readonly summary: { readonly kind: ReportInput['summary']['kind']; readonly lines: number }
  /** The number of items of each kind that are kept, partial, lost or unknown. */
  readonly counts: Readonly<Record<ItemKind, VerdictCounts>>
  /**
   * The number of losses that matter, listed in `foremost` or not. Possible losses of a summary that cannot be read are
   * not counted.
   */
  readonly losses: number
  /** The most important losses, and the number of the others. */
  readonly foremost: Foremost
  /** Each item with its proof, in the order of consequence. */
  readonly items: readonly JudgedItem[]
  /** Calls after the compaction that repeat a call with a removed answer. */
  readonly doneAgain: readonly RepeatedPair[]
  /** The total of repeated calls. */
  readonly behind: Repeated
  /**
   * The same measure over two stretches of equal length: the first messages after the compaction, and the last messages
   * of the context before it, compared with the rest of that context.
   */
  readonly compared: { readonly messages: number; readonly behind: Repeated; readonly before: Repeated }
  /** The way to the next edit. */
  readonly recovery: Recovery
}

const NONE: Amount = { messages: 0, tokens: 0 }

function amountsBy(
  messages: readonly ReportMessage[],
  nameOf: (message: ReportMessage, at: number) => string | undefined,
): Record<string, Amount> {
  const amounts = new Map<string, Amount>()
  for (const [at, message] of messages.entries()) {
    const name = nameOf(message, at)
    if (name === undefined) continue
    const { messages: count, tokens } = amounts.get(name) ?? NONE
    amounts.set(name, { messages: count + 1, tokens: tokens + message.tokens })
  }
  return Object.fromEntries([...amounts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function removedOf(removed: readonly ReportMessage[]): ForgottenReport['left'] {
  const answered = answeredCalls<ReportToolCall>(removed)
  return {
    messages: removed.length,
    tokens: removed.reduce((sum, { tokens }) => sum + tokens, 0),
    byRole: amountsBy(removed, ({ role }) => role),
    byTool: amountsBy(removed, ({ role }, at) =>
      role === 'tool' ? (answered.get(at)?.call.name ?? 'unknown') : undefined,
    ),
  }
}

const NO_VERDICTS: VerdictCounts = { kept: 0, partial: 0, lost: 0, unknown: 0 }

function countsOf(items: readonly JudgedItem[]): Record<ItemKind, VerdictCounts> {
  const counts = new Map<ItemKind, VerdictCounts>(ITEM_KINDS.map((kind) => [kind, NO_VERDICTS]))
  for (const { kind, verdict } of items) {
    const before = counts.get(kind) ?? NO_VERDICTS
    counts.set(kind, { ...before, [verdict]: before[verdict] + 1 })
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- there is an entry for each kind
  return Object.fromEntries(counts) as Record<ItemKind, VerdictCounts>
}

const idsOf = (messages: readonly ReportMessage[]): ReadonlySet<string> =>
  new Set(messages.map(({ messageId }) => messageId))

const repeatedOf = (messages: number, pairs: readonly RepeatedPair[]): Repeated => ({
  messages,
  ...costOfRepeated(pairs),
  unknown: pairs.filter(({ verdict }) => verdict === 'unknown').length,
})

interface Repetition {
  readonly doneAgain: readonly RepeatedPair[]
  readonly behind: Repeated
  readonly compared: ForgottenReport['compared']
}

const isByProgram = ({ byProgram }: ReportMessage): boolean => byProgram === true

/**
 * The baseline: the last messages of the context before the compaction, compared with those before them. Work that is
 * repeated in this stretch was not forgotten.
 */
function repeatedBefore(
  live: readonly ReportMessage[],
  works: readonly Work[],
  messages: number,
  ground: Comparison,
): Repeated {
  const [first, last] = [live.slice(0, live.length - messages), live.slice(live.length - messages)]
  const [firstIds, lastIds] = [idsOf(first), idsOf(last)]
  const known = { earlier: works.filter(({ by }) => firstIds.has(by.messageId)), context: [], attached: [] }
  const later = works.filter(({ by }) => lastIds.has(by.messageId))
  return repeatedOf(messages, [...repeatedCalls(known, later, ground), ...repeatedQuestions(first, [], last)])
}

function repetitionOf({ removed, remaining, before, after }: ReportInput, later: readonly Work[]): Repetition {
  const earlier = worksOf(before)
  const ground = createGround([...earlier, ...later])
  const removedIds = idsOf(removed)
  const doneAgain = [
    ...repeatedCalls(
      {
        earlier: earlier.filter(({ result }) => result !== undefined && removedIds.has(result.messageId)),
        context: worksOf(remaining),
        attached: [...remaining, ...after].filter(isByProgram),
      },
      later,
      ground,
    ),
    ...repeatedQuestions(removed, remaining, after),
  ]
  const liveIds = new Set([...removedIds, ...idsOf(remaining)])
  const live = before.filter(({ messageId }) => liveIds.has(messageId))
  // At most half of the context, so that the other half can contain what it repeats.
  const messages = Math.min(after.length, Math.floor(live.length / 2))
  const compared = idsOf(after.slice(0, messages))
  return {
    doneAgain,
    behind: repeatedOf(after.length, doneAgain),
    compared: {
      messages,
      behind: repeatedOf(
        messages,
        doneAgain.filter(({ again }) => compared.has(again.messageId)),
      ),
      before: repeatedBefore(live, earlier, messages, ground),
    },
  }
}

/** The report on one compaction. */
export function forgottenOf(input: ReportInput): ForgottenReport {
  const { removed, before, after, summary } = input
  const worksAfter = worksOf(after, before.length)
  const { items, matters } = foundItems(input, worksOf(removed), worksAfter)
  const repetition = repetitionOf(input, worksAfter)
  const losses = lossesInOrder(matters, repeatedWork(repetition.doneAgain))
  return {
    left: removedOf(removed),
    summary: { kind: summary.kind, lines: linesOf(input).length },
    counts: countsOf(items),
    losses: losses.filter((loss) => loss.kind === 'repeated' || loss.item.why !== 'opaque').length,
    foremost: foremostOf(losses, items, summary.kind === 'text'),
    items,
    ...repetition,
    recovery: recoveryOf(input),
  }
}
