/**
 * The messages that a host may have received: contexts show some messages in shortened form, and some that are not
 * recorded.
 */
import { viewText, type Context } from '../../domain/compaction/context.js'
import { shortenMessage } from '../../domain/conversation/shorten.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { compactedCallResult } from '../../domain/conversation/placeholders.js'
import { INSERTED, openingsOf } from '../../domain/conversation/shape.js'
import { SHAPE_RULES } from '../../domain/values/context-shapes.js'
import { hashOf } from '../../domain/values/hash.js'
import { messageHash, toChatMessage, type MessageBody, type NewMessage } from '../../domain/values/message.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { ShownForms } from './align-history.js'

/** The messages of the context that no batch covers. */
export const liveOf = ({ leading, retained, window }: Conversation): LiveMessage[] => [
  ...leading,
  ...retained,
  ...window,
]

/** Hashes of the messages that a context showed in another form than recorded, or that are not recorded. */
export interface ShownContext {
  /** The system message that joins leading messages and a view, with the text of that view. */
  readonly joined: { readonly hash: string; readonly view: string | undefined } | undefined
  readonly only: readonly (readonly [string, readonly string[]])[]
  readonly forms: readonly (readonly [string, string])[]
}

export function shownContextOf(context: Context, state: Conversation): ShownContext {
  const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
  const leftOut = context.shortened?.flatMap(({ id, how }) => (how === 'left-out' ? [id] : [])) ?? []
  const only: (readonly [string, readonly string[]])[] = []
  const forms: (readonly [string, string])[] = []
  const view = viewText(context)
  if (view !== undefined) only.push([hashOf(toChatMessage(viewMessage(view))), []])
  const isJoined = context.messageIds[0] !== undefined && (context.viewAt === 0 || isJoinedLeading(context, state))
  const insertedHashes = new Set(insertedIn(state).map(([hash]) => hash))
  for (const [at, message] of context.messages.entries()) {
    const id = context.messageIds[at]
    if (at === context.viewAt || (at === 0 && isJoined)) continue
    const hash = hashOf(message)
    const recorded = id === undefined ? undefined : live.get(id)
    // A note says that messages are omitted.
    if (id === undefined) only.push([hash, insertedHashes.has(hash) ? [] : leftOut])
    else if (recorded !== undefined && hashOf(toChatMessage(recorded)) !== hash) forms.push([id, hash])
  }
  const [first] = context.messages
  return { joined: isJoined && first !== undefined ? { hash: hashOf(first), view } : undefined, only, forms }
}

/** The view as a separate message, as in a list where it is not joined to other texts. */
export const viewMessage = (view: string): MessageBody & { readonly content: string } => ({
  role: 'system',
  content: view,
})

const isJoinedLeading = ({ shape }: Context, { leading }: Conversation): boolean =>
  shape !== undefined && SHAPE_RULES[shape].hasOneSystemMessage && leading.length > 1

/** Hashes of the user messages that contexts of this state can insert. */
function insertedIn(state: Conversation): [string, readonly string[]][] {
  const { configuration } = state
  const openings =
    configuration === undefined
      ? []
      : openingsOf({ ...state, configuration }, state.findEstimator(configuration.estimator)).map(({ body }) => body)
  return [...INSERTED, ...openings].map((body) => [hashOf(toChatMessage(body)), []])
}

const SMALLEST_CAP = 64
const LARGEST_CAP = 2 ** 20

/** All shortened forms of a message in contexts near the limit: the caps are powers of two. */
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

export function formsOf(
  shown: readonly ShownContext[],
  state: Conversation,
  history: readonly NewMessage[],
): ShownForms {
  const only = new Map([...insertedIn(state), ...shown.flatMap((each) => each.only)])
  const forms = new Map<string, Set<string>>()
  const add = (id: string, hash: string): void => {
    forms.set(id, (forms.get(id) ?? new Set()).add(hash))
  }
  for (const [id, hash] of shown.flatMap((each) => each.forms)) add(id, hash)
  // A list with only unshortened texts, or a state without omissions, has no shortened messages.
  const listed = new Set(history.map(messageHash))
  for (const message of liveOf(state))
    if (!listed.has(messageHash(message))) for (const hash of shortForms(message, state)) add(message.messageId, hash)
  return { only, forms }
}
