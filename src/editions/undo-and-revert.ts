/**
 * Going back without losing anything: the state before a cycle or an adoption, with all messages and pins that came
 * since, is put into force by a fact of its own. What is undone stays in the log.
 */
import { modelWindow } from '../ports/model-windows.js'
import { either as E } from 'fp-ts'
import type { Provenance } from '../domain/events/codec.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Command, SetAside } from '../domain/decide/index.js'
import type { EventData } from '../domain/events/index.js'
import { conversationStream } from '../domain/values/ids.js'
import { createConfiguredSince, type ConfiguredSince } from '../recording/configured-since.js'
import type { CycleOfEdition } from '../history/cycles.js'
import { originsInForce, spanOf } from '../recording/origins.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { CommandFailure, Conversations, Handled } from '../recording/handle-command.js'
import { loadConversation, seeUntil, type Log } from '../recording/load-conversation.js'

export interface UndoDependencies {
  readonly log: Log
  readonly conversations: Conversations
}

export type UndoFailure = CommandFailure | CycleOfEdition

/** What an undone cycle came to. */
export interface Undone {
  /** The conversation. */
  readonly conversationId: string
  /** Revision of the fact that undid it. */
  readonly revision: bigint
  /** The cycles that were undone, the last one first. */
  readonly cycles: readonly number[]
  /** Messages that are in the window again. */
  readonly messagesRestored: number
  /** Tokens of the context before it. */
  readonly tokensBefore: number
  /** Tokens of the context after it. */
  readonly tokensAfter: number
  /** The soft limit starts no cycle before so many further messages came. */
  readonly restsForMessages: number
}

/** How often what came meanwhile is seen: as often as for an adoption. */
const ATTEMPTS = 200

/** The cycles in force from the last one back to `cycle`, newest first, and the last revision before them. */
async function cyclesFrom(
  log: Log,
  state: Conversation,
  cycle: number,
): Promise<E.Either<UndoFailure, { readonly undone: EventData<'CycleUndone'>['undone']; readonly at: bigint }>> {
  const { conversationId, cycles } = state
  const undone: EventData<'CycleUndone'>['undone'] = []
  for await (const event of originsInForce(
    log,
    conversationId,
    cycle >= 1 && cycle <= cycles ? state.lastOrigin : undefined,
  )) {
    if (isOfType(event, 'MessagesPruned')) {
      undone.push({ cycle: event.data.cycle, revision: event.revision })
      if (event.data.cycle === cycle) return E.right({ undone, at: spanOf(event).from })
    }
    if (isOfType(event, 'EditionAdopted'))
      return E.left({ kind: 'CycleOfEdition', cycle, editionId: event.data.editionId })
  }
  return E.left({ kind: 'NoSuchCycle', cycle, cycles })
}

/** Gives the summaries that came too late between two revisions, and were not taken up since. */
type SetAsideSince = (at: bigint, until: bigint) => Promise<SetAside[]>

/** Asked again for the same place it goes on from where it was, as `createRewind` does. */
function createSetAsideSince(log: Log, conversationId: string): SetAsideSince {
  let last: { readonly at: bigint; readonly until: bigint; readonly found: Map<string, SetAside> } | undefined
  return async (at, until) => {
    const { until: seen, found } = last?.at === at ? last : { until: at, found: new Map<string, SetAside>() }
    if (until > seen) {
      for await (const stored of log.store.readStream(conversationStream(conversationId), {
        from: seen + 1n,
        limit: Number(until - seen),
      })) {
        if (stored.type !== 'SummarySetAside' && stored.type !== 'ChunkSummarized') continue
        const event = await decodeEvent(stored, log.bodies)
        if (isOfType(event, 'SummarySetAside')) found.set(event.data.summarizer.requestHash, event.data)
        else if (isOfType(event, 'ChunkSummarized')) found.delete(event.data.summarizer.requestHash)
      }
    }
    last = { at, until, found }
    return [...found.values()]
  }
}

/**
 * Gives the state as it was at a revision, with the messages and pins that came since, and without what compaction did
 * since.
 */
type Rewind = (at: bigint, until: bigint) => Promise<Conversation>

/**
 * Asked again for the same place it goes on from where it was: however long the conversation, it catches up with
 * whoever appends.
 */
function createRewind(log: Log, conversationId: string): Rewind {
  let last: { readonly at: bigint; readonly state: Conversation } | undefined
  return async (at, until) => {
    const state = await seeUntil(
      log,
      last?.at === at ? last.state : await loadConversation(log, conversationId, at),
      until,
    )
    last = { at, state }
    return state
  }
}

/** Makes a command of the state that is, and makes it anew where the conversation went on meanwhile. */
async function decideOnWhatIs(
  { log, conversations }: UndoDependencies,
  conversationId: string,
  provenance: Provenance,
  commandFor: (
    state: Conversation,
    rewind: Rewind,
    setAsideSince: SetAsideSince,
  ) => Promise<E.Either<UndoFailure, Command>>,
): Promise<E.Either<UndoFailure, Handled>> {
  const rewind = createRewind(log, conversationId)
  const setAsideSince = createSetAsideSince(log, conversationId)
  for (let tries = 1; ; tries += 1) {
    const command = await commandFor(await conversations.load(conversationId), rewind, setAsideSince)
    if (E.isLeft(command)) return command
    const handled = await conversations.handle(conversationId, [command.right], provenance)
    if (E.isRight(handled) || handled.left.kind !== 'ConversationMoved' || tries === ATTEMPTS) return handled
  }
}

/**
 * Puts the messages of the cycles from `cycle` to the last one back into the window; refused where the context would
 * pass the hard limit.
 */
export async function undoCycles(
  deps: UndoDependencies,
  conversationId: string,
  cycle: number,
  provenance: Provenance,
): Promise<E.Either<UndoFailure, Handled>> {
  const handled = await decideOnWhatIs(deps, conversationId, provenance, async (state, rewind, setAsideSince) => {
    const found = await cyclesFrom(deps.log, state, cycle)
    if (E.isLeft(found)) return found
    const { undone, at } = found.right
    return E.right({
      type: 'UndoCycles',
      undone,
      before: await rewind(at, state.revision),
      aside: await setAsideSince(at, state.revision),
    })
  })
  // Another process recorded the very same at the same place: the cycle was undone when we came.
  return E.isRight(handled) && handled.right.events.length === 0
    ? E.left({ kind: 'NoSuchCycle', cycle, cycles: handled.right.state.cycles })
    : handled
}

/** Puts into force again what the edition in force had replaced. */
export function revertEdition(
  deps: UndoDependencies,
  conversationId: string,
  provenance: Provenance,
): Promise<E.Either<UndoFailure, Handled>> {
  let since: { readonly adoptedAt: bigint; readonly configured: ConfiguredSince } | undefined
  return decideOnWhatIs(deps, conversationId, provenance, async (state, rewind, setAsideSince) => {
    const edition = state.lineage?.edition
    if (edition === undefined) return E.left({ kind: 'NoEditionInForce' })
    const { adoptedAt } = edition
    if (since?.adoptedAt !== adoptedAt)
      since = { adoptedAt, configured: createConfiguredSince(deps.log, conversationId, adoptedAt) }
    return E.right({
      type: 'RevertEdition',
      before: await rewind(adoptedAt - 1n, state.revision),
      aside: await setAsideSince(adoptedAt, state.revision),
      configured: await since.configured(state.revision),
      modelWindow,
    })
  })
}

/** What undoing a cycle came to, by the fact that recorded it. */
export function undoneBy({ state, events }: Pick<Handled, 'state' | 'events'>): Undone {
  const event = events.find((each) => isOfType(each, 'CycleUndone'))
  if (event === undefined) throw new Error(`undoing a cycle of ${state.conversationId} recorded nothing`)
  const { undone, restored, tokensBefore, tokensAfter, restsUntilMessages } = event.data
  return {
    conversationId: state.conversationId,
    revision: event.revision,
    cycles: undone.map(({ cycle }) => cycle),
    messagesRestored: restored.length,
    tokensBefore,
    tokensAfter,
    restsForMessages: Math.max(0, restsUntilMessages - state.messagesAppended),
  }
}
