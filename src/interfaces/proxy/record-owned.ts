/** Records the requests of conversations whose context the ledger owns. */
import type { MessageInput } from '../../library/ledger.js'
import type { ProxyRequest, SourceMessage } from '../../application/model-apis/api.js'
import { asSourceMessage } from './complete-request.js'
import type { ConversationCache } from './conversation-cache.js'
import type { RequestIdentity } from './identify-request.js'
import type { Fields } from '../../application/model-apis/json.js'
import type { LedgerWriter } from './ledger-writer.js'
import { matchedIds, restartEnd, type RequestMatch, type Restart } from './match-request.js'
import { compactionSourceId, requestAttributes, summaryOf, summaryTurnIds, withIds } from './recorded-input.js'
import {
  entriesAfter,
  entryOf,
  hashTools,
  instructionIdAt,
  messageIdAfter,
  nextBranchSeed,
  recordedIds,
  type Entry,
  type TrackedConversation,
} from './tracked-conversation.js'

/** Records requests of conversations whose context the ledger owns. */
export class OwnedRecorder {
  private readonly writer: LedgerWriter
  private readonly conversations: ConversationCache
  private readonly onProblem: (problem: unknown) => void

  constructor(writer: LedgerWriter, conversations: ConversationCache, onProblem: (problem: unknown) => void) {
    this.writer = writer
    this.conversations = conversations
    this.onProblem = onProblem
  }

  /** Records the messages that a request adds or changes. Returns the conversation after it. */
  async record(
    conversation: TrackedConversation,
    request: ProxyRequest,
    match: Exclude<RequestMatch, { kind: 'side-request' }>,
    identity: RequestIdentity,
  ): Promise<TrackedConversation> {
    const { messages, instructions } = request
    const hasSameInstructions =
      conversation.contextOwner === 'none' ||
      (conversation.instructions.length === instructions.length &&
        instructions.every((message, index) => conversation.instructions[index]?.hash === message.hash))
    const attributes = requestAttributes(request, hashTools(request.tools) !== conversation.toolsHash)
    if (match.kind === 'continues' && match.edits.length === 0 && hasSameInstructions) {
      await this.appendNew(conversation, request, match.from, attributes, identity)
      return conversation
    }
    if (match.kind !== 'restarts') {
      // Everything after an edited result is recorded again, so that the recorded order is the order of the list.
      const [edit] = match.kind === 'continues' ? match.edits : []
      const from = match.kind === 'repeats' ? messages.length : (edit ?? match.from)
      return await this.recordEdits(conversation, instructions, messages, from, identity)
    }
    const unchanged = conversation.entries.map(asSourceMessage)
    const start = hasSameInstructions
      ? conversation
      : await this.recordEdits(conversation, instructions, unchanged, unchanged.length, identity)
    const ids = withoutCopiedCalls(messages, matchedIds(conversation, match))
    await this.recordOwnCompaction(start, messages, match, ids, attributes, identity)
    return start
  }

  /** Appends the messages from `from` on, and the instructions of a new conversation. */
  private async appendNew(
    conversation: TrackedConversation,
    request: ProxyRequest,
    from: number,
    attributes: Fields,
    identity: RequestIdentity,
  ): Promise<void> {
    const leading = conversation.contextOwner === 'none' ? request.instructions : []
    const instructions = leading.map((message, index) =>
      entryOf(message, instructionIdAt(conversation, index, message.hash)),
    )
    const newMessages = request.messages.slice(from)
    const added = entriesAfter(conversation, conversation.entries.at(-1), newMessages)
    const inputs = [...withIds(leading, instructions, {}), ...withIds(newMessages, added, attributes)]
    if (inputs.length > 0) await this.writer.appendWithReserves(conversation.conversationId, inputs, request, identity)
    if (conversation.contextOwner === 'none') conversation.instructions = instructions
    conversation.contextOwner = 'ledger'
    conversation.entries.push(...added)
  }

  /**
   * Records an edited or shortened list. Returns the conversation as the ledger has it then.
   * @param from the index from which the list differs from the recorded messages
   */
  private async recordEdits(
    conversation: TrackedConversation,
    instructions: readonly SourceMessage[],
    messages: readonly SourceMessage[],
    from: number,
    identity: RequestIdentity,
  ): Promise<TrackedConversation> {
    conversation.branchSeed = nextBranchSeed(conversation, 'rewind')
    let previous: Entry | undefined
    const entries = messages.map((message, index) => {
      const recorded = index < from ? conversation.entries[index] : undefined
      previous = recorded ?? entryOf(message, messageIdAfter(conversation, previous?.id, message.hash))
      return previous
    })
    const leading = instructions.map((message, index) => {
      const recorded = conversation.instructions[index]
      const isUnchanged = recorded?.hash === message.hash
      return entryOf(message, isUnchanged ? recorded.id : instructionIdAt(conversation, index, message.hash))
    })
    const recordedInputs = await this.writer.recordedInputs(conversation.conversationId)
    const inputs = withIds(messages, entries, {}).map((input, index) => {
      const uncleared = recordedInputs.get(messages[index]?.clearedFrom?.id ?? '')
      return uncleared === undefined ? input : { ...uncleared, id: input.id }
    })
    const { error } = await this.writer.ledger.compress(
      [
        // Recorded messages are passed as they were recorded: the client may write them differently now, or omit those
        // that upstream holds.
        ...withIds(instructions, leading, {}).map((input) => recordedInputs.get(input.id ?? '') ?? input),
        ...unchangedInputs(conversation, recordedInputs, from),
        ...inputs.slice(Math.min(from, conversation.entries.length)),
      ],
      conversation.conversationId,
      this.writer.actorOptions(identity),
    )
    this.conversations.forget(conversation.conversationId)
    if (error !== undefined) this.onProblem(error)
    const reloaded = await this.conversations.get(conversation.conversationId)
    reloaded.toolsHash = conversation.toolsHash
    reloaded.answerTexts.push(...conversation.answerTexts)
    return reloaded
  }

  /**
   * Records a compaction that the client's program made itself, and the new messages in its list. The ledger owns the
   * context: messages that the program dropped stay in it until the ledger compacts them.
   */
  private async recordOwnCompaction(
    conversation: TrackedConversation,
    messages: readonly SourceMessage[],
    { summaryIndex, answerId }: Restart,
    ids: ReadonlyMap<number, string>,
    attributes: Fields,
    identity: RequestIdentity,
  ): Promise<void> {
    const { program, programVersion } = identity
    const branchSeed = nextBranchSeed(conversation, 'restart')
    let previous: Entry | undefined
    const entries = messages.map((message, index) => {
      previous = entryOf(message, ids.get(index) ?? messageIdAfter({ branchSeed }, previous?.id, message.hash))
      return previous
    })
    const added = messages.flatMap((_message, index) => (ids.has(index) ? [] : [index]))
    await this.writer.amend(
      conversation.conversationId,
      {
        withdraw: summaryTurnIds(conversation, { answerId }),
        append: withIds(
          added.flatMap((index) => messages[index] ?? []),
          added.flatMap((index) => entries[index] ?? []),
          attributes,
        ),
        compaction: {
          program,
          ...(programVersion === undefined ? {} : { programVersion }),
          sourceId: compactionSourceId(conversation, messages),
          summary: summaryOf(summaryIndex === undefined ? undefined : messages[summaryIndex]),
          context: [
            ...recordedIds(conversation.instructions).map((messageId) => ({ messageId })),
            ...messages.slice(0, restartEnd(summaryIndex, ids)).map(({ input }, index) => {
              const id = ids.get(index)
              if (id !== undefined) return { messageId: id }
              return { inserted: input, ...(index === summaryIndex ? { isSummary: true as const } : {}) }
            }),
          ],
        },
      },
      identity,
    )
    conversation.branchSeed = branchSeed
    conversation.entries = entries
  }
}

/**
 * The ids of the kept messages without results of which the program copied the call into a new message. The context of the
 * ledger has both calls, and each needs a result.
 */
function withoutCopiedCalls(
  messages: readonly SourceMessage[],
  ids: ReadonlyMap<number, string>,
): ReadonlyMap<number, string> {
  const added = messages.filter((_message, index) => !ids.has(index))
  const copied = new Set(added.flatMap(({ input }) => (input.tool_calls ?? []).map(({ id }) => id)))
  return new Map([...ids].filter(([index]) => !copied.has(messages[index]?.input.tool_call_id ?? '')))
}

/** The recorded messages before `from`, and those that left the client's list by its own compaction. */
function unchangedInputs(
  conversation: TrackedConversation,
  recordedInputs: ReadonlyMap<string, MessageInput>,
  from: number,
): MessageInput[] {
  const leadingIds = new Set(conversation.instructions.map(({ id }) => id))
  const indexes = new Map(conversation.entries.map(({ id }, index) => [id, index]))
  return [...recordedInputs].flatMap(([id, input]) => {
    if (leadingIds.has(id)) return []
    const index = indexes.get(id)
    return index === undefined || index < from ? [input] : []
  })
}
