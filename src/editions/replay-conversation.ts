/**
 * The same history compacted again: a conversation's messages are seen one by one, and whatever its edition's
 * configuration asks for at each is decided by the same decider, planned by the same plan and bought by the same
 * compactor, into the edition's own stream. It takes up what is recorded there, wherever it was cut off, and goes on
 * when the conversation has grown.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../domain/events/codec.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Configuration, EventData, RecordedEvent } from '../domain/events/index.js'
import { conversationStream, editionStream } from '../domain/values/ids.js'
import type { Claims } from '../ports/claims.js'
import type { Clock } from '../ports/clock.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { TokenBudget } from '../ports/token-budget.js'
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
  readonly persona: string
  readonly registerPrompt: RegisterPrompt
  readonly actor: string
  readonly budget?: TokenBudget | undefined
  readonly recall?: StepDependencies['recall']
}

export interface ReplayOptions {
  /** False: nothing is recorded, and the steps only show what they would come to. */
  readonly recording: boolean
  readonly signal?: AbortSignal
  /**
   * Asked before each call and behind each message: false ends the replay there, with what is recorded. Calls under way
   * end by themselves.
   */
  readonly goOn?: () => boolean
  /** False: it ends where a summary is wanted that is not there. */
  readonly mayBuy?: boolean
  /** Hears of each message that was seen, and of the state and what was bought by then. */
  readonly onMessage?: (state: Conversation, spent: ReplaySpent) => void
}

/** How far a replay came: to the conversation's end, or to where something stopped it. */
type Replayed =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped'; readonly failure: CompactFailure }
  /** There is no room in the budget, or somebody asked it to stop; what is recorded is taken up later. */
  | { readonly kind: 'postponed' }

/** What a replay has bought so far. */
interface ReplaySpent {
  readonly calls: number
  readonly tokens: number
  /** Summaries that it recorded, and how many of them it took over. */
  readonly summaries: number
  readonly reused: number
}

export interface ConversationReplay {
  readonly state: () => Conversation
  readonly spent: ReplaySpent
  /** Sees the conversation up to its end, as it is when it gets there. */
  advance(): Promise<Replayed>
}

/** One process makes an edition, under a claim of its own: no second claim is asked for within. */
const alone: Claims = {
  take: () => Promise.resolve({ fence: 0n, extend: () => Promise.resolve(true), release: () => Promise.resolve() }),
  holder: () => Promise.resolve(undefined),
}

/** So many facts are seen between two turns that signals, timers and requests get. */
const TURN_FACTS = 16

/** What an edition is made of when it is begun. */
export interface EditionPlan {
  readonly editionId: string
  readonly configuration: Configuration
  readonly summarizer: EventData<'EditionStarted'>['summarizer']
  /** The conversation as it is: what is pinned now is never compacted. */
  readonly conversation: Conversation
}

/** Whether an edition was given up: nothing but comparisons is recorded behind that, unless it is begun again. */
export async function isDropped(log: Log, conversationId: string, editionId: string): Promise<boolean> {
  for await (const last of log.store.readStream(editionStream(editionId, conversationId), { direction: 'backwards' })) {
    if (last.type !== 'EditionCompared') return last.type === 'EditionDropped'
  }
  return false
}

/**
 * What an edition was making when it was cut off: the chunks at the end of its stream that no cycle has archived yet,
 * and the failures between them. They are decided once more, and found there. They cannot be planned with, because a
 * plan that finds a chunk recorded may compact less than one that has still to buy it.
 */
async function unfinishedOf(log: Log, edition: Conversation): Promise<RecordedEvent[]> {
  const found: RecordedEvent[] = []
  for await (const stored of log.store.readStream(streamOf(edition), { direction: 'backwards' })) {
    if (stored.type !== 'ChunkSummarized' && stored.type !== 'CompactionFailed' && stored.type !== 'EditionCompared')
      break
    found.push(await decodeEvent(stored, log.bodies))
  }
  // Comparisons alone are nothing that was being made; nor are chunks ahead of need, where with them nothing is due and
  // nothing failed.
  const isCutOff =
    found.some(({ type }) => type === 'ChunkSummarized') &&
    (found.some(({ type }) => type === 'CompactionFailed') || isCompactionDue(edition, 'ahead'))
  return isCutOff ? found.toReversed() : []
}

/** Opens an edition of a conversation, new or recorded before, to be made. */
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
  const recorded = first === undefined ? whole : await loadEdition(log, conversationId, plan.editionId, first - 1n)
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
  const handle: typeof edition.handle = async (...asked) => {
    const handled = await edition.handle(...asked)
    // What is recorded is counted, and not what was decided: a chunk that an earlier run left is decided again, and
    // found there.
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
    claims: alone,
    fallback: undefined,
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
    // What was cut off in the middle of a cycle is finished on the messages that it was decided on.
    let reached = await due()
    if (reached.kind !== 'done') return reached
    let events = 0
    for await (const stored of log.store.readStream(conversationStream(conversationId), {
      from: edition.state().conversationRevision + 1n,
    })) {
      // The embedded engine and a summary that asks nobody leave the queue of promises to nobody else: nobody would
      // hear that it is to end.
      if (events % TURN_FACTS === 0) await new Promise(setImmediate)
      events += 1
      const event = await decodeEvent(stored, log.bodies)
      edition.see(event)
      // A pin changes what may be compacted: asked here as well, so that a replay which is cut off behind it and taken up
      // again asks nothing new.
      if (!isOfType(event, 'MessageAppended', 'MessagePinned', 'MessageUnpinned')) continue
      reached = await due()
      if (event.type === 'MessageAppended') options.onMessage?.(edition.state(), spent)
      if (reached.kind !== 'done') return reached
      if (options.signal?.aborted === true || options.goOn?.() === false) return { kind: 'postponed' }
    }
    const told = await edition.tellSeen(provenance)
    return E.isLeft(told) ? { kind: 'stopped', failure: told.left } : { kind: 'done' }
  }

  return E.right({ state: edition.state, spent, advance })
}
