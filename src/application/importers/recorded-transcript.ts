/** What recording a transcript needs, and what comes of it. */
import type { MessageToAppend } from '../../domain/decide/index.js'
import type { Provenance } from '../../domain/events/codec.js'
import type { EventData, SourcePlace } from '../../domain/events/index.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import type { Clock } from '../../ports/clock.js'
import type { CommandFailure, Conversations } from '../recording/handle-command.js'
import type { Log } from '../recording/load-conversation.js'
import type { ConversationItem, DamageItem, MessageItem, TranscriptItem } from './transcript.js'

export interface RecordTranscriptDependencies {
  readonly log: Log
  readonly conversations: Conversations
  readonly clock: Clock
  readonly summarizerWindowTokens: number
  readonly estimator?: string | undefined
}

/** The parent of a conversation, as events record it. */
export type ObservedParent = NonNullable<EventData<'ConversationObserved'>['parent']>

/** Options for recording a transcript. */
export interface RecordOptions {
  readonly program: string
  readonly scope?: string | undefined
  readonly settings?: PolicySettings | undefined
  readonly provenance: Provenance
  /** When the file was last written, ISO 8601: the time of messages in a transcript without times. Default: now. */
  readonly writtenAt?: string | undefined
  /** The conversation that the transcript continues, if the transcript names none itself. */
  readonly parent?: ObservedParent | undefined
  readonly signal?: AbortSignal | undefined
  /** The attributes and the persons of a message that is a copy of recorded ones. */
  readonly copied?: (item: MessageItem) => Pick<MessageToAppend, 'attributes' | 'subjects'>
  /** Called with each item after it was recorded or queued for the next append. */
  readonly onItem?: (item: TranscriptItem) => void
}

/** The result for one conversation of a transcript. */
export interface RecordedConversation {
  /** Conversation id in the ledger. */
  readonly conversationId: string
  /** The program's own id. */
  readonly sourceId: string
  /** Path of the transcript. */
  readonly file: string
  /** Messages recorded by this import. */
  messages: number
  /** Compactions recorded by this import. */
  compactions: number
  /** Messages withdrawn by this import. */
  withdrawn: number
  /** Content replacements recorded by this import. */
  edits: number
  /** Unreadable records recorded by this import. */
  damaged: number
  /** Items that were already recorded. */
  known: number
  /** Revision of the conversation's last event. */
  revision: number
  /** Position of the last event recorded by this import. */
  position: number | undefined
}

/** The result for a transcript. */
export interface RecordedTranscript {
  readonly conversations: readonly RecordedConversation[]
  /** Numbers of records without content for a conversation, by kind. */
  readonly leftOut: ReadonlyMap<string, number>
  /** Records that could not be read. */
  readonly damage: readonly DamageItem[]
}

/** Two transcripts have different content for the same message. */
export interface TranscriptsContradict {
  readonly kind: 'TranscriptsContradict'
  readonly conversationId: string
  readonly messageId: string
  readonly where: SourcePlace
  /** The transcript that was recorded first. */
  readonly recorded: SourcePlace | undefined
}

export type TranscriptFailure = CommandFailure | TranscriptsContradict

/** The result for a conversation without recorded items. */
export const emptyResult = (conversationId: string, { sourceId, where }: ConversationItem): RecordedConversation => ({
  conversationId,
  sourceId,
  file: where.file,
  messages: 0,
  compactions: 0,
  withdrawn: 0,
  edits: 0,
  damaged: 0,
  known: 0,
  revision: -1,
  position: undefined,
})
