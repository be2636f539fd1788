/**
 * The compaction cycle: plan, summarize chunk by chunk, record each summary as soon as it is bought, then archive and
 * prune in one append; then the oldest batches become one where they are too many; then, where that is asked for, the
 * chunks that are full are summarized ahead of need. Whatever line it is killed on, the next call takes up what is
 * recorded, and buys nothing twice.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../domain/events/codec.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Command } from '../domain/decide/index.js'
import type { Trigger } from '../domain/events/index.js'
import {
  dueTrigger,
  isBackingOff,
  planAhead,
  planCycle,
  planResummarization,
  triggerOf,
  type ChunkAhead,
} from '../domain/compaction/plan.js'
import type { Claims } from '../ports/claims.js'
import type { Clock } from '../ports/clock.js'
import { takeLease, type Lease } from '../ports/lease.js'
import {
  backgroundOf,
  Summarization,
  Postponed,
  policyOf,
  Aborted,
  type SummarizationDependencies,
  type CompactFailure,
} from './summarization.js'
import type { Conversations } from '../recording/handle-command.js'

export type { CompactFailure } from './summarization.js'

export interface CompactDependencies extends SummarizationDependencies {
  readonly conversations: Pick<Conversations, 'load' | 'handle'>
  readonly claims: Claims
  readonly clock: Clock
  readonly actor: string
}

/**
 * What compacting a conversation did: batches and messages of this call, and the tokens of the context around it, by
 * the conversation's estimator.
 */
export interface Compaction {
  /** Batches that came into force since the call, whoever made them. */
  readonly batchesCreated: number
  /** Messages that left the context since the call, whoever compacted them. */
  readonly messagesCompressed: number
  /** Tokens of the context at the call. */
  readonly tokensBefore: number
  /** Tokens of the context now. */
  readonly tokensAfter: number
  /** What went wrong, where something did; the context is as it was, or as the cycles before it left it. */
  readonly failure?: CompactFailure
}

/** What a run came to, for who keeps account of it and decides when the conversation is looked at again. */
export interface CompactionRun extends Compaction {
  /** Cycles that pruned something. */
  readonly cycles: number
  /** Summaries that were bought and recorded, ahead of need and re-summarizations included. */
  readonly summaries: number
  /**
   * Calls to the summarizer, the tokens that they took by what it said, else by our estimate, and how long they took. The
   * fallback's count for nothing.
   */
  readonly calls: number
  readonly tokensSpent: number
  readonly callSeconds: number
  /** The summarizer's failure for which the fallback did the work. */
  readonly fallbackFor?: CompactFailure
  /** There is more to do, in so many milliseconds: a limit a minute is used up, or `goOn` said no. */
  readonly postponedMs?: number
  /** Another compactor has this conversation, and it was not to be waited for. */
  readonly busy?: true
}

/**
 * `due`: what the limits ask for. `ahead`: that, and then the whole chunks that are full, so that the next limit waits
 * for no model. `now`: what the limits ask for, though a failure still backs off. `force`: whatever may be compacted.
 * `without-model`: what the limits ask for, from what is summarized already, and by the fallback at the hard limit: for
 * a summarizer that is known to fail.
 */
export type CompactMode = 'due' | 'ahead' | 'now' | 'force' | 'without-model'

interface CompactOptions {
  /** Aborts a call that is under way; what it would have said is no failure then. */
  readonly signal?: AbortSignal
  /** Asked before each call: false ends the run there, with what is recorded. */
  readonly goOn?: () => boolean
  /** False: a conversation that another compactor has is left to it. Default: waits for it. */
  readonly wait?: boolean
  /** The request that asked for it. Default: nobody's, by this compactor's own actor. */
  readonly provenance?: Provenance | undefined
}

export type Compact = (conversationId: string, mode: CompactMode, options?: CompactOptions) => Promise<CompactionRun>

const CLAIM_TTL_MS = 15_000
const CLAIM_POLL_MS = 200
/**
 * A cycle that helps less than the next one needs is followed by another; more than a few in a row would be a defect.
 */
const MAX_CYCLES = 8

const idsOf = ({ messages }: ChunkAhead): string => JSON.stringify(messages.map((message) => message.messageId))

/**
 * A late result, a pin or another compactor (whose claim ran out, or ours) came between: what is recorded stays, and
 * the next round plans on what is there now.
 */
function overtaken(stop: unknown): { batches: number; messages: number } {
  const kinds: readonly string[] = [
    'CutInsideCallGroup',
    'MessagePinned',
    'NotAtHead',
    'MessageNotLive',
    'NotArchivedYet',
    'BatchesNotActive',
  ]
  if (stop instanceof Aborted && kinds.includes(stop.failure.kind)) return { batches: 0, messages: 0 }
  throw stop
}

/** Builds the use case `compact(conversationId, mode)`. */
export function createCompact(deps: CompactDependencies): Compact {
  const { conversations, clock } = deps
  const ownProvenance = (): Provenance => {
    const correlationId = clock.newId()
    return { actor: deps.actor, correlationId, causationId: correlationId }
  }

  /** One compaction of one conversation. */
  class Run {
    private readonly provenance: Provenance
    private readonly owner = clock.newId()
    private readonly summarization: Summarization
    private lease: Lease | undefined

    constructor(
      private readonly conversationId: string,
      private readonly mode: CompactMode,
      private readonly options: CompactOptions,
    ) {
      this.provenance = options.provenance ?? ownProvenance()
      this.summarization = new Summarization(deps, {
        conversationId,
        provenance: this.provenance,
        record: (command) => this.record(command),
        signal: options.signal,
        goOn: () => this.lease?.lost.aborted !== true && options.goOn?.() !== false,
      })
    }

    private async record(command: Command): Promise<Conversation> {
      const handled = await conversations.handle(this.conversationId, [command], this.provenance)
      if (E.isLeft(handled)) throw new Aborted(handled.left)
      return handled.right.state
    }

    /** The limit that this run works for, and whether nobody but the fallback may be asked for it. */
    private trigger(state: Conversation): { readonly trigger: Trigger | undefined; readonly standIn: boolean } {
      const pulled = triggerOf(state)
      if (this.mode === 'force') return { trigger: pulled ?? 'manual', standIn: false }
      if (this.mode === 'now') return { trigger: pulled, standIn: false }
      const standIn =
        pulled === 'hard' &&
        policyOf(state).standIn === 'extractive' &&
        (this.mode === 'without-model' || isBackingOff(state))
      return { trigger: standIn || this.mode === 'without-model' ? pulled : dueTrigger(state), standIn }
    }

    /** One cycle; gives what it compacted, or undefined where there was nothing to compact. */
    private async cycle(
      state: Conversation,
      trigger: Trigger,
    ): Promise<{ batches: number; messages: number } | undefined> {
      let plan = planCycle(state, trigger)
      if (plan.kind === 'none' && this.mode === 'force') plan = planCycle(state, 'manual')
      if (plan.kind === 'none') {
        if (trigger !== 'manual') await this.record({ type: 'RecordCouldNotHelp', trigger })
        return undefined
      }
      let background = backgroundOf(state, undefined)
      for (const planned of plan.chunks) {
        if (planned.kind === 'recorded' && this.summarization.reusable(state, planned, background)) {
          background = backgroundOf(state, planned.chunk)
        } else if (this.mode === 'without-model' && !this.summarization.usesFallback) return undefined
        else background = await this.summarization.summarizeChunk(state, planned.messages, background, trigger)
      }
      const compacted = new Set(plan.chunks.flatMap((chunk) => chunk.messages.map((message) => message.messageId)))
      const now = await conversations.load(this.conversationId)
      const chunkIds = now.chunks
        .filter((chunk) => chunk.messageIds.every((id) => compacted.has(id)))
        .map((chunk) => chunk.chunkId)
      const pruned = await conversations.handle(
        this.conversationId,
        [{ type: 'ArchiveAndPrune', chunkIds, trigger }],
        this.provenance,
      )
      if (E.isRight(pruned)) return { batches: chunkIds.length, messages: compacted.size }
      throw new Aborted(pruned.left)
    }

    private async resummarize(state: Conversation): Promise<void> {
      const policy = policyOf(state)
      let now = state
      for (;;) {
        const sources = planResummarization(now.batches, policy)
        if (sources === undefined || (isBackingOff(now) && (this.mode === 'due' || this.mode === 'ahead'))) return
        now = await this.summarization.resummarize(now, sources, triggerOf(now) ?? 'soft')
      }
    }

    /**
     * Summarizes what is full before a limit asks for it. Nothing is archived or pruned, and the context does not
     * change.
     */
    private async ahead(): Promise<void> {
      const asked = new Set<string>()
      for (;;) {
        const state = await conversations.load(this.conversationId)
        const next = isBackingOff(state) ? undefined : planAhead(state)
        if (next === undefined) return
        // Asked for by this run already, or recorded where the plan cannot take it (behind one that was summarized
        // later, as a pin that was taken away leaves it): asking again would record nothing, and the next round would
        // ask once more. The cycle sees to it.
        const chunk = idsOf(next)
        if (asked.has(chunk) || state.chunks.some((recorded) => JSON.stringify(recorded.messageIds) === chunk)) return
        asked.add(chunk)
        await this.summarization.summarizeChunk(state, next.messages, backgroundOf(state, next.continues), 'ahead')
      }
    }

    private async cycles(done: Done): Promise<void> {
      let state = await conversations.load(this.conversationId)
      for (let count = 0; count < MAX_CYCLES; count += 1) {
        if (state.configuration === undefined) break
        const { trigger, standIn } = this.trigger(state)
        if (trigger === undefined) break
        if (standIn) this.summarization.usesFallback = true
        const compacted = await this.cycle(state, trigger).catch(overtaken)
        if (compacted === undefined) break
        done.cycles += compacted.batches > 0 ? 1 : 0
        done.batches += compacted.batches
        done.messages += compacted.messages
        state = await conversations.load(this.conversationId)
        if (this.mode === 'force' && compacted.messages > 0) break
      }
      // A fallback condenses nothing: what a model is to say of the batches can wait until one answers.
      if (state.configuration !== undefined && !this.summarization.usesFallback && this.mode !== 'without-model')
        await this.resummarize(state).catch(overtaken)
    }

    private async work(done: Done): Promise<void> {
      await this.cycles(done)
      if (this.mode !== 'ahead' || this.summarization.usesFallback) return
      await this.ahead().catch(overtaken)
      // Messages came while chunks were summarized: the limit that they may have reached waits for nobody.
      await this.cycles(done)
    }

    async run(): Promise<CompactionRun> {
      const before = await conversations.load(this.conversationId)
      const done: Done = { cycles: 0, batches: 0, messages: 0 }
      let ended: Pick<CompactionRun, 'failure' | 'postponedMs' | 'busy'> = {}
      if (this.mode === 'force' || this.hasWork(before)) {
        this.lease = await this.takeLease()
        if (this.lease === undefined) ended = { busy: true }
        else ended = await this.holding(this.lease, () => this.work(done))
      }
      const after = await conversations.load(this.conversationId)
      return {
        batchesCreated: done.batches,
        messagesCompressed: done.messages,
        tokensBefore: before.tokens,
        tokensAfter: after.tokens,
        cycles: done.cycles,
        summaries: this.summarization.summaries,
        calls: this.summarization.spent.calls,
        tokensSpent: this.summarization.spent.tokens,
        callSeconds: this.summarization.spent.seconds,
        ...ended,
        ...(this.summarization.fallbackFor === undefined ? {} : { fallbackFor: this.summarization.fallbackFor }),
      }
    }

    /** Whether there is anything to do, so that nobody waits for a claim to find out that there is not. */
    private hasWork(state: Conversation): boolean {
      if (state.configuration === undefined) return false
      if (this.trigger(state).trigger !== undefined) return true
      if (this.mode === 'without-model') return false
      const rests = this.mode !== 'now' && isBackingOff(state)
      return (
        !rests &&
        (planResummarization(state.batches, policyOf(state)) !== undefined ||
          (this.mode === 'ahead' && planAhead(state) !== undefined))
      )
    }

    /** Works under the claim, and lets go of it whatever happens. */
    private async holding(
      lease: Lease,
      work: () => Promise<void>,
    ): Promise<Pick<CompactionRun, 'failure' | 'postponedMs'>> {
      try {
        await work()
        return {}
      } catch (stop) {
        if (stop instanceof Postponed) return { postponedMs: stop.ms }
        if (stop instanceof Aborted) return { failure: stop.failure }
        throw stop
      } finally {
        await lease.release()
      }
    }

    /**
     * Waits for another compactor of this conversation: then there may be nothing left to do, which the next plan
     * tells.
     */
    private takeLease(): Promise<Lease | undefined> {
      return takeLease({
        claims: deps.claims,
        key: `compaction:${this.conversationId}`,
        owner: this.owner,
        ttlMs: CLAIM_TTL_MS,
        pollMs: CLAIM_POLL_MS,
        signal: this.options.signal,
        ...(this.options.wait === false ? { patienceMs: 0 } : {}),
      })
    }
  }

  return (conversationId, mode, options = {}) => new Run(conversationId, mode, options).run()
}

/** What a run has pruned so far. */
interface Done {
  cycles: number
  batches: number
  messages: number
}

/**
 * Whether a run of `compact` would do anything: a cycle is due, too many batches wait to become one, or, `ahead`, a
 * chunk is full.
 */
export function isCompactionDue(state: Conversation, mode: 'due' | 'ahead' = 'due'): boolean {
  const policy = state.configuration?.policy
  if (policy === undefined) return false
  if (triggerOf(state) === 'hard' && isBackingOff(state) && policy.standIn === 'extractive') return true
  if (isBackingOff(state)) return false
  return (
    dueTrigger(state) !== undefined ||
    planResummarization(state.batches, policy) !== undefined ||
    (mode === 'ahead' && planAhead(state) !== undefined)
  )
}
