/**
 * Load, decide, append. After a conflict, the commands are decided again on the current state. A message id that the
 * store knows from earlier is compared with the recorded message. The commands of one call become one atomic append.
 */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import type { Provenance } from '../domain/events/codec.js'
import { evolveAll } from '../domain/conversation/evolve.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { decide, type Command, type Rejection } from '../domain/decide/index.js'
import type { RecordedEvent } from '../domain/events/index.js'
import { conversationStream, derivedMessageId, messageEventId } from '../domain/values/ids.js'
import { sameMessage, type BadMessage } from '../domain/values/message.js'
import type { NotRecordable } from '../domain/events/recordable.js'
import type { Clock } from '../ports/clock.js'
import type { AppendFailure } from '../ports/event-store.js'
import { wrongAnswer } from './check-answers.js'
import { decodeEvent, isOfType } from './read-event.js'
import { catchUpConversation, loadConversation, type Log } from './load-conversation.js'
import { appendUntilKnown, encodeEvents, type EncodedEvents } from './record-events.js'
import { createStoreTurns } from './store-turns.js'

export interface Handled {
  readonly state: Conversation
  readonly events: readonly RecordedEvent[]
  /** Position of the last recorded event; undefined if nothing was recorded. */
  readonly position: bigint | undefined
}

/** `BadMessage`: the `answers` of a message is not a context of the conversation. */
export type CommandFailure = Rejection | BadMessage | NotRecordable | AppendFailure

export interface Conversations {
  /** The current state, including appends by other processes. */
  load(conversationId: string): Promise<Conversation>
  /** The state at a revision. */
  loadAt(conversationId: string, revision: bigint): Promise<Conversation>
  /**
   * Decides the commands in order and records their events in one append.
   * @throws StoreError if the store cannot be read, or did not answer an earlier call; nothing is recorded then
   */
  handle(
    conversationId: string,
    commands: readonly Command[],
    provenance: Provenance,
  ): Promise<E.Either<CommandFailure, Handled>>
}

export interface ConversationsOptions {
  readonly log: Log
  readonly clock: Clock
  /** The maximum total of live tokens in cached states. */
  readonly cacheTokens?: number
  /**
   * True if only this process can append to the log (a folder belongs to one process): a cached state is then always
   * current.
   */
  readonly alone?: boolean
}

/**
 * How often commands are decided again after conflicts. Each time another writer succeeded, so this allows for many
 * concurrent writers.
 */
const CONFLICT_ATTEMPTS = 200

/** The number of derived ids that are looked up at a time to find a free one; doubled each time. */
const IDS_PER_LOOKUP = 64

/** Loads, decides and appends; caches the states in use. */
export function createConversations({
  log,
  clock,
  cacheTokens = 8_000_000,
  alone = false,
}: ConversationsOptions): Conversations {
  const cache = new LRUCache<string, Conversation>({
    maxSize: cacheTokens,
    sizeCalculation: (state) => 500 + state.tokens,
  })
  /** Serializes the commands of each conversation, so that they do not conflict with each other. */
  const turns = createStoreTurns()

  async function load(conversationId: string, afresh = false): Promise<Conversation> {
    const known = cache.get(conversationId)
    if (known !== undefined && alone && !afresh) return known
    const state =
      known === undefined ? await loadConversation(log, conversationId) : await catchUpConversation(log, known)
    cache.set(conversationId, state)
    return state
  }

  /** The message ids of the command that the log has already, after comparison with the recorded messages. */
  async function recordedBefore(
    stream: string,
    commands: readonly Command[],
    ids: readonly string[],
  ): Promise<E.Either<Rejection, ReadonlySet<string>>> {
    const same = new Set<string>()
    const appendedMessages = commands.flatMap((command) => (command.type === 'AppendMessages' ? command.messages : []))
    for (const stored of await log.store.findByIds(stream, ids)) {
      const event = await decodeEvent(stored, log.bodies)
      if (!isOfType(event, 'MessageAppended')) continue
      const { messageId } = event.data
      const appended = appendedMessages.find((message) => message.messageId === messageId)
      if (appended === undefined || !sameMessage(appended, event.data))
        return E.left({ kind: 'MessageIdTaken', messageId })
      same.add(messageId)
    }
    return E.right(same)
  }

  /** Event ids of the messages in this append that came without an id. */
  const withoutId = (stream: string, commands: readonly Command[], events: readonly RecordedEvent[]): Set<string> => {
    const named = new Set(messageEventIds(stream, commands))
    return new Set(events.flatMap(({ type, id }) => (type === 'MessageAppended' && !named.has(id) ? [id] : [])))
  }

  /** The ids among the next derived ones that other messages have. */
  async function takenAmongNext(
    { conversationId, messagesAppended }: Conversation,
    places: number,
  ): Promise<ReadonlySet<string>> {
    const stream = conversationStream(conversationId)
    const ids = new Map(
      Array.from({ length: places }, (_none, at) => derivedMessageId(conversationId, messagesAppended + at)).map(
        (id) => [messageEventId(stream, id), id],
      ),
    )
    return new Set((await log.store.findByIds(stream, [...ids.keys()])).flatMap(({ id }) => ids.get(id) ?? []))
  }

  const withTakenIds = (commands: readonly Command[], takenIds: ReadonlySet<string>): Command[] =>
    commands.map((command) => (command.type === 'AppendMessages' ? { ...command, takenIds } : command))

  const messageEventIds = (stream: string, commands: readonly Command[]): string[] =>
    commands.flatMap((command) =>
      command.type === 'AppendMessages'
        ? command.messages.flatMap(({ messageId }) =>
            messageId === undefined ? [] : [messageEventId(stream, messageId)],
          )
        : [],
    )

  /** Whether messages are appended, all with ids. */
  const isAppendWithIds = (commands: readonly Command[]): boolean =>
    commands.some((command) => command.type === 'AppendMessages' && command.messages.length > 0) &&
    commands.every(
      (command) =>
        command.type !== 'AppendMessages' || command.messages.every(({ messageId }) => messageId !== undefined),
    )

  const without = (commands: readonly Command[], messageIds: ReadonlySet<string>): Command[] =>
    commands.map((command) =>
      command.type === 'AppendMessages'
        ? {
            ...command,
            messages: command.messages.filter(
              (message) => message.messageId === undefined || !messageIds.has(message.messageId),
            ),
          }
        : command,
    )

  async function attempt(
    conversationId: string,
    commands: readonly Command[],
    provenance: Provenance,
  ): Promise<E.Either<CommandFailure, Handled>> {
    const stream = conversationStream(conversationId)
    let pendingCommands = commands
    let state = cache.get(conversationId) ?? (await load(conversationId))
    let conflict: AppendFailure | undefined
    let checkedAt: bigint | undefined
    let lookupSize = IDS_PER_LOOKUP
    for (let tries = 0; tries < CONFLICT_ATTEMPTS; tries += 1) {
      const looksUp =
        log.store.recognizes === 'at-its-revision' && (state.messagesCompressed > 0 || state.withdrawn.messages > 0)
      if (looksUp && checkedAt !== state.revision) {
        // The state knows only the ids of live messages. This store does not detect the others, so we must.
        checkedAt = state.revision
        const same = await recordedBefore(stream, pendingCommands, messageEventIds(stream, pendingCommands))
        if (E.isLeft(same)) return same
        if (same.right.size > 0) pendingCommands = without(pendingCommands, same.right)
      }
      const encoded: EncodedEvents = { toStore: [], bodies: [], events: [] }
      let nextState = state
      let rejection: E.Either<Rejection | BadMessage, never> | undefined
      for (const command of pendingCommands) {
        const decided = decide(nextState, command)
        if (E.isLeft(decided)) {
          rejection = decided
          break
        }
        // The next command is decided on the resulting state.
        const next = encodeEvents(nextState, decided.right, clock.now().toISOString(), provenance)
        if (E.isLeft(next)) return next
        const { toStore: storedEvents, bodies, events } = next.right
        encoded.toStore.push(...storedEvents)
        encoded.bodies.push(...bodies)
        encoded.events.push(...events)
        nextState = evolveAll(nextState, events)
      }
      const badAnswer = rejection === undefined ? await wrongAnswer(log, state, encoded.events) : undefined
      if (badAnswer !== undefined) rejection = E.left(badAnswer)
      if (rejection !== undefined) {
        // A rejection must refer to the current state: another process may have appended meanwhile.
        const fresh = await load(conversationId)
        if (fresh.revision !== state.revision) {
          state = fresh
          continue
        }
        // The caller decided on another state and must decide again.
        if (E.isLeft(rejection) && rejection.left.kind === 'ConversationMoved') {
          // A repeated append whose answer was lost is not a conflict: it is what changed the conversation.
          const ids = messageEventIds(stream, pendingCommands)
          const recorded = isAppendWithIds(pendingCommands)
            ? await recordedBefore(stream, pendingCommands, ids)
            : rejection
          // Another writer used an id for a different message: the caller must decide again.
          return E.isRight(recorded) && recorded.right.size === ids.length
            ? E.right({ state, events: [], position: undefined })
            : rejection
        }
        // A compacted message is not in the state, and a rule for new messages may reject it (for example a tool result
        // whose call was compacted too). Recorded messages are removed from the command before it is rejected.
        const same = await recordedBefore(stream, pendingCommands, messageEventIds(stream, pendingCommands))
        if (E.isLeft(same)) return same
        if (same.right.size === 0) return rejection
        pendingCommands = without(pendingCommands, same.right)
        continue
      }
      if (encoded.events.length === 0) {
        // The same applies to a success without events: a pin in this state may have been removed by another process.
        const fresh = await load(conversationId)
        if (fresh.revision === state.revision) return E.right({ state, events: [], position: undefined })
        state = fresh
        continue
      }
      const derived = withoutId(stream, pendingCommands, encoded.events)
      if (looksUp && derived.size > 0 && (await log.store.findByIds(stream, [...derived])).length > 0) {
        pendingCommands = withTakenIds(pendingCommands, await takenAmongNext(state, lookupSize))
        lookupSize *= 2
        continue
      }
      const appended = await appendUntilKnown(log, stream, state.revision, encoded)
      if (E.isRight(appended) && !appended.right.repeated) {
        cache.set(conversationId, nextState)
        return E.right({ state: nextState, events: encoded.events, position: appended.right.position })
      }
      if (E.isLeft(appended) && appended.left.kind !== 'IdsRecorded' && appended.left.kind !== 'RevisionConflict') {
        cache.delete(conversationId)
        return appended
      }
      const revisionBefore = state.revision
      state = await load(conversationId, true)
      if (E.isRight(appended))
        return E.right({ state, events: appended.right.ours ? encoded.events : [], position: appended.right.position })
      conflict = appended.left
      // If the stream did not move, the recorded ids are from before the live window; otherwise it is a race, and the
      // commands are decided again.
      if (conflict.kind === 'IdsRecorded' && state.revision === revisionBefore) {
        const same = await recordedBefore(
          stream,
          pendingCommands,
          conflict.ids.filter((id) => !derived.has(id)),
        )
        if (E.isLeft(same)) return same
        const isPlaceTaken = conflict.ids.some((id) => derived.has(id))
        if (same.right.size === 0 && !isPlaceTaken) return E.left(conflict)
        pendingCommands = without(pendingCommands, same.right)
        if (isPlaceTaken) {
          pendingCommands = withTakenIds(pendingCommands, await takenAmongNext(state, lookupSize))
          lookupSize *= 2
        }
      }
    }
    return E.left(conflict ?? { kind: 'StoreUnavailable', detail: 'the append was tried too often' })
  }

  return {
    load: (conversationId) => turns.inTurn(conversationId, () => load(conversationId)),
    loadAt: (conversationId, revision) => loadConversation(log, conversationId, revision),
    handle: (conversationId, commands, provenance) =>
      turns.inTurn(
        conversationId,
        () => attempt(conversationId, commands, provenance),
        (result) => (E.isLeft(result) && result.left.kind === 'StoreUnavailable' ? result.left.detail : undefined),
      ),
  }
}
