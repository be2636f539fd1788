/**
 * Checks the changes of the working state that a model asks for: revisions exist, words and values are in the messages, an id is
 * that of an item in force, and only words of the user end or change what the user said. A change that fails is not
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
import { authorOfMessage } from '../../domain/text/authorship.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { refusalIn } from '../../domain/text/refusals.js'
import type { MessageToSummarize } from '../../ports/summarizer.js'
import { textOf } from './format-messages.js'
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

/** Whether the user speaks in a message: in words, or in the result of a call that the user refused or answered. */
const isByUser = (message: MessageToSummarize): boolean =>
  authorOfMessage(message) === 'user' || (message.role === 'tool' && refusalIn(textOf(message.content)) !== undefined)

const OMITTED = /\s*(?:…|\.{3}|\[…\]|\[\.{3}\])\s*/u
const QUOTATION = /[“„«"「『]([^“”„«»"」』]{3,})[”“»"」』]/gu

/** Whether the words are in a text: all, except for omissions, or what is quoted in them. */
function isQuoted(words: string, from: string): boolean {
  const has = (part: string): boolean => from.includes(letters(part))
  const parts = words.split(OMITTED).filter((part) => letters(part) !== '')
  if (parts.length > 0 && parts.every(has)) return true
  const quoted = Array.from(words.matchAll(QUOTATION), ([, quotation = '']) => quotation)
  return quoted.length > 0 && letters(quoted.join('')).length * 2 >= letters(words).length && quoted.every(has)
}

/** The first number of a text that its sources lack. */
function inventedNumber(text: string, sources: readonly MessageToSummarize[]): string | undefined {
  const given = sources.map(sourceText).join('\n')
  const known = new Set(numbersIn(given).map(({ value }) => value))
  const plain = letters(given)
  return numbersIn(text).find(({ value }) => !known.has(value) && !plain.includes(letters(value)))?.value
}

class Checker {
  readonly #editor: StateEditor
  readonly #rejected: RejectedOperation[] = []
  readonly #byRevision: ReadonlyMap<number, MessageToSummarize>

  constructor(before: WorkingState, messages: readonly MessageToSummarize[]) {
    this.#editor = new StateEditor(before)
    this.#byRevision = new Map(messages.map((message) => [message.revision, message]))
  }

  get result(): CheckedOperations {
    return { operations: this.#editor.operations, rejected: this.#rejected }
  }

  take(operation: ProposedOperation): void {
    const reason = this.#apply(operation)
    if (reason !== undefined) this.#rejected.push({ operation: operation.written, reason })
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
    if (sources.length === 0) return 'names no revision of these messages'
    if (operation.op === 'add') return this.#add(operation, sources)
    const item = this.#editor.state.items.find(({ id }) => id === operation.id)
    if (item === undefined) return `there is no item ${operation.id}`
    if (isEnded(item)) return `the item ${item.id} is closed already`
    return operation.op === 'close' ? this.#close(item, sources) : this.#replace(item, operation, sources)
  }

  #add(operation: ProposedOperation, sources: readonly MessageToSummarize[]): string | undefined {
    const wrong = this.#wrongWords(operation, operation.kind, sources)
    if (wrong !== undefined) return wrong
    const same = letters(operation.text)
    if (this.#editor.state.items.some((item) => !isEnded(item) && letters(item.text) === same))
      return 'the document has this item'
    this.#editor.add(itemOf(operation, operation.kind, sources))
    return undefined
  }

  /** Why the words of an item do not follow from its sources. */
  #wrongWords(
    { text }: ProposedOperation,
    kind: StateItemKind,
    sources: readonly MessageToSummarize[],
  ): string | undefined {
    if (letters(text) === '') return 'has no text'
    if (kind === 'rule' || kind === 'statement') {
      const said = sources.filter(isByUser)
      if (said.length === 0) return 'rests on no words of the user'
      if (!said.some((message) => isQuoted(text, letters(sourceText(message)))))
        return 'has words that the user did not write'
    }
    const invented = kind === 'value' ? inventedNumber(text, sources) : undefined
    return invented === undefined ? undefined : `${invented} is in none of its messages`
  }

  #close(item: StateItem, sources: readonly MessageToSummarize[]): string | undefined {
    const ending = isOfUser(item) ? sources.filter(isByUser) : sources
    const last = Math.max(...ending.map(({ revision }) => revision), -1)
    if (last === -1) return 'only words of the user end what the user said'
    if (last <= newestSource(item)) return `the revision is not after the item ${item.id}`
    this.#editor.close(item, last)
    return undefined
  }

  #replace(item: StateItem, operation: ProposedOperation, sources: readonly MessageToSummarize[]): string | undefined {
    const wrong = this.#wrongWords(operation, item.kind, sources)
    if (wrong !== undefined) return wrong
    if (!isOfUser(item)) {
      const { kind: _kind, by: _by, weight: _weight, day: _day, ...words } = itemOf(operation, item.kind, sources)
      const sourceRevisions = [...new Set([...item.sourceRevisions, ...words.sourceRevisions])].slice(-MOST_SOURCES)
      this.#editor.replace(item, { ...words, sourceRevisions })
      return undefined
    }
    // The earlier words stay in the log of the document, ended by the later ones.
    const added = this.#editor.add(itemOf(operation, item.kind, sources))
    this.#editor.correct(item, added)
    this.#editor.close(item, newestSource(added))
    return undefined
  }
}

/** An item that is replaced often keeps its newest sources. */
const MOST_SOURCES = 6

const isOfUser = ({ kind }: StateItem): boolean => kind === 'rule' || kind === 'statement'

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
