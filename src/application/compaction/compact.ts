/**
 * The compaction cycle: it plans, summarizes chunk by chunk, records each summary directly after the call, then
 * archives and prunes in one append. Then it merges the oldest batches if there are too many, and, if requested,
 * summarizes full chunks ahead of need. If the process is killed at any point, the next call continues from the
 * recorded events and pays for nothing twice.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../../domain/events/codec.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Command } from '../../domain/decide/index.js'
import type { Trigger } from '../../domain/events/index.js'
import {
  dueTrigger,
  isBackingOff,
  planAhead,
  planCycle,
  planResummarization,
  triggerOf,
  type ChunkAhead,
} from '../../domain/compaction/plan.js'
import type { Claims } from '../../ports/claims.js'
import type { Clock } from '../../ports/clock.js'
import { takeLease, type Lease } from '../../ports/lease.js'
import {
  backgroundOf,
  failedRun,
  Summarization,
  policyOf,
  type SummarizationDependencies,
  type CompactFailure,
  type RunEnd,
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
 * The result of a compaction: new batches and compacted messages, and the tokens of the context before and after, by
 * the conversation's estimator.
 */
export interface Compaction {
  /** Batches that became active since the call, by any process. */
  readonly batchesCreated: number
  /** Messages that were compacted since the call, by any process. */
  readonly messagesCompressed: number
  /** Tokens of the context at the call. */
  readonly tokensBefore: number
  /** Tokens of the context now. */
  readonly tokensAfter: number
  /** The failure, if any. The context is then as it was before, or as completed cycles left it. */
  readonly failure?: CompactFailure
}

/** The result of a run, with accounting data and the time of the next attempt. */
export interface CompactionRun extends Compaction {
  /** Cycles that pruned something. */
  readonly cycles: number
  /** Summaries that were paid for and recorded, including those ahead of need and merged ones. */
  readonly summaries: number
  /**
   * Calls to the summarizer, their reported or estimated tokens, and their duration. Calls to the fallback do not
   * count.
   */
  readonly calls: number
  readonly tokensSpent: number
  readonly callSeconds: number
  /** The summarizer's failure for which the fallback was used. */
  readonly fallbackFor?: CompactFailure
  /** The run must continue in this many milliseconds: a limit per minute is used up, or `goOn` returned false. */
  readonly postponedMs?: number
  /** Another process is compacting this conversation, and the caller did not want to wait. */
  readonly busy?: true
}

/**
 * `due`: work that a limit requires. `ahead`: in addition full chunks, so that the next limit needs no model call.
 * `now`: like `due`, but ignores a backoff. `force`: everything that may be compacted. `without-model`: like `due`, but
 * only with existing summaries, and with the fallback at the hard limit; for a summarizer that is known to fail.
 */
export type CompactMode = 'due' | 'ahead' | 'now' | 'force' | 'without-model'

interface CompactOptions {
  /** Aborts a running call; its result is then not a failure. */
  readonly signal?: AbortSignal
  /** Called before each request: false ends the run with what is recorded. */
  readonly goOn?: () => boolean
  /** False: does nothing if another process is compacting the conversation. Default: waits. */
  readonly wait?: boolean
  /** The provenance of the request. Default: this compactor's own actor. */
  readonly provenance?: Provenance | undefined
}

export type Compact = (conversationId: string, mode: CompactMode, options?: CompactOptions) => Promise<CompactionRun>

const CLAIM_TTL_MS = 15_000
const CLAIM_POLL_MS = 200
/** If a cycle does not reduce enough, another one follows. More than a few in a row would be a defect. */
const MAX_CYCLES = 8

const idsOf = ({ messages }: ChunkAhead): string => JSON.stringify(messages.map((message) => message.messageId))

const CONFLICTS: ReadonlySet<CompactFailure['kind']> = new Set([
  'CutInsideCallGroup',
  'MessagePinned',
  'NotAtHead',
  'MessageNotLive',
  'NotArchivedYet',
  'BatchesNotActive',
])

/**
 * A late result, a pin or another compactor (after a lease expired) changed the conversation meanwhile: recorded data
 * stays, and the next round plans on the current state.
 */
function ignoreConflict<Result>(cycle: E.Either<RunEnd, Result>, nothing: Result): E.Either<RunEnd, Result> {
  const isConflict = E.isLeft(cycle) && cycle.left.kind === 'Failed' && CONFLICTS.has(cycle.left.failure.kind)
  return isConflict ? E.right(nothing) : cycle
}

/** One compaction of one conversation. */
class Run {
  private readonly provenance: Provenance
  private readonly owner: string
  private readonly summarization: Summarization
  private lease: Lease | undefined

  constructor(
    private readonly deps: CompactDependencies,
    private readonly conversationId: string,
    private readonly mode: CompactMode,
    private readonly options: CompactOptions,
  ) {
    this.owner = deps.clock.newId()
    const correlationId = deps.clock.newId()
    this.provenance = options.provenance ?? { actor: deps.actor, correlationId, causationId: correlationId }
    this.summarization = new Summarization(deps, {
      conversationId,
      provenance: this.provenance,
      record: (...commands) => this.record(...commands),
      signal: options.signal,
      goOn: () => this.lease?.lost.aborted !== true && options.goOn?.() !== false,
    })
  }

  private async record(...commands: readonly Command[]): Promise<E.Either<RunEnd, Conversation>> {
    const handled = await this.deps.conversations.handle(this.conversationId, commands, this.provenance)
    return E.isLeft(handled) ? failedRun(handled.left) : E.right(handled.right.state)
  }

  /** The limit for which this run works, and whether only the fallback may be used. */
  private trigger(state: Conversation): { readonly trigger: Trigger | undefined; readonly usesFallback: boolean } {
    const reached = triggerOf(state)
    if (this.mode === 'force') return { trigger: reached ?? 'manual', usesFallback: false }
    if (this.mode === 'now') return { trigger: reached, usesFallback: false }
    const usesFallback =
      reached === 'hard' &&
      policyOf(state).fallback === 'extractive' &&
      (this.mode === 'without-model' || isBackingOff(state))
    return { trigger: usesFallback || this.mode === 'without-model' ? reached : dueTrigger(state), usesFallback }
  }

  /** Runs one cycle and returns what it compacted, or undefined if there was nothing to compact. */
  private async cycle(state: Conversation, trigger: Trigger): Promise<E.Either<RunEnd, Compacted | undefined>> {
    let plan = planCycle(state, trigger)
    if (plan.kind === 'none' && this.mode === 'force') plan = planCycle(state, 'manual')
    if (plan.kind === 'none') {
      if (trigger === 'manual') return E.right(undefined)
      const recorded = await this.record({ type: 'RecordCouldNotHelp', trigger })
      return E.isLeft(recorded) ? recorded : E.right(undefined)
    }
    let background = backgroundOf(state, undefined)
    for (const planned of plan.chunks) {
      if (planned.kind === 'recorded' && this.summarization.reusable(state, planned, background)) {
        background = backgroundOf(state, planned.chunk)
      } else if (this.mode === 'without-model' && !this.summarization.usesFallback) return E.right(undefined)
      else {
        const summarized = await this.summarization.summarizeChunk(state, planned.messages, background, trigger)
        if (E.isLeft(summarized)) return summarized
        background = summarized.right
      }
    }
    const compacted = new Set(plan.chunks.flatMap((chunk) => chunk.messages.map((message) => message.messageId)))
    const now = await this.deps.conversations.load(this.conversationId)
    const chunkIds = now.chunks
      .filter((chunk) => chunk.messageIds.every((id) => compacted.has(id)))
      .map((chunk) => chunk.chunkId)
    const pruned = await this.deps.conversations.handle(
      this.conversationId,
      [{ type: 'ArchiveAndPrune', chunkIds, trigger }],
      this.provenance,
    )
    return E.isLeft(pruned) ? failedRun(pruned.left) : E.right({ batches: chunkIds.length, messages: compacted.size })
  }

  private async resummarize(state: Conversation): Promise<E.Either<RunEnd, undefined>> {
    const policy = policyOf(state)
    let now = state
    for (;;) {
      const sources = planResummarization(now.batches, policy)
      if (sources === undefined || (isBackingOff(now) && (this.mode === 'due' || this.mode === 'ahead')))
        return E.right(undefined)
      const merged = await this.summarization.resummarize(now, sources, triggerOf(now) ?? 'soft')
      if (E.isLeft(merged)) return merged
      now = merged.right
    }
  }

  /**
   * Summarizes full chunks before a limit is reached. Nothing is archived or pruned, and the context does not change.
   */
  private async ahead(): Promise<E.Either<RunEnd, undefined>> {
    const attempted = new Set<string>()
    for (;;) {
      const state = await this.deps.conversations.load(this.conversationId)
      const next = isBackingOff(state) ? undefined : planAhead(state)
      if (next === undefined) return E.right(undefined)
      // Already attempted by this run, or recorded where the plan cannot use it (for example before a chunk that was
      // summarized later, after a message was unpinned). Another attempt would record nothing and repeat in each
      // round, so the cycle handles it.
      const chunk = idsOf(next)
      if (attempted.has(chunk) || state.chunks.some((recorded) => JSON.stringify(recorded.messageIds) === chunk))
        return E.right(undefined)
      attempted.add(chunk)
      const background = backgroundOf(state, next.continues)
      const summarized = await this.summarization.summarizeChunk(state, next.messages, background, 'ahead')
      if (E.isLeft(summarized)) return summarized
    }
  }

  private async cycles(done: Done): Promise<E.Either<RunEnd, undefined>> {
    let state = await this.deps.conversations.load(this.conversationId)
    for (let count = 0; count < MAX_CYCLES; count += 1) {
      if (state.configuration === undefined) break
      const { trigger, usesFallback } = this.trigger(state)
      if (trigger === undefined) break
      if (usesFallback) this.summarization.usesFallback = true
      const cycle = ignoreConflict(await this.cycle(state, trigger), { batches: 0, messages: 0 })
      if (E.isLeft(cycle)) return cycle
      const compacted = cycle.right
      if (compacted === undefined) break
      done.cycles += compacted.batches > 0 ? 1 : 0
      done.batches += compacted.batches
      done.messages += compacted.messages
      state = await this.deps.conversations.load(this.conversationId)
      if (this.mode === 'force' && compacted.messages > 0) break
    }
    // The fallback does not merge batches: that waits until a model answers.
    const merges =
      state.configuration !== undefined && !this.summarization.usesFallback && this.mode !== 'without-model'
    return merges ? ignoreConflict(await this.resummarize(state), undefined) : E.right(undefined)
  }

  private async work(done: Done): Promise<E.Either<RunEnd, undefined>> {
    const cycles = await this.cycles(done)
    if (E.isLeft(cycles) || this.mode !== 'ahead' || this.summarization.usesFallback) return cycles
    const ahead = ignoreConflict(await this.ahead(), undefined)
    // Messages arrived while chunks were summarized, and may have reached a limit.
    return E.isLeft(ahead) ? ahead : this.cycles(done)
  }

  async run(): Promise<CompactionRun> {
    const before = await this.deps.conversations.load(this.conversationId)
    const done: Done = { cycles: 0, batches: 0, messages: 0 }
    let ended: Pick<CompactionRun, 'failure' | 'postponedMs' | 'busy'> = {}
    if (this.mode === 'force' || this.hasWork(before)) {
      this.lease = await this.takeLease()
      if (this.lease === undefined) ended = { busy: true }
      else ended = await this.holding(this.lease, () => this.work(done))
    }
    const after = await this.deps.conversations.load(this.conversationId)
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

  /** Whether there is any work, so that no lease is taken without need. */
  private hasWork(state: Conversation): boolean {
    if (state.configuration === undefined) return false
    if (this.trigger(state).trigger !== undefined) return true
    if (this.mode === 'without-model') return false
    const isResting = this.mode !== 'now' && isBackingOff(state)
    return (
      !isResting &&
      (planResummarization(state.batches, policyOf(state)) !== undefined ||
        (this.mode === 'ahead' && planAhead(state) !== undefined))
    )
  }

  /** Works under the lease, and always releases it. */
  private async holding(
    lease: Lease,
    work: () => Promise<E.Either<RunEnd, undefined>>,
  ): Promise<Pick<CompactionRun, 'failure' | 'postponedMs'>> {
    try {
      const worked = await work()
      if (E.isRight(worked)) return {}
      return worked.left.kind === 'Postponed' ? { postponedMs: worked.left.ms } : { failure: worked.left.failure }
    } finally {
      await lease.release()
    }
  }

  /** Waits for another process that compacts this conversation. The following plan shows whether work remains. */
  private takeLease(): Promise<Lease | undefined> {
    return takeLease({
      claims: this.deps.claims,
      key: `compaction:${this.conversationId}`,
      owner: this.owner,
      ttlMs: CLAIM_TTL_MS,
      pollMs: CLAIM_POLL_MS,
      signal: this.options.signal,
      ...(this.options.wait === false ? { patienceMs: 0 } : {}),
    })
  }
}

/** Creates the function that compacts a conversation. */
export const createCompact =
  (deps: CompactDependencies): Compact =>
  async (conversationId, mode, options = {}) =>
    await new Run(deps, conversationId, mode, options).run()

/** What a cycle compacted. */
interface Compacted {
  readonly batches: number
  readonly messages: number
}

/** The progress of a run. */
interface Done {
  cycles: number
  batches: number
  messages: number
}

/**
 * Whether a run of `compact` would do anything: a cycle is due, too many batches wait to be merged or, with `ahead`, a
 * chunk is full.
 */
export function isCompactionDue(state: Conversation, mode: 'due' | 'ahead' = 'due'): boolean {
  const policy = state.configuration?.policy
  if (policy === undefined) return false
  if (triggerOf(state) === 'hard' && isBackingOff(state) && policy.fallback === 'extractive') return true
  if (isBackingOff(state)) return false
  return (
    dueTrigger(state) !== undefined ||
    planResummarization(state.batches, policy) !== undefined ||
    (mode === 'ahead' && planAhead(state) !== undefined)
  )
}
