/**
 * What one run of compaction buys, and from whom: a summary for a chunk or for batches, from the summarizer, or from
 * the fallback where the hard limit leaves no choice. Each is recorded as soon as it is there, and so is each failure.
 */
import { either as E } from 'fp-ts'
import { summaryOf, type Batch } from '../domain/conversation/batch.js'
import type { Chunk, Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import { lineageOf, type Command, type SummaryResult } from '../domain/decide/index.js'
import type { Provenance } from '../domain/events/codec.js'
import type { EventData } from '../domain/events/index.js'
import { chunkIdOf } from '../domain/values/ids.js'
import { prefixUpTo } from '../domain/compaction/prefix.js'
import { splitChunk, type PlannedChunk } from '../domain/compaction/plan.js'
import type { Policy } from '../domain/values/policy.js'
import { isWithoutModel } from '../domain/reports/prices.js'
import type { Summarizer, SummarizerFailure, SummaryJob } from '../ports/summarizer.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { prepare, summarizeStep, type Spent, type StepDependencies } from './summarize-step.js'

export type CompactFailure = SummarizerFailure | CommandFailure

/** A step's end that ends the whole run. */
export class Aborted extends Error {
  constructor(readonly failure: CompactFailure) {
    super(failure.kind)
  }
}

/** The run ends early, and nothing went wrong; there is more to do in so many milliseconds. */
export class Postponed extends Error {
  constructor(readonly ms: number) {
    super('later')
  }
}

/** What asks for a summary. */
type Asking = EventData<'CompactionFailed'>['trigger']

/**
 * What a chunk's request refers to: the summary of the chunk before it, or of the last batch that the last prune
 * carried.
 */
export interface Background {
  readonly summary: string | undefined
  readonly chunkId: string | undefined
}

/** The background of a chunk behind `chunk`, or of the first one where there is none. */
export function backgroundOf(state: Conversation, chunk: Chunk | undefined): Background {
  if (chunk !== undefined) return { summary: chunk.summary, chunkId: chunk.chunkId }
  const lastShown = state.visibleBatches.at(-1)
  return { summary: lastShown === undefined ? undefined : summaryOf(lastShown), chunkId: undefined }
}

export function policyOf(state: Conversation): Policy {
  if (state.configuration === undefined)
    throw new Error(`conversation ${state.conversationId} has no configuration yet`)
  return state.configuration.policy
}

export interface SummarizationDependencies extends StepDependencies {
  readonly summarizer: Summarizer
  /** Stands in at the hard limit, where the policy allows it; without one, nobody does. */
  readonly fallback?: Summarizer | undefined
  readonly persona: string
}

export interface SummarizationOptions {
  readonly conversationId: string
  /** Of what is recorded beside the conversation: the texts of prompts. */
  readonly provenance: Provenance
  /** Records what a command leads to; throws a `Stop` where it is refused. */
  readonly record: (command: Command) => Promise<Conversation>
  readonly signal: AbortSignal | undefined
  /** Asked before each call; false ends the run. */
  readonly goOn: () => boolean
}

/** The purchases of one run. */
export class Summarization {
  /**
   * Once the summarizer failed in this run at the hard limit, the fallback does the rest: no second call for the same
   * no.
   */
  usesFallback = false
  /** The failure for which it does. */
  fallbackFor: SummarizerFailure | undefined
  /** Summaries that were recorded. */
  summaries = 0
  readonly spent: Spent = { calls: 0, tokens: 0, seconds: 0 }

  constructor(
    private readonly deps: SummarizationDependencies,
    private readonly options: SummarizationOptions,
  ) {}

  private jobBase(state: Conversation): Pick<SummaryJob, 'maxSummaryTokens' | 'temperature' | 'persona'> {
    const { maxSummaryTokens, temperature } = policyOf(state)
    return { maxSummaryTokens, temperature, persona: this.deps.persona }
  }

  /** The job of a chunk. An edition is no request of the agent's, and has none to ride. */
  private chunkJob(
    state: Conversation,
    messages: readonly LiveMessage[],
    existingSummary: string | undefined,
  ): Extract<SummaryJob, { kind: 'chunk' }> {
    const rides = this.deps.summarizer.ridesPrefix === true && state.editionId === undefined
    const prefix = rides
      ? prefixUpTo(
          state,
          messages.map(({ messageId }) => messageId),
        )
      : undefined
    const job = { ...this.jobBase(state), kind: 'chunk' as const, messages, existingSummary }
    return prefix === undefined ? job : { ...job, prefix }
  }

  /**
   * Asks the summarizer, or the fallback where the hard limit leaves no choice; records a failure before it is thrown.
   */
  private async summarize(
    state: Conversation,
    job: SummaryJob,
    trigger: Asking,
    step: 'chunk' | 'resummarize',
  ): Promise<SummaryResult> {
    if (!this.options.goOn()) throw new Postponed(0)
    const {
      spent,
      options: { signal, provenance },
    } = this
    if (!this.usesFallback) {
      const answer = await summarizeStep(this.deps, this.deps.summarizer, job, {
        standIn: false,
        spent,
        signal,
        provenance,
      })
      if (E.isRight(answer)) return answer.right
      const { left } = answer
      if (left.kind === 'NoRoomYet') throw new Postponed(left.opensInMs)
      if (signal?.aborted === true) throw new Postponed(0)
      if (left.failure === 'request-too-large' && step === 'chunk' && job.kind === 'chunk' && job.messages.length > 1)
        throw new Aborted(left)
      await this.recordFailure(job, left, trigger, step)
      if (step !== 'chunk' || !this.mayFallBack(state, trigger)) throw new Aborted(left)
      this.usesFallback = true
      this.fallbackFor = left
    }
    const { fallback = this.deps.summarizer } = this.deps
    const answer = await summarizeStep(this.deps, fallback, job, { standIn: true, spent, signal, provenance })
    if (E.isRight(answer)) return answer.right
    throw answer.left.kind === 'NoRoomYet' ? new Postponed(answer.left.opensInMs) : new Aborted(answer.left)
  }

  private mayFallBack(state: Conversation, trigger: Asking): boolean {
    return trigger === 'hard' && this.deps.fallback !== undefined && policyOf(state).standIn === 'extractive'
  }

  private recordFailure(
    job: SummaryJob,
    failure: SummarizerFailure,
    trigger: Asking,
    step: 'chunk' | 'resummarize',
  ): Promise<Conversation> {
    const { strategy, provider, model } = this.deps.summarizer
    const prepared = prepare(this.deps.summarizer, job)
    const request = E.isRight(prepared) ? { requestHash: prepared.right.requestHash } : {}
    return this.options.record({
      type: 'RecordFailure',
      step,
      failure: failure.failure,
      detail: failure.detail,
      trigger,
      strategy,
      provider,
      model,
      ...request,
    })
  }

  private async chunk(
    state: Conversation,
    messages: readonly LiveMessage[],
    background: Background,
    trigger: Asking,
  ): Promise<SummaryResult> {
    return this.summarize(state, this.chunkJob(state, messages, background.summary), trigger, 'chunk')
  }

  /**
   * Records a summary. One that was paid for, and came too late for what it is of, is recorded as that: it is found
   * again, and not bought twice.
   */
  private async recordSummary(
    command: Extract<Command, { type: 'RecordChunk' | 'RecordResummarization' }>,
  ): Promise<Conversation> {
    try {
      return await this.options.record(command)
    } catch (stop) {
      const { summary, sections, summarizer } = command
      const isPaid = !isWithoutModel(summarizer) && summarizer.reused !== true
      if (
        !isPaid ||
        !(stop instanceof Aborted) ||
        (stop.failure.kind !== 'MessageNotLive' && stop.failure.kind !== 'BatchesNotActive')
      )
        throw stop
      const of =
        command.type === 'RecordChunk'
          ? { messageIds: command.messageIds, continues: command.continues }
          : { sourceBatchIds: command.sourceBatchIds }
      await this.options.record({ type: 'SetSummaryAside', of, summary, sections, summarizer })
      throw stop
    }
  }

  /** Summarizes one chunk and records it; a request that does not fit is tried once more, as two. */
  async summarizeChunk(
    state: Conversation,
    messages: readonly LiveMessage[],
    background: Background,
    trigger: Asking,
    halves = true,
  ): Promise<Background> {
    let result: SummaryResult
    try {
      result = await this.chunk(state, messages, background, trigger)
    } catch (stop) {
      if (
        !(stop instanceof Aborted) ||
        stop.failure.kind !== 'SummarizerFailed' ||
        stop.failure.failure !== 'request-too-large'
      )
        throw stop
      const parts = halves
        ? splitChunk([...state.retained, ...state.window], messages, policyOf(state).chunkSize)
        : [messages]
      if (parts.length > 1) {
        let last = background
        for (const part of parts) last = await this.summarizeChunk(state, part, last, trigger, false)
        return last
      }
      const job = this.chunkJob(state, messages, background.summary)
      await this.recordFailure(job, stop.failure, trigger, 'chunk')
      if (!this.mayFallBack(state, trigger)) throw stop
      this.usesFallback = true
      this.fallbackFor = stop.failure
      result = await this.chunk(state, messages, background, trigger)
    }
    const messageIds = messages.map((message) => message.messageId)
    const after = await this.recordSummary({
      type: 'RecordChunk',
      messageIds,
      continues: background.chunkId,
      ...result,
    })
    this.summaries += 1
    // Of the line that it was recorded in: other batches may have been put into force while it was made.
    return { summary: result.summary, chunkId: chunkIdOf(lineageOf(after), messageIds, result.summarizer.requestHash) }
  }

  /**
   * Whether the recorded chunk is what this summarizer would be asked for today; a fallback's summary is good as well,
   * once bought.
   */
  reusable(state: Conversation, planned: Extract<PlannedChunk, { kind: 'recorded' }>, background: Background): boolean {
    const job = this.chunkJob(state, planned.messages, background.summary)
    const { requestHash, standIn } = planned.chunk.summarizer
    const asked = (summarizer: Summarizer): boolean => {
      const prepared = prepare(summarizer, job)
      return E.isRight(prepared) && prepared.right.requestHash === requestHash
    }
    return (
      asked(this.deps.summarizer) || (standIn === true && this.deps.fallback !== undefined && asked(this.deps.fallback))
    )
  }

  /** Summarizes batches as one and records it. */
  async resummarize(state: Conversation, sources: readonly Batch[], trigger: Asking): Promise<Conversation> {
    const summaries = sources.map((batch) => ({
      text: summaryOf(batch),
      startTime: batch.startTime,
      endTime: batch.endTime,
      messageCount: batch.messageCount,
      depth: batch.depth,
      sections: batch.sections,
    }))
    const result = await this.summarize(
      state,
      { ...this.jobBase(state), kind: 'resummarize', summaries },
      trigger,
      'resummarize',
    )
    const after = await this.recordSummary({
      type: 'RecordResummarization',
      sourceBatchIds: sources.map((batch) => batch.batchId),
      ...result,
    })
    this.summaries += 1
    return after
  }
}
