/**
 * The report on one compaction: what left the context, what of it the summary still has, and what was done again behind
 * it. A count by code, the same on every machine; no model is asked.
 */
import { callsAgain, costOfAgain, createGround, questionsAgain, type AgainPair, type Ground } from './done-again.js'
import { ITEM_KINDS, itemsOf, type Item, type ItemKind } from './items.js'
import { createJudge, type Judgement, type Verdict } from './judge.js'
import { linesOf } from './passages.js'
import { messageProof, quote, type MessageProof } from './quote.js'
import type { Forgetting, Said } from './said.js'
import { worksOf, type Cost, type Work } from './works.js'

/** Messages and their tokens. */
interface Amount {
  readonly messages: number
  readonly tokens: number
}

/** An item with what the summary has of it. */
export interface JudgedItem extends Judgement {
  /** What it is. */
  readonly kind: ItemKind
  /** As it was said, shortened. */
  readonly text: string
  /** The first message that says it. */
  readonly said: MessageProof
  /** How many of the messages that left say it. */
  readonly mentions: number
  /** Of an error: the call that resolved it. */
  readonly resolvedBy?: MessageProof
}

export type VerdictCounts = Readonly<Record<Verdict, number>>

/** What was done again in a stretch of messages. */
export interface Repeated extends Cost {
  readonly messages: number
  /** Calls of which it is not known. */
  readonly unknown: number
}

/** What one compaction made the context forget. */
export interface ForgottenReport {
  /** What left the context: in all, by role, and results by the tool that was called. */
  readonly left: Amount & {
    readonly byRole: Readonly<Record<string, Amount>>
    readonly byTool: Readonly<Record<string, Amount>>
  }
  /** What stands for it. */
  readonly summary: { readonly kind: Forgetting['summary']['kind']; readonly lines: number }
  /** How many items of each kind are kept, blurred, gone or unknown. */
  readonly counts: Readonly<Record<ItemKind, VerdictCounts>>
  /** Each item with its proof. */
  readonly items: readonly JudgedItem[]
  /** Behind the compaction: each call that asked again what the messages that left had the answer to. */
  readonly doneAgain: readonly AgainPair[]
  /** What all of that took. */
  readonly behind: Repeated
  /**
   * The same measure over two stretches of equal length: the first messages behind the compaction, and the last ones of
   * the context before it, measured against the rest of that context.
   */
  readonly compared: { readonly messages: number; readonly behind: Repeated; readonly before: Repeated }
}

const NONE: Amount = { messages: 0, tokens: 0 }

function amountsBy(messages: readonly Said[], nameOf: (message: Said) => string | undefined): Record<string, Amount> {
  const amounts = new Map<string, Amount>()
  for (const message of messages) {
    const name = nameOf(message)
    if (name === undefined) continue
    const { messages: count, tokens } = amounts.get(name) ?? NONE
    amounts.set(name, { messages: count + 1, tokens: tokens + message.tokens })
  }
  return Object.fromEntries([...amounts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function leftOf(left: readonly Said[]): ForgottenReport['left'] {
  const tools = new Map(left.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)))
  return {
    messages: left.length,
    tokens: left.reduce((sum, { tokens }) => sum + tokens, 0),
    byRole: amountsBy(left, ({ role }) => role),
    byTool: amountsBy(left, ({ role, toolCallId }) =>
      role === 'tool' ? (tools.get(toolCallId ?? '') ?? 'unknown') : undefined,
    ),
  }
}

const judgedOf = (item: Item, judgement: Judgement): JudgedItem => ({
  kind: item.kind,
  text: quote(item.text),
  ...judgement,
  said: messageProof(item.said, item.around ?? item.text),
  mentions: item.mentions,
  ...(item.resolvedBy === undefined
    ? {}
    : {
        resolvedBy: messageProof(item.resolvedBy.by, `${item.resolvedBy.call.name}(${item.resolvedBy.asked.subject})`),
      }),
})

const NO_VERDICTS: VerdictCounts = { kept: 0, blurred: 0, gone: 0, unknown: 0 }

function countsOf(items: readonly JudgedItem[]): Record<ItemKind, VerdictCounts> {
  const counts = new Map<ItemKind, VerdictCounts>(ITEM_KINDS.map((kind) => [kind, NO_VERDICTS]))
  for (const { kind, verdict } of items) {
    const before = counts.get(kind) ?? NO_VERDICTS
    counts.set(kind, { ...before, [verdict]: before[verdict] + 1 })
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- there is an entry for each kind
  return Object.fromEntries(counts) as Record<ItemKind, VerdictCounts>
}

const idsOf = (messages: readonly Said[]): ReadonlySet<string> => new Set(messages.map(({ messageId }) => messageId))

const repeatedOf = (messages: number, pairs: readonly AgainPair[]): Repeated => ({
  messages,
  ...costOfAgain(pairs),
  unknown: pairs.filter(({ verdict }) => verdict === 'unknown').length,
})

interface Again {
  readonly doneAgain: readonly AgainPair[]
  readonly behind: Repeated
  readonly compared: ForgottenReport['compared']
}

const isByProgram = ({ byProgram }: Said): boolean => byProgram === true

/**
 * The last messages of the context before it was compacted, measured against those before them: what is done again
 * there was not forgotten.
 */
function repeatedBefore(live: readonly Said[], works: readonly Work[], messages: number, ground: Ground): Repeated {
  const [first, last] = [live.slice(0, live.length - messages), live.slice(live.length - messages)]
  const [firstIds, lastIds] = [idsOf(first), idsOf(last)]
  const known = { earlier: works.filter(({ by }) => firstIds.has(by.messageId)), context: [], attached: [] }
  const later = works.filter(({ by }) => lastIds.has(by.messageId))
  return repeatedOf(messages, [...callsAgain(known, later, ground), ...questionsAgain(first, [], last)])
}

function againOf({ left, stayed, before, after }: Forgetting): Again {
  const earlier = worksOf(before)
  const later = worksOf(after, before.length)
  const ground = createGround([...earlier, ...later])
  const leftIds = idsOf(left)
  const doneAgain = [
    ...callsAgain(
      {
        earlier: earlier.filter(({ result }) => result !== undefined && leftIds.has(result.messageId)),
        context: worksOf(stayed),
        attached: [...stayed, ...after].filter(isByProgram),
      },
      later,
      ground,
    ),
    ...questionsAgain(left, stayed, after),
  ]
  const liveIds = new Set([...leftIds, ...idsOf(stayed)])
  const live = before.filter(({ messageId }) => liveIds.has(messageId))
  // Half of the context has to be there for the other half to repeat.
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

/** What one compaction made the context forget. */
export function forgottenOf(forgetting: Forgetting): ForgottenReport {
  const { left, stayed, summary } = forgetting
  const found = itemsOf(left, worksOf(left), stayed)
  const judge = createJudge(forgetting, found)
  const items = found.map((item) => judgedOf(item, judge(item)))
  return {
    left: leftOf(left),
    summary: { kind: summary.kind, lines: linesOf(forgetting).length },
    counts: countsOf(items),
    items,
    ...againOf(forgetting),
  }
}
