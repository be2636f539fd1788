/**
 * An edition of one conversation, in the form that the compactor uses: the same messages, and its own events in its own
 * stream. Only one process writes it at a time and holds its state. With `recording: false` nothing is written; the
 * same steps only show the result.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../../domain/events/codec.js'
import { evolve, evolveAll } from '../../domain/conversation/evolve.js'
import { seeConversation } from '../../domain/conversation/see-conversation.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { decide, type Command } from '../../domain/decide/index.js'
import type { Event, RecordedEvent } from '../../domain/events/index.js'
import type { Clock } from '../../ports/clock.js'
import type { CommandFailure, Conversations, Handled } from '../recording/handle-command.js'
import type { Log } from '../recording/load-conversation.js'
import { redactCommands } from '../recording/redaction.js'
import {
  appendUntilKnown,
  encodeEvents,
  sealingKeys,
  withIdSeeds,
  streamOf,
  type EncodedEvents,
  type EncodingOptions,
} from '../recording/record-events.js'

export interface EditionConversation extends Pick<Conversations, 'load' | 'handle'> {
  readonly state: () => Conversation
  /** Applies the conversation's next event. */
  see(event: RecordedEvent): void
  /** Records how much of the conversation was seen, unless another event says so. */
  recordAdvance(provenance: Provenance): Promise<E.Either<CommandFailure, Handled>>
}

export interface EditionConversationOptions {
  readonly log: Log
  readonly clock: Clock
  /** False: events are decided but not stored. */
  readonly recording: boolean
}

const sameChunk = (a: Event | undefined, b: Event): boolean =>
  a?.type === 'ChunkSummarized' && b.type === 'ChunkSummarized' && a.data.chunkId === b.data.chunkId

/**
 * Continues from a state of an edition.
 * @param recordedAfter events in its stream after that state: a chunk that is decided again is matched with them and
 * not recorded twice; after any other decision, new events follow them
 */
export const createEditionConversation = (
  options: EditionConversationOptions,
  from: Conversation,
  advancedTo: number,
  recordedAfter: readonly RecordedEvent[] = [],
): EditionConversation => {
  const edition = new RecordedEdition(options, from, advancedTo, [...recordedAfter])
  return {
    state: () => edition.state,
    see: (event) => {
      edition.see(event)
    },
    load: () => Promise.resolve(edition.state),
    handle: (_conversationId, commands, provenance) => edition.record(commands, provenance),
    recordAdvance: (provenance) => edition.record([], provenance, true),
  }
}

class RecordedEdition {
  /** The epoch of the conversation's keys since the first event that was recorded here. */
  #knownEpoch: number | undefined

  constructor(
    private readonly options: EditionConversationOptions,
    public state: Conversation,
    /** The conversation revision that the edition's stream has recorded as seen. */
    private recordedRevision: number,
    private pendingRecorded: RecordedEvent[],
  ) {}

  see(event: RecordedEvent): void {
    this.#applyPending()
    this.state = seeConversation(this.state, event)
  }

  async record(
    commands: readonly Command[],
    provenance: Provenance,
    evenIfNothing = false,
  ): Promise<E.Either<CommandFailure, Handled>> {
    const { log, recording } = this.options
    const { state } = this
    const redacted = await redactCommands(log, state, commands, provenance)
    if (E.isLeft(redacted)) return redacted
    const { commands: safe, provenance: by, replacements } = redacted.right
    const keys = recording ? await sealingKeys(log, state.conversationId, safe, 'store') : undefined
    const epoch = keys?.conversation.epoch
    this.#knownEpoch ??= epoch
    // Texts in this state were erased meanwhile.
    if (epoch !== undefined && epoch !== this.#knownEpoch)
      return E.left({ kind: 'ConversationMoved', revision: state.revision, expected: state.revision })
    const next = await this.#decided(withIdSeeds(keys, safe), by, evenIfNothing, { replacements, keys })
    if (E.isLeft(next)) return next
    const { encoded, after } = next.right
    if (encoded.events.length === 0) return E.right({ state, events: [], position: undefined })
    const [recordedNext] = this.pendingRecorded
    if (recordedNext !== undefined) {
      if (encoded.events.length === 1 && sameChunk(encoded.events[0], recordedNext)) {
        this.state = evolve(state, recordedNext)
        this.pendingRecorded = this.pendingRecorded.slice(1)
        return E.right({ state: this.state, events: [], position: undefined })
      }
      this.#applyPending()
      return await this.record(commands, provenance, evenIfNothing)
    }
    const appended = recording
      ? await appendUntilKnown(log, streamOf(state), state.revision, encoded)
      : E.right({ position: undefined })
    if (E.isLeft(appended)) return appended
    this.state = after
    this.recordedRevision = after.conversationRevision
    return E.right({ state: after, events: encoded.events, position: appended.right.position })
  }

  /** Applies all recorded events after the state. */
  #applyPending(): void {
    this.state = evolveAll(this.state, this.pendingRecorded)
    this.pendingRecorded = []
  }

  /** Decides the events, after an event that records how much of the conversation was seen. */
  async #decided(
    commands: readonly Command[],
    provenance: Provenance,
    evenIfNothing: boolean,
    options: EncodingOptions,
  ): Promise<E.Either<CommandFailure, { readonly encoded: EncodedEvents; readonly after: Conversation }>> {
    const encoded: EncodedEvents = { toStore: [], bodies: [], events: [] }
    const now = this.options.clock.now().toISOString()
    const add = async (
      current: Conversation,
      events: readonly Event[],
    ): Promise<E.Either<CommandFailure, Conversation>> => {
      const more = await encodeEvents(current, events, now, provenance, options)
      if (E.isLeft(more)) return more
      encoded.toStore.push(...more.right.toStore)
      encoded.bodies.push(...more.right.bodies)
      encoded.events.push(...more.right.events)
      return E.right(evolveAll(current, more.right.events))
    }
    const { state } = this
    const advanced = await add(
      state,
      state.revision >= 0 && this.recordedRevision < state.conversationRevision
        ? [{ type: 'EditionAdvanced', data: { conversationRevision: state.conversationRevision } }]
        : [],
    )
    if (E.isLeft(advanced)) return advanced
    let next = advanced.right
    const before = encoded.events.length
    for (const command of commands) {
      const events = decide(next, command)
      if (E.isLeft(events)) return events
      const after = await add(next, events.right)
      if (E.isLeft(after)) return after
      next = after.right
    }
    return E.right(
      encoded.events.length === before && !evenIfNothing
        ? { encoded: { toStore: [], bodies: [], events: [] }, after: state }
        : { encoded, after: next },
    )
  }
}
