/**
 * A host's list of messages in the form of its SDK, handed to the ledger and made again of what comes back: the host's
 * own messages where they stay, and new ones for what is only shown or is shortened.
 */
import type { ChatMessage, MessageInput } from '../domain/values/chat-message.js'
import type { Compressed, Ledger } from '../library/ledger.js'

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

/**
 * Records what the list says, compacts where a limit asks for it, and gives the context. Never throws for the ledger's
 * sake: where it cannot use the list, the list is what is sent, and the ledger's `onProblem` has heard why.
 */
export async function sendWholeList<Own>(
  ledger: Pick<Ledger, 'compress'>,
  conversationId: string,
  list: readonly Own[],
  form: MessageForm<Own>,
): Promise<ListToSend<Own>> {
  const units = unitsOf(list, form)
  const unitOf = new Map<MessageInput, Unit<Own>>(units.flatMap((unit) => unit.told.map((told) => [told, unit])))
  const { history, answers } = await ledger.compress(
    units.flatMap(({ told }) => told),
    conversationId,
  )
  if (answers === undefined) return { messages: [...list], answers }
  // What comes to no message has nothing that it could stand behind only where it is first.
  const messages: Own[] = units[0]?.told.length === 0 ? [...units[0].own] : []
  for (let at = 0; at < history.length;) {
    const message = history[at]
    if (message === undefined) break
    const unit = unitOf.get(message)
    if (unit !== undefined && unit.told.every((told, next) => history[at + next] === told)) {
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
