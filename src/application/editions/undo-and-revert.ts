/**
 * Undoes cycles and reverts adoptions: a new event activates the state before them, with all messages and pins that
 * came since. The undone events stay in the log.
 */
import { modelWindow } from '../../ports/model-windows.js'
import { either as E } from 'fp-ts'
import type { Provenance } from '../../domain/events/codec.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Command, SetAside } from '../../domain/decide/index.js'
import type { EventData } from '../../domain/events/index.js'
import { conversationStream } from '../../domain/values/ids.js'
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

/** The result of an undo. */
export interface Undone {
  /** Id of the conversation. */
  readonly conversationId: string
  /** Revision of the event that undid it. */
  readonly revision: number
  /** The undone cycles, the last one first. */
  readonly cycles: readonly number[]
  /** Messages that are in the window again. */
  readonly messagesRestored: number
  /** Tokens of the context before it. */
  readonly tokensBefore: number
  /** Tokens of the context after it. */
  readonly tokensAfter: number
  /** The number of further messages before the soft limit starts a cycle again. */
  readonly restsForMessages: number
}

/** How often the command is decided again if the conversation changes meanwhile, as for an adoption. */
const ATTEMPTS = 200

/** The active cycles from the last one back to `cycle`, newest first, and the last revision before them. */
async function cyclesFrom(
  log: Log,
  state: Conversation,
  cycle: number,
): Promise<E.Either<UndoFailure, { readonly undone: EventData<'CycleUndone'>['undone']; readonly at: number }>> {
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

/** Returns the late summaries between two revisions that were not used since. */
type LateSummariesSince = (at: number, until: number) => Promise<SetAside[]>

/** Continues from the previous call for the same revision, like `createRewind`. */
function createLateSummaries(log: Log, conversationId: string): LateSummariesSince {
  let last: { readonly at: number; readonly until: number; readonly found: Map<string, SetAside> } | undefined
  return async (at, until) => {
    const { until: seen, found } = last?.at === at ? last : { until: at, found: new Map<string, SetAside>() }
    if (until > seen) {
      for await (const stored of log.store.readStream(conversationStream(conversationId), {
        from: seen + 1,
        limit: until - seen,
      })) {
        if (stored.type !== 'SummarySetAside' && stored.type !== 'ChunkSummarized') continue
        const event = await decodeEvent(stored, log)
        if (isOfType(event, 'SummarySetAside')) found.set(event.data.summarizer.requestHash, event.data)
        else if (isOfType(event, 'ChunkSummarized')) found.delete(event.data.summarizer.requestHash)
      }
    }
    last = { at, until, found }
    return [...found.values()]
  }
}

/** Returns the state at a revision, with the messages and pins that came since, but without later compaction. */
type Rewind = (at: number, until: number) => Promise<Conversation>

/**
 * Continues from the previous call for the same revision: in a long conversation, it keeps up with concurrent appends.
 */
function createRewind(log: Log, conversationId: string): Rewind {
  let last: { readonly at: number; readonly state: Conversation } | undefined
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

/** Decides a command on the current state, again if the conversation changed meanwhile. */
async function decideOnWhatIs(
  { log, conversations }: UndoDependencies,
  conversationId: string,
  provenance: Provenance,
  commandFor: (
    state: Conversation,
    rewind: Rewind,
    lateSummariesSince: LateSummariesSince,
  ) => Promise<E.Either<UndoFailure, Command>>,
): Promise<E.Either<UndoFailure, Handled>> {
  const rewind = createRewind(log, conversationId)
  const lateSummariesSince = createLateSummaries(log, conversationId)
  for (let tries = 1; ; tries += 1) {
    const command = await commandFor(await conversations.load(conversationId), rewind, lateSummariesSince)
    if (E.isLeft(command)) return command
    const handled = await conversations.handle(conversationId, [command.right], provenance)
    if (E.isRight(handled) || handled.left.kind !== 'ConversationMoved' || tries === ATTEMPTS) return handled
  }
}

/**
 * Restores the messages of the cycles from `cycle` to the last one; rejected if the context would exceed the hard
 * limit.
 */
export async function undoCycles(
  deps: UndoDependencies,
  conversationId: string,
  cycle: number,
  provenance: Provenance,
): Promise<E.Either<UndoFailure, Handled>> {
  const handled = await decideOnWhatIs(deps, conversationId, provenance, async (state, rewind, lateSummariesSince) => {
    const found = await cyclesFrom(deps.log, state, cycle)
    if (E.isLeft(found)) return found
    const { undone, at } = found.right
    return E.right({
      type: 'UndoCycles',
      undone,
      before: await rewind(at, state.revision),
      lateSummaries: await lateSummariesSince(at, state.revision),
    })
  })
  // Another process undid the same cycle first.
  return E.isRight(handled) && handled.right.events.length === 0
    ? E.left({ kind: 'NoSuchCycle', cycle, cycles: handled.right.state.cycles })
    : handled
}

/** Reactivates what the active edition had replaced. */
export function revertEdition(
  deps: UndoDependencies,
  conversationId: string,
  provenance: Provenance,
): Promise<E.Either<UndoFailure, Handled>> {
  let since: { readonly adoptedAt: number; readonly configured: ConfiguredSince } | undefined
  return decideOnWhatIs(deps, conversationId, provenance, async (state, rewind, lateSummariesSince) => {
    const edition = state.lineage?.edition
    if (edition === undefined) return E.left({ kind: 'NoEditionInForce' })
    const { adoptedAt } = edition
    if (since?.adoptedAt !== adoptedAt)
      since = { adoptedAt, configured: createConfiguredSince(deps.log, conversationId, adoptedAt) }
    return E.right({
      type: 'RevertEdition',
      before: await rewind(adoptedAt - 1, state.revision),
      lateSummaries: await lateSummariesSince(adoptedAt, state.revision),
      configured: await since.configured(state.revision),
      modelWindow,
    })
  })
}

/** The result of undoing a cycle, from the event that recorded it. */
export function undoneBy({ state, events }: Pick<Handled, 'state' | 'events'>): Undone {
  const event = events.find((each) => isOfType(each, 'CycleUndone'))
  if (event === undefined) throw new Error(`undoing a cycle of ${state.conversationId} recorded nothing`)
  const { undone, restored, tokensBefore, tokensAfter, softLimitBackoffUntil } = event.data
  return {
    conversationId: state.conversationId,
    revision: event.revision,
    cycles: undone.map(({ cycle }) => cycle),
    messagesRestored: restored.length,
    tokensBefore,
    tokensAfter,
    restsForMessages: Math.max(0, softLimitBackoffUntil - state.messagesAppended),
  }
}
