/** The plan of an erasure in one conversation. */
import type { EventData, RecordedEvent } from '../../domain/events/index.js'
import { ERASED } from '../../domain/events/texts.js'
import { hasAddedNote } from '../../domain/text/authorship.js'
import { copyOf } from '../../domain/values/copy-of.js'
import { CallPairing } from '../../domain/conversation/call-groups.js'
import { contentText, type ToolCall } from '../../domain/values/message.js'
import { NOTE_BEGINNING } from '../../domain/values/recall-note.js'
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
  | ({ readonly scope: 'copies' } & ErasedOriginals)

/** Erased messages of another conversation. */
interface ErasedOriginals {
  readonly conversationId: string
  /** Absent for all messages of the conversation. */
  readonly messageIds?: ReadonlySet<string> | undefined
  readonly fingerprints: ReadonlySet<string>
}

/** The file that a conversation was imported from. */
export type TranscriptSource = Pick<EventData<'ConversationObserved'>, 'program' | 'sourceId'> & {
  readonly file: string
}

export interface ConversationPlan {
  readonly conversationId: string
  /** Tenant or owner of the conversation. */
  readonly scope: string | undefined
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
  /** The file that the conversation was imported from; undefined if it was not imported. */
  readonly source: TranscriptSource | undefined
  /** True if it continues another conversation. */
  readonly isFork: boolean
  readonly isTitled: boolean
}

/** Whether a message is a copy of one of these. Programs that fork a session copy its messages with their times. */
function isCopy(
  { attributes }: EventData<'MessageAppended'>,
  fingerprint: () => string | undefined,
  { conversationId, messageIds, fingerprints }: ErasedOriginals,
): boolean {
  const source = copyOf(attributes)
  if (source?.conversationId === conversationId)
    if (messageIds === undefined || source.messageIds?.some((id) => messageIds.has(id)) !== false) return true
  return fingerprints.has(fingerprint() ?? '')
}

/** The tool `recall` by the names that programs give it, and the command in a shell. */
const RECALL_TOOL = /(?:^|[^a-z])recall$/iu
const RECALL_COMMAND = /\bcontext-ledger recall\b/u

/** Recognizes the messages that brought the agent a note, which quotes earlier messages. Takes the messages in order. */
class NoteRecognizer {
  private readonly pairing = new CallPairing<ToolCall>()

  bringsNote(message: EventData<'MessageAppended'>): boolean {
    const called = this.pairing.take(message, undefined)?.call.function
    if (!contentText(message.content).includes(NOTE_BEGINNING)) return false
    if (hasAddedNote(message)) return true
    return called !== undefined && (RECALL_TOOL.test(called.name) || RECALL_COMMAND.test(called.arguments))
  }
}

function isChosen(
  event: RecordedEvent<'MessageAppended'>,
  names: readonly KeyName[],
  fingerprint: () => string | undefined,
  choice: MessageChoice,
): boolean {
  switch (choice.scope) {
    case 'conversation':
      return true
    case 'message':
      return event.data.messageId === choice.messageId
    case 'subject':
      return names.some(({ subjects = [] }) => subjects.includes(choice.subject))
    case 'copies':
      return isCopy(event.data, fingerprint, choice)
  }
}

/** Whether a plan of copies erases something. A fork may have its title and its summaries from the original. */
export const hasCopies = ({ erased, affected, isFork, isTitled }: ConversationPlan): boolean =>
  erased.length > 0 || (isFork && (isTitled || affected.summaries > 0))

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
  const notes = new NoteRecognizer()
  let revision = -1
  let youngestErased: string | undefined
  let lastMessageAt: string | undefined
  let source: TranscriptSource | undefined
  let scope: string | undefined
  let isFork = false
  let isTitled = false
  for await (const { event, keys: names } of scanConversation(log, conversationId)) {
    for (const { unit, epoch } of names) used.set(`${String(epoch)}/${unit}`, { unit, epoch })
    if (event.stream === `conversation-${conversationId}`) revision = event.revision
    if (isOfType(event, 'ConversationConfigured')) ({ scope } = event.data)
    if (isOfType(event, 'ConversationObserved')) {
      const { program, sourceId, where, parent, title } = event.data
      source = { program, sourceId, file: where.file }
      isFork = parent?.how === 'fork'
      isTitled = title !== undefined
    }
    if (isOfType(event, 'ConversationTitled')) isTitled ||= event.data.title !== ERASED
    if (!isOfType(event, 'MessageAppended')) {
      derived.push(event)
      continue
    }
    const { messageId, createdAt } = event.data
    lastMessageAt = later(lastMessageAt, createdAt)
    const isErased = isChosen(event, names, () => fingerprintOf(keys, event.data), choice)
    const bringsNote = notes.bringsNote(event.data)
    if (!isErased && (erased.size === 0 || !bringsNote)) continue
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
    scope,
    revision,
    erased: [...erased].map(([messageId, at]) => ({ messageId, revision: at })),
    youngestErased,
    lastMessageAt,
    affected: collector.affected,
    fingerprints,
    used: [...used.values()],
    source,
    isFork,
    isTitled,
  }
}
