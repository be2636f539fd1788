/** Appends messages to a conversation in one append, after the configuration if it is new or changed. */
import { either as E } from 'fp-ts'
import type { Provenance } from '../../domain/events/codec.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { checkId } from '../../domain/values/ids.js'
import type { NewMessage } from '../../domain/values/message.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import { isKnownModel, modelWindow } from '../../ports/model-windows.js'
import { isOfType } from './read-event.js'
import type { Clock } from '../../ports/clock.js'
import type { CommandFailure, Conversations } from './handle-command.js'

export interface AppendDependencies {
  readonly conversations: Conversations
  readonly clock: Clock
  readonly summarizerWindowTokens: number
  /** The estimator for new messages; undefined keeps the recorded one. */
  readonly estimator?: string | undefined
}

export interface AppendCommand {
  readonly conversationId: string
  readonly messages: readonly NewMessage[]
  /** New settings; undefined keeps the recorded ones. */
  readonly settings: PolicySettings | undefined
  readonly scope: string | undefined
  readonly provenance: Provenance
  /** The required revision of the conversation; -1 for a new one. */
  readonly expectedRevision?: number | undefined
  /** The messages are recorded all together or not at all. */
  readonly atomic?: boolean
}

export interface AppendedMessages {
  readonly state: Conversation
  /** Ids of the messages recorded by this call, in order, without those that were recorded before. */
  readonly recorded: readonly string[]
  readonly position: number | undefined
  /** The agent's model, if it was set by this call and its window is unknown: the default is assumed. */
  readonly unknownModel: string | undefined
}

/** Only for settings that were just recorded, so that the notice is given once and not with every message. */
function unknownModelIn(events: readonly RecordedEvent[]): string | undefined {
  const { model, modelMaxTokens } =
    events.find((event) => isOfType(event, 'ConversationConfigured'))?.data.settings ?? {}
  return model === undefined || modelMaxTokens !== undefined || isKnownModel(model) ? undefined : model
}

export function createAppendMessages({ conversations, clock, summarizerWindowTokens, estimator }: AppendDependencies) {
  return async (command: AppendCommand): Promise<E.Either<CommandFailure, AppendedMessages>> => {
    const { conversationId, messages, settings, scope, provenance, expectedRevision, atomic } = command
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
          ...(atomic === true ? { requestSize: messages.length } : {}),
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
