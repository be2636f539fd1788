/**
 * What a host's list changes. The list is held against what the conversation says: the longest part of it from the
 * front that stands there in the same order stays; what the list does not have is withdrawn; the rest of the list is
 * appended, behind what stays, so that the order is the list's.
 *
 * A tool result belongs to its call, wherever it stands. What is only shown (a view, a placeholder, a note) is no
 * message, and a message that is shown shortened is the one that it comes from. Nothing is recognized by the first
 * words of a text.
 */
import { callGroups } from '../domain/conversation/call-groups.js'
import type { MessageToAppend } from '../domain/decide/index.js'
import type { EventData } from '../domain/events/index.js'
import { hashOf } from '../domain/values/hash.js'
import { derivedMessageId } from '../domain/values/ids.js'
import { isInstruction, messageHash, toChatMessage, type NewMessage } from '../domain/values/message.js'
import { placeholderFor } from '../domain/conversation/placeholders.js'
import type { Said, SaidList } from './said-list.js'

/** What contexts that a host may have been given showed. */
export interface ShownForms {
  /** Hashes of what is only shown, and the messages that a note stands for. */
  readonly only: ReadonlyMap<string, readonly string[]>
  /** By message id: hashes of what it was shown as, other than it is. */
  readonly forms: ReadonlyMap<string, ReadonlySet<string>>
}

/** A message of the list: the one that it is, or the one that it becomes; no id for what is only shown. */
interface PlacedMessage {
  readonly messageId: string | undefined
  readonly isNew: boolean
  /** It has the content that is recorded. */
  readonly exact: boolean
}

export interface Changes {
  readonly placed: readonly PlacedMessage[]
  readonly withdraw: readonly Said[]
  readonly why: EventData<'MessagesWithdrawn'>['why']
  readonly append: readonly MessageToAppend[]
}

/** What changes where the list stands for all but `hidden`: messages that a view of the list, or a note, stands for. */
export interface ListReading {
  readonly conversationId: string
  readonly list: SaidList
  readonly shown: ShownForms
  /** Places of the list that hold a view, and no message. */
  readonly views: ReadonlySet<number>
  readonly hidden: ReadonlySet<string>
}

const chatHash = (message: NewMessage): string => hashOf(toChatMessage(message))
/** What stands in the place of a result that has not come. */
export const isPlaceholder = (message: NewMessage): boolean =>
  message.role === 'tool' &&
  message.toolCallId !== undefined &&
  chatHash(message) === hashOf(toChatMessage(placeholderFor(message.toolCallId)))

/** A message and the results of its calls, by their places. */
interface Unit {
  readonly at: number
  readonly results: readonly number[]
}

function unitsOf(bodies: readonly Said['body'][]): Unit[] {
  const { groups } = callGroups(bodies)
  const results = new Map(groups.map((group) => [group.call, group.results]))
  const placed = new Set(groups.flatMap((group) => group.results))
  return bodies.flatMap((_body, at) => (placed.has(at) ? [] : [{ at, results: results.get(at) ?? [] }]))
}

type Match = 'exact' | 'shown' | undefined

function createMatch({ list, shown }: ListReading): (message: NewMessage, said: Said) => Match {
  const taken = new Set(
    [...list.leading, ...list.rest].flatMap(({ messageId, ownId }) =>
      ownId === undefined ? [messageId] : [messageId, ownId],
    ),
  )
  const hashes = new Map<NewMessage, { readonly chat: string; readonly message: string }>()
  return (message, said) => {
    const { messageId } = message
    const isNamed = messageId !== undefined && (messageId === said.messageId || messageId === said.ownId)
    // An id that is another message's, or that this one does not have though it has one, tells them apart, whatever
    // they say.
    if (messageId !== undefined && !isNamed && (taken.has(messageId) || said.ownId !== undefined)) return undefined
    const known = hashes.get(message) ?? { chat: chatHash(message), message: messageHash(message) }
    hashes.set(message, known)
    if (known.message === said.messageHash || known.chat === said.chatHash) return 'exact'
    return shown.forms.get(said.messageId)?.has(known.chat) === true ? 'shown' : undefined
  }
}

/** The first place from one on for which something holds, or -1. */
function findFrom<A>(list: readonly A[], from: number, holds: (each: A) => boolean): number {
  for (let at = from; at < list.length; at += 1) {
    const each = list[at]
    if (each !== undefined && holds(each)) return at
  }
  return -1
}

/** Walks both sides in order: each next one of `given` is found behind the one before it, until one is not found. */
function walk<A, B>(given: readonly A[], there: readonly B[], found: (given: A, there: B) => boolean): number {
  let from = 0
  for (const [count, each] of given.entries()) {
    const at = findFrom(there, from, (other) => found(each, other))
    if (at === -1) return count
    from = at + 1
  }
  return given.length
}

/** How many of the list's first messages lead the conversation. */
function leadingLength(history: readonly NewMessage[], isShownOnly: (at: number) => boolean): number {
  const end = history.findIndex((message, at) => !isInstruction(message) || isShownOnly(at))
  return end === -1 ? history.length : end
}

/** An id that no message has: the one that was given, or that of its place, else the next one. */
function freeId(
  reading: ListReading,
  message: NewMessage,
  place: number,
  used: ReadonlySet<string>,
): Pick<MessageToAppend, 'messageId' | 'givenId'> {
  const isFree = (id: string): boolean => !reading.list.ids.has(id) && !used.has(id)
  if (message.messageId === undefined) {
    for (let at = place; ; at += 1) {
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
  const gone = [...reading.list.leading, ...rest].filter(({ messageId }) => withdrawn.has(messageId))
  if (appended.length === 0)
    return gone.length > 0 && rest.slice(-gone.length).every(({ messageId }) => withdrawn.has(messageId))
      ? 'rewound'
      : 'removed'
  const sorted = (hashes: readonly string[]): string => hashes.toSorted().join(' ')
  return sorted(gone.map((said) => said.messageHash)) === sorted(appended.map(messageHash)) ? 'reordered' : 'edited'
}

/** What a list changes, read in one way. */
export function changesOf(history: readonly NewMessage[], reading: ListReading): Changes {
  const { list, hidden, shown, views } = reading
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
  const take = (at: number, said: Said, how: Match): void => {
    placed[at] = { messageId: said.messageId, isNew: false, exact: how === 'exact' }
    stay.add(said.messageId)
  }
  const notes = new Set(
    [...shownOnly].flatMap((at) => shown.only.get(chatHash(history[at] ?? { role: 'system', content: '' })) ?? []),
  )
  const there = list.rest.filter(({ messageId }) => !hidden.has(messageId) && !notes.has(messageId))

  // Leading messages first. What of the list's instructions is none of them may be one that was said later, where all
  // before it left the list.
  const instructions = history.slice(0, leads)
  let from = 0
  let kept = 0
  for (const [at, message] of instructions.entries()) {
    const found = findFrom(list.leading, from, (said) => match(message, said) !== undefined)
    const said = list.leading[found]
    if (said === undefined) break
    take(at, said, match(message, said))
    from = found + 1
    kept += 1
  }
  const next = instructions[kept]
  const later = next !== undefined && there.some((said) => match(next, said) !== undefined)
  const newLeading = later ? [] : [...instructions.keys()].slice(kept)

  // Then all others, a call together with its results.
  const places = [...history.keys()].slice(later ? kept : leads).filter((at) => !shownOnly.has(at))
  const messageAt = (place: number): NewMessage => history[places[place] ?? -1] ?? { role: 'user', content: '' }
  const saidUnits = unitsOf(there.map(({ body }) => body))
  const fresh = new Set<number>(newLeading)
  let behind = 0
  let broken = false
  for (const unit of unitsOf(places.map((at) => history[at] ?? { role: 'user', content: '' }))) {
    const found = broken
      ? -1
      : findFrom(saidUnits, behind, ({ at }) => {
          const said = there[at]
          return said !== undefined && match(messageAt(unit.at), said) !== undefined
        })
    const same = saidUnits[found]
    const said = same === undefined ? undefined : there[same.at]
    if (same === undefined || said === undefined) {
      broken = true
      for (const place of [unit.at, ...unit.results]) fresh.add(places[place] ?? -1)
      continue
    }
    behind = found + 1
    take(places[unit.at] ?? -1, said, match(messageAt(unit.at), said))
    let result = 0
    const answers = same.results.flatMap((at) => there[at] ?? [])
    const known = walk(unit.results, answers, (place, answer) => match(messageAt(place), answer) !== undefined)
    for (const [count, place] of unit.results.entries()) {
      if (count >= known) {
        fresh.add(places[place] ?? -1)
        continue
      }
      const at = findFrom(answers, result, (answer) => match(messageAt(place), answer) !== undefined)
      const answer = answers[at]
      if (answer !== undefined) take(places[place] ?? -1, answer, match(messageAt(place), answer))
      result = at + 1
    }
  }

  const withdraw = [...list.leading, ...there].filter(({ messageId }) => !stay.has(messageId))
  const used = new Set<string>()
  const newOnes = [...fresh].toSorted((a, b) => a - b)
  const isNatural = list.appended === kept && withdraw.length === 0
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
