/** Records the requests of a program that owns its context: the ledger observes what the program's list contains. */
import type { MessageInput, Observation } from '../../library/ledger.js'
import type { ProxyRequest, SourceMessage } from '../../application/model-apis/api.js'
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
  nextBranchSeed,
  recordedIds,
  type Entry,
  type TrackedConversation,
} from './tracked-conversation.js'

/** How the instructions of a request differ from the recorded ones. */
interface InstructionChanges extends Required<Pick<Observation, 'edited' | 'withdrawn'>> {
  readonly added: readonly SourceMessage[]
  readonly entries: readonly Entry[]
}

function instructionChanges(conversation: TrackedConversation, { instructions }: ProxyRequest): InstructionChanges {
  const edited: NonNullable<Observation['edited']>[number][] = []
  const entries = instructions.map((message, index): Entry => {
    const recorded = conversation.instructions[index]
    if (recorded === undefined) return entryOf(message, instructionIdAt(conversation, index, message.hash))
    if (recorded.hash !== message.hash && recorded.id !== undefined)
      edited.push({ messageId: recorded.id, content: message.input.content, why: 'replaced' })
    return { ...recorded, hash: message.hash }
  })
  return {
    edited,
    withdrawn: recordedIds(conversation.instructions.slice(instructions.length)),
    added: instructions.slice(conversation.instructions.length),
    entries,
  }
}

/** The changes to record, in addition to those of the messages. */
interface PendingChanges {
  readonly withdrawn: readonly string[]
  readonly edited: NonNullable<Observation['edited']>
  readonly leading: readonly MessageInput[]
  /** Attributes of the last message. */
  readonly attributes: Fields
}

/** Records the messages that a request adds or changes. */
export async function recordObserved(
  writer: LedgerWriter,
  conversation: TrackedConversation,
  request: ProxyRequest,
  match: Exclude<RequestMatch, { kind: 'side-request' }>,
  identity: RequestIdentity,
): Promise<void> {
  const changes = instructionChanges(conversation, request)
  const pending: PendingChanges = {
    withdrawn: changes.withdrawn,
    edited: changes.edited,
    leading: withIds(changes.added, changes.entries.slice(conversation.instructions.length), {}),
    attributes: requestAttributes(request, hashTools(request.tools) !== conversation.toolsHash),
  }
  await (match.kind === 'restarts'
    ? observeRestart(writer, conversation, request, match, pending, identity)
    : observeChanges(writer, conversation, request, match, pending, identity))
  conversation.contextOwner = 'program'
  conversation.instructions = changes.entries
}

/** Records the program's own compaction and the messages after it. */
async function observeRestart(
  writer: LedgerWriter,
  conversation: TrackedConversation,
  { messages, instructions }: ProxyRequest,
  match: Restart,
  { withdrawn, edited, leading, attributes }: PendingChanges,
  identity: RequestIdentity,
): Promise<void> {
  const { summaryIndex } = match
  const branchSeed = nextBranchSeed(conversation, 'restart')
  const ids = matchedIds(conversation, match)
  const end = restartEnd(summaryIndex, match.matchedEntries)
  const compacted = messages.slice(0, end).map((message, index) => entryOf(message, ids.get(index)))
  const tail = entriesAfter({ branchSeed }, compacted.at(-1), messages.slice(end))
  const compaction: NonNullable<Observation['compaction']> = {
    sourceId: compactionSourceId(conversation, messages),
    trigger: 'unknown',
    summary: summaryOf(summaryIndex === undefined ? undefined : messages[summaryIndex]),
    context: [
      ...recordedIds(conversation.instructions.slice(0, instructions.length)).map((messageId) => ({ messageId })),
      ...compacted.map(({ id }, index) =>
        id === undefined
          ? {
              inserted: messages[index]?.input ?? { role: 'user' as const, content: '' },
              ...(index === summaryIndex ? { isSummary: true as const } : {}),
            }
          : { messageId: id },
      ),
    ],
  }
  await writer.observe(
    conversation,
    {
      withdrawn: [...withdrawn, ...summaryTurnIds(conversation, match)],
      edited,
      compaction,
      messages: [...leading, ...withIds(messages.slice(end), tail, attributes)],
    },
    identity,
  )
  conversation.branchSeed = branchSeed
  conversation.entries = [...compacted, ...tail]
}

/** Records new messages, edited results, and the messages that a rewind withdrew. */
async function observeChanges(
  writer: LedgerWriter,
  conversation: TrackedConversation,
  { messages }: ProxyRequest,
  match: Exclude<RequestMatch, { kind: 'side-request' | 'restarts' }>,
  pending: PendingChanges,
  identity: RequestIdentity,
): Promise<void> {
  const withdrawn = [...pending.withdrawn]
  const edited = [...pending.edited]
  const from = match.kind === 'repeats' ? messages.length : match.from
  if (match.kind === 'rewinds') {
    withdrawn.push(...recordedIds(conversation.entries.slice(from)))
    conversation.branchSeed = nextBranchSeed(conversation, 'rewind')
  }
  if (match.kind === 'continues')
    for (const index of match.edits) {
      const id = conversation.entries[index]?.id
      if (id !== undefined) edited.push({ messageId: id, content: messages[index]?.input.content, why: 'replaced' })
    }
  const added = entriesAfter(conversation, conversation.entries[from - 1], messages.slice(from))
  await writer.observe(
    conversation,
    {
      withdrawn,
      edited,
      messages: [...pending.leading, ...withIds(messages.slice(from), added, pending.attributes)],
    },
    identity,
  )
  if (match.kind === 'repeats') return
  const unchanged = conversation.entries
    .slice(0, from)
    .map((entry, index) => ({ ...entry, hash: messages[index]?.hash ?? entry.hash }))
  conversation.entries = [...unchanged, ...added]
}
