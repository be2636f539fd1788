/** What a conversation already has of a transcript, by the events of earlier imports and of this one. */
import { isOfType } from '../recording/read-event.js'
import type { RecordedEvent, SourcePlace } from '../../domain/events/index.js'
import { hashOf } from '../../domain/values/hash.js'
import { messageHash, type MessageBody } from '../../domain/values/message.js'

const titleKey = (title: string): string => `title ${title}`
const withdrawalKey = (messageId: string): string => `withdrawn ${messageId}`
const editKey = (messageId: string, content: MessageBody['content']): string => `edit ${messageId} ${hashOf(content)}`
/** Uses the file name without its directory, because files are moved. */
const damageKey = ({ file, line, path }: SourcePlace, detail: string): string =>
  `damage ${file.slice(file.lastIndexOf('/') + 1)} ${String(line)} ${path ?? ''} ${detail}`

export class RecordedItems {
  /** Whether the conversation has its first events. */
  hasStarted = false
  /** The transcript that began the conversation. */
  recordedFrom: SourcePlace | undefined
  /** Message id → hash of each message that an earlier import recorded. */
  readonly #hashes = new Map<string, string>()
  /** Ids of erased messages. Their texts are not compared and not recorded again. */
  readonly #erased = new Set<string>()
  /** Keys of the other recorded items. */
  readonly #keys = new Set<string>()
  /** The program's id of a compaction → its revision. */
  readonly #compactions = new Map<string, number>()

  learn(event: RecordedEvent): void {
    if (isOfType(event, 'MessageAppended')) {
      this.#hashes.set(event.data.messageId, messageHash(event.data))
      if (event.data.erased === true) this.#erased.add(event.data.messageId)
    } else if (isOfType(event, 'ErasureRequested')) {
      const erased = event.data.messages?.map(({ messageId }) => messageId) ?? this.#hashes.keys()
      for (const messageId of erased) this.#erased.add(messageId)
    } else if (isOfType(event, 'ConversationObserved')) {
      this.hasStarted = true
      this.recordedFrom = event.data.where
      if (event.data.title !== undefined) this.#keys.add(titleKey(event.data.title))
    } else if (isOfType(event, 'ConversationTitled')) this.#keys.add(titleKey(event.data.title))
    else if (isOfType(event, 'CompactionObserved')) this.#compactions.set(event.data.sourceId, event.revision)
    else if (isOfType(event, 'MessagesWithdrawn'))
      for (const { messageId } of event.data.messages) this.#keys.add(withdrawalKey(messageId))
    else if (isOfType(event, 'ContributionEdited')) this.#keys.add(editKey(event.data.messageId, event.data.content))
    else if (isOfType(event, 'TranscriptDamaged')) this.#keys.add(damageKey(event.data.where, event.data.detail))
  }

  /** Ids of the messages that earlier imports recorded. */
  messageIds(): Iterable<string> {
    return this.#hashes.keys()
  }

  /** Whether an earlier import recorded a message. */
  hasMessages(): boolean {
    return this.#hashes.size > 0
  }

  /** The hash of a message that an earlier import recorded. */
  hashOf(messageId: string): string | undefined {
    return this.#hashes.get(messageId)
  }

  isErased(messageId: string): boolean {
    return this.#erased.has(messageId)
  }

  /** The revision of a compaction, by the program's id of it. */
  compaction(sourceId: string): number | undefined {
    return this.#compactions.get(sourceId)
  }

  hasTitle(title: string): boolean {
    return this.#keys.has(titleKey(title))
  }

  hasWithdrawal(messageId: string): boolean {
    return this.#keys.has(withdrawalKey(messageId))
  }

  hasEdit(messageId: string, content: MessageBody['content']): boolean {
    return this.#keys.has(editKey(messageId, content))
  }

  hasDamage(where: SourcePlace, detail: string): boolean {
    return this.#keys.has(damageKey(where, detail))
  }
}
