/**
 * An edition of one conversation, as the compactor sees it: the same messages, and its own events in its own stream.
 * One process at a time writes it, and holds its state. With `recording: false` nothing is written: the same steps only
 * show what they would come to.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../domain/events/codec.js'
import { evolve, evolveAll } from '../domain/conversation/evolve.js'
import { seeConversation } from '../domain/conversation/see-conversation.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { decide, type Command } from '../domain/decide/index.js'
import type { Event, RecordedEvent } from '../domain/events/index.js'
import type { Clock } from '../ports/clock.js'
import type { CommandFailure, Conversations, Handled } from '../recording/handle-command.js'
import type { Log } from '../recording/load-conversation.js'
import { appendUntilKnown, encodeEvents, streamOf, type EncodedEvents } from '../recording/record-events.js'

export interface EditionConversation extends Pick<Conversations, 'load' | 'handle'> {
  readonly state: () => Conversation
  /** Takes up the conversation's next fact. */
  see(event: RecordedEvent): void
  /** Records how far the conversation was seen, where no other fact has told so. */
  tellSeen(provenance: Provenance): Promise<E.Either<CommandFailure, Handled>>
}

export interface EditionConversationOptions {
  readonly log: Log
  readonly clock: Clock
  /** False: facts are decided and forgotten. */
  readonly recording: boolean
}

const sameChunk = (a: Event | undefined, b: Event): boolean =>
  a?.type === 'ChunkSummarized' && b.type === 'ChunkSummarized' && a.data.chunkId === b.data.chunkId

/**
 * Goes on from a state of an edition.
 * @param recordedBehind what its stream has behind that state: chunks that are decided again are found there and not
 * recorded twice, and what goes another way goes on behind them all
 */
export function createEditionConversation(
  { log, clock, recording }: EditionConversationOptions,
  from: Conversation,
  advancedTo: bigint,
  recordedBehind: readonly RecordedEvent[] = [],
): EditionConversation {
  let state = from
  let behind = [...recordedBehind]
  /** The conversation's revision that the edition's stream says it has seen. */
  let told = advancedTo

  /** What was decided stands behind the fact that says on how much of the conversation. */
  function decided(
    commands: readonly Command[],
    provenance: Provenance,
    evenIfNothing: boolean,
  ): E.Either<CommandFailure, { readonly encoded: EncodedEvents; readonly seen: Conversation }> {
    const encoded: EncodedEvents = { toStore: [], bodies: [], events: [] }
    const now = clock.now().toISOString()
    const add = (seen: Conversation, events: readonly Event[]): E.Either<CommandFailure, Conversation> => {
      const more = encodeEvents(seen, events, now, provenance)
      if (E.isLeft(more)) return more
      encoded.toStore.push(...more.right.toStore)
      encoded.bodies.push(...more.right.bodies)
      encoded.events.push(...more.right.events)
      return E.right(evolveAll(seen, more.right.events))
    }
    const advanced = add(
      state,
      state.revision >= 0n && told < state.conversationRevision
        ? [{ type: 'EditionAdvanced', data: { conversationRevision: state.conversationRevision } }]
        : [],
    )
    if (E.isLeft(advanced)) return advanced
    let seen = advanced.right
    const before = encoded.events.length
    for (const command of commands) {
      const events = decide(seen, command)
      if (E.isLeft(events)) return events
      const after = add(seen, events.right)
      if (E.isLeft(after)) return after
      seen = after.right
    }
    return E.right(
      encoded.events.length === before && !evenIfNothing
        ? { encoded: { toStore: [], bodies: [], events: [] }, seen: state }
        : { encoded, seen },
    )
  }

  /** Whatever is recorded behind the state is part of it from now on. */
  function takeBehind(): void {
    state = evolveAll(state, behind)
    behind = []
  }

  async function record(
    commands: readonly Command[],
    provenance: Provenance,
    evenIfNothing = false,
  ): Promise<E.Either<CommandFailure, Handled>> {
    const next = decided(commands, provenance, evenIfNothing)
    if (E.isLeft(next)) return next
    const { encoded, seen } = next.right
    if (encoded.events.length === 0) return E.right({ state, events: [], position: undefined })
    const [there] = behind
    if (there !== undefined) {
      if (encoded.events.length === 1 && sameChunk(encoded.events[0], there)) {
        state = evolve(state, there)
        behind = behind.slice(1)
        return E.right({ state, events: [], position: undefined })
      }
      takeBehind()
      return await record(commands, provenance, evenIfNothing)
    }
    const appended = recording
      ? await appendUntilKnown(log, streamOf(state), state.revision, encoded)
      : E.right({ position: undefined })
    if (E.isLeft(appended)) return appended
    state = seen
    told = state.conversationRevision
    return E.right({ state, events: encoded.events, position: appended.right.position })
  }

  return {
    state: () => state,
    see(event) {
      takeBehind()
      state = seeConversation(state, event)
    },
    load: () => Promise.resolve(state),
    handle: (_conversationId, commands, provenance) => record(commands, provenance),
    tellSeen: (provenance) => record([], provenance, true),
  }
}
