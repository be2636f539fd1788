/**
 * Load, decide, append. After a conflict, the commands are decided again on the current state. A message id that the
 * store knows from earlier is compared with the recorded message. The commands of one call become one atomic append.
 */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import type { Provenance } from '../../domain/events/codec.js'
import { Fold } from '../../domain/conversation/evolve.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { decide, inParts, partlyRecorded, type Command, type Rejection } from '../../domain/decide/index.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
import type { BadMessage } from '../../domain/values/parse-message.js'
import type { NotRecordable } from '../../domain/events/recordable.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import type { Clock } from '../../ports/clock.js'
import type { AppendFailure } from '../../ports/event-store.js'
import { wrongAnswer } from './check-answers.js'
import { catchUpConversation, loadConversation, type Log } from './load-conversation.js'
import {
  appendUntilKnown,
  appendWithNewKeys,
  encodeEvents,
  sealingKeys,
  withIdSeeds,
  type EncodedEvents,
  type Recorded,
  type SealingKeys,
} from './record-events.js'
import {
  derivedEventIds,
  isAppendWithIds,
  messageEventIds,
  recordedBefore,
  takenAmongNext,
  withoutMessages,
  withTakenIds,
} from './recorded-messages.js'
import { withoutErased } from './erased-messages.js'
import { redactCommands, type RedactedCommands } from './redaction.js'
import { createStoreTurns } from './store-turns.js'

export interface Handled {
  readonly state: Conversation
  readonly events: readonly RecordedEvent[]
  /** Position of the last recorded event; undefined if nothing was recorded. */
  readonly position: number | undefined
}

/** `BadMessage`: the `answers` of a message is not a context of the conversation. */
export type CommandFailure = Rejection | BadMessage | NotRecordable | AppendFailure

export interface Conversations {
  /** The current state, including appends by other processes. */
  load(conversationId: string): Promise<Conversation>
  /** The state at a revision. */
  loadAt(conversationId: string, revision: number): Promise<Conversation>
  /** Removes a state from the cache, because texts in it were erased. */
  forget(conversationId: string): void
  /**
   * Decides the commands in order and records their events in one append. Their secrets are redacted first.
   * @param replaced what replaced secrets that the caller has redacted already
   * @throws LedgerError if the store cannot be read, or did not answer an earlier call; nothing is recorded then
   */
  handle(
    conversationId: string,
    commands: readonly Command[],
    provenance: Provenance,
    replaced?: RedactedCommands['replacements'],
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

/** Messages that are decided between two turns of the event loop. */
const MESSAGES_AT_ONCE = 256

/** The number of derived ids that are looked up at a time to find a free one; doubled each time. */
const IDS_PER_LOOKUP = 64

/** The states in use, cached. */
class States {
  private readonly cache: LRUCache<string, Conversation>

  constructor(
    private readonly log: Log,
    cacheTokens: number,
    /** Only this process can append, so a cached state is current. */
    private readonly alone: boolean,
  ) {
    this.cache = new LRUCache({ maxSize: cacheTokens, sizeCalculation: (state) => 500 + state.tokens })
  }

  has(conversationId: string): boolean {
    return this.cache.has(conversationId)
  }

  /** The cached state, which may be outdated, or the current one. */
  async recent(conversationId: string): Promise<Conversation> {
    return this.cache.get(conversationId) ?? (await this.current(conversationId))
  }

  async current(conversationId: string, afresh = false): Promise<Conversation> {
    const known = this.cache.get(conversationId)
    if (known !== undefined && this.alone && !afresh) return known
    const state =
      known === undefined
        ? await loadConversation(this.log, conversationId)
        : await catchUpConversation(this.log, known)
    this.cache.set(conversationId, state)
    return state
  }

  keep(state: Conversation): void {
    this.cache.set(state.conversationId, state)
  }

  forget(conversationId: string): void {
    this.cache.delete(conversationId)
  }
}

type Result = E.Either<CommandFailure, Handled>

/** The events of all commands, and the state after them. */
interface Decided {
  readonly encoded: EncodedEvents
  readonly state: Conversation
}

/** The commands of one call, without those messages that turn out to be recorded. */
class PendingCommands {
  private checkedAt: number | undefined
  private lookupSize = IDS_PER_LOOKUP

  constructor(
    private readonly log: Log,
    readonly stream: string,
    public commands: readonly Command[],
    /** The commands as they came. An older event may have the text that is redacted today. */
    private readonly received: readonly Command[],
  ) {}

  /** Whether compacted or withdrawn messages may have the ids of new ones without the store noticing. */
  private mustLookUpIds({ messagesCompressed, withdrawn }: Conversation): boolean {
    return this.log.store.recognizes === 'at-its-revision' && (messagesCompressed > 0 || withdrawn.messages > 0)
  }

  /** The state knows only the ids of live messages; a store that does not detect the others is asked for them. */
  async removeCompactedDuplicates(state: Conversation): Promise<E.Either<Rejection, unknown>> {
    if (!this.mustLookUpIds(state) || this.checkedAt === state.revision) return E.right(undefined)
    this.checkedAt = state.revision
    return await this.removeRecorded()
  }

  /** Removes the messages with these event ids that are recorded from the commands, and returns their ids. */
  async removeRecorded(
    ids = messageEventIds(this.stream, this.commands),
  ): Promise<E.Either<Rejection, ReadonlySet<string>>> {
    const same = await recordedBefore(this.log, this.stream, this.commands, this.received, ids)
    if (E.isRight(same)) this.commands = withoutMessages(this.commands, same.right)
    return same
  }

  /** Whether the commands are an append that is recorded as it is. */
  async isRepeated(): Promise<boolean> {
    if (!isAppendWithIds(this.commands)) return false
    const ids = messageEventIds(this.stream, this.commands)
    const recorded = await recordedBefore(this.log, this.stream, this.commands, this.received, ids)
    // If another writer used an id for a different message, the caller must decide again.
    return E.isRight(recorded) && recorded.right.size === ids.length
  }

  async isDerivedIdTaken(state: Conversation, derived: ReadonlySet<string>): Promise<boolean> {
    if (!this.mustLookUpIds(state) || derived.size === 0) return false
    return (await this.log.store.findByIds(this.stream, [...derived])).length > 0
  }

  /** Looks up which of the next derived ids are free; twice as many each time. */
  async avoidTakenIds(state: Conversation): Promise<void> {
    this.commands = withTakenIds(this.commands, await takenAmongNext(this.log, state, this.lookupSize))
    this.lookupSize *= 2
  }
}

/** One call of `handle`. A method returns undefined if the commands must be decided again. */
class CommandRun {
  private conflict: AppendFailure | undefined
  private keys: SealingKeys | undefined

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
    private readonly states: States,
    private state: Conversation,
    private readonly pending: PendingCommands,
    private readonly provenance: Provenance,
    private readonly replacements: RedactedCommands['replacements'],
    private keysFrom: 'memory' | 'store' | 'new',
  ) {}

  async run(): Promise<Result> {
    for (let tries = 0; tries < CONFLICT_ATTEMPTS; tries += 1) {
      const result = await this.attempt()
      if (result !== undefined) return result
    }
    return E.left(this.conflict ?? { kind: 'StoreUnavailable', detail: 'the append was tried too often' })
  }

  private async attempt(): Promise<Result | undefined> {
    // After the state, so that an erasure that the state includes is known to the keys.
    this.keys = await sealingKeys(this.log, this.state.conversationId, this.pending.commands, this.keysFrom)
    this.keysFrom = 'store'
    const duplicates = await this.pending.removeCompactedDuplicates(this.state)
    if (E.isLeft(duplicates)) return duplicates
    const decided = await this.decideAll()
    if (E.isLeft(decided)) return decided
    const { rejection, encoded } = decided.right
    const refusal = rejection ?? (await wrongAnswer(this.log, this.state, encoded.events))
    if (refusal !== undefined) return await this.afterRejection(refusal)
    if (encoded.events.length === 0) return await this.afterNothing()
    const derived = derivedEventIds(this.pending.stream, this.pending.commands, encoded.events)
    if (await this.pending.isDerivedIdTaken(this.state, derived)) {
      await this.pending.avoidTakenIds(this.state)
      return undefined
    }
    const appended = await this.append(encoded)
    if (appended === undefined) return undefined
    return await this.afterAppend(appended, decided.right, derived)
  }

  /** Undefined if the conversation has other keys than those that were created for it. */
  private async append(encoded: EncodedEvents): Promise<E.Either<AppendFailure, Recorded> | undefined> {
    const { log, state, keys } = this
    const { stream } = this.pending
    return keys?.created === undefined
      ? await appendUntilKnown(log, stream, state.revision, encoded)
      : await appendWithNewKeys(log, stream, encoded, keys.created)
  }

  /** Decides each command on the state that the earlier ones result in. Other work may run between two events. */
  private async decideAll(): Promise<E.Either<NotRecordable, Decided & { readonly rejection?: Rejection }>> {
    const encoded: EncodedEvents = { toStore: [], bodies: [], events: [] }
    const fold = new Fold(this.state)
    const options = { replacements: this.replacements, keys: this.keys }
    for (const whole of withIdSeeds(this.keys, this.pending.commands)) {
      const before = encoded.events.length
      for (const command of whole.type === 'AppendMessages' ? inParts(whole, MESSAGES_AT_ONCE) : [whole]) {
        const decided = decide(fold.state, command)
        if (E.isLeft(decided)) return E.right({ encoded, state: fold.state, rejection: decided.left })
        const now = this.clock.now().toISOString()
        for (const event of decided.right) {
          if (isPauseDue()) await pause()
          const next = await encodeEvents(fold.state, [event], now, this.provenance, options)
          if (E.isLeft(next)) return next
          encoded.toStore.push(...next.right.toStore)
          encoded.bodies.push(...next.right.bodies)
          encoded.events.push(...next.right.events)
          for (const recorded of next.right.events) fold.take(recorded)
        }
      }
      const partly = whole.type === 'AppendMessages' ? partlyRecorded(whole, encoded.events.length - before) : undefined
      if (partly !== undefined) return E.right({ encoded, state: fold.state, rejection: partly })
    }
    return E.right({ encoded, state: fold.state })
  }

  /** Whether the state was outdated. It is current afterwards. */
  private async wasOutdated(): Promise<boolean> {
    const { revision } = this.state
    this.state = await this.states.current(this.state.conversationId)
    return this.state.revision !== revision
  }

  private async afterRejection(rejection: Rejection | BadMessage): Promise<Result | undefined> {
    // A rejection must refer to the current state: another process may have appended meanwhile.
    if (await this.wasOutdated()) return undefined
    // The caller decided on another state and must decide again.
    if (rejection.kind === 'ConversationMoved') return await this.afterMove(rejection)
    // A compacted message is not in the state, and a rule for new messages may reject it (for example a tool result
    // whose call was compacted too). Recorded messages are removed from the command before it is rejected.
    const same = await this.pending.removeRecorded()
    if (E.isLeft(same)) return same
    return same.right.size === 0 ? E.left(rejection) : undefined
  }

  /** A repeated append whose answer was lost is not a conflict: it is what changed the conversation. */
  private async afterMove(moved: Rejection): Promise<Result> {
    return (await this.pending.isRepeated()) ? this.nothingRecorded() : E.left(moved)
  }

  /** A success without events must refer to the current state too: another process may have removed a pin. */
  private async afterNothing(): Promise<Result | undefined> {
    return (await this.wasOutdated()) ? undefined : this.nothingRecorded()
  }

  private nothingRecorded(): Result {
    return E.right({ state: this.state, events: [], position: undefined })
  }

  private async afterAppend(
    appended: E.Either<AppendFailure, Recorded>,
    { encoded, state: nextState }: Decided,
    derived: ReadonlySet<string>,
  ): Promise<Result | undefined> {
    const { conversationId, revision } = this.state
    if (E.isRight(appended) && !appended.right.repeated) {
      this.states.keep(nextState)
      return E.right({ state: nextState, events: encoded.events, position: appended.right.position })
    }
    if (E.isLeft(appended) && appended.left.kind !== 'IdsRecorded' && appended.left.kind !== 'RevisionConflict') {
      this.states.forget(conversationId)
      return appended
    }
    this.state = await this.states.current(conversationId, true)
    if (E.isRight(appended)) {
      const { ours, position } = appended.right
      return E.right({ state: this.state, events: ours ? encoded.events : [], position })
    }
    this.conflict = appended.left
    // If the stream did not move, the recorded ids are from before the live window; otherwise it is a race, and the
    // commands are decided again.
    return appended.left.kind === 'IdsRecorded' && this.state.revision === revision
      ? await this.afterDuplicateIds(appended.left, derived)
      : undefined
  }

  private async afterDuplicateIds(
    duplicate: AppendFailure & { readonly kind: 'IdsRecorded' },
    derived: ReadonlySet<string>,
  ): Promise<Result | undefined> {
    const same = await this.pending.removeRecorded(duplicate.ids.filter((id) => !derived.has(id)))
    if (E.isLeft(same)) return same
    const isPlaceTaken = duplicate.ids.some((id) => derived.has(id))
    if (same.right.size === 0 && !isPlaceTaken) return E.left(duplicate)
    if (isPlaceTaken) await this.pending.avoidTakenIds(this.state)
    return undefined
  }
}

/** Loads, decides and appends; caches the states in use. */
export function createConversations({
  log,
  clock,
  cacheTokens = 8_000_000,
  alone = false,
}: ConversationsOptions): Conversations {
  const states = new States(log, cacheTokens, alone)
  /** Serializes the commands of each conversation, so that they do not conflict with each other. */
  const turns = createStoreTurns()
  return {
    load: (conversationId) => turns.inTurn(conversationId, () => states.current(conversationId)),
    loadAt: (conversationId, revision) => loadConversation(log, conversationId, revision),
    forget(conversationId) {
      states.forget(conversationId)
    },
    handle: (conversationId, commands, provenance, replaced) =>
      turns.inTurn(
        conversationId,
        async () => {
          const isCached = states.has(conversationId)
          const state = await states.recent(conversationId)
          const unerased = await withoutErased(log.keys, commands)
          const redacted = await redactCommands(log, state, unerased, provenance)
          if (E.isLeft(redacted)) return redacted
          const { commands: safe, provenance: by } = redacted.right
          const replacements = new Map([...(replaced ?? []), ...redacted.right.replacements])
          const keysFrom = state.revision < 0 ? 'new' : isCached || alone ? 'memory' : 'store'
          const pending = new PendingCommands(log, conversationStream(conversationId), safe, commands)
          return await new CommandRun(log, clock, states, state, pending, by, replacements, keysFrom).run()
        },
        (result) => (E.isLeft(result) && result.left.kind === 'StoreUnavailable' ? result.left.detail : undefined),
      ),
  }
}
