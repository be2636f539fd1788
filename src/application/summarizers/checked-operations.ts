/**
 * Checks the changes of the working state that a model asks for: revisions exist, words and values are in the messages, an id is
 * that of an item in force, and only words of the user end or change a statement of the user. A change that fails is not
 * applied, and is recorded with the reason. Pure.
 */
import { StateEditor, type NewItem } from '../../domain/conversation/state-editor.js'
import { isEnded, newestSource } from '../../domain/conversation/working-state.js'
import {
  NO_STATE,
  type RejectedOperation,
  type StateItem,
  type StateItemKind,
  type StateOperation,
  type WorkingState,
} from '../../domain/events/index.js'
import { mentionsDay } from '../../domain/text/days.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { MessageToSummarize } from '../../ports/summarizer.js'
import { textOf, wordsOfUser } from './format-messages.js'
import type { Proposal, ProposedOperation } from './proposed-operations.js'

/** The weight of an item by its kind. */
const WEIGHTS: Readonly<Record<StateItemKind, number>> = {
  rule: 90,
  statement: 80,
  open: 75,
  decision: 70,
  progress: 68,
  value: 65,
  fact: 58,
  error: 55,
  result: 45,
  file: 45,
}

/** The applied changes, and the others. */
export interface CheckedOperations {
  readonly operations: readonly StateOperation[]
  readonly rejected: readonly RejectedOperation[]
}

const letters = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')

/** The texts and calls of a message. */
const sourceText = (message: MessageToSummarize): string =>
  [
    textOf(message.content),
    ...(message.toolCalls ?? []).map((call) => call.function?.arguments ?? JSON.stringify(call)),
  ].join('\n')

const OMITTED = /\s*(?:…|\.{3}|\[…\]|\[\.{3}\])\s*/u
const QUOTATION = /[“„«"「『]([^“”„«»"」』]{3,})[”“»"」』]/gu

/** Fewer letters are in many texts. */
const LEAST_QUOTED = 3

/** Whether the words are in some texts: all, except for omissions, or what is quoted in them. */
function isQuoted(words: string, texts: readonly string[]): boolean {
  const has = (part: string): boolean => texts.some((text) => text.includes(letters(part)))
  const parts = words.split(OMITTED).filter((part) => letters(part) !== '')
  if (parts.length > 0 && parts.every(has)) return true
  const quoted = Array.from(words.matchAll(QUOTATION), ([, quotation = '']) => quotation)
    .flatMap((quotation) => quotation.split(OMITTED))
    .filter((quotation) => letters(quotation).length >= LEAST_QUOTED)
  return quoted.length > 0 && quoted.every(has)
}

const SENTENCE_END = /(?<=[.!?。！？])\s+/u

/** Whether a text quotes whole sentences of an earlier one, and others that later texts have. */
function isJoined(text: string, before: string, later: readonly string[]): boolean {
  const earlier = new Set(before.split(SENTENCE_END).map(letters))
  const quoted = Array.from(text.matchAll(QUOTATION), ([, quotation = '']) => quotation)
  const sentences = (quoted.length > 0 ? quoted : text.split(SENTENCE_END)).filter((each) => letters(each) !== '')
  const added = sentences.filter((sentence) => !earlier.has(letters(sentence)))
  return added.length > 0 && added.length < sentences.length && added.every((sentence) => isQuoted(sentence, later))
}

/** "Yesterday" and "next Friday" are dates within this time of the message. */
const MOST_DAYS = 31
const DAY_MS = 86_400_000

const RELATIVE =
  /(?<!\p{L})(?:yesterday|today|tonight|tomorrow|last|next|ago|this (?:week|weekend|month|morning|afternoon|evening)|in \S+ (?:days|weeks)|monday|tuesday|wednesday|thursday|friday|saturday|sunday|gestern|heute|morgen|nächst\p{L}*|letzt\p{L}*|aujourd'hui|demain|ayer|hoy|mañana|próxim\p{L}*|вчера|сегодня|завтра)(?!\p{L})|昨日|今日|明日|先週|来週|先月|来月|昨天|今天|明天|上周|下周|어제|오늘|내일|지난|다음/iu

/** Whether a date may be meant by "yesterday" or "next Friday" in a message, or is its day. */
const isNear = (value: string, message: MessageToSummarize): boolean =>
  message.createdAt.startsWith(value) ||
  (/^\d{4}-\d{2}-\d{2}$/u.test(value) &&
    Math.abs(Date.parse(value) - Date.parse(message.createdAt)) <= MOST_DAYS * DAY_MS &&
    RELATIVE.test(sourceText(message)))

/** The first number of a text that neither its sources nor the item before have. A date may be written in another form. */
function inventedNumber(text: string, sources: readonly MessageToSummarize[], before: string): string | undefined {
  const texts = [before, ...sources.map(sourceText)].join('\n')
  const known = new Set(numbersIn(texts).map(({ value }) => value))
  const plain = letters(texts)
  return numbersIn(text).find(
    ({ value }) =>
      !known.has(value) &&
      !plain.includes(letters(value)) &&
      !mentionsDay(texts, value) &&
      !sources.some((source) => isNear(value, source)),
  )?.value
}

const STATEMENT_END = /(?<=[;.!?。！？])\s+/u

/** The parts of a text whose numbers are in its sources, and the first number that is not. */
function withKnownNumbers(
  text: string,
  sources: readonly MessageToSummarize[],
  before: string,
): { readonly text: string; readonly invented: string | undefined } {
  const parts = text.split(STATEMENT_END)
  const known = parts.filter((part) => inventedNumber(part, sources, before) === undefined)
  return { text: known.join(' '), invented: inventedNumber(text, sources, before) }
}

class Checker {
  readonly #editor: StateEditor
  readonly #rejected: RejectedOperation[] = []
  readonly #byRevision: ReadonlyMap<number, MessageToSummarize>
  readonly #byUser: ReadonlySet<MessageToSummarize>

  readonly #messages: readonly MessageToSummarize[]

  constructor(before: WorkingState, messages: readonly MessageToSummarize[]) {
    this.#messages = messages
    this.#editor = new StateEditor(before)
    this.#byRevision = new Map(messages.map((message) => [message.revision, message]))
    this.#byUser = wordsOfUser(messages)
  }

  get result(): CheckedOperations {
    return { operations: this.#editor.operations, rejected: this.#rejected }
  }

  take(operation: ProposedOperation): void {
    const { operation: exact, reason: left } = this.#withKnownNumbers(operation)
    const reason = exact.text === '' && left !== undefined ? left : (this.#apply(exact) ?? left)
    if (reason !== undefined) this.#rejected.push({ operation: operation.written, reason })
  }

  /** A change of an exact value without the parts that have a number of their own, and the reason if there are any. */
  #withKnownNumbers(operation: ProposedOperation): { operation: ProposedOperation; reason: string | undefined } {
    const item = this.#editor.state.items.find(({ id }) => id === operation.id)
    const kind = operation.op === 'add' ? operation.kind : item?.kind
    if (kind !== 'value' || operation.op === 'close') return { operation, reason: undefined }
    const { text, invented } = withKnownNumbers(operation.text, this.#sourcesOf(operation), item?.text ?? '')
    if (invented === undefined) return { operation, reason: undefined }
    return { operation: { ...operation, text }, reason: `${invented} is in none of its messages` }
  }

  /** The newest state replaces the one before. */
  setState(text: string, revision: number): void {
    for (const item of this.#editor.ofKind('progress')) this.#editor.drop(item)
    this.#editor.add({ kind: 'progress', by: 'agent', text, sourceRevisions: [revision], weight: WEIGHTS.progress })
  }

  #sourcesOf({ sources }: ProposedOperation): MessageToSummarize[] {
    return sources.flatMap((revision) => this.#byRevision.get(revision) ?? [])
  }

  /** Applies a change, or says why not. */
  #apply(operation: ProposedOperation): string | undefined {
    const sources = this.#sourcesOf(operation)
    const isUnsourced = sources.length === 0 && !(operation.op === 'close' && this.#hasPassed(operation))
    if (isUnsourced) return 'names no revision of these messages'
    if (operation.op === 'add') return this.#add(operation, sources)
    const item = this.#editor.state.items.find(({ id }) => id === operation.id)
    if (item === undefined) return `there is no item ${operation.id}`
    if (isEnded(item)) return `the item ${item.id} is closed already`
    if (operation.op === 'close') return this.#close(item, sources)
    if (isOfUser(item) && operation.op === 'append') return 'nothing is added to words of the user'
    const wrong = this.#wrongWords(operation.text, item.kind, sources, item.text)
    if (wrong !== undefined) return wrong
    return isOfUser(item) ? this.#replaceWords(item, operation, sources) : this.#replace(item, operation, sources)
  }

  /** Whether all revisions that a change names are before the last of these messages. */
  #hasPassed({ sources }: ProposedOperation): boolean {
    const last = this.#messages.at(-1)?.revision ?? -1
    return sources.every((revision) => revision <= last)
  }

  #add(operation: ProposedOperation, sources: readonly MessageToSummarize[]): string | undefined {
    const wrong = this.#wrongWords(operation.text, operation.kind, sources)
    if (wrong !== undefined) return wrong
    const same = letters(operation.text)
    if (this.#editor.state.items.some((item) => !isEnded(item) && letters(item.text) === same))
      return 'the document has this item'
    this.#editor.add(itemOf(operation, operation.kind, sources))
    return undefined
  }

  /** Why the words of an item do not follow from its sources. */
  #wrongWords(
    text: string,
    kind: StateItemKind,
    sources: readonly MessageToSummarize[],
    before = '',
  ): string | undefined {
    if (letters(text) === '') return 'has no text'
    if (kind === 'rule' || kind === 'statement') {
      const byUser = sources.filter((message) => this.#byUser.has(message))
      if (byUser.length === 0) return 'rests on no words of the user'
      const texts = byUser.map((source) => letters(sourceText(source)))
      if (!isQuoted(text, texts) && !isJoined(text, before, texts)) return 'has words that the user did not write'
    }
    return undefined
  }

  #close(item: StateItem, sources: readonly MessageToSummarize[]): string | undefined {
    // An item that is closed without a source is closed by the last message.
    const named = sources.length === 0 ? this.#messages.slice(-1) : sources
    const ending = isRule(item) ? sources.filter((message) => this.#byUser.has(message)) : named
    const last = Math.max(...ending.map(({ revision }) => revision), -1)
    if (last === -1) return 'only words of the user end a rule'
    if (last <= newestSource(item)) return `the revision is not after the item ${item.id}`
    this.#editor.close(item, last)
    return undefined
  }

  #replace(item: StateItem, operation: ProposedOperation, sources: readonly MessageToSummarize[]): undefined {
    const isAppended = operation.op === 'append'
    const text = isAppended ? `${item.text} ${operation.text}` : operation.text
    const {
      sourceRevisions,
      reason = item.reason,
      next = isAppended ? item.next : undefined,
    } = itemOf(operation, item.kind, sources)
    const all = [...new Set([...item.sourceRevisions, ...sourceRevisions])]
    const revisions = all.length <= MOST_SOURCES ? all : [...all.slice(0, 1), ...all.slice(1 - MOST_SOURCES)]
    this.#editor.replace(item, { text, sourceRevisions: revisions, ...withoutUndefined({ reason, next }) })
  }

  /** Later words of the user in place of earlier ones, which stay in the log, ended by them. */
  #replaceWords(
    item: StateItem,
    operation: ProposedOperation,
    sources: readonly MessageToSummarize[],
  ): string | undefined {
    const words = sources.filter((message) => this.#byUser.has(message))
    const last = Math.max(...words.map(({ revision }) => revision), -1)
    if (last <= newestSource(item)) return `the words are not after the item ${item.id}`
    const added = this.#editor.add(itemOf(operation, item.kind, words))
    this.#editor.correct(item, added)
    this.#editor.close(item, last)
    return undefined
  }
}

/** An item that is replaced often keeps its first source and the newest ones. */
const MOST_SOURCES = 6

const isOfUser = ({ kind }: StateItem): boolean => kind === 'rule' || kind === 'statement'
/** A statement with less weight is a request, which ends when it is done. */
const isRule = ({ kind, weight }: StateItem): boolean =>
  kind === 'rule' || (kind === 'statement' && weight >= WEIGHTS.statement)

function itemOf(
  { text, reason, next }: ProposedOperation,
  kind: StateItemKind,
  sources: readonly MessageToSummarize[],
): NewItem {
  const ordered = sources.toSorted((a, b) => a.revision - b.revision)
  return {
    kind,
    by: kind === 'rule' || kind === 'statement' ? 'user' : kind === 'result' ? 'tool' : 'agent',
    text,
    sourceRevisions: ordered.map(({ revision }) => revision),
    weight: WEIGHTS[kind],
    ...(reason === '' ? {} : { reason }),
    ...(next === '' ? {} : { next }),
    ...(ordered[0] === undefined ? {} : { day: ordered[0].createdAt.slice(0, 10) }),
  }
}

/**
 * The changes of a proposal that follow from the messages.
 * @param before the working state before the messages
 */
export function checkedOperations(
  proposal: Proposal,
  messages: readonly MessageToSummarize[],
  before: WorkingState = NO_STATE,
): CheckedOperations {
  const checker = new Checker(before, messages)
  for (const operation of proposal.operations) checker.take(operation)
  const last = messages.at(-1)
  if (last !== undefined && proposal.state !== '') checker.setState(proposal.state, last.revision)
  return checker.result
}
