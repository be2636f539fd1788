/**
 * Computes the changes of a host's list. The list is compared with the recorded messages: the longest prefix of it that
 * is recorded in the same order stays; recorded messages that the list lacks are withdrawn; the rest of the list is
 * appended after them, so that the order is that of the list.
 *
 * A tool result belongs to its call, wherever it is in the list. Messages that are only shown (a view, a placeholder, a
 * note) are ignored, and a message in shortened form counts as its original. Nothing is recognized by the first words
 * of a text.
 */
import { callGroups } from '../domain/conversation/call-groups.js'
import type { MessageToAppend } from '../domain/decide/index.js'
import type { EventData } from '../domain/events/index.js'
import { hashOf } from '../domain/values/hash.js'
import { derivedMessageId } from '../domain/values/ids.js'
import { isInstruction, messageHash, toChatMessage, type NewMessage } from '../domain/values/message.js'
import { placeholderFor } from '../domain/conversation/placeholders.js'
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

/** Matches two lists in order, and returns how many needles were found, each after the previous one. */
function walk<A, B>(needles: readonly A[], haystack: readonly B[], found: (given: A, there: B) => boolean): number {
  let from = 0
  for (const [count, each] of needles.entries()) {
    const at = findFrom(haystack, from, (other) => found(each, other))
    if (at === -1) return count
    from = at + 1
  }
  return needles.length
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

/** The changes of a list, read in one way. */
export function changesOf(history: readonly NewMessage[], reading: ListReading): Changes {
  const { list, hidden, shownForms: shown, views } = reading
  const match = createMatch(reading)
  const isShownOnly = (at: number): boolean => {
    const message = history[at]
    return (
      views.has(at) ||
      (message !== undefined &&
        (isPlaceholder(message) ||
          (shown.only.has(chatHash(message)) && !list.rest.some((said) => match(message, said) === 'exact'))))
    )
  }
  const shownOnly = new Set([...history.keys()].filter(isShownOnly))
  const leads = leadingLength(history, (at) => shownOnly.has(at))
  const placed: PlacedMessage[] = history.map(() => ({ messageId: undefined, isNew: false, exact: false }))
  const stay = new Set<string>()
  const take = (at: number, source: SourceMessage, how: Match): void => {
    placed[at] = { messageId: source.messageId, isNew: false, exact: how === 'exact' }
    stay.add(source.messageId)
  }
  const notes = new Set(
    [...shownOnly].flatMap((at) => shown.only.get(chatHash(history[at] ?? { role: 'system', content: '' })) ?? []),
  )
  const candidates = list.rest.filter(({ messageId }) => !hidden.has(messageId) && !notes.has(messageId))

  // Leading messages first. An instruction of the list that is not one of them may be a later message, if the list has
  // dropped everything before it.
  const instructions = history.slice(0, leads)
  let from = 0
  let leadingCount = 0
  for (const [at, message] of instructions.entries()) {
    const found = findFrom(list.leading, from, (said) => match(message, said) !== undefined)
    const source = list.leading[found]
    if (source === undefined) break
    take(at, source, match(message, source))
    from = found + 1
    leadingCount += 1
  }
  const next = instructions[leadingCount]
  const later = next !== undefined && candidates.some((said) => match(next, said) !== undefined)
  const newLeading = later ? [] : [...instructions.keys()].slice(leadingCount)

  // Then all others, each call together with its results.
  const restIndexes = [...history.keys()].slice(later ? leadingCount : leads).filter((at) => !shownOnly.has(at))
  const messageAt = (index: number): NewMessage => history[restIndexes[index] ?? -1] ?? { role: 'user', content: '' }
  const sourceUnits = unitsOf(candidates.map(({ body }) => body))
  const fresh = new Set<number>(newLeading)
  let nextUnit = 0
  let broken = false
  for (const unit of unitsOf(restIndexes.map((at) => history[at] ?? { role: 'user', content: '' }))) {
    const found = broken
      ? -1
      : findFrom(sourceUnits, nextUnit, ({ at }) => {
          const source = candidates[at]
          return source !== undefined && match(messageAt(unit.at), source) !== undefined
        })
    const sourceUnit = sourceUnits[found]
    const source = sourceUnit === undefined ? undefined : candidates[sourceUnit.at]
    if (sourceUnit === undefined || source === undefined) {
      broken = true
      for (const index of [unit.at, ...unit.results]) fresh.add(restIndexes[index] ?? -1)
      continue
    }
    nextUnit = found + 1
    take(restIndexes[unit.at] ?? -1, source, match(messageAt(unit.at), source))
    let result = 0
    const answers = sourceUnit.results.flatMap((at) => candidates[at] ?? [])
    const known = walk(unit.results, answers, (index, answer) => match(messageAt(index), answer) !== undefined)
    for (const [count, index] of unit.results.entries()) {
      if (count >= known) {
        fresh.add(restIndexes[index] ?? -1)
        continue
      }
      const at = findFrom(answers, result, (answer) => match(messageAt(index), answer) !== undefined)
      const answer = answers[at]
      if (answer !== undefined) take(restIndexes[index] ?? -1, answer, match(messageAt(index), answer))
      result = at + 1
    }
  }

  const withdraw = [...list.leading, ...candidates].filter(({ messageId }) => !stay.has(messageId))
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
