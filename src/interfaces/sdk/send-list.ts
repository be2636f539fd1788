/**
 * Passes a host's message list to the ledger and converts the context back: a message that did not change is the host's
 * own object, and other messages are new ones.
 */
import { isLedgerError } from '../../lib/ledger-error.js'
import { either as E } from 'fp-ts'
import type { ChatMessage, MessageInput } from '../../domain/values/chat-message.js'
import { isInstruction, messageHash } from '../../domain/values/message.js'
import { parseMessage } from '../../domain/values/parse-message.js'
import { viewText, type Context } from '../../domain/compaction/context.js'
import type { Compressed, Ledger } from '../../library/ledger.js'
import type { MessageConverter } from '../../application/model-apis/message-converter.js'

/** The list to send to the model. */
export interface ListToSend<HostMessage> {
  /** The context as the host's messages. */
  readonly messages: HostMessage[]
  /** To be recorded as `answers` of the answer; undefined if the ledger could not use the list. */
  readonly answers: Compressed<MessageInput>['answers']
}

/** A message of the host with those that belong to it, and the ledger's messages for it. */
interface MessageGroup<HostMessage> {
  readonly hostMessages: HostMessage[]
  readonly ledgerMessages: readonly MessageInput[]
}

function groupMessages<HostMessage>(
  list: readonly HostMessage[],
  converter: MessageConverter<HostMessage>,
): MessageGroup<HostMessage>[] {
  const groups: MessageGroup<HostMessage>[] = []
  for (const message of list) {
    const ledgerMessages = converter.toLedger(message)
    const last = groups.at(-1)
    if (ledgerMessages.length === 0 && last !== undefined) last.hostMessages.push(message)
    else groups.push({ hostMessages: [message], ledgerMessages })
  }
  return groups
}

/** A host's list, and the party that owns it. */
export interface HostList<HostMessage> {
  readonly conversationId: string
  readonly list: readonly HostMessage[]
  /**
   * The owner of the conversation. The list of the `host` is complete. If the `ledger` owns it, the list has the new
   * messages, and may begin with the last recorded ones.
   */
  readonly keptBy: 'host' | 'ledger'
}

const hashOfInput = (message: MessageInput): string => {
  const parsed = parseMessage(message)
  return E.isRight(parsed) ? messageHash(parsed.right) : ''
}

/** The largest number of messages at the start of a list that equal the last recorded ones. */
function recordedCount(list: readonly string[], recorded: readonly string[]): number {
  for (let count = recorded.length === 0 ? 0 : list.length; count > 0; count -= 1) {
    const compared = Math.min(count, recorded.length)
    if (recorded.slice(-compared).every((hash, at) => hash === list[count - compared + at])) return count
  }
  return 0
}

const isInstructionInput = ({ role }: MessageInput): boolean => role === 'system' || role === 'developer'

/** A context with its leading messages replaced. */
function withLeading(leading: readonly MessageInput[], context: Context): readonly MessageInput[] {
  const { messages, viewAt } = context
  const first = messages.findIndex((message, at) => at === viewAt || !isInstructionInput(message))
  const rest = messages.slice(first === -1 ? messages.length : first)
  const view = viewText(context)
  // The context's own leading messages and its view can be one message.
  return [...leading, ...(view === undefined ? rest : [{ role: 'system' as const, content: view }, ...rest.slice(1)])]
}

/** The complete list of a conversation that the ledger owns: its context, and the new messages of this list. */
async function withRecordedContext(
  ledger: Pick<Ledger, 'context' | 'messages'>,
  conversationId: string,
  inputs: readonly MessageInput[],
): Promise<readonly MessageInput[]> {
  try {
    const live = (await ledger.messages(conversationId)).messages.filter((message) => !isInstruction(message))
    const context = await ledger.context(conversationId)
    const first = inputs.findIndex((message) => !isInstructionInput(message))
    const leading = first === -1 ? inputs.length : first
    const rest = inputs.slice(leading)
    const added = rest.slice(recordedCount(rest.map(hashOfInput), live.map(messageHash)))
    return [...(leading === 0 ? context.messages : withLeading(inputs.slice(0, leading), context)), ...added]
  } catch (error) {
    if (isLedgerError(error, 'NoSuchConversation')) return inputs
    throw error
  }
}

/**
 * Records the list, compacts if a limit is reached, and returns the context. Does not throw if the ledger cannot use the
 * list: it then returns the list itself, and the ledger has called `onProblem`.
 */
export async function sendList<HostMessage>(
  ledger: Pick<Ledger, 'compress' | 'context' | 'messages'>,
  { conversationId, list, keptBy }: HostList<HostMessage>,
  converter: MessageConverter<HostMessage>,
): Promise<ListToSend<HostMessage>> {
  const groups = groupMessages(list, converter)
  const groupOf = new Map<MessageInput, MessageGroup<HostMessage>>(
    groups.flatMap((group) => group.ledgerMessages.map((message) => [message, group])),
  )
  const inputs = groups.flatMap((group) => group.ledgerMessages)
  const complete = keptBy === 'host' ? inputs : await withRecordedContext(ledger, conversationId, inputs)
  const { history, answers } = await ledger.compress(complete, conversationId)
  if (answers === undefined) return { messages: [...list], answers }
  // A host message without a ledger message belongs to no other one only if it is the first.
  const messages: HostMessage[] = groups[0]?.ledgerMessages.length === 0 ? [...groups[0].hostMessages] : []
  for (let at = 0; at < history.length;) {
    const message = history[at]
    if (message === undefined) break
    const group = groupOf.get(message)
    if (group !== undefined && group.ledgerMessages.every((each, next) => history[at + next] === each)) {
      messages.push(...group.hostMessages)
      at += group.ledgerMessages.length
      continue
    }
    // A message that is not the host's comes from the context.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    messages.push(converter.fromLedger(message as ChatMessage))
    at += 1
  }
  return { messages, answers }
}
