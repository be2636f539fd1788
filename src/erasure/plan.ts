/** The plan of an erasure in one conversation. */
import type { RecordedEvent } from '../domain/events/index.js'
import { fingerprintOf, listFingerprintOf } from '../recording/erased-messages.js'
import type { Log } from '../recording/load-conversation.js'
import { isOfType } from '../recording/read-event.js'
import type { KeyName } from '../sealing/keyring.js'
import type { TextKeys } from '../sealing/text-keys.js'
import { AffectedTextsCollector, type AffectedTexts } from './affected-texts.js'
import { scanConversation } from './scan-conversation.js'

/** Which messages of a conversation to erase. */
export type MessageChoice =
  | { readonly scope: 'conversation' }
  | { readonly scope: 'message'; readonly messageId: string }
  /** `subject`: the pseudonym of a person. */
  | { readonly scope: 'subject'; readonly subject: string }

export interface ConversationPlan {
  readonly conversationId: string
  /** The last revision of the conversation that the plan includes. */
  readonly revision: number
  readonly erased: readonly { readonly messageId: string; readonly revision: number }[]
  /** Time of the youngest message that it erases, and of the last message of the conversation, ISO 8601. */
  readonly youngestErased: string | undefined
  readonly lastMessageAt: string | undefined
  readonly affected: AffectedTexts
  /** Keyed fingerprints by which a later import recognizes the erased messages. */
  readonly fingerprints: readonly string[]
  /** The keys in use. */
  readonly used: readonly KeyName[]
}

function isChosen(event: RecordedEvent<'MessageAppended'>, names: readonly KeyName[], choice: MessageChoice): boolean {
  switch (choice.scope) {
    case 'conversation':
      return true
    case 'message':
      return event.data.messageId === choice.messageId
    case 'subject':
      return names.some(({ subjects = [] }) => subjects.includes(choice.subject))
  }
}

/** The later of two times in ISO 8601, which may differ in their precision. */
const later = (a: string | undefined, b: string): string => (a !== undefined && Date.parse(a) >= Date.parse(b) ? a : b)

/** Plans what an erasure removes from a conversation. */
export async function planConversation(
  log: Log,
  keys: TextKeys,
  conversationId: string,
  choice: MessageChoice,
): Promise<ConversationPlan> {
  const erased = new Map<string, number>()
  const fingerprints: string[] = []
  const used = new Map<string, KeyName>()
  const derived: RecordedEvent[] = []
  let revision = -1
  let youngestErased: string | undefined
  let lastMessageAt: string | undefined
  for await (const { event, keys: names } of scanConversation(log, conversationId)) {
    for (const { unit, epoch } of names) used.set(`${String(epoch)}/${unit}`, { unit, epoch })
    if (event.stream === `conversation-${conversationId}`) revision = event.revision
    if (!isOfType(event, 'MessageAppended')) {
      derived.push(event)
      continue
    }
    const { messageId, createdAt } = event.data
    lastMessageAt = later(lastMessageAt, createdAt)
    if (!isChosen(event, names, choice)) continue
    erased.set(messageId, event.revision)
    if (event.data.erased === true) continue
    youngestErased = later(youngestErased, createdAt)
    const fingerprint = fingerprintOf(keys, event.data)
    if (fingerprint !== undefined) fingerprints.push(fingerprint)
    fingerprints.push(listFingerprintOf(keys, conversationId, event.data))
  }
  const collector = new AffectedTextsCollector(erased)
  for (const event of derived) collector.take(event)
  return {
    conversationId,
    revision,
    erased: [...erased].map(([messageId, at]) => ({ messageId, revision: at })),
    youngestErased,
    lastMessageAt,
    affected: collector.affected,
    fingerprints,
    used: [...used.values()],
  }
}
