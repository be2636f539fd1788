/**
 * Appends messages to a conversation: the configuration first where there is none or another one is asked for, all in
 * one append.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../domain/events/codec.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { checkId } from '../domain/values/ids.js'
import type { NewMessage } from '../domain/values/message.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { PolicySettings } from '../domain/values/policy.js'
import { isKnownModel, modelWindow } from '../ports/model-windows.js'
import { isOfType } from './read-event.js'
import type { Clock } from '../ports/clock.js'
import type { CommandFailure, Conversations } from './handle-command.js'

export interface AppendDependencies {
  readonly conversations: Conversations
  readonly clock: Clock
  readonly summarizerWindowTokens: number
  /** Name of the estimator to count by from now on; undefined keeps what is recorded. */
  readonly estimator?: string | undefined
}

export interface AppendCommand {
  readonly conversationId: string
  readonly messages: readonly NewMessage[]
  /** Settings to go by from now on; undefined keeps what is recorded. */
  readonly settings: PolicySettings | undefined
  readonly scope: string | undefined
  readonly provenance: Provenance
  /** The revision that the conversation has to stand at; -1n where it is to be a new one. */
  readonly expectedRevision?: bigint | undefined
  /** The messages are recorded together, or were. */
  readonly together?: boolean
}

export interface AppendedMessages {
  readonly state: Conversation
  /** Ids of the messages that were recorded by this call, in order. What was there already is not among them. */
  readonly recorded: readonly string[]
  readonly position: bigint | undefined
  /**
   * The agent's model, where it was set by this call and nobody knows what its window takes: the default is assumed.
   */
  readonly unknownModel: string | undefined
}

/**
 * Of settings that were just recorded: a configuration is recorded once, so that nobody hears of it with every message.
 */
function unknownModelIn(events: readonly RecordedEvent[]): string | undefined {
  const { model, modelMaxTokens } =
    events.find((event) => isOfType(event, 'ConversationConfigured'))?.data.settings ?? {}
  return model === undefined || modelMaxTokens !== undefined || isKnownModel(model) ? undefined : model
}

/** Builds the use case. */
export function createAppendMessages({ conversations, clock, summarizerWindowTokens, estimator }: AppendDependencies) {
  return async (command: AppendCommand): Promise<E.Either<CommandFailure, AppendedMessages>> => {
    const { conversationId, messages, settings, scope, provenance, expectedRevision, together } = command
    const id = checkId('conversationId', conversationId)
    if (E.isLeft(id)) return id
    const handled = await conversations.handle(
      conversationId,
      [
        ...(expectedRevision === undefined ? [] : [{ type: 'Expect', revision: expectedRevision } as const]),
        { type: 'Configure', settings, scope, summarizerWindowTokens, modelWindow, estimator },
        {
          type: 'AppendMessages',
          messages,
          now: clock.now().toISOString(),
          ...(together === true ? { together: messages.length } : {}),
        },
      ],
      provenance,
    )
    if (E.isLeft(handled)) return handled
    const { state, events, position } = handled.right
    return E.right({
      state,
      recorded: events.flatMap((event) => (event.type === 'MessageAppended' ? [event.data.messageId] : [])),
      position,
      unknownModel: unknownModelIn(events),
    })
  }
}
