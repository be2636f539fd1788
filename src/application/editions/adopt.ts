/**
 * Adopts and drops editions. Before an adoption, the edition catches up with messages that were appended since the
 * replay, as often as necessary: no message is lost, and the agent never waits.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../../domain/events/codec.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { EventData } from '../../domain/events/index.js'
import { editionStream } from '../../domain/values/ids.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import { modelWindow } from '../../ports/model-windows.js'
import { sleep } from '../../ports/clock.js'
import type { Lease } from '../../ports/lease.js'
import type { SpendingLimits } from '../../ports/spending.js'
import { editionsOf, editionStreams } from '../recording/conversation-streams.js'
import { createConfiguredSince } from '../recording/configured-since.js'
import { createEditionConversation } from './edition-conversations.js'
import { EDITION_PATIENCE_MS, holdEdition } from './edition-claim.js'
import { erasedEditions } from './erased-editions.js'
import { editionIdOf, makesEdition, planEdition } from './edition-plan.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { CommandFailure, Conversations, Handled } from '../recording/handle-command.js'
import { loadEdition, type Log } from '../recording/load-conversation.js'
import { createMetered } from './metered.js'
import { recallSummaries } from './recall-summaries.js'
import { isDropped, openReplay, type ConversationReplay, type ReplayDependencies } from './replay-conversation.js'
import type { ReplayAllDependencies } from './replay.js'
import type { BadPolicy } from '../../domain/values/policy.js'
import type { CompactFailure } from '../compaction/compact.js'

export type EditionFailure =
  | { readonly kind: 'NoSuchEdition'; readonly editionId: string; readonly conversationId: string }
  | { readonly kind: 'EditionIsDropped'; readonly editionId: string; readonly conversationId: string }
  | { readonly kind: 'EditionInForce'; readonly editionId: string; readonly conversationId: string }
  | {
      readonly kind: 'EditionNotInForce'
      readonly editionId: string
      readonly conversationId: string
      readonly inForce: string | undefined
    }
  /** Another process is building it. */
  | { readonly kind: 'EditionBusy'; readonly editionId: string; readonly conversationId: string }
  /** Catching up needs summaries, and the current configuration differs from the one that made the edition. */
  | {
      readonly kind: 'EditionOfAnother'
      readonly editionId: string
      readonly conversationId: string
      readonly wouldBe: string
      readonly made: EditionMade
    }
  /** Catching up failed. Without a failure, the spending limit was reached or a stop was requested. */
  | {
      readonly kind: 'EditionUnfinished'
      readonly editionId: string
      readonly conversationId: string
      readonly failure: CompactFailure | undefined
      readonly asked?: true
    }

/** The configuration that made an edition, as far as its events record it. */
interface EditionMade extends Readonly<EventData<'EditionStarted'>['summarizer']> {
  /** The prompt of its summaries; undefined before the first one. */
  readonly prompt: { readonly name: string; readonly sha256: string } | undefined
}

export interface AdoptDependencies extends Omit<ReplayAllDependencies, 'conversations'> {
  readonly conversations: Pick<Conversations, 'load' | 'handle'>
}

export interface AdoptRequest {
  readonly conversationId: string
  readonly editionId: string
  /** The settings of the replay, if summaries must be made. */
  readonly settings?: PolicySettings | undefined
  readonly bound?: SpendingLimits | undefined
  /** Stops catching up: running calls may finish and are recorded, and no other is started. */
  readonly signal?: AbortSignal | undefined
  readonly provenance: Provenance
}

/** How often it catches up if the conversation grows meanwhile. */
const ATTEMPTS = 200

type LeasedWork<T> = (held: Lease) => Promise<T>

async function holding<T>(
  deps: Pick<AdoptDependencies, 'claims' | 'clock' | 'wait'>,
  editionId: string,
  conversationId: string,
  work: LeasedWork<E.Either<EditionFailure | CommandFailure, T>>,
): Promise<E.Either<EditionFailure | CommandFailure, T>> {
  const owner = deps.clock.newId()
  const lease = await holdEdition(deps.claims, editionId, conversationId, owner, {
    patienceMs: EDITION_PATIENCE_MS,
    wait: deps.wait,
  })
  if (lease === undefined) return E.left({ kind: 'EditionBusy', editionId, conversationId })
  try {
    return await work(lease)
  } finally {
    await lease.release().catch(() => undefined)
  }
}

/** The configuration that made an edition, from its start and its first summary. */
async function madeWith(log: Log, conversationId: string, editionId: string): Promise<EditionMade | undefined> {
  let summarizer: EventData<'EditionStarted'>['summarizer'] | undefined
  for await (const stored of log.store.readStream(editionStream(editionId, conversationId))) {
    if (stored.type !== 'EditionStarted' && stored.type !== 'ChunkSummarized') continue
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'EditionStarted')) summarizer ??= event.data.summarizer
    if (isOfType(event, 'ChunkSummarized') && event.data.summarizer.fallback !== true && summarizer !== undefined)
      return { ...summarizer, prompt: event.data.summarizer.prompt }
  }
  return summarizer === undefined ? undefined : { ...summarizer, prompt: undefined }
}

/** The conversation's revision whose configuration an edition started with. */
async function begunAt(log: Log, conversationId: string, editionId: string): Promise<number> {
  const [stored] = await log.store.readRevisions(editionStream(editionId, conversationId), [0])
  const started = stored === undefined ? undefined : await decodeEvent(stored, log)
  if (started === undefined || !isOfType(started, 'EditionStarted'))
    throw new Error(`the stream of edition ${editionId} of ${conversationId} does not begin with its start`)
  return started.data.conversationRevision
}

/** A recorded edition, or why it cannot be used. */
async function usable(
  log: Log,
  conversationId: string,
  editionId: string,
): Promise<E.Either<EditionFailure, Conversation>> {
  const edition = await loadEdition(log, conversationId, editionId)
  if (edition.configuration === undefined) return E.left({ kind: 'NoSuchEdition', editionId, conversationId })
  if (await isDropped(log, conversationId, editionId))
    return E.left({ kind: 'EditionIsDropped', editionId, conversationId })
  return E.right(edition)
}

/** Why an edition cannot be adopted in a conversation, according to its own events. */
export async function whyNotAdopted(
  log: Log,
  conversationId: string,
  editionId: string,
): Promise<EditionFailure | undefined> {
  const found = await usable(log, conversationId, editionId)
  return E.isLeft(found) ? found.left : undefined
}

/** The edition's replay, with its own summarizer. With another one it continues only while no summary must be made. */
async function catchUpReplay(
  deps: AdoptDependencies,
  { conversationId, editionId, settings, bound, signal }: AdoptRequest,
  held: Lease,
): Promise<
  E.Either<
    EditionFailure | CommandFailure | BadPolicy,
    { readonly replay: ConversationReplay; readonly isOwn: boolean; readonly wouldBe: string }
  >
> {
  const wouldBe = editionIdOf({ ...deps, settings }, await erasedEditions(deps.log, [conversationId]))
  const isOwn =
    wouldBe === editionId || makesEdition({ ...deps, settings }, editionId, editionsOf(await editionStreams(deps.log)))
  const plan = planEdition(editionId, await deps.conversations.load(conversationId), { ...deps, settings })
  if (E.isLeft(plan)) return plan
  const stop = new AbortController()
  const goOn = (): boolean => !held.lost.aborted && !stop.signal.aborted && signal?.aborted !== true
  const payer = createMetered({
    editionId,
    spending: deps.spending,
    bound: bound ?? {},
    onNoRoom: () => {
      stop.abort()
    },
    goOn,
    wait: (ms) => (deps.wait ?? sleep)(ms, signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])),
  })
  const recall = recallSummaries(deps.log, conversationId, () => editionStreams(deps.log))
  const replayDeps: ReplayDependencies = { ...deps, recall, summarizer: payer.paying(deps.summarizer) }
  const opened = await openReplay(replayDeps, plan.right, { recording: true, signal: stop.signal, mayBuy: isOwn, goOn })
  return E.map((replay: ConversationReplay) => ({ replay, isOwn, wouldBe }))(opened)
}

/** Adopts an edition as of the conversation's last event. A second call records nothing. */
export function adoptEdition(
  deps: AdoptDependencies,
  request: AdoptRequest,
): Promise<E.Either<EditionFailure | CommandFailure, Handled>> {
  const { conversationId, editionId, provenance } = request
  return holding(
    deps,
    editionId,
    conversationId,
    async (held): Promise<E.Either<EditionFailure | CommandFailure, Handled>> => {
      const state = await deps.conversations.load(conversationId)
      // Also if it was dropped: a revert may reactivate a dropped edition.
      if (state.lineage?.edition?.editionId === editionId) return E.right({ state, events: [], position: undefined })
      const found = await usable(deps.log, conversationId, editionId)
      if (E.isLeft(found)) return found
      const opened = await catchUpReplay(deps, request, held)
      if (E.isLeft(opened)) return opened
      const { replay, isOwn, wouldBe } = opened.right
      const configured = createConfiguredSince(
        deps.log,
        conversationId,
        await begunAt(deps.log, conversationId, editionId),
      )
      for (let tries = 1; ; tries += 1) {
        const reached = await replay.advance()
        if (reached.kind === 'stopped')
          return E.left({ kind: 'EditionUnfinished', editionId, conversationId, failure: reached.failure })
        if (reached.kind === 'postponed' && request.signal?.aborted === true)
          return E.left({ kind: 'EditionUnfinished', editionId, conversationId, failure: undefined, asked: true })
        if (reached.kind === 'postponed') {
          const made = isOwn ? undefined : await madeWith(deps.log, conversationId, editionId)
          return E.left(
            made === undefined
              ? { kind: 'EditionUnfinished', editionId, conversationId, failure: undefined }
              : { kind: 'EditionOfAnother', editionId, conversationId, wouldBe, made },
          )
        }
        const edition = replay.state()
        const adopted = await deps.conversations.handle(
          conversationId,
          [{ type: 'AdoptEdition', edition, configured: await configured(edition.conversationRevision), modelWindow }],
          provenance,
        )
        if (E.isRight(adopted) || adopted.left.kind !== 'ConversationMoved' || tries === ATTEMPTS) return adopted
      }
    },
  )
}

/**
 * Drops an edition of a conversation; its recorded events stay. Rejected while it is active; a second call records
 * nothing.
 */
export function dropEdition(
  deps: AdoptDependencies,
  { conversationId, editionId, provenance }: Pick<AdoptRequest, 'conversationId' | 'editionId' | 'provenance'>,
): Promise<E.Either<EditionFailure | CommandFailure, Handled>> {
  return holding(
    deps,
    editionId,
    conversationId,
    async (): Promise<E.Either<EditionFailure | CommandFailure, Handled>> => {
      const { log, clock } = deps
      const { lineage } = await deps.conversations.load(conversationId)
      if (lineage?.edition?.editionId === editionId)
        return E.left({ kind: 'EditionInForce', editionId, conversationId })
      const found = await usable(log, conversationId, editionId)
      if (E.isLeft(found))
        return found.left.kind === 'EditionIsDropped'
          ? E.right({ state: await loadEdition(log, conversationId, editionId), events: [], position: undefined })
          : found
      const edition = createEditionConversation(
        { log, clock, recording: true },
        found.right,
        found.right.conversationRevision,
      )
      return await edition.handle(conversationId, [{ type: 'DropEdition' }], provenance)
    },
  )
}
