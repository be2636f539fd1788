/** What a host records: its messages, what it takes back of them, and which of them stay. */
import { type LedgerError } from '../lib/ledger-error.js'
import type { Command } from '../domain/decide/index.js'
import { createAmend, type AmendedBy } from '../application/compaction/amend.js'
import type { Provenance } from '../domain/events/codec.js'
import type { ChatParts } from './chat.js'
import type { Clock } from '../ports/clock.js'
import type { MessageInput, NewMessage } from '../domain/values/message.js'
import { parseMessage } from '../domain/values/parse-message.js'
import { DEFAULT_WINDOW_TOKENS } from '../domain/values/model-windows.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { createAppendMessages } from '../application/recording/append-messages.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import * as calls from '../schema/calls/messages.js'
import type { AmendingCompaction, Ledger, RequestOptions } from './ledger.js'
import type { Lookup } from './lookup.js'
import { entryOf } from './observing.js'
import { bad, nameGiven, optionsOf, readFrom } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf, type Failure } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

const isList = (messages: MessageInput | readonly MessageInput[]): messages is readonly MessageInput[] =>
  Array.isArray(messages)
/** A deep copy that the caller cannot change. Holes of an array stay invalid messages. */
const asList = (messages: MessageInput | readonly MessageInput[]): readonly MessageInput[] =>
  readFrom('messages', () => (isList(messages) ? Array.from(messages) : [messages]))

function parseMessages(inputs: readonly MessageInput[]): NewMessage[] {
  return inputs.map((input, at) =>
    valueOf(parseMessage(input), (left) =>
      problem(inputs.length === 1 ? left : { ...left, field: `messages[${String(at)}].${left.field}` }),
    ),
  )
}

/** The error if the conversation has another revision than expected. */
const movedOf =
  (conversationId: string) =>
  (left: Failure): LedgerError =>
    left.kind === 'ConversationMoved'
      ? problem({ kind: 'RevisionNotExpected', conversationId, expected: left.expected, actual: left.revision })
      : problem(left)

/** Another program's compaction, checked. */
function compactionOf(compaction: AmendingCompaction): AmendedBy {
  const {
    trigger = 'unknown',
    summary = { kind: 'opaque' },
    context,
    ...source
  } = optionsOf(calls.amendingCompaction, compaction, { within: 'compaction.' })
  if (typeof summary !== 'object' || summary === null)
    throw bad('compaction.summary', "must be { kind: 'text', text }, { kind: 'opaque' } or { kind: 'none' }")
  if (summary.kind === 'text') nameGiven('compaction.summary.text', summary.text)
  else if (summary.kind !== 'opaque' && summary.kind !== 'none')
    throw bad('compaction.summary.kind', "must be 'text', 'opaque' or 'none'")
  return {
    ...source,
    trigger,
    summary,
    context: context === undefined ? undefined : Array.from(context, entryOf),
  }
}

export interface AppendingParts extends Pick<LedgerParts, 'log' | 'policy' | 'estimator' | 'onProblem'> {
  /** What configures a conversation. */
  readonly configure: () => Extract<Command, { type: 'Configure' }>
  readonly clock: Clock
  readonly conversations: Conversations
  readonly summarizerWindowTokens: number
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
  readonly provenanceOf: ProvenanceOf
  /** Starts background work that is due after the append. */
  readonly wakeWhereDue: (state: Conversation, provenance: Provenance) => void
}

export function createAppending(
  parts: AppendingParts,
): Pick<Ledger, 'append' | 'amend'> & Pick<ChatParts, 'pin' | 'unpin'> {
  const { conversations, gate, freshness, lookup, provenanceOf, onProblem } = parts
  const appendMessages = createAppendMessages(parts)
  const amend = createAmend({
    ...parts,
    now: () => parts.clock.now(),
    onRecorded(handled, provenance) {
      freshness.noteRecorded(handled)
      parts.wakeWhereDue(handled.state, provenance)
    },
  })

  async function pin(
    type: 'PinMessage' | 'UnpinMessage',
    conversationId: string,
    messageId: string,
    options: RequestOptions | undefined,
  ): Promise<void> {
    const by = gate.enter(type === 'PinMessage' ? calls.pin : calls.unpin, options)
    await lookup.existing(conversationId)
    const command = { type, messageId: nameGiven('messageId', messageId) }
    freshness.noteRecorded(valueOf(await conversations.handle(conversationId, [command], provenanceOf(by)), problem))
  }

  return {
    async append(conversationId, messages, options) {
      const { policy, scope, expectedRevision, atomic = false, ...by } = gate.enter(calls.append, options)
      const command = {
        conversationId,
        messages: parseMessages(asList(messages)),
        scope,
        provenance: provenanceOf(by),
        expectedRevision,
        atomic,
      }
      if (command.atomic && command.messages.some(({ messageId }) => messageId === undefined))
        throw bad('atomic', 'needs an id of every message')
      freshness.follow()
      const settings = policy === undefined && parts.policy === undefined ? undefined : { ...parts.policy, ...policy }
      const appended = valueOf(await appendMessages({ ...command, settings }), movedOf(conversationId))
      freshness.noteRecorded(appended)
      if (appended.unknownModel !== undefined)
        onProblem(problem({ kind: 'UnknownModelWindow', model: appended.unknownModel, assumed: DEFAULT_WINDOW_TOKENS }))
      parts.wakeWhereDue(appended.state, command.provenance)
      const { state, recorded, position } = appended
      return { conversationId, revision: state.revision, recorded, position }
    },
    async amend(conversationId, options) {
      const { withdraw, append: added = [], expectedRevision, compaction, ...by } = gate.enter(calls.amend, options)
      const id = nameGiven('conversationId', conversationId)
      const amendment = {
        conversationId: id,
        withdraw: withdraw === 'all' ? withdraw : withdraw.map((messageId) => nameGiven('withdraw', messageId)),
        append: parseMessages(asList(added)),
        expected: expectedRevision,
        compaction: compaction === undefined ? undefined : compactionOf(compaction),
        provenance: provenanceOf(by),
      }
      freshness.follow()
      const handled = valueOf(await amend(amendment), movedOf(id))
      const recorded = handled.events.flatMap((event) =>
        event.type === 'MessageAppended' ? [event.data.messageId] : [],
      )
      return { conversationId: id, revision: handled.state.revision, recorded, position: handled.position }
    },
    pin: (conversationId, messageId, options) => pin('PinMessage', conversationId, messageId, options),
    unpin: (conversationId, messageId, options) => pin('UnpinMessage', conversationId, messageId, options),
  }
}
