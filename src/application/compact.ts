/**
 * The compaction cycle: plan, summarize chunk by chunk, record each summary as soon as it is bought, then archive and prune in one
 * append; then the oldest batches become one where they are too many. Whatever line it is killed on, the next call takes up what is
 * recorded, and buys nothing twice.
 */
import { either as E } from 'fp-ts'
import { summaryOf, type Batch } from '../domain/batch.js'
import type { Provenance } from '../domain/codec.js'
import type { Conversation, LiveMessage } from '../domain/conversation.js'
import type { SummaryResult } from '../domain/decide.js'
import type { SummarizerFacts, Trigger } from '../domain/events.js'
import { chunkIdOf } from '../domain/ids.js'
import { dueTrigger, isBackingOff, planCycle, planResummarization, splitChunk, triggerOf, type Plan } from '../domain/plan.js'
import type { Claim, Claims } from '../ports/claims.js'
import type { Clock } from '../ports/clock.js'
import type { PreparedSummary, Summarizer, SummarizerFailure, Summary, SummaryJob } from '../ports/summarizer.js'
import type { CommandFailure, Conversations } from './handle-command.js'
import type { RegisterPrompt } from './register-prompt.js'

export interface CompactDependencies {
  readonly conversations: Conversations
  readonly summarizer: Summarizer
  /** Stands in at the hard limit, where the policy allows it. */
  readonly standIn: Summarizer
  readonly persona: string
  readonly claims: Claims
  readonly clock: Clock
  readonly registerPrompt: RegisterPrompt
  readonly actor: string
}

export type CompactFailure = SummarizerFailure | CommandFailure

export interface Compaction {
  readonly batchesCreated: number
  readonly messagesCompressed: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** What went wrong, where something did; the context is as it was, or as the cycles before it left it. */
  readonly failure?: CompactFailure
}

/** `due`: what the limits ask for. `now`: the same, though a failure still rests. `force`: whatever may be folded. */
export type CompactMode = 'due' | 'now' | 'force'

const CLAIM_TTL_MS = 15_000
const CLAIM_POLL_MS = 200
/** A cycle that helps less than the next one needs is followed by another; more than a few in a row would be a defect. */
const MAX_CYCLES = 8

const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms) })

/** A step's end that ends the whole run. */
class Stop extends Error {
  constructor(readonly failure: CompactFailure) {
    super(failure.kind)
  }
}

/**
 * A late result, a pin or another compactor (whose claim ran out, or ours) came between: what is recorded stays, and the next round plans on
 * what is there now.
 */
function overtaken(stop: unknown): { batches: number; messages: number } {
  const kinds: readonly string[] = ['CutInsideCallGroup', 'MessagePinned', 'NotAtHead', 'MessageNotLive', 'NotArchivedYet', 'BatchesNotActive']
  if (stop instanceof Stop && kinds.includes(stop.failure.kind)) return { batches: 0, messages: 0 }
  throw stop
}

const factsOf = (prepared: PreparedSummary, summary: Summary, standIn: boolean): SummarizerFacts => ({
  strategy: prepared.strategy,
  provider: prepared.provider,
  model: prepared.model,
  parameters: { ...prepared.parameters },
  prompt: { name: prepared.prompt.name, sha256: prepared.prompt.sha256 },
  ...(prepared.persona === undefined ? {} : { persona: { sha256: prepared.persona.sha256 } }),
  formatterVersion: prepared.formatterVersion,
  requestHash: prepared.requestHash,
  ...(summary.responseId === undefined ? {} : { responseId: summary.responseId }),
  ...(summary.usage === undefined ? {} : { usage: { ...summary.usage } }),
  durationMs: summary.durationMs,
  ...(standIn ? { standIn } : {}),
})

/** The request of a job; a summarizer of somebody's own may throw already here. */
function prepare(summarizer: Summarizer, job: SummaryJob): E.Either<SummarizerFailure, PreparedSummary> {
  return E.tryCatch(
    () => summarizer.prepare(job),
    (error) => ({ kind: 'SummarizerFailed', failure: 'threw', detail: error instanceof Error ? error.message : String(error) }),
  )
}

/** Builds the use case `compact(conversationId, mode)`. */
export function createCompact(deps: CompactDependencies): (conversationId: string, mode: CompactMode, signal?: AbortSignal) => Promise<Compaction> {
  const { conversations, clock } = deps

  const policyOf = (state: Conversation): NonNullable<Conversation['configuration']>['policy'] => {
    if (state.configuration === undefined) throw new Error(`conversation ${state.conversationId} has no configuration yet`)
    return state.configuration.policy
  }

  /** One compaction of one conversation. */
  class Run {
    private readonly provenance: Provenance
    private readonly owner = clock.newId()
    /** Once the summarizer failed in this run at the hard limit, the stand-in does the rest: no second call for the same no. */
    private standingIn = false

    constructor(private readonly conversationId: string, private readonly mode: CompactMode, private readonly signal: AbortSignal | undefined) {
      const correlationId = clock.newId()
      this.provenance = { actor: deps.actor, correlationId, causationId: correlationId }
    }

    private async record(command: Parameters<Conversations['handle']>[1][number]): Promise<Conversation> {
      const handled = await conversations.handle(this.conversationId, [command], this.provenance)
      if (E.isLeft(handled)) throw new Stop(handled.left)
      return handled.right.state
    }

    private trigger(state: Conversation): Trigger | undefined {
      const pulled = triggerOf(state)
      if (this.mode === 'force') return pulled ?? 'manual'
      if (this.mode === 'now') return pulled
      if (pulled === 'hard' && isBackingOff(state) && policyOf(state).standIn === 'extractive') {
        this.standingIn = true
        return pulled
      }
      return dueTrigger(state)
    }

    private jobBase(state: Conversation): Pick<SummaryJob, 'maxSummaryTokens' | 'temperature' | 'persona'> {
      const { maxSummaryTokens, temperature } = policyOf(state)
      return { maxSummaryTokens, temperature, persona: deps.persona }
    }

    /** Asks the summarizer, or the stand-in where the hard limit leaves no choice; records a failure before it is thrown. */
    private async summarize(state: Conversation, job: SummaryJob, trigger: Trigger, step: 'chunk' | 'resummarize'): Promise<SummaryResult> {
      if (!this.standingIn) {
        const answer = await this.ask(deps.summarizer, job, false)
        if (E.isRight(answer)) return answer.right
        if (answer.left.failure === 'request-too-large' && step === 'chunk' && job.kind === 'chunk' && job.messages.length > 1) throw new Stop(answer.left)
        await this.recordFailure(job, answer.left, trigger, step)
        const mayStandIn = trigger === 'hard' && step === 'chunk' && policyOf(state).standIn === 'extractive'
        if (!mayStandIn) throw new Stop(answer.left)
        this.standingIn = true
      }
      const answer = await this.ask(deps.standIn, job, true)
      if (E.isLeft(answer)) throw new Stop(answer.left)
      return answer.right
    }

    private async ask(summarizer: Summarizer, job: SummaryJob, standIn: boolean): Promise<E.Either<SummarizerFailure, SummaryResult>> {
      const prepared = prepare(summarizer, job)
      if (E.isLeft(prepared)) return prepared
      await deps.registerPrompt(prepared.right)
      const answer = await summarizer.summarize(prepared.right, this.signal)()
      return E.map(({ text, sections, ...rest }: Summary) => ({ summary: text, sections, summarizer: factsOf(prepared.right, { text, ...rest }, standIn) }))(answer)
    }

    private recordFailure(job: SummaryJob, failure: SummarizerFailure, trigger: Trigger, step: 'chunk' | 'resummarize'): Promise<Conversation> {
      const { strategy, provider, model } = deps.summarizer
      const prepared = prepare(deps.summarizer, job)
      const request = E.isRight(prepared) ? { requestHash: prepared.right.requestHash } : {}
      return this.record({ type: 'RecordFailure', step, failure: failure.failure, detail: failure.detail, trigger, strategy, provider, model, ...request })
    }

    private async chunk(state: Conversation, messages: readonly LiveMessage[], background: Background, trigger: Trigger): Promise<SummaryResult> {
      return this.summarize(state, { ...this.jobBase(state), kind: 'chunk', messages, existingSummary: background.summary }, trigger, 'chunk')
    }

    /** Summarizes one chunk and records it; a request that does not fit is tried once more, as two. */
    private async fold(state: Conversation, messages: readonly LiveMessage[], background: Background, trigger: Trigger, halves = true): Promise<Background> {
      let result: SummaryResult
      try {
        result = await this.chunk(state, messages, background, trigger)
      } catch (stop) {
        if (!(stop instanceof Stop) || stop.failure.kind !== 'SummarizerFailed' || stop.failure.failure !== 'request-too-large') throw stop
        const parts = halves ? splitChunk([...state.kept, ...state.window], messages, policyOf(state).chunkSize) : [messages]
        if (parts.length > 1) {
          let last = background
          for (const part of parts) last = await this.fold(state, part, last, trigger, false)
          return last
        }
        const job: SummaryJob = { ...this.jobBase(state), kind: 'chunk', messages, existingSummary: background.summary }
        await this.recordFailure(job, stop.failure, trigger, 'chunk')
        if (trigger !== 'hard' || policyOf(state).standIn !== 'extractive') throw stop
        this.standingIn = true
        result = await this.chunk(state, messages, background, trigger)
      }
      const messageIds = messages.map((message) => message.messageId)
      await this.record({ type: 'RecordChunk', messageIds, continues: background.chunkId, ...result })
      return { summary: result.summary, chunkId: chunkIdOf(this.conversationId, messageIds, result.summarizer.requestHash) }
    }

    /** Whether the recorded chunk is what this summarizer would be asked for today; a stand-in's summary is good as well, once bought. */
    private reusable(state: Conversation, planned: Plan['chunks'][number] & { kind: 'recorded' }, background: Background): boolean {
      const job: SummaryJob = { ...this.jobBase(state), kind: 'chunk', messages: planned.messages, existingSummary: background.summary }
      const { requestHash, standIn } = planned.chunk.summarizer
      const asked = (summarizer: Summarizer): boolean => { const prepared = prepare(summarizer, job); return E.isRight(prepared) && prepared.right.requestHash === requestHash }
      return asked(deps.summarizer) || (standIn === true && asked(deps.standIn))
    }

    /** One cycle; gives what it folded, or undefined where there was nothing to fold. */
    private async cycle(state: Conversation, trigger: Trigger): Promise<{ batches: number; messages: number } | undefined> {
      let plan = planCycle(state, trigger)
      if (plan.kind === 'none' && this.mode === 'force') plan = planCycle(state, 'manual')
      if (plan.kind === 'none') {
        if (trigger !== 'manual') await this.record({ type: 'RecordCouldNotHelp', trigger })
        return undefined
      }
      const lastShown = state.shown.at(-1)
      let background: Background = { summary: lastShown === undefined ? undefined : summaryOf(lastShown), chunkId: undefined }
      for (const planned of plan.chunks) {
        if (planned.kind === 'recorded' && this.reusable(state, planned, background)) {
          background = { summary: planned.chunk.summary, chunkId: planned.chunk.chunkId }
        } else background = await this.fold(state, planned.messages, background, trigger)
      }
      const folded = new Set(plan.chunks.flatMap((chunk) => chunk.messages.map((message) => message.messageId)))
      const now = await conversations.load(this.conversationId)
      const chunkIds = now.chunks.filter((chunk) => chunk.messageIds.every((id) => folded.has(id))).map((chunk) => chunk.chunkId)
      const pruned = await conversations.handle(this.conversationId, [{ type: 'ArchiveAndPrune', chunkIds, trigger }], this.provenance)
      if (E.isRight(pruned)) return { batches: chunkIds.length, messages: folded.size }
      throw new Stop(pruned.left)
    }

    private async resummarize(state: Conversation): Promise<void> {
      const policy = policyOf(state)
      let now = state
      for (;;) {
        const sources = planResummarization(now.batches, policy)
        if (sources === undefined || (isBackingOff(now) && this.mode === 'due')) return
        const summaries = sources.map((batch: Batch) => ({ text: summaryOf(batch), startTime: batch.startTime, endTime: batch.endTime, messageCount: batch.messageCount, depth: batch.depth, sections: batch.sections }))
        const result = await this.summarize(now, { ...this.jobBase(now), kind: 'resummarize', summaries }, triggerOf(now) ?? 'soft', 'resummarize')
        now = await this.record({ type: 'RecordResummarization', sourceBatchIds: sources.map((batch) => batch.batchId), ...result })
      }
    }

    private async cycles(done: { batches: number; messages: number }): Promise<void> {
      let state = await conversations.load(this.conversationId)
      for (let count = 0; count < MAX_CYCLES; count += 1) {
        const trigger = state.configuration === undefined ? undefined : this.trigger(state)
        if (trigger === undefined) break
        const folded = await this.cycle(state, trigger).catch(overtaken)
        if (folded === undefined) break
        done.batches += folded.batches
        done.messages += folded.messages
        state = await conversations.load(this.conversationId)
        if (this.mode === 'force' && folded.messages > 0) break
      }
      // A stand-in condenses nothing: what a model is to say of the batches can wait until one answers.
      if (state.configuration !== undefined && !this.standingIn) await this.resummarize(state).catch(overtaken)
    }

    async run(): Promise<Compaction> {
      const before = await conversations.load(this.conversationId)
      const done = { batches: 0, messages: 0 }
      let failure: CompactFailure | undefined
      const claim = await this.claim()
      const extending = setInterval(() => { claim?.extend().catch(() => undefined) }, CLAIM_TTL_MS / 3)
      extending.unref()
      try {
        if (claim !== undefined) await this.cycles(done)
      } catch (stop) {
        if (!(stop instanceof Stop)) throw stop
        failure = stop.failure
      } finally {
        clearInterval(extending)
        await claim?.release()
      }
      const after = await conversations.load(this.conversationId)
      return {
        batchesCreated: done.batches,
        messagesCompressed: done.messages,
        tokensBefore: before.tokens,
        tokensAfter: after.tokens,
        ...(failure === undefined ? {} : { failure }),
      }
    }

    /** Waits for another compactor of this conversation: then there may be nothing left to do, which the next plan tells. */
    private async claim(): Promise<Claim | undefined> {
      for (;;) {
        const claim = await deps.claims.take(`compaction:${this.conversationId}`, this.owner, CLAIM_TTL_MS)
        if (claim !== undefined || this.signal?.aborted === true) return claim
        await pause(CLAIM_POLL_MS)
      }
    }
  }

  return (conversationId, mode, signal) => new Run(conversationId, mode, signal).run()
}

/** What a chunk's request refers to: the summary of the chunk before it, or of the last batch that the last prune carried. */
interface Background {
  readonly summary: string | undefined
  readonly chunkId: string | undefined
}

/** Whether a run of `compact` would do anything: a cycle is due, or too many batches wait to become one. */
export function isCompactionDue(state: Conversation): boolean {
  const policy = state.configuration?.policy
  if (policy === undefined) return false
  if (triggerOf(state) === 'hard' && isBackingOff(state) && policy.standIn === 'extractive') return true
  return dueTrigger(state) !== undefined || (!isBackingOff(state) && planResummarization(state.batches, policy) !== undefined)
}
