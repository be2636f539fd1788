/** The interface of a converter between the messages of an SDK and those of the chat API. */
import type { ChatMessage, MessageInput } from '../../domain/values/chat-message.js'

/** Converts the messages of an SDK to those of the chat API, and back. */
export interface MessageConverter<HostMessage> {
  /**
   * The ledger's messages for one of the host's. None if it has no meaning by itself: it then belongs to the message before
   * it.
   */
  readonly toLedger: (message: HostMessage) => readonly MessageInput[]
  /** The host's message for one of the ledger's. */
  readonly fromLedger: (message: ChatMessage) => HostMessage
}
