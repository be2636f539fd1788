/** The ledger's context as the messages that go upstream. */
import { viewText } from '../../domain/compaction/context.js'
import { SHAPE_RULES } from '../../domain/values/context-shapes.js'
import type { Context, Ledger } from '../../library/ledger.js'
import {
  contentText,
  type Api,
  type OutgoingMessage,
  type ProxyRequest,
  type SourceMessage,
} from '../../application/model-apis/api.js'
import type { TrackedConversation } from './tracked-conversation.js'

/** The reason in the header for a conversation that the client's program owns. */
export const OBSERVED_CONVERSATION = 'the conversation was begun by observing it'

/** A context, and the messages that are sent for it. */
export interface OutgoingContext {
  readonly context: Context
  readonly outgoing: OutgoingMessage[]
}

/** Whether a context joins its leading messages and its view. */
const isStrict = ({ shape }: Context): boolean => shape !== undefined && SHAPE_RULES[shape].hasOneSystemMessage

/** The instructions of a request as the client sent them, and the view of a context as a user message. */
function separateInstructions({ instructions }: ProxyRequest, context: Context): OutgoingMessage[] {
  const view = viewText(context)
  return [
    ...instructions.map((message): OutgoingMessage => ({
      chat: { role: 'system', content: contentText(message.input.content) },
      source: message,
      isUnchanged: true,
    })),
    ...(view === undefined
      ? []
      : [{ chat: { role: 'user', content: view }, source: undefined, isUnchanged: false } as const]),
  ]
}

/**
 * The messages of the request by the id under which they are recorded; undefined if the list is not the recorded one.
 * @param contextIds the messages of the context
 */
function sourcesById(
  conversation: TrackedConversation,
  request: ProxyRequest,
  contextIds: ReadonlySet<string | undefined>,
): Map<string, SourceMessage> | undefined {
  const byId = new Map<string, SourceMessage>()
  for (const [messages, entries] of [
    [request.instructions, conversation.instructions],
    [request.messages, conversation.entries],
  ] as const)
    for (const [index, message] of messages.entries()) {
      const entry = entries[index]
      if (entry === undefined || entry.hash !== message.hash) return undefined
      // A message that the program omitted from its list goes upstream as the ledger has it.
      const isSent = messages === request.instructions || message.raw.length > 0
      if (isSent && entry.id !== undefined && contextIds.has(entry.id)) byId.set(entry.id, message)
    }
  return byId
}

/**
 * Reads the ledger's context and pairs each message with the one that the client sent. Returns the reason as a string if
 * the context cannot replace the client's list.
 */
export async function outgoingContext(
  ledger: Ledger,
  api: Api,
  conversation: TrackedConversation,
  request: ProxyRequest,
): Promise<OutgoingContext | string> {
  const context = await ledger.context(conversation.conversationId)
  if (context.observed !== undefined) return OBSERVED_CONVERSATION
  const byId = sourcesById(conversation, request, new Set(context.messageIds))
  if (byId === undefined) return 'the list is not the one that is recorded'
  const adapted = new Set(context.adapted)
  const shortened = new Set(context.shortened?.map(({ id }) => id))
  const outgoing = context.messages.flatMap((chat, index): OutgoingMessage[] => {
    const id = context.messageIds[index]
    const source = id === undefined ? undefined : byId.get(id)
    const isSystem = chat.role === 'system'
    if (index === 0 && isSystem && api.hasSeparateInstructions && isStrict(context))
      return separateInstructions(request, context)
    // An API with separate instructions can also have some between its messages: it gets these as the client sent them.
    const isDirective = api.hasSeparateInstructions && source?.input.role === 'system' && !shortened.has(id ?? '')
    if (isDirective) return [{ chat: { role: 'system', content: '' }, source, isUnchanged: true }]
    const isAsSent = source?.clearedFrom === undefined && source?.input.role === chat.role
    return [{ chat, source, isUnchanged: id !== undefined && !adapted.has(index) && isAsSent }]
  })
  return { context, outgoing }
}

/** The list of a background request: the ledger's context instead of the conversation, and then the question. */
export async function backgroundContext(
  ledger: Ledger,
  api: Api,
  conversation: TrackedConversation,
  request: ProxyRequest,
): Promise<OutgoingMessage[] | undefined> {
  const question = request.messages.at(-1)
  if (conversation.contextOwner !== 'ledger' || question === undefined) return undefined
  const history = { ...request, messages: request.messages.slice(0, -1) }
  if (request.upstreamHistory !== undefined || conversation.entries.length !== history.messages.length) return undefined
  const result = await outgoingContext(ledger, api, conversation, history)
  if (typeof result === 'string') return undefined
  return [...result.outgoing, { chat: { role: 'user', content: '' }, source: question, isUnchanged: true }]
}
