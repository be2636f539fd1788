/**
 * A host's list of messages in the form of its SDK, handed to the ledger and made again of what comes back: the host's
 * own messages where they stay, and new ones for what is only shown or is shortened.
 */
import { either as E } from 'fp-ts'
import type { ChatMessage, MessageInput } from '../domain/values/chat-message.js'
import { isInstruction, messageHash, parseMessage } from '../domain/values/message.js'
import type { Compressed, Ledger } from '../library/ledger.js'
import { LedgerError } from '../library/problem.js'

/** How an SDK's messages are told in the words of the chat API, and back. */
export interface MessageForm<Own> {
  /**
   * The messages that one of the host's comes to. None for what has no meaning by itself: it goes with the message
   * before it.
   */
  readonly toLedger: (message: Own) => readonly MessageInput[]
  /** One of the host's messages from one of ours. */
  readonly fromLedger: (message: ChatMessage) => Own
}

/** What to send to the model. */
export interface ListToSend<Own> {
  /** The context, in the host's form. */
  readonly messages: Own[]
  /** What the answer names as its `answers`; undefined where the ledger could not use the list. */
  readonly answers: Compressed<MessageInput>['answers']
}

interface Unit<Own> {
  readonly own: Own[]
  readonly told: readonly MessageInput[]
}

function unitsOf<Own>(list: readonly Own[], form: MessageForm<Own>): Unit<Own>[] {
  const units: Unit<Own>[] = []
  for (const message of list) {
    const told = form.toLedger(message)
    const last = units.at(-1)
    if (told.length === 0 && last !== undefined) last.own.push(message)
    else units.push({ own: [message], told })
  }
  return units
}

/** A list, and whose it is. */
export interface GivenList<Own> {
  readonly conversationId: string
  readonly list: readonly Own[]
  /**
   * Who keeps the conversation: the host, whose list is the whole of it; or the ledger, where the list has what is new,
   * and may begin with the end of what was said.
   */
  readonly keptBy: 'host' | 'ledger'
}

const hashOfInput = (message: MessageInput): string => {
  const parsed = parseMessage(message)
  return E.isRight(parsed) ? messageHash(parsed.right) : ''
}

/** How many messages of a list are the last ones that are recorded: the most for which that holds. */
function knownOf(list: readonly string[], recorded: readonly string[]): number {
  for (let known = recorded.length === 0 ? 0 : list.length; known > 0; known -= 1) {
    const seen = Math.min(known, recorded.length)
    if (recorded.slice(-seen).every((hash, at) => hash === list[known - seen + at])) return known
  }
  return 0
}

/** The whole list of a conversation that the ledger keeps: its context, and what of this list is new behind it. */
async function withContext(
  ledger: Pick<Ledger, 'context' | 'messages'>,
  conversationId: string,
  told: readonly MessageInput[],
): Promise<readonly MessageInput[]> {
  try {
    const live = (await ledger.messages(conversationId)).messages.filter((message) => !isInstruction(message))
    const { messages, viewAt } = await ledger.context(conversationId)
    const isLeading = (message: MessageInput): boolean => message.role === 'system' || message.role === 'developer'
    const own = told.findIndex((message) => !isLeading(message))
    const leads = own === -1 ? told.length : own
    const shown = messages.findIndex((message, at) => at === viewAt || !isLeading(message))
    const rest = told.slice(leads)
    const known = knownOf(rest.map(hashOfInput), live.map(messageHash))
    return [
      ...(leads === 0 ? messages.slice(0, shown) : told.slice(0, leads)),
      ...messages.slice(shown === -1 ? messages.length : shown),
      ...rest.slice(known),
    ]
  } catch (error) {
    if (error instanceof LedgerError && error.failure.kind === 'NoSuchConversation') return told
    throw error
  }
}

/**
 * Records what the list says, compacts where a limit asks for it, and gives the context. Never throws for the ledger's
 * sake: where it cannot use the list, the list is what is sent, and the ledger's `onProblem` has heard why.
 */
export async function sendList<Own>(
  ledger: Pick<Ledger, 'compress' | 'context' | 'messages'>,
  { conversationId, list, keptBy }: GivenList<Own>,
  form: MessageForm<Own>,
): Promise<ListToSend<Own>> {
  const units = unitsOf(list, form)
  const unitOf = new Map<MessageInput, Unit<Own>>(units.flatMap((unit) => unit.told.map((told) => [told, unit])))
  const told = units.flatMap((unit) => unit.told)
  const whole = keptBy === 'host' ? told : await withContext(ledger, conversationId, told)
  const { history, answers } = await ledger.compress(whole, conversationId)
  if (answers === undefined) return { messages: [...list], answers }
  // What comes to no message has nothing that it could stand behind only where it is first.
  const messages: Own[] = units[0]?.told.length === 0 ? [...units[0].own] : []
  for (let at = 0; at < history.length;) {
    const message = history[at]
    if (message === undefined) break
    const unit = unitOf.get(message)
    if (unit !== undefined && unit.told.every((each, next) => history[at + next] === each)) {
      messages.push(...unit.own)
      at += unit.told.length
      continue
    }
    // Whatever is not the host's own has the form that `context` gives.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    messages.push(form.fromLedger(message as ChatMessage))
    at += 1
  }
  return { messages, answers }
}
