/**
 * Finds and judges the items of the removed messages, and decides which losses matter. A statement of the user is judged
 * by its weightiest sentences, and its text shows those that are lost.
 */
import { declines } from '../../domain/text/refusals.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import { itemsOf, type Item } from '../loss-report/items.js'
import { createJudge, type Judgement } from '../loss-report/judge.js'
import { inOrderOfConsequence } from '../loss-report/foremost.js'
import { judgedOf, type JudgedItem } from '../loss-report/judged-item.js'
import { messageProof } from '../loss-report/proofs.js'
import type { ReportInput, ReportMessage } from '../loss-report/report-input.js'
import type { Work } from '../loss-report/tool-calls.js'
import { AGENT_DECISION } from '../working-state/agent-items.js'
import { isByUser, RULE } from '../working-state/statements.js'
import { OPEN_ERROR } from '../working-state/error-items.js'
import { OPEN } from '../working-state/work-items.js'
import type { WeighedItem } from './losses.js'
import { MissingTexts } from './missing.js'
import { neededLater } from './needed-later.js'
import { shortened } from './shortened.js'
import { statedItems, type Part, type StatedItem } from './stated-items.js'
import { laterOn } from './taken-back.js'

/** A longer message is shown by the sentences that are lost. */
const MOST_WHOLE = 240
const MOST_LEAD = 160
const MOST_SENTENCE = 300
const MOST_RULES = 480
const MOST_NAME_QUOTE = 160
/** The agent was still at work on a failure in one of the last calls. */
const LAST_CALLS = 8

const VERDICT_ORDER = ['lost', 'unknown', 'partial', 'kept'] as const

/** The parts of the judgement on a statement. */
interface StatementJudgement {
  readonly judgement: Judgement
  /** The sentences with that verdict, and others that the context lacks. */
  readonly parts: readonly Part[]
}

/** A sentence with its judgement. */
interface JudgedPart {
  readonly part: Part
  readonly judgement: Judgement
}

/** The worst of the judgements on the sentences. */
function combined(judged: readonly JudgedPart[], isMissing: (each: JudgedPart) => boolean): StatementJudgement {
  const verdict = VERDICT_ORDER.find((each) => judged.some(({ judgement }) => judgement.verdict === each)) ?? 'unknown'
  const worst = judged.filter(({ judgement }) => judgement.verdict === verdict)
  const overlap = worst.reduce((most, { judgement }) => Math.max(most, judgement.overlap ?? 0), 0)
  const judgement = (worst.find((each) => each.judgement.why !== 'short') ?? worst[0])?.judgement
  if (judgement === undefined) return { judgement: { verdict: 'unknown', why: 'short' }, parts: [] }
  return {
    judgement: judgement.overlap === undefined ? judgement : { ...judgement, overlap },
    parts: judged.filter((each) => worst.includes(each) || isMissing(each)).map(({ part }) => part),
  }
}

/** The text of a statement: whole, or the sentences that decide its verdict. */
function textOf({ lead, words, weight, parts: all }: StatedItem, parts: readonly Part[]): string {
  const visible =
    words.length <= MOST_WHOLE || all.some(({ answer }) => answer !== undefined)
      ? [words]
      : parts.map(({ text }) => text)
  return `${shortenedLead(lead)}${shortened(visible.join(' … '), weight >= RULE ? MOST_RULES : MOST_SENTENCE)}`
}

const shortenedLead = (lead: string): string =>
  lead.length <= MOST_LEAD ? lead : `… ${lead.slice(-MOST_LEAD).replace(/^\S*\s/u, '')}`

const itemOfPart = ({ kind, message }: StatedItem, { text, answer }: Part): Item => ({
  kind,
  key: text,
  text,
  message,
  mentions: 1,
  ...(answer === undefined ? {} : { answer }),
})

/** An item with its judgement and what decides whether its loss matters. */
interface Found extends WeighedItem {
  /** Its loss matters if the context does not have it. */
  readonly canMatter: boolean
  /** The sentences that were judged. */
  readonly texts: readonly string[]
}

/** Decisions of the agent that the user declined in the next message. */
function declinedIn(messages: readonly ReportMessage[]): ReadonlySet<string> {
  return new Set(
    messages.flatMap((message, at) => {
      const next = messages[at + 1]
      return next !== undefined && isByUser(next) && declines(next.ownText) ? [message.messageId] : []
    }),
  )
}

const WEIGHTS: Readonly<Record<ItemKind, number>> = {
  constraint: RULE,
  refusal: RULE,
  decision: AGENT_DECISION,
  task: OPEN,
  statement: 0,
  request: 0,
  openCall: OPEN,
  subAgent: OPEN,
  error: OPEN_ERROR,
  file: 0,
  identifier: 0,
  number: 0,
}

const SENTENCES: ReadonlySet<ItemKind> = new Set(['constraint', 'decision', 'openCall', 'subAgent'])

const CHECKS = /(?<![\w-])(?:tests?|pytest|jest|vitest|build|check|lint|compile|tsc|make|cargo|gradle|mvn)(?![\w-])/iu

/** The results of the last builds and tests. */
const lastChecks = (works: readonly Work[]): ReadonlySet<string> =>
  new Set(
    works
      .slice(-LAST_CALLS)
      .flatMap(({ query: { use, subject }, result }) =>
        result !== undefined && use === 'shell' && CHECKS.test(subject) ? [result.messageId] : [],
      ),
  )

/** The sentence of a message that has a name. */
function sentenceWith({ ownText }: ReportMessage, name: string): string {
  const at = ownText.indexOf(name)
  if (at < 0) return name
  const end = /[.!?](?=\s)|\n|$/u.exec(ownText.slice(at + name.length))?.index ?? 0
  const sentence = ownText.slice(0, at + name.length + end + 1)
  return shortened(sentence.slice(Math.max(sentence.lastIndexOf('\n', at), beginningOf(sentence, at))), MOST_NAME_QUOTE)
}

const beginningOf = (text: string, at: number): number => {
  const end = text.lastIndexOf('. ', at)
  return end < 0 ? 0 : end + 2
}

/** The items of the removed messages, and those whose loss matters. */
export interface FoundItems {
  /** All items in the order of consequence: those whose loss matters first. */
  readonly items: readonly JudgedItem[]
  readonly matters: readonly WeighedItem[]
}

/** Finds the items of one compaction. */
class ItemFinder {
  readonly #missing: MissingTexts
  readonly #messages = new Map<string, ReportMessage>()

  constructor(
    private readonly input: ReportInput,
    private readonly works: readonly Work[],
    private readonly worksAfter: readonly Work[],
  ) {
    this.#missing = new MissingTexts(input)
    for (const message of input.removed) this.#messages.set(message.messageId, message)
  }

  find(): FoundItems {
    const { removed, remaining, before } = this.input
    const stated = statedItems(removed, this.works, remaining, before)
    const found = itemsOf(removed, this.works, remaining, { withStatements: false })
    const partItems = stated.map((item) => item.parts.map((part) => ({ part, item: itemOfPart(item, part) })))
    const judge = createJudge(this.input, [...partItems.flat().map(({ item }) => item), ...found])
    const statements = stated.map((item, at) =>
      this.#statement(
        item,
        combined(
          (partItems[at] ?? []).map((each) => ({ part: each.part, judgement: judge(each.item) })),
          ({ part, judgement }) => this.#missing.isMissing({ judgement, weight: part.weight, texts: [part.text] }),
        ),
      ),
    )
    const judgedItems = found.map((item) => ({ item, judged: judgedOf(item, judge(item)) }))
    return this.#inOrder([...this.#withLater(stated, statements), ...this.#others(judgedItems)])
  }

  #isMissing({ item: judgement, weight, texts }: Found): boolean {
    return this.#missing.isMissing({ judgement, weight, texts })
  }

  #statement(item: StatedItem, { judgement, parts }: StatementJudgement): Found {
    return {
      item: {
        kind: item.kind,
        text: textOf(item, parts),
        ...judgement,
        said: messageProof(item.message, item.words),
        saidBy: item.message.role === 'tool' ? 'user' : item.message.role,
        mentions: item.mentions,
      },
      weight: item.weight,
      canMatter: item.matters,
      texts: parts.map((part) => part.text),
    }
  }

  /** The statements, with the later messages about those that are missing. */
  #withLater(stated: readonly StatedItem[], statements: readonly Found[]): readonly Found[] {
    const { removed, remaining, after } = this.input
    const missing = stated.filter((_item, at) => {
      const found = statements[at]
      return found?.canMatter === true && this.#isMissing(found)
    })
    if (missing.length === 0) return statements
    const afterIds = new Set(after.map(({ messageId }) => messageId))
    const later = laterOn(missing, [...removed, ...remaining, ...after], afterIds)
    return statements.map((found, at) => {
      const item = stated[at]
      const { takenBackAt, saidAgainAt } = (item === undefined ? undefined : later.get(item)) ?? {}
      return {
        ...found,
        item: {
          ...found.item,
          ...(saidAgainAt === undefined ? {} : { neededAt: messageProof(saidAgainAt) }),
          ...(takenBackAt === undefined ? {} : { takenBackAt: messageProof(takenBackAt) }),
        },
        canMatter: found.canMatter && takenBackAt === undefined,
      }
    })
  }

  #others(others: readonly { readonly item: Item; readonly judged: JudgedItem }[]): Found[] {
    const { removed, remaining, after } = this.input
    const declined = declinedIn([...removed, ...remaining, ...after])
    const open = lastChecks(this.works)
    const lost = others.flatMap(({ judged }) =>
      !SENTENCES.has(judged.kind) && (judged.verdict === 'lost' || judged.why === 'opaque') ? [judged] : [],
    )
    const needed = neededLater(lost, after, this.worksAfter)
    return others.map(({ item, judged }): Found => {
      const neededAt = needed.get(judged)
      const isOpenError = judged.kind === 'error' && judged.resolvedBy === undefined && open.has(judged.said.messageId)
      return {
        item: {
          ...judged,
          ...(SENTENCES.has(judged.kind) || judged.kind === 'error'
            ? { text: shortened(item.text, MOST_SENTENCE) }
            : {}),
          ...(neededAt === undefined ? {} : { neededAt, said: this.#saidWith(judged) }),
        },
        weight: WEIGHTS[judged.kind],
        canMatter:
          neededAt !== undefined || isOpenError || (SENTENCES.has(judged.kind) && !declined.has(judged.said.messageId)),
        texts: [item.text],
      }
    })
  }

  /** The message that said a name, with the sentence. */
  #saidWith({ said, kind, text }: JudgedItem): JudgedItem['said'] {
    const message = this.#messages.get(said.messageId)
    return message === undefined || kind === 'file' || kind === 'error'
      ? said
      : messageProof(message, sentenceWith(message, text))
  }

  /** Those that matter first, and the others in the order of the names of their kinds. */
  #inOrder(found: readonly Found[]): FoundItems {
    const mattering = withNeededValues(found.filter((each) => each.canMatter && this.#isMissing(each)))
    const isAbove = new Set(mattering.map(({ item }) => keyOf(item)))
    const rest = found.map(({ item }) => item).filter((item) => !isAbove.has(keyOf(item)))
    const matters = mattering.map(({ item, weight }) => ({ item: { ...item, matters: true as const }, weight }))
    return { items: [...matters.map(({ item }) => item), ...inOrderOfConsequence(rest, this.input.after)], matters }
  }
}

const keyOf = ({ kind, text, said }: JudgedItem): string => JSON.stringify([kind, text, said.messageId])

/** A statement with a value that was needed again was needed itself: the value is not listed in addition. */
function withNeededValues(found: readonly Found[]): Found[] {
  const names = found.filter(({ item, weight }) => weight === 0 && item.neededAt !== undefined)
  const statements = found.filter((each) => !names.includes(each))
  const valuesOf = ({ item }: Found): Found[] =>
    names.filter(({ item: name }) => name.said.messageId === item.said.messageId && item.text.includes(name.text))
  const inStatements = new Set(statements.flatMap(valuesOf))
  return [
    ...statements.map((each) => {
      const neededAt = each.item.neededAt ?? valuesOf(each)[0]?.item.neededAt
      return neededAt === undefined ? each : { ...each, item: { ...each.item, neededAt } }
    }),
    ...names.filter((name) => !inStatements.has(name)),
  ]
}

/**
 * The items of the removed messages.
 * @param works the calls of the removed messages
 * @param worksAfter the calls after the compaction
 */
export const foundItems = (input: ReportInput, works: readonly Work[], worksAfter: readonly Work[]): FoundItems =>
  new ItemFinder(input, works, worksAfter).find()
