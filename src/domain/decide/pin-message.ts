/** Pins and unpins messages. A pinned message stays in every context word for word, so pinned messages have a limit. */
import { either as E } from 'fp-ts'
import { pinnedTokens, unitsOf } from '../conversation/units.js'
import type { Conversation } from '../conversation/conversation.js'
import type { LiveMessage } from '../conversation/live-message.js'
import { nameMeant } from '../text/known-names.js'
import { hardLimit } from '../values/policy.js'
import { configurationOf, type Decision } from './decision.js'
import type { MessageNotLive } from './live-messages.js'

export interface PinMessage {
  readonly type: 'PinMessage'
  readonly messageId: string
}

export interface UnpinMessage {
  readonly type: 'UnpinMessage'
  readonly messageId: string
}

/** The leading and pinned messages, with this one, would exceed their share of the window. */
export type PinTooLarge = {
  readonly kind: 'PinTooLarge'
  readonly messageId: string
  readonly tokens: number
  readonly limit: number
}

/** The leading and pinned messages may take this fraction of the hard limit (one in four). */
const PIN_SHARE = 4

/**
 * Checks that the leading messages and all pinned ones take at most a quarter of the hard limit. The calls and results
 * that must be shown with a pinned message count in their shortest form.
 */
export function checkPin(state: Conversation, message: LiveMessage): E.Either<PinTooLarge, undefined> {
  const configuration = configurationOf(state)
  const limit = Math.floor(hardLimit(configuration.policy) / PIN_SHARE)
  const liveMessages = [...state.retained, ...state.window]
  const isLive = liveMessages.some(({ messageId }) => messageId === message.messageId)
  const live = isLive
    ? liveMessages.map((other) => (other.messageId === message.messageId ? message : other))
    : [...liveMessages, message]
  const { units } = unitsOf(live, { ...state, configuration })
  const tokens =
    state.leading.reduce((sum, leading) => sum + leading.tokens, 0) +
    pinnedTokens(units, state.findEstimator(configuration.estimator))
  return tokens > limit
    ? E.left({ kind: 'PinTooLarge', messageId: message.messageId, tokens, limit })
    : E.right(undefined)
}

export const pinMessage = (state: Conversation, { messageId }: PinMessage): Decision<MessageNotLive | PinTooLarge> =>
  setPin(state, messageId, true)

export const unpinMessage = (
  state: Conversation,
  { messageId }: UnpinMessage,
): Decision<MessageNotLive | PinTooLarge> => setPin(state, messageId, false)

function setPin(state: Conversation, messageId: string, pinned: boolean): Decision<MessageNotLive | PinTooLarge> {
  const message = [...state.retained, ...state.window].find((live) => live.messageId === messageId)
  if (message === undefined) {
    const near = nameMeant(
      messageId,
      [...state.retained, ...state.window].map((live) => live.messageId),
    )
    return E.left({ kind: 'MessageNotLive', messageId, ...(near === undefined ? {} : { nearest: near }) })
  }
  if (message.pinned === pinned) return E.right([])
  if (pinned) {
    const allowed = checkPin(state, { ...message, pinned: true })
    if (E.isLeft(allowed)) return allowed
  }
  return E.right([
    { type: pinned ? 'MessagePinned' : 'MessageUnpinned', data: { messageId, revision: message.revision } },
  ])
}
