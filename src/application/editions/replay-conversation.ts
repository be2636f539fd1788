/**
 * Compacts the history of one conversation again, into the edition's own stream: the messages are read one by one, and
 * after each the same decider, plan and compactor as for live conversations apply the edition's configuration. A replay
 * continues from the recorded events after an interruption, and when the conversation has grown.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../../domain/events/codec.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Configuration, EventData, RecordedEvent } from '../../domain/events/index.js'
import { conversationStream, editionStream } from '../../domain/values/ids.js'
import type { Claims } from '../../ports/claims.js'
import type { Clock } from '../../ports/clock.js'
import type { Summarizer } from '../../ports/summarizer.js'
import type { TokenBudget } from '../../ports/token-budget.js'
import { createCompact, isCompactionDue, type CompactFailure } from '../compaction/compact.js'
import { createEditionConversation } from './edition-conversations.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { loadEdition, type Log } from '../recording/load-conversation.js'
import { streamOf } from '../recording/record-events.js'
import type { RegisterPrompt } from '../recording/register-prompt.js'
import type { StepDependencies } from '../compaction/summarize-step.js'

export interface ReplayDependencies {
  readonly log: Log
  readonly clock: Clock
  readonly summarizer: Summarizer
  /** Makes the summary if the answers were unusable, or the request failed twice in a row. */
  readonly fallback?: Summarizer | undefined
  readonly persona: string
  readonly registerPrompt: RegisterPrompt
  readonly actor: string
  readonly budget?: TokenBudget | undefined
  readonly recall?: StepDependencies['recall']
}

export interface ReplayOptions {
  /** False: nothing is recorded; the steps only show the result. */
  readonly recording: boolean
  readonly signal?: AbortSignal
  /**
   * Called before each request and after each message: false ends the replay with what is recorded. Running calls
   * finish.
   */
  readonly goOn?: () => boolean
  /** False: ends if a summary is needed that is not recorded. */
  readonly mayBuy?: boolean
  /** Called after each message, with the state and the cost so far. */
  readonly onMessage?: (state: Conversation, spent: ReplaySpent) => void
}

/** The end of a replay: the end of the conversation, or the reason why it stopped before. */
type Replayed =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped'; readonly failure: CompactFailure }
  /** The budget has no room, or a stop was requested; a later replay continues. */
  | { readonly kind: 'postponed' }

/** The cost of a replay so far. */
interface ReplaySpent {
  readonly calls: number
  readonly tokens: number
  /** Recorded summaries, and how many of them were reused. */
  readonly summaries: number
  readonly reused: number
}

export interface ConversationReplay {
  readonly state: () => Conversation
  readonly spent: ReplaySpent
  /** Reads the conversation up to its current end. */
  advance(): Promise<Replayed>
}

/** One process builds an edition, under a lease of the caller: no second one is needed. */
const uncontestedClaims: Claims = {
  take: () => Promise.resolve({ fence: 0, extend: () => Promise.resolve(true), release: () => Promise.resolve() }),
  holder: () => Promise.resolve(undefined),
}

/** The number of events between two yields to signals, timers and requests. */
const EVENTS_PER_TURN = 16

/** The parts of an edition at its start. */
export interface EditionPlan {
  readonly editionId: string
  readonly configuration: Configuration
  readonly summarizer: EventData<'EditionStarted'>['summarizer']
  /** The current conversation: messages that are pinned now are never compacted. */
  readonly conversation: Conversation
}

/** Whether an edition was dropped: after that only comparisons are recorded, unless it is begun again. */
export async function isDropped(log: Log, conversationId: string, editionId: string): Promise<boolean> {
  for await (const last of log.store.readStream(editionStream(editionId, conversationId), { direction: 'backwards' })) {
    if (last.type !== 'EditionCompared') return last.type === 'EditionDropped'
  }
  return false
}

/**
 * The events that an interrupted edition recorded last: the chunks at the end of its stream that no cycle has archived
 * yet, and the failures between them. The same decisions are made again, and find these events. They are not part of
 * the state for planning, because a plan with a recorded chunk may compact less than one that has to make it.
 */
async function unfinishedOf(log: Log, edition: Conversation): Promise<RecordedEvent[]> {
  const found: RecordedEvent[] = []
  for await (const stored of log.store.readStream(streamOf(edition), { direction: 'backwards' })) {
    if (stored.type !== 'ChunkSummarized' && stored.type !== 'CompactionFailed' && stored.type !== 'EditionCompared')
      break
    found.push(await decodeEvent(stored, log))
  }
  // Comparisons alone are not an interruption. Chunks ahead of need are not either, if nothing is due and nothing
  // failed.
  const isCutOff =
    found.some(({ type }) => type === 'ChunkSummarized') &&
    (found.some(({ type }) => type === 'CompactionFailed') || isCompactionDue(edition, 'ahead'))
  return isCutOff ? found.toReversed() : []
}

/** Opens a new or recorded edition of a conversation, to be advanced. */
export async function openReplay(
  deps: ReplayDependencies,
  plan: EditionPlan,
  options: ReplayOptions,
): Promise<E.Either<CommandFailure, ConversationReplay>> {
  const { log, clock, actor } = deps
  const { conversationId } = plan.conversation
  const correlationId = clock.newId()
  const provenance: Provenance = { actor, correlationId, causationId: correlationId }
  const whole = await loadEdition(log, conversationId, plan.editionId)
  const unfinished = await unfinishedOf(log, whole)
  const first = unfinished[0]?.revision
  const recorded = first === undefined ? whole : await loadEdition(log, conversationId, plan.editionId, first - 1)
  const edition = createEditionConversation(
    { log, clock, recording: options.recording },
    recorded,
    recorded.conversationRevision,
    unfinished,
  )
  if (recorded.configuration === undefined || (await isDropped(log, conversationId, plan.editionId))) {
    const pinned = [...plan.conversation.retained, ...plan.conversation.window].flatMap((message) =>
      message.pinned ? [message.revision] : [],
    )
    const started = await edition.handle(
      conversationId,
      [
        {
          type: 'StartEdition',
          configuration: plan.configuration,
          summarizer: plan.summarizer,
          conversationRevision: plan.conversation.revision,
          pinned,
        },
      ],
      provenance,
    )
    if (E.isLeft(started)) return started
  }
  const spent = { calls: 0, tokens: 0, summaries: 0, reused: 0 }
  const handle: typeof edition.handle = async (...handleArguments) => {
    const handled = await edition.handle(...handleArguments)
    // Recorded events are counted, not decisions: a chunk of an earlier run is decided again and found in the stream.
    for (const event of E.isRight(handled) ? handled.right.events : []) {
      if (!isOfType(event, 'ChunkSummarized', 'BatchesResummarized')) continue
      spent.summaries += 1
      if (event.data.summarizer.reused === true) spent.reused += 1
    }
    return handled
  }
  const compact = createCompact({
    ...deps,
    conversations: { load: edition.load, handle },
    claims: uncontestedClaims,
    fallsBackAtHardLimit: false,
  })

  async function due(): Promise<Replayed> {
    if (!isCompactionDue(edition.state(), 'ahead')) return { kind: 'done' }
    const { signal, goOn, mayBuy = true } = options
    const run = await compact(conversationId, 'ahead', {
      ...(signal === undefined ? {} : { signal }),
      goOn: () => mayBuy && goOn?.() !== false,
    })
    spent.calls += run.calls
    spent.tokens += run.tokensSpent
    if (run.failure !== undefined) return { kind: 'stopped', failure: run.failure }
    return { kind: run.postponedMs === undefined ? 'done' : 'postponed' }
  }

  async function advance(): Promise<Replayed> {
    // An interrupted cycle is finished on the messages on which it was decided.
    let reached = await due()
    if (reached.kind !== 'done') return reached
    let events = 0
    for await (const stored of log.store.readStream(conversationStream(conversationId), {
      from: edition.state().conversationRevision + 1,
    })) {
      // The embedded engine and a summarizer without a model only use promises, so without this pause no signal would
      // be handled.
      if (events % EVENTS_PER_TURN === 0) await new Promise(setImmediate)
      events += 1
      const event = await decodeEvent(stored, log)
      edition.see(event)
      // A pin changes what may be compacted. It is checked here too, so that a replay that is interrupted after it
      // makes the same requests when it continues.
      if (!isOfType(event, 'MessageAppended', 'MessagePinned', 'MessageUnpinned')) continue
      reached = await due()
      if (event.type === 'MessageAppended') options.onMessage?.(edition.state(), spent)
      if (reached.kind !== 'done') return reached
      if (options.signal?.aborted === true || options.goOn?.() === false) return { kind: 'postponed' }
    }
    const advanced = await edition.recordAdvance(provenance)
    return E.isLeft(advanced) ? { kind: 'stopped', failure: advanced.left } : { kind: 'done' }
  }

  return E.right({ state: edition.state, spent, advance })
}
