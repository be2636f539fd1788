/** What a host may have been given: contexts show some messages shortened, and some that are recorded nowhere. */
import type { Context } from '../domain/compaction/context.js'
import { shortenMessage } from '../domain/compaction/shorten.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import { compactedCallResult } from '../domain/conversation/placeholders.js'
import { hashOf } from '../domain/values/hash.js'
import { messageHash, toChatMessage, type NewMessage } from '../domain/values/message.js'
import { defaultEstimator } from '../domain/values/tokens.js'
import type { ShownForms } from './align-history.js'

/** The messages of the context that no batch covers. */
export const liveOf = ({ leading, retained, window }: Conversation): LiveMessage[] => [
  ...leading,
  ...retained,
  ...window,
]

/** What a context showed that is recorded otherwise, or not at all: by hashes. */
export interface HandedOut {
  readonly only: readonly (readonly [string, readonly string[]])[]
  readonly forms: readonly (readonly [string, string])[]
}

export function handedOutBy(context: Context, state: Conversation): HandedOut {
  const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
  const leftOut = context.shortened?.flatMap(({ id, how }) => (how === 'left-out' ? [id] : [])) ?? []
  const only: (readonly [string, readonly string[]])[] = []
  const forms: (readonly [string, string])[] = []
  for (const [at, message] of context.messages.entries()) {
    const id = context.messageIds[at]
    const hash = hashOf(message)
    const recorded = id === undefined ? undefined : live.get(id)
    // The view has its own place in the list; a note stands for what is left out.
    if (id === undefined) only.push([hash, at === context.viewAt ? [] : leftOut])
    else if (recorded !== undefined && hashOf(toChatMessage(recorded)) !== hash) forms.push([id, hash])
  }
  return { only, forms }
}

const SMALLEST_CAP = 64
const LARGEST_CAP = 2 ** 20

/** A message as contexts show it where there is little room, whichever of them it was: the caps are powers of two. */
function shortForms(message: LiveMessage, state: Conversation): string[] {
  const estimator =
    state.configuration === undefined ? defaultEstimator : state.findEstimator(state.configuration.estimator)
  const bodies =
    message.role === 'tool'
      ? [message, compactedCallResult(message, state.compactedCalls, state.configuration?.rendererVersion ?? 0)]
      : [message]
  const hashes: string[] = bodies.slice(1).map((body) => hashOf(toChatMessage(body)))
  if (message.tokens <= SMALLEST_CAP) return hashes
  for (let cap = SMALLEST_CAP; cap < Math.min(LARGEST_CAP, message.tokens); cap *= 2) {
    for (const body of bodies)
      hashes.push(hashOf(toChatMessage(shortenMessage(body, cap, `message ${message.messageId}`, estimator))))
  }
  return hashes
}

export function formsOf(shown: readonly HandedOut[], state: Conversation, history: readonly NewMessage[]): ShownForms {
  const only = new Map(shown.flatMap((each) => each.only))
  const forms = new Map<string, Set<string>>()
  const add = (id: string, hash: string): void => {
    forms.set(id, (forms.get(id) ?? new Set()).add(hash))
  }
  for (const [id, hash] of shown.flatMap((each) => each.forms)) add(id, hash)
  // A list of short texts shows nothing shortened, and whoever made no room has made none short.
  const given = new Set(history.map(messageHash))
  for (const message of liveOf(state))
    if (!given.has(messageHash(message))) for (const hash of shortForms(message, state)) add(message.messageId, hash)
  return { only, forms }
}
