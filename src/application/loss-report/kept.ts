/**
 * Counts the items that several compactions of the same messages keep. Every compaction is measured against the same
 * items: those of the messages that at least one of the compactions removed from its context. So the totals are equal,
 * and the shares can be compared. An item is searched in the summaries that the context shows and in the messages that
 * it shows whole.
 */
import { createJudge, type Judgement } from './judge.js'
import { finderOf, squash } from './find-text.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import { itemsOf, type Item } from './items.js'
import { linesOf, remainingPassages, summaryPassages } from './passages.js'
import type { ReportInput, ReportMessage } from './report-input.js'
import { isSpoken, spokenSentences } from '../../domain/text/speech.js'
import { tellingTerms } from './stretches.js'
import { worksOf, type Work } from './tool-calls.js'
import { isOpenItem } from '../../domain/text/cues.js'

/** The kinds of items, in the order in which reports show them. */
export const KEPT_KINDS = [
  'names',
  'numbers',
  'paths',
  'commands',
  'constraints',
  'requests',
  'decisions',
  'openItems',
] as const
/** A kind of item that a context can keep. */
export type KeptKind = (typeof KEPT_KINDS)[number]

/** Names of the kinds in headings. */
export const KIND_NAMES: Readonly<Record<KeptKind, string>> = {
  names: 'names',
  numbers: 'numbers',
  paths: 'paths',
  commands: 'commands',
  constraints: 'constraints',
  requests: 'requests',
  decisions: 'decisions',
  openItems: 'open items',
}

/** Counts of one kind: kept, partial, lost and unknown items add up to `total`. */
export interface KeptCount {
  /** Items in the removed messages; the same for every compaction. */
  readonly total: number
  /** Items that the context has in full. */
  readonly kept: number
  /** Items of which the context has a part. */
  readonly partial: number
  /** Items of which the context has nothing. */
  readonly lost: number
  /** Items that may be in the context in other words. */
  readonly unknown: number
}

/** How many items of each kind a context keeps. */
export type KeptCounts = Readonly<Record<KeptKind, KeptCount>>

/** One compaction: the text of the summaries in its context, and the ids of the messages that it shows whole. */
export interface CompactedContext {
  readonly summaryText: string
  readonly shownIds: ReadonlySet<string>
}

/** The kinds of the loss report; errors, which few contexts need, are not counted. */
const KIND_OF: Readonly<Record<ItemKind, KeptKind | undefined>> = {
  identifier: 'names',
  number: 'numbers',
  file: 'paths',
  constraint: 'constraints',
  refusal: 'constraints',
  request: 'requests',
  statement: 'requests',
  decision: 'decisions',
  task: 'openItems',
  openCall: 'openItems',
  subAgent: 'openItems',
  error: undefined,
}

/** A sentence of fewer telling words cannot be found again. */
const LEAST_TERMS = 3
const MOST_SENTENCE_CHARACTERS = 360
/** Letters and digits of a command that a summary has to show: a longer command is a script. */
const MOST_COMMAND_LETTERS = 80
/** The beginning of a command: its program and first arguments. */
const COMMAND_BEGINNING = 24
const LEAST_COMMAND_LETTERS = 4

/** Sentences that name work which is still to be done. */
function openSentences(messages: readonly ReportMessage[]): Item[] {
  const items = new Map<string, Item>()
  for (const message of messages) {
    if (message.role === 'tool' || message.byProgram === true) continue
    for (const text of spokenSentences(message.ownText).filter(isSpoken)) {
      const key = text.toLowerCase().replaceAll(/\s+/gu, ' ')
      if (items.has(key) || text.length > MOST_SENTENCE_CHARACTERS || !isOpenItem(text)) continue
      if (tellingTerms(text).length < LEAST_TERMS) continue
      items.set(key, { kind: 'openCall', key, text, message, mentions: 1 })
    }
  }
  return [...items.values()]
}

/** The distinct shell commands of these calls, as letters and digits, each with the first message that runs it. */
function commandsOf(works: readonly Work[]): ReadonlyMap<string, string> {
  const commands = new Map<string, string>()
  for (const { query, by } of works) {
    const letters = squash(query.subject).slice(0, MOST_COMMAND_LETTERS)
    if (query.use === 'shell' && letters.length >= LEAST_COMMAND_LETTERS && !commands.has(letters))
      commands.set(letters, by.messageId)
  }
  return commands
}

type Verdict = Judgement['verdict']

/** Finds commands in a context. */
function commandJudge(input: ReportInput): (letters: string) => Verdict {
  const find = finderOf([...summaryPassages(linesOf(input)), ...remainingPassages(input.remaining)])
  return (letters) => {
    if (find(letters) !== undefined) return 'kept'
    return letters.length > COMMAND_BEGINNING && find(letters.slice(0, COMMAND_BEGINNING)) !== undefined
      ? 'partial'
      : 'lost'
  }
}

function countsOf(verdicts: ReadonlyMap<KeptKind, readonly Verdict[]>): KeptCounts {
  const counts = (kind: KeptKind): KeptCount => {
    const all = verdicts.get(kind) ?? []
    const of = (wanted: Verdict): number => all.filter((verdict) => verdict === wanted).length
    return { total: all.length, kept: of('kept'), partial: of('partial'), lost: of('lost'), unknown: of('unknown') }
  }
  return recordOf(counts)
}

const recordOf = (counts: (kind: KeptKind) => KeptCount): KeptCounts =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- there is an entry for each kind
  Object.fromEntries(KEPT_KINDS.map((kind) => [kind, counts(kind)])) as unknown as KeptCounts

/**
 * Measures compactions of the same messages against the same items.
 * @param messages all messages of the conversation, in their order
 * @returns the counts of each context, in the order of `contexts`
 */
export function keptOf(messages: readonly ReportMessage[], contexts: readonly CompactedContext[]): KeptCounts[] {
  const removed = messages.filter(({ messageId }) => contexts.some(({ shownIds }) => !shownIds.has(messageId)))
  const works = worksOf(removed)
  const items = [...itemsOf(removed, works, []), ...openSentences(removed)]
  const commands = commandsOf(works)
  return contexts.map(({ summaryText, shownIds }) => {
    const input: ReportInput = {
      removed,
      remaining: messages.filter(({ messageId }) => shownIds.has(messageId)),
      summary: { kind: 'text', text: summaryText },
      before: messages,
      after: [],
    }
    // A message that is shown whole has all its items; the judges search only the items of other messages.
    const [judge, judgeCommand] = [createJudge(input, items), commandJudge(input)]
    const verdicts = new Map<KeptKind, Verdict[]>([
      ['commands', Array.from(commands, ([letters, by]) => (shownIds.has(by) ? 'kept' : judgeCommand(letters)))],
    ])
    for (const item of items) {
      const kind = KIND_OF[item.kind]
      if (kind === undefined) continue
      const known = verdicts.get(kind) ?? []
      known.push(shownIds.has(item.message.messageId) ? 'kept' : judge(item).verdict)
      verdicts.set(kind, known)
    }
    return countsOf(verdicts)
  })
}

/** The counts of several conversations together. */
export const sumKept = (all: readonly KeptCounts[]): KeptCounts =>
  recordOf((kind) => {
    const sum = (of: keyof KeptCount): number => all.reduce((total, counts) => total + counts[kind][of], 0)
    return {
      total: sum('total'),
      kept: sum('kept'),
      partial: sum('partial'),
      lost: sum('lost'),
      unknown: sum('unknown'),
    }
  })
