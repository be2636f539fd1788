/**
 * Load, decide, append. A conflict decides again on what is there now; a message id that the store knows from long ago
 * is compared with what was recorded then. Commands of one call become one append, whole or not at all.
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
  /** Position of the last fact that was recorded; undefined where nothing was. */
  readonly position: bigint | undefined
}

/** `BadMessage`: what a message says that it answers was no context of the conversation. */
export type CommandFailure = Rejection | BadMessage | NotRecordable | AppendFailure

export interface Conversations {
  /** The state as it is now; another process's appends included. */
  load(conversationId: string): Promise<Conversation>
  /** The state as it was at a revision. */
  loadAt(conversationId: string, revision: bigint): Promise<Conversation>
  /**
   * Decides on the commands in turn and records their facts in one append.
   * @throws StoreError where the store cannot be read, or gave no answer to what was in front of this; nothing is
   *   recorded then
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
  /** Tokens of live messages that the states kept in memory may have together. */
  readonly cacheTokens?: number
  /**
   * True where nobody else can append to this log (a folder belongs to one process): then a state in memory is always
   * the newest.
   */
  readonly alone?: boolean
}

/**
 * How often a command is decided anew after a conflict. Each time another writer came through, so that a hundred of
 * them may be in front of this one.
 */
const CONFLICT_ATTEMPTS = 200

/** Places that are looked at together for one whose id is free; twice as many each time. */
const PLACES_TOGETHER = 64

/** Loads, decides and appends; keeps the states in use in memory. */
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
  /** One at a time for each conversation of this process: its own commands need not lose races against each other. */
  const turns = createStoreTurns()

  async function load(conversationId: string, afresh = false): Promise<Conversation> {
    const known = cache.get(conversationId)
    if (known !== undefined && alone && !afresh) return known
    const state =
      known === undefined ? await loadConversation(log, conversationId) : await catchUpConversation(log, known)
    cache.set(conversationId, state)
    return state
  }

  /** Message ids of the command that the log has from long ago, each compared with what was recorded then. */
  async function recordedBefore(
    stream: string,
    commands: readonly Command[],
    ids: readonly string[],
  ): Promise<E.Either<Rejection, ReadonlySet<string>>> {
    const same = new Set<string>()
    const asked = commands.flatMap((command) => (command.type === 'AppendMessages' ? command.messages : []))
    for (const stored of await log.store.findByIds(stream, ids)) {
      const event = await decodeEvent(stored, log.bodies)
      if (!isOfType(event, 'MessageAppended')) continue
      const { messageId } = event.data
      const wanted = asked.find((message) => message.messageId === messageId)
      if (wanted === undefined || !sameMessage(wanted, event.data)) return E.left({ kind: 'MessageIdTaken', messageId })
      same.add(messageId)
    }
    return E.right(same)
  }

  /** Event ids of the messages of this append that came without an id. */
  const withoutId = (stream: string, commands: readonly Command[], events: readonly RecordedEvent[]): Set<string> => {
    const named = new Set(messageEventIds(stream, commands))
    return new Set(events.flatMap(({ type, id }) => (type === 'MessageAppended' && !named.has(id) ? [id] : [])))
  }

  /** Of the next places, the ids that messages have, however long ago they were recorded. */
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

  const passingOver = (commands: readonly Command[], takenIds: ReadonlySet<string>): Command[] =>
    commands.map((command) => (command.type === 'AppendMessages' ? { ...command, takenIds } : command))

  const messageEventIds = (stream: string, commands: readonly Command[]): string[] =>
    commands.flatMap((command) =>
      command.type === 'AppendMessages'
        ? command.messages.flatMap(({ messageId }) =>
            messageId === undefined ? [] : [messageEventId(stream, messageId)],
          )
        : [],
    )

  /** Whether messages are appended, and each has an id. */
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
    let asked = commands
    let state = cache.get(conversationId) ?? (await load(conversationId))
    let conflict: AppendFailure | undefined
    let checkedAt: bigint | undefined
    let places = PLACES_TOGETHER
    for (let tries = 0; tries < CONFLICT_ATTEMPTS; tries += 1) {
      const looksUp =
        log.store.recognizes === 'at-its-revision' && (state.messagesCompressed > 0 || state.withdrawn.messages > 0)
      if (looksUp && checkedAt !== state.revision) {
        // The state knows the ids of live messages; for others nobody but us keeps this store from recording them
        // twice.
        checkedAt = state.revision
        const same = await recordedBefore(stream, asked, messageEventIds(stream, asked))
        if (E.isLeft(same)) return same
        if (same.right.size > 0) asked = without(asked, same.right)
      }
      const encoded: EncodedEvents = { toStore: [], bodies: [], events: [] }
      let seen = state
      let refused: E.Either<Rejection | BadMessage, never> | undefined
      for (const command of asked) {
        const decided = decide(seen, command)
        if (E.isLeft(decided)) {
          refused = decided
          break
        }
        // The next command is decided on the state that this one leads to.
        const next = encodeEvents(seen, decided.right, clock.now().toISOString(), provenance)
        if (E.isLeft(next)) return next
        const { toStore: storedEvents, bodies, events } = next.right
        encoded.toStore.push(...storedEvents)
        encoded.bodies.push(...bodies)
        encoded.events.push(...events)
        seen = evolveAll(seen, events)
      }
      const wrong = refused === undefined ? await wrongAnswer(log, state, encoded.events) : undefined
      if (wrong !== undefined) refused = E.left(wrong)
      if (refused !== undefined) {
        // A no has to be said of what is there now: another process may have appended since this state was kept.
        const fresh = await load(conversationId)
        if (fresh.revision !== state.revision) {
          state = fresh
          continue
        }
        // What was decided on another state is decided anew by whoever asked.
        if (E.isLeft(refused) && refused.left.kind === 'ConversationMoved') {
          // The same append again, whose answer was lost, is no conflict: it is what moved the conversation.
          const ids = messageEventIds(stream, asked)
          const recorded = isAppendWithIds(asked) ? await recordedBefore(stream, asked, ids) : refused
          // Another one took an id for something else: that, too, is decided anew by whoever asked.
          return E.isRight(recorded) && recorded.right.size === ids.length
            ? E.right({ state, events: [], position: undefined })
            : refused
        }
        // A message that was recorded and compacted long ago is no longer in the state, and a rule for new ones may
        // refuse it (a tool result whose call has left as well): what is recorded already is taken out before the
        // answer is no.
        const same = await recordedBefore(stream, asked, messageEventIds(stream, asked))
        if (E.isLeft(same)) return same
        if (same.right.size === 0) return refused
        asked = without(asked, same.right)
        continue
      }
      if (encoded.events.length === 0) {
        // So has a yes that records nothing: a pin that is kept here may have been taken away elsewhere.
        const fresh = await load(conversationId)
        if (fresh.revision === state.revision) return E.right({ state, events: [], position: undefined })
        state = fresh
        continue
      }
      const derived = withoutId(stream, asked, encoded.events)
      if (looksUp && derived.size > 0 && (await log.store.findByIds(stream, [...derived])).length > 0) {
        asked = passingOver(asked, await takenAmongNext(state, places))
        places *= 2
        continue
      }
      const appended = await appendUntilKnown(log, stream, state.revision, encoded)
      if (E.isRight(appended) && !appended.right.repeated) {
        cache.set(conversationId, seen)
        return E.right({ state: seen, events: encoded.events, position: appended.right.position })
      }
      if (E.isLeft(appended) && appended.left.kind !== 'IdsRecorded' && appended.left.kind !== 'RevisionConflict') {
        cache.delete(conversationId)
        return appended
      }
      const stood = state.revision
      state = await load(conversationId, true)
      if (E.isRight(appended))
        return E.right({ state, events: appended.right.ours ? encoded.events : [], position: appended.right.position })
      conflict = appended.left
      // Ids that are recorded though the stream stands where we thought come from before the live window; else it is a
      // race, decided anew.
      if (conflict.kind === 'IdsRecorded' && state.revision === stood) {
        const same = await recordedBefore(
          stream,
          asked,
          conflict.ids.filter((id) => !derived.has(id)),
        )
        if (E.isLeft(same)) return same
        const isPlaceTaken = conflict.ids.some((id) => derived.has(id))
        if (same.right.size === 0 && !isPlaceTaken) return E.left(conflict)
        asked = without(asked, same.right)
        if (isPlaceTaken) {
          asked = passingOver(asked, await takenAmongNext(state, places))
          places *= 2
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
