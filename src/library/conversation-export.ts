/** A conversation as one document for other programs and for people: ATIF, lists of messages, and Markdown. */
import { toChatMessage } from '../domain/values/message.js'
import type { EventData } from '../domain/events/index.js'
import { trajectoryOf, type RecordedMessage } from '../application/importers/atif-writer.js'
import { exactText } from '../lib/json.js'
import { packageVersion } from '../lib/package-root.js'
import { toAnthropicContext } from '../application/model-apis/contexts.js'
import { isOfType } from '../application/recording/read-event.js'
import { markdownOf } from './conversation-markdown.js'
import type { Ledger } from './ledger.js'

export type DocumentFormat = 'atif' | 'openai' | 'anthropic' | 'markdown'

/** The messages of a conversation that were not withdrawn, in order, and where it comes from. */
interface ExportedConversation {
  readonly messages: readonly RecordedMessage[]
  readonly origin: EventData<'ConversationObserved'> | undefined
  readonly title: string | undefined
}

async function conversationOf(ledger: Pick<Ledger, 'log'>, conversationId: string): Promise<ExportedConversation> {
  const messages = new Map<string, RecordedMessage>()
  let origin: EventData<'ConversationObserved'> | undefined
  let title: string | undefined
  for await (const event of ledger.log(conversationId)) {
    if (isOfType(event, 'MessageAppended')) messages.set(event.data.messageId, event.data)
    else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) messages.delete(messageId)
    else if (isOfType(event, 'ConversationObserved')) origin = event.data
    else if (isOfType(event, 'ConversationTitled')) title = event.data.title
  }
  return { messages: [...messages.values()], origin, title: title ?? origin?.title }
}

const json = (value: unknown): string => `${exactText(value) ?? ''}\n`

/**
 * The whole conversation, without withdrawn messages.
 * @param redact replaces secrets in texts that were recorded before redaction
 */
export async function exportedDocument(
  ledger: Pick<Ledger, 'log'>,
  conversationId: string,
  format: DocumentFormat,
  redact: <Value>(value: Value) => Value,
): Promise<string> {
  const found = redact(await conversationOf(ledger, conversationId))
  const { messages, origin, title } = found
  if (format === 'markdown') return markdownOf(conversationId, found)
  if (format === 'atif') {
    const agent =
      origin === undefined
        ? { name: 'context-ledger', version: packageVersion() }
        : { name: origin.program, version: origin.programVersion ?? 'unknown' }
    return json(trajectoryOf({ conversationId, agent, title, cwd: origin?.cwd, messages }))
  }
  const chat = messages.map(toChatMessage)
  return json(format === 'openai' ? { messages: chat } : toAnthropicContext(chat))
}
