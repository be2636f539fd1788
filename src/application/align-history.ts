/**
 * Which messages of a history that a host hands over are new. A host may keep what `compress` returned, or its whole history, with ids or
 * without: what was recorded is recognized by its id, else by its content at its place, and what is only shown (the view, a placeholder,
 * a shortened text) by what was shown. Nothing is recognized by the first words of a text.
 */
import type { Context } from '../domain/context.js'
import type { Conversation, LiveMessage } from '../domain/conversation.js'
import { hashOf } from '../domain/hash.js'
import { sameMessage, toChatMessage, type NewMessage } from '../domain/message.js'

/** A message of the history, and the recorded one that it is, where it is one. */
export interface Aligned {
  readonly message: NewMessage
  readonly messageId: string | undefined
  readonly isNew: boolean
}

/** What a place of the history has to be like: a shown message, and the recorded one behind it. */
export interface Expected {
  readonly chatHash: string
  readonly live: LiveMessage | undefined
}

/** What the conversation showed right after the prune that made this view, and every message since; undefined where no prune made it. */
export type ShownSince = (view: string) => Promise<readonly Expected[] | undefined>

const chatHash = (message: NewMessage): string => hashOf(toChatMessage(message))

/** A recorded message at its place. */
export const expectRecorded = (live: LiveMessage): Expected => ({ chatHash: hashOf(toChatMessage(live)), live })

/** What a context shows, place by place. */
export function expectShown(state: Conversation, context: Context): Expected[] {
  const live = new Map([...state.leading, ...state.kept, ...state.window].map((message) => [message.messageId, message]))
  return context.messages.map((message, at) => {
    const id = context.messageIds[at]
    return { chatHash: hashOf(message), live: id === undefined ? undefined : live.get(id) }
  })
}

const matches = (message: NewMessage, expected: Expected): boolean =>
  (message.messageId !== undefined && message.messageId === expected.live?.messageId) ||
  (expected.live !== undefined && sameMessage(message, expected.live)) ||
  chatHash(message) === expected.chatHash

/** Whether all of `pattern` stands in the history from `at` on. */
function standsAt(history: readonly NewMessage[], pattern: readonly Expected[], at: number): boolean {
  if (pattern.length === 0 || at < 0 || at + pattern.length > history.length) return false
  return pattern.every((expected, offset) => { const message = history[at + offset]; return message !== undefined && matches(message, expected) })
}

/** The first place at which all of `pattern` stands in a row, or -1. */
function findRun(history: readonly NewMessage[], pattern: readonly Expected[]): number {
  for (let at = 0; at + pattern.length <= history.length; at += 1) if (standsAt(history, pattern, at)) return at
  return -1
}

interface Run {
  readonly pattern: readonly Expected[]
  readonly at: number
}

/**
 * Where the history has what the conversation shows or has recorded, or undefined. A host keeps what it was given, or everything: these
 * two places are looked at first, because messages that repeat ("go on", "ok") stand in a row at other places as well.
 */
function findKnown(history: readonly NewMessage[], state: Conversation, context: Context): Run | undefined {
  const shown = expectShown(state, context)
  const before = new Set([...state.leading, ...state.kept])
  const first = shown.findIndex(({ live }, at) => at !== context.viewAt && (live === undefined || !before.has(live)))
  const recorded = state.window.map(expectRecorded)
  if (standsAt(history, shown, 0)) return { pattern: shown, at: 0 }
  const behindAll = state.messagesAppended - recorded.length
  if (standsAt(history, recorded, behindAll)) return { pattern: recorded, at: behindAll }
  for (const pattern of [first === -1 ? [] : shown.slice(first), recorded]) {
    const at = pattern.length === 0 ? -1 : findRun(history, pattern)
    if (at !== -1) return { pattern, at }
  }
  return undefined
}

/** Says of each message of a history whether it is new. */
export async function alignHistory(history: readonly NewMessage[], state: Conversation, context: Context, shownSince: ShownSince): Promise<Aligned[]> {
  const shownIds = new Map(context.messages.map((message, at) => [hashOf(message), context.messageIds[at]]))
  const known = (message: NewMessage): Aligned => ({ message, messageId: message.messageId ?? shownIds.get(chatHash(message)), isNew: false })
  if (state.messagesAppended === 0) return history.map((message) => ({ message, messageId: message.messageId, isNew: true }))
  const run = findKnown(history, state, context)
  if (run === undefined) return inOrder(history, state, context, shownSince)
  return history.map((message, index): Aligned => {
    const expected = run.pattern[index - run.at]
    if (index >= run.at + run.pattern.length) return { message, messageId: message.messageId, isNew: true }
    return expected === undefined ? known(message) : { message, messageId: expected.live?.messageId, isNew: false }
  })
}

/**
 * The host's list and ours differ (it kept an older context, somebody else appended too, or it dropped something): go by ids, and by
 * content in order. From a view on, whichever prune made it, the order is that of the context it belonged to and of what came since.
 */
async function inOrder(history: readonly NewMessage[], state: Conversation, context: Context, shownSince: ShownSince): Promise<Aligned[]> {
  const onlyShown = new Set(context.messages.filter((_message, at) => context.messageIds[at] === undefined).map((message) => hashOf(message)))
  const aligned: Aligned[] = []
  let line: readonly Expected[] = [...state.leading, ...state.kept, ...state.window].map(expectRecorded)
  let from = 0
  for (const message of history) {
    const mayBeView = message.messageId === undefined && message.role === 'system' && typeof message.content === 'string'
    const earlier = mayBeView && typeof message.content === 'string' ? await shownSince(message.content) : undefined
    if (earlier !== undefined) {
      line = earlier
      from = 0
    }
    const at = line.findIndex((expected, index) => index >= from && matches(message, expected))
    if (at !== -1) {
      from = at + 1
      aligned.push({ message, messageId: line[at]?.live?.messageId, isNew: false })
    } else aligned.push({ message, messageId: message.messageId, isNew: message.messageId !== undefined || !onlyShown.has(chatHash(message)) })
  }
  // What stands before the last recorded message cannot be new: it left the window before, and is in the log.
  const last = aligned.findLastIndex((entry) => entry.messageId !== undefined && !entry.isNew)
  return aligned.map((entry, at) => (at < last && entry.message.messageId === undefined ? { ...entry, isNew: false } : entry))
}
