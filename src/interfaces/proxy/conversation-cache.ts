/** The tracked conversations in use. A conversation that is not in memory is loaded from the ledger. */
import { isLedgerError } from '../../lib/ledger-error.js'
import { LRUCache } from 'lru-cache'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { Ledger } from '../../library/ledger.js'
import {
  asRecorded,
  comparedLength,
  compactionMessage,
  contentText,
  messageHash,
  type Redact,
} from '../../application/model-apis/api.js'
import { clearablePart } from './clearable-part.js'
import { inputOf } from '../../domain/values/message.js'
import { listOf, textOf, type Fields } from '../../application/model-apis/json.js'
import {
  asksForSummary,
  hashTools,
  newTrackedConversation,
  rememberAnswerText,
  withTextHash,
  type Entry,
  type TrackedConversation,
} from './tracked-conversation.js'

/** Messages of all conversations in memory; a message takes about 300 bytes. */
const MAX_ENTRIES = 500_000

const isInstruction = (role: string): boolean => role === 'system' || role === 'developer'

/**
 * The entry of a recorded message. The message that passes through the proxy may contain secrets.
 * @param message in the names of the API
 */
function recordedEntry(id: string | undefined, message: Fields, redact: Redact): Entry {
  const redacted = redact(message)
  return {
    id,
    hash: messageHash(redacted),
    ...withTextHash(redacted),
    role: textOf(message['role']) ?? '',
    callId: textOf(message['tool_call_id']),
    characters: comparedLength(message['content']),
    ...clearablePart(message),
    isInParts: undefined,
  }
}

/** Rebuilds the client's list from the events of a conversation. */
class ListFromEvents {
  readonly instructions = new Map<string, Entry>()
  /** The messages that were not withdrawn, by id. */
  private readonly recorded = new Map<string, Entry>()
  /** The client's list after its last compaction, and the messages appended to it since. */
  private listed: Entry[] = []
  /** Messages that a compaction inserted into the list: the next appended messages may repeat them. */
  private inserted: { readonly index: number; readonly hash: string }[] = []
  /** Answers in their order; a final one is complete and calls no tool. */
  private readonly answers: { readonly id: string; readonly isFinal: boolean; readonly isIncomplete: boolean }[] = []
  /** The text of the last message of the user. */
  private question = ''
  private hasMessages = false
  private readonly conversation: TrackedConversation
  /** An older event may have the text of a secret. */
  private readonly redact: Redact

  constructor(conversation: TrackedConversation, redact: Redact) {
    this.conversation = conversation
    this.redact = redact
  }

  apply(event: RecordedEvent): void {
    this.conversation.branchSeed = String(event.revision)
    if (event.type === 'MessageAppended') this.applyMessage(event.data)
    else if (event.type === 'CompactionObserved') this.applyCompaction(event.data.context)
    else if (event.type === 'MessagesWithdrawn')
      for (const { messageId } of event.data.messages)
        if (!this.recorded.delete(messageId)) this.instructions.delete(messageId)
  }

  /** The list without withdrawn messages. */
  entries(): Entry[] {
    return this.listed.filter(({ id }) => id === undefined || this.recorded.has(id))
  }

  /** Sets the state of the last answer. */
  readLastAnswer(): void {
    const last = this.answers.findLast(({ id }) => this.recorded.has(id))
    this.conversation.finalAnswerId = last?.isFinal === true ? last.id : undefined
    this.conversation.hasIncompleteAnswer = last?.isIncomplete === true && last.id === this.entries().at(-1)?.id
  }

  private applyMessage(data: Extract<RecordedEvent, { type: 'MessageAppended' }>['data']): void {
    const { messageId, role, content, toolCalls, leads, attributes = {} } = data
    this.hasMessages ||= !isInstruction(role)
    const entry = recordedEntry(messageId, { ...inputOf(data) }, this.redact)
    // A replacement of a leading message has `leads` as well, wherever it was recorded.
    if (leads === true || !this.hasMessages) this.instructions.set(messageId, entry)
    else this.append(messageId, entry)
    const { tools, interrupted, incomplete, compactions } = attributes
    for (const element of listOf(compactions))
      this.conversation.providerCompactions.add(asRecorded(compactionMessage(element), this.redact).hash)
    if (tools !== undefined) this.conversation.toolsHash = hashTools(listOf(tools))
    if (role === 'user') this.question = contentText(content)
    if (role !== 'assistant') return
    rememberAnswerText(this.conversation, contentText(content), messageId, asksForSummary(this.question))
    const isIncomplete = interrupted === true || incomplete === true
    this.answers.push({ id: messageId, isFinal: !isIncomplete && (toolCalls ?? []).length === 0, isIncomplete })
  }

  private append(messageId: string, entry: Entry): void {
    this.recorded.set(messageId, entry)
    const [next, ...rest] = this.inserted
    this.inserted = next?.hash === entry.hash ? rest : []
    if (next?.hash === entry.hash) this.listed[next.index] = entry
    else this.listed.push(entry)
  }

  private applyCompaction(context: Extract<RecordedEvent, { type: 'CompactionObserved' }>['data']['context']): void {
    this.inserted = []
    this.listed = []
    for (const item of context)
      if (item.kind === 'message') {
        const entry = this.recorded.get(item.messageId)
        if (entry !== undefined) this.listed.push(entry)
      } else if (item.kind === 'inserted') {
        const entry = recordedEntry(undefined, { ...inputOf(item.body) }, this.redact)
        this.inserted.push({ index: this.listed.length, hash: entry.hash })
        this.listed.push(entry)
      }
  }
}

/** Sets the context owner, and the list as the current context has it. False if the ledger has no such conversation. */
async function loadContext(ledger: Ledger, conversation: TrackedConversation, redact: Redact): Promise<boolean> {
  try {
    const context = await ledger.context(conversation.conversationId)
    conversation.contextOwner = context.observed === undefined ? 'ledger' : 'program'
    const entries = context.messages.map((message, index) =>
      recordedEntry(context.messageIds[index], { ...message }, redact),
    )
    const first = entries.findIndex(({ role }) => !isInstruction(role))
    const leading = first === -1 ? entries.length : first
    conversation.instructions = entries.slice(0, leading)
    conversation.entries = entries.slice(leading)
    return true
  } catch (error) {
    if (isLedgerError(error, 'NoSuchConversation')) return false
    throw error
  }
}

/** Loads a conversation from the ledger as the client's list shows it. */
async function loadConversation(ledger: Ledger, conversationId: string, redact: Redact): Promise<TrackedConversation> {
  const conversation = newTrackedConversation(conversationId)
  if (!(await loadContext(ledger, conversation, redact))) return conversation
  const list = new ListFromEvents(conversation, redact)
  for await (const event of ledger.log(conversationId)) list.apply(event)
  list.readLastAnswer()
  // If the ledger owns the context, the client's list has all messages since the client's last own compaction, whatever
  // the ledger compacted.
  if (conversation.contextOwner === 'ledger') {
    conversation.instructions = [...list.instructions.values()]
    conversation.entries = list.entries()
  }
  return conversation
}

/** Conversations in memory. The least recently used ones are evicted, since the ledger has them. */
export interface ConversationCache {
  get(conversationId: string): Promise<TrackedConversation>
  /** The conversations in memory, most recently used first. */
  recent(): Iterable<TrackedConversation>
  /** Evicts a conversation: its next request loads it from the ledger. */
  forget(conversationId: string): void
  /** Stores a conversation after it changed, with its new size. */
  keep(conversation: TrackedConversation): void
}

export function createConversationCache(ledger: Ledger, redactor: () => Promise<Redact>): ConversationCache {
  const cache = new LRUCache<string, TrackedConversation>({
    maxSize: MAX_ENTRIES,
    sizeCalculation: ({ entries }) => 20 + entries.length,
    // Without this, a conversation longer than `maxSize` would not be cached at all.
    maxEntrySize: MAX_ENTRIES * 4,
  })
  return {
    async get(conversationId) {
      const cached = cache.get(conversationId)
      if (cached !== undefined) return cached
      const conversation = await loadConversation(ledger, conversationId, await redactor())
      cache.set(conversationId, conversation)
      return conversation
    },
    recent: () => cache.values(),
    forget(conversationId) {
      cache.delete(conversationId)
    },
    keep(conversation) {
      cache.set(conversation.conversationId, conversation)
    },
  }
}
