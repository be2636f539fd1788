/**
 * Computes the changes of a host's list. The list is compared with the recorded messages: the longest prefix of it that
 * is recorded in the same order stays; recorded messages that the list lacks are withdrawn; the rest of the list is
 * appended after them, so that the order is that of the list.
 *
 * A tool result belongs to its call, wherever it is in the list. Messages that are only shown (a view, a placeholder, a
 * note) are ignored, and a message in shortened form counts as its original. Nothing is recognized by the first words
 * of a text.
 */
import { callGroups } from '../../domain/conversation/call-groups.js'
import type { MessageToAppend } from '../../domain/decide/index.js'
import type { EventData } from '../../domain/events/index.js'
import { hashOf } from '../../domain/values/hash.js'
import { derivedMessageId } from '../../domain/values/ids.js'
import { isInstruction, messageHash, toChatMessage, type NewMessage } from '../../domain/values/message.js'
import { placeholderFor } from '../../domain/conversation/placeholders.js'
import type { SourceMessage, SourceList } from './source-list.js'

/** The forms that a context given to the host may have shown. */
export interface ShownForms {
  /** Hashes of messages that are only shown, with the messages that a note replaces. */
  readonly only: ReadonlyMap<string, readonly string[]>
  /** By message id: hashes of the other forms in which it was shown. */
  readonly forms: ReadonlyMap<string, ReadonlySet<string>>
}

/** A message of the list, with the id of the recorded or new message; no id if it is only shown. */
interface PlacedMessage {
  readonly messageId: string | undefined
  readonly isNew: boolean
  /** It has the recorded content. */
  readonly exact: boolean
}

export interface Changes {
  readonly placed: readonly PlacedMessage[]
  readonly withdraw: readonly SourceMessage[]
  readonly why: EventData<'MessagesWithdrawn'>['why']
  readonly append: readonly MessageToAppend[]
}

/** One way to read the list. `hidden` are the messages that a view of the list, or a note, replaces. */
export interface ListReading {
  readonly conversationId: string
  readonly list: SourceList
  readonly shownForms: ShownForms
  /** Indexes of the list that contain a view instead of a message. */
  readonly views: ReadonlySet<number>
  readonly hidden: ReadonlySet<string>
}

const chatHash = (message: NewMessage): string => hashOf(toChatMessage(message))
/** A message shown for a result that has not arrived. */
export const isPlaceholder = (message: NewMessage): boolean =>
  message.role === 'tool' &&
  message.toolCallId !== undefined &&
  chatHash(message) === hashOf(toChatMessage(placeholderFor(message.toolCallId)))

/** A message and the results of its calls, by index. */
interface Unit {
  readonly at: number
  readonly results: readonly number[]
}

function unitsOf(bodies: readonly SourceMessage['body'][]): Unit[] {
  const { groups } = callGroups(bodies)
  const results = new Map(groups.map((group) => [group.call, group.results]))
  const placed = new Set(groups.flatMap((group) => group.results))
  return bodies.flatMap((_body, at) => (placed.has(at) ? [] : [{ at, results: results.get(at) ?? [] }]))
}

type Match = 'exact' | 'shown' | undefined

function createMatch({ list, shownForms: shown }: ListReading): (message: NewMessage, source: SourceMessage) => Match {
  const knownIds = new Set(
    [...list.leading, ...list.rest].flatMap(({ messageId, hostId: ownId }) =>
      ownId === undefined ? [messageId] : [messageId, ownId],
    ),
  )
  const hashes = new Map<NewMessage, { readonly chat: string; readonly message: string }>()
  return (message, said) => {
    const { messageId } = message
    const isNamed = messageId !== undefined && (messageId === said.messageId || messageId === said.hostId)
    // An id that belongs to another message, or that differs from this one's, means another message, whatever the text.
    if (messageId !== undefined && !isNamed && (knownIds.has(messageId) || said.hostId !== undefined)) return undefined
    const known = hashes.get(message) ?? { chat: chatHash(message), message: messageHash(message) }
    hashes.set(message, known)
    if (known.message === said.messageHash || known.chat === said.chatHash) return 'exact'
    const isShown = said.shownHashes.includes(known.chat) || shown.forms.get(said.messageId)?.has(known.chat) === true
    return isShown ? 'shown' : undefined
  }
}

/** The index of the first matching element from a start index, or -1. */
function findFrom<A>(list: readonly A[], from: number, holds: (each: A) => boolean): number {
  for (let at = from; at < list.length; at += 1) {
    const each = list[at]
    if (each !== undefined && holds(each)) return at
  }
  return -1
}

/** The number of leading messages at the start of the list. */
function leadingLength(history: readonly NewMessage[], isShownOnly: (at: number) => boolean): number {
  const end = history.findIndex((message, at) => !isInstruction(message) || isShownOnly(at))
  return end === -1 ? history.length : end
}

/** A free id for a new message: the given one, or that of its index, or else the next free one. */
function freeId(
  reading: ListReading,
  message: NewMessage,
  index: number,
  used: ReadonlySet<string>,
): Pick<MessageToAppend, 'messageId' | 'givenId'> {
  const isFree = (id: string): boolean => !reading.list.ids.has(id) && !used.has(id)
  if (message.messageId === undefined) {
    for (let at = index; ; at += 1) {
      const id = derivedMessageId(reading.conversationId, at)
      if (isFree(id)) return { messageId: id }
    }
  }
  if (isFree(message.messageId)) return { messageId: message.messageId }
  for (let time = 2; ; time += 1) {
    const id = `${message.messageId}~${String(time)}`
    if (isFree(id)) return { messageId: id, givenId: message.messageId }
  }
}

function whyOf(reading: ListReading, withdrawn: ReadonlySet<string>, appended: readonly NewMessage[]): Changes['why'] {
  const rest = reading.list.rest.filter(({ messageId }) => !reading.hidden.has(messageId))
  const withdrawnMessages = [...reading.list.leading, ...rest].filter(({ messageId }) => withdrawn.has(messageId))
  if (appended.length === 0)
    return withdrawnMessages.length > 0 &&
      rest.slice(-withdrawnMessages.length).every(({ messageId }) => withdrawn.has(messageId))
      ? 'rewound'
      : 'removed'
  const sorted = (hashes: readonly string[]): string => hashes.toSorted().join(' ')
  return sorted(withdrawnMessages.map((said) => said.messageHash)) === sorted(appended.map(messageHash))
    ? 'reordered'
    : 'edited'
}

/** Stands for an index that the list does not have. */
const NO_MESSAGE: NewMessage = { role: 'user', content: '' }

/** Matches the messages of a list with the recorded ones, in order. */
class Alignment {
  readonly placed: PlacedMessage[]
  /** Ids of the recorded messages that the list contains. */
  readonly stay = new Set<string>()
  /** Indexes of the list's new messages. */
  readonly fresh = new Set<number>()
  /** Indexes of the list that contain a view, a placeholder or a note instead of a message. */
  readonly shownOnly: ReadonlySet<number>
  /** Recorded messages after the leading ones that the list may contain. */
  readonly candidates: readonly SourceMessage[]
  readonly #match: (message: NewMessage, source: SourceMessage) => Match

  constructor(
    readonly history: readonly NewMessage[],
    readonly reading: ListReading,
  ) {
    this.#match = createMatch(reading)
    this.placed = history.map(() => ({ messageId: undefined, isNew: false, exact: false }))
    this.shownOnly = new Set([...history.keys()].filter((at) => this.#isShownOnly(at)))
    const { list, hidden, shownForms } = reading
    const notes = new Set([...this.shownOnly].flatMap((at) => shownForms.only.get(chatHash(this.#messageAt(at))) ?? []))
    this.candidates = list.rest.filter(({ messageId }) => !hidden.has(messageId) && !notes.has(messageId))
  }

  #messageAt(at: number): NewMessage {
    return this.history[at] ?? NO_MESSAGE
  }

  #isShownOnly(at: number): boolean {
    const { list, shownForms, views } = this.reading
    const message = this.history[at]
    if (views.has(at) || message === undefined) return views.has(at)
    return (
      isPlaceholder(message) ||
      (shownForms.only.has(chatHash(message)) && !list.rest.some((source) => this.#match(message, source) === 'exact'))
    )
  }

  #keep(at: number, source: SourceMessage): void {
    const isExact = this.#match(this.#messageAt(at), source) === 'exact'
    this.placed[at] = { messageId: source.messageId, isNew: false, exact: isExact }
    this.stay.add(source.messageId)
  }

  /** Matches leading messages, and returns how many of the list's first messages are recorded as such. */
  matchLeading(instructions: readonly NewMessage[]): number {
    let from = 0
    for (const [at, message] of instructions.entries()) {
      const found = findFrom(this.reading.list.leading, from, (source) => this.#match(message, source) !== undefined)
      const source = this.reading.list.leading[found]
      if (source === undefined) return at
      this.#keep(at, source)
      from = found + 1
    }
    return instructions.length
  }

  /** Whether the message is recorded after the leading ones. */
  isLater(message: NewMessage): boolean {
    return this.candidates.some((source) => this.#match(message, source) !== undefined)
  }

  /** Matches the messages at these indexes, each call together with its results. */
  matchRest(indexes: readonly number[]): void {
    const units = unitsOf(indexes.map((at) => this.#messageAt(at)))
    const sourceUnits = unitsOf(this.candidates.map(({ body }) => body))
    let nextUnit = 0
    let broken = false
    for (const unit of units) {
      const at = indexes[unit.at] ?? -1
      const results = unit.results.map((index) => indexes[index] ?? -1)
      const found = broken ? -1 : findFrom(sourceUnits, nextUnit, (each) => this.#matches(at, this.candidates[each.at]))
      const sourceUnit = sourceUnits[found]
      const source = sourceUnit === undefined ? undefined : this.candidates[sourceUnit.at]
      if (sourceUnit === undefined || source === undefined) {
        broken = true
        for (const index of [at, ...results]) this.fresh.add(index)
        continue
      }
      nextUnit = found + 1
      this.#keep(at, source)
      this.#matchResults(
        results,
        sourceUnit.results.flatMap((each) => this.candidates[each] ?? []),
      )
    }
  }

  #matches(at: number, source: SourceMessage | undefined): boolean {
    return source !== undefined && this.#match(this.#messageAt(at), source) !== undefined
  }

  /** Matches the results of a call in order. The first one that is not recorded, and all after it, are new. */
  #matchResults(results: readonly number[], answers: readonly SourceMessage[]): void {
    let from = 0
    for (const [count, at] of results.entries()) {
      const found = findFrom(answers, from, (answer) => this.#matches(at, answer))
      const answer = answers[found]
      if (answer === undefined) {
        for (const index of results.slice(count)) this.fresh.add(index)
        return
      }
      this.#keep(at, answer)
      from = found + 1
    }
  }
}

/** The changes of a list, read in one way. */
export function changesOf(history: readonly NewMessage[], reading: ListReading): Changes {
  const { list } = reading
  const alignment = new Alignment(history, reading)
  const { placed, shownOnly, fresh, candidates } = alignment
  const leads = leadingLength(history, (at) => shownOnly.has(at))

  // Leading messages first. An instruction of the list that is not one of them may be a later message, if the list has
  // dropped everything before it.
  const instructions = history.slice(0, leads)
  const leadingCount = alignment.matchLeading(instructions)
  const next = instructions[leadingCount]
  const later = next !== undefined && alignment.isLater(next)
  const newLeading = later ? [] : [...instructions.keys()].slice(leadingCount)
  for (const at of newLeading) fresh.add(at)
  alignment.matchRest([...history.keys()].slice(later ? leadingCount : leads).filter((at) => !shownOnly.has(at)))

  const withdraw = [...list.leading, ...candidates].filter(({ messageId }) => !alignment.stay.has(messageId))
  const used = new Set<string>()
  const newOnes = [...fresh].toSorted((a, b) => a - b)
  const isNatural = list.appended === leadingCount && withdraw.length === 0
  const append = newOnes.flatMap((at, count): MessageToAppend[] => {
    const message = history[at]
    if (message === undefined) return []
    const id = freeId(reading, message, list.appended + count, used)
    used.add(id.messageId ?? '')
    placed[at] = { messageId: id.messageId, isNew: true, exact: true }
    return [{ ...message, ...id, ...(newLeading.includes(at) && !isNatural ? { leads: true as const } : {}) }]
  })
  return {
    placed,
    withdraw,
    append,
    why: whyOf(
      reading,
      new Set(withdraw.map(({ messageId }) => messageId)),
      newOnes.flatMap((at) => history[at] ?? []),
    ),
  }
}
