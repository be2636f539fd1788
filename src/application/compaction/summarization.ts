/**
 * The summaries of one run: for chunks or batches, from the summarizer, or from the fallback if the policy allows it.
 * Each summary and each failure is recorded immediately.
 */
import { isDeepStrictEqual } from 'node:util'
import { either as E } from 'fp-ts'
import { summaryOf, summaryToFold, workingStateOf, type Batch } from '../../domain/conversation/batch.js'
import { applyOperations } from '../../domain/conversation/working-state.js'
import type { Chunk, Conversation } from '../../domain/conversation/conversation.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { timesSentBefore, type Command, type SummaryResult } from '../../domain/decide/index.js'
import { summariesBefore } from '../../domain/conversation/summaries-before.js'
import type { Provenance } from '../../domain/events/codec.js'
import type { EventData, WorkingState } from '../../domain/events/index.js'
import { prefixUpTo } from '../../domain/compaction/prefix.js'
import { splitChunk, type PlannedChunk } from '../../domain/compaction/plan.js'
import { viewTokens } from '../../domain/values/policy.js'
import type { Policy } from '../../domain/values/policy-settings.js'
import { isWithoutModel } from '../../domain/reports/prices.js'
import type { Summarizer, SummarizerFailure, SummaryJob } from '../../ports/summarizer.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { completedOperations, operationsFor, STATE_RULES } from '../working-state/operations.js'
import {
  isUnusableAnswer,
  MOST_SENDS,
  prepare,
  summarizeStep,
  wasFree,
  type NoRoomYet,
  type Spent,
  type StepDependencies,
  type StepFailure,
} from './summarize-step.js'

export type CompactFailure = SummarizerFailure | CommandFailure

/** Why a run ends before its work is done: a failure, or a pause of so many milliseconds, after which it continues. */
export type RunEnd =
  | { readonly kind: 'Failed'; readonly failure: CompactFailure }
  | { readonly kind: 'Postponed'; readonly ms: number }

/** The run ends with a failure. */
export const failedRun = (failure: CompactFailure): E.Either<RunEnd, never> => E.left({ kind: 'Failed', failure })
const postponedRun = (ms: number): E.Either<RunEnd, never> => E.left({ kind: 'Postponed', ms })

/** The limit for which a summary is made. */
type CompactionTrigger = EventData<'CompactionFailed'>['trigger']

/** The background of a chunk's request: the summary of the previous chunk, or of the last batch in the context. */
export interface Background {
  readonly summary: string | undefined
  readonly chunkId: string | undefined
  /** The working state before the chunk. */
  readonly workingState: WorkingState
}

/** The background of a chunk after `chunk`, or of the first chunk. */
export function backgroundOf(state: Conversation, chunk: Chunk | undefined): Background {
  const before = workingStateOf(state.batches)
  if (chunk !== undefined)
    return {
      summary: chunk.summary,
      chunkId: chunk.chunkId,
      workingState: state.chunks
        .filter(({ firstRevision }) => firstRevision <= chunk.firstRevision)
        .toSorted((a, b) => a.firstRevision - b.firstRevision)
        .reduce((working, { operations = [] }) => applyOperations(working, operations), before),
    }
  const lastShown = state.visibleBatches.at(-1)
  return {
    summary: lastShown === undefined ? undefined : summaryOf(lastShown),
    chunkId: undefined,
    workingState: before,
  }
}

/** The working state holds more than a view shows, because its items differ in importance from cycle to cycle. */
const STATE_IN_VIEWS = 2

export function policyOf(state: Conversation): Policy {
  if (state.configuration === undefined)
    throw new Error(`conversation ${state.conversationId} has no configuration yet`)
  return state.configuration.policy
}

export interface SummarizationDependencies extends StepDependencies {
  readonly summarizer: Summarizer
  /**
   * Makes a summary if the summarizer cannot and the policy allows it: after an unusable answer, after two requests in
   * vain, and at the hard limit. Without one, the failure is returned.
   */
  readonly fallback?: Summarizer | undefined
  /** False: an outage at the hard limit is returned as a failure, though there is a fallback. Default true. */
  readonly fallsBackAtHardLimit?: boolean
  readonly persona: string
}

export interface SummarizationOptions {
  readonly conversationId: string
  /** The provenance of prompts, which are recorded outside the conversation. */
  readonly provenance: Provenance
  /** Records the result of a command. A rejection ends the run. */
  readonly record: (...commands: readonly Command[]) => Promise<E.Either<RunEnd, Conversation>>
  readonly signal: AbortSignal | undefined
  /** Called before each request; false ends the run. */
  readonly goOn: () => boolean
}

/** The failure, if the run ended because a request was too large. */
const failureOfSize = (end: RunEnd): SummarizerFailure | undefined =>
  end.kind === 'Failed' && end.failure.kind === 'SummarizerFailed' && end.failure.failure === 'request-too-large'
    ? end.failure
    : undefined

/** The summaries of one run. */
export class Summarization {
  /**
   * After the summarizer failed in this run at the hard limit, the fallback does the rest: the same failure is not paid
   * for twice.
   */
  usesFallback = false
  /** The failure that caused it. */
  fallbackFor: SummarizerFailure | undefined
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

  /** The job of a chunk. An edition is not part of an agent's session, so it has no prompt cache to reuse. */
  private chunkJob(
    state: Conversation,
    messages: readonly LiveMessage[],
    { summary: existingSummary, workingState }: Background,
  ): Extract<SummaryJob, { kind: 'chunk' }> {
    const usesPrefix = this.deps.summarizer.usesPromptCache === true && state.editionId === undefined
    const prefix = usesPrefix
      ? prefixUpTo(
          state,
          messages.map(({ messageId }) => messageId),
        )
      : undefined
    const job = { ...this.jobBase(state), kind: 'chunk' as const, messages, existingSummary, workingState }
    return prefix === undefined ? job : { ...job, prefix }
  }

  /** Calls the summarizer, or the fallback if it may be used; records a failure before the next call. */
  private async summarize(
    state: Conversation,
    job: SummaryJob,
    trigger: CompactionTrigger,
    step: 'chunk' | 'resummarize',
  ): Promise<E.Either<RunEnd, SummaryResult>> {
    if (!this.options.goOn()) return postponedRun(0)
    if (this.usesFallback) return this.fallBack(state, job)
    const answer = await this.askSummarizer(state, job)
    if (E.isRight(answer)) return answer
    const { left } = answer
    if (left.kind === 'NoRoomYet') return postponedRun(left.opensInMs)
    const isPaid = (left.rejectedAnswers ?? []).length > 0
    if (this.options.signal?.aborted === true && !isPaid) return postponedRun(0)
    if (left.failure === 'request-too-large' && step === 'chunk' && job.kind === 'chunk' && job.messages.length > 1)
      return failedRun(left)
    const after = await this.recordFailure(state, job, left, trigger, step)
    if (E.isLeft(after)) return after
    if (!this.mayFallBack(after.right, trigger, step, left)) return failedRun(left)
    // An outage affects every request of this run; an unusable answer only this job.
    if (!isUnusableAnswer(left)) this.usesFallback = true
    this.fallbackFor = left
    return this.fallBack(state, job)
  }

  /** Calls the summarizer, unless this request failed twice in a row. */
  private askSummarizer(
    state: Conversation,
    job: SummaryJob,
  ): Promise<E.Either<StepFailure | NoRoomYet, SummaryResult>> {
    const { summarizer } = this.deps
    const { signal, provenance } = this.options
    return summarizeStep(this.deps, summarizer, job, {
      isFallback: false,
      timesSent: ({ requestHash }) => timesSentBefore(state, { requestHash, timeoutMs: summarizer.timeoutMs }),
      spent: this.spent,
      signal,
      provenance,
      settings: state.configuration?.settings,
    })
  }

  private async fallBack(state: Conversation, job: SummaryJob): Promise<E.Either<RunEnd, SummaryResult>> {
    const { fallback = this.deps.summarizer } = this.deps
    const { spent } = this
    const { signal, provenance } = this.options
    const answer = await summarizeStep(this.deps, fallback, job, {
      isFallback: true,
      spent,
      signal,
      provenance,
      settings: state.configuration?.settings,
    })
    if (E.isRight(answer)) return answer
    return answer.left.kind === 'NoRoomYet' ? postponedRun(answer.left.opensInMs) : failedRun(answer.left)
  }

  /**
   * Whether the fallback makes the summary: after an unusable answer, after two requests in vain, and for a chunk at the
   * hard limit whatever the failure is.
   */
  private mayFallBack(
    state: Conversation,
    trigger: CompactionTrigger,
    step: 'chunk' | 'resummarize',
    failure: SummarizerFailure,
  ): boolean {
    const { fallback, fallsBackAtHardLimit } = this.deps
    if (fallback === undefined || policyOf(state).fallback !== 'extractive') return false
    if (isUnusableAnswer(failure)) return true
    if ((state.failures?.request?.timesSent ?? 0) >= MOST_SENDS) return true
    return trigger === 'hard' && step === 'chunk' && fallsBackAtHardLimit !== false
  }

  private recordFailure(
    state: Conversation,
    job: SummaryJob,
    failure: StepFailure,
    trigger: CompactionTrigger,
    step: 'chunk' | 'resummarize',
  ): Promise<E.Either<RunEnd, Conversation>> {
    const { strategy, provider, model, timeoutMs } = this.deps.summarizer
    const prepared = prepare(this.deps.summarizer, job)
    const request = E.isRight(prepared) ? { requestHash: prepared.right.requestHash } : {}
    const { rejectedAnswers = [] } = failure
    return this.options.record(
      { type: 'ExpectNoErasure', since: state.revision },
      {
        type: 'RecordFailure',
        step,
        failure: failure.failure,
        detail: failure.detail,
        trigger,
        strategy,
        provider,
        model,
        ...request,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(rejectedAnswers.length === 0 ? {} : { rejectedAnswers: [...rejectedAnswers] }),
        sent: wasFree(failure) ? 0 : (failure.timesSent ?? 1),
      },
    )
  }

  private async chunk(
    state: Conversation,
    messages: readonly LiveMessage[],
    background: Background,
    trigger: CompactionTrigger,
  ): Promise<E.Either<RunEnd, SummaryResult>> {
    return this.summarize(state, this.chunkJob(state, messages, background), trigger, 'chunk')
  }

  /**
   * Records a summary. A paid summary that is too late for its messages is recorded as late, so that it can be reused
   * and is not paid for again.
   */
  private async recordSummary(
    state: Conversation,
    command: Extract<Command, { type: 'RecordChunk' | 'RecordResummarization' }>,
  ): Promise<E.Either<RunEnd, Conversation>> {
    // A summary of texts that were erased meanwhile is lost.
    const unerased = { type: 'ExpectNoErasure', since: state.revision } as const
    const recorded = await this.options.record(unerased, command)
    if (E.isRight(recorded) || recorded.left.kind !== 'Failed') return recorded
    const { summary, sections, operations, rejectedOperations, stateRules, summarizer } = command
    const isPaid = !isWithoutModel(summarizer) && summarizer.reused !== true
    const { kind } = recorded.left.failure
    if (!isPaid || (kind !== 'MessageNotLive' && kind !== 'BatchesNotActive')) return recorded
    const of =
      command.type === 'RecordChunk'
        ? { messageIds: command.messageIds, continues: command.continues }
        : { sourceBatchIds: command.sourceBatchIds }
    const recordedFailure = await this.options.record(unerased, {
      type: 'SetSummaryAside',
      of,
      summary,
      sections,
      ...(stateRules === undefined ? { operations, rejectedOperations } : {}),
      summarizer,
    })
    return E.isLeft(recordedFailure) ? recordedFailure : recorded
  }

  /** Summarizes one chunk and records it. A request that is too large is retried once, as two. */
  async summarizeChunk(
    state: Conversation,
    messages: readonly LiveMessage[],
    background: Background,
    trigger: CompactionTrigger,
    halves = true,
  ): Promise<E.Either<RunEnd, Background>> {
    let result = await this.chunk(state, messages, background, trigger)
    const tooLarge = E.isLeft(result) ? failureOfSize(result.left) : undefined
    if (tooLarge !== undefined) {
      const parts = halves ? splitChunk([...state.retained, ...state.window], messages, policyOf(state).chunkSize) : []
      if (parts.length > 1) return this.summarizeParts(state, parts, background, trigger)
      result = await this.afterTooLarge(state, messages, background, trigger, tooLarge)
    }
    if (E.isLeft(result)) return result
    const messageIds = messages.map((message) => message.messageId)
    const changed = await this.withOperations(state, messages, background, result.right)
    const { summary, summarizer, operations = [] } = changed
    const after = await this.recordSummary(state, {
      type: 'RecordChunk',
      messageIds,
      continues: background.chunkId,
      ...changed,
    })
    if (E.isLeft(after)) return after
    this.summaries += 1
    const chunk = after.right.chunks.findLast(
      (each) =>
        each.summarizer.requestHash === summarizer.requestHash && isDeepStrictEqual(each.messageIds, messageIds),
    )
    return E.right({
      summary,
      chunkId: chunk?.chunkId,
      workingState: applyOperations(background.workingState, operations),
    })
  }

  /**
   * A summary with the changes of the working state: those of the model, with the words of the user that it left out, or
   * else those that the rules find.
   */
  private async withOperations(
    state: Conversation,
    messages: readonly LiveMessage[],
    { workingState, summary }: Background,
    result: SummaryResult,
  ): Promise<SummaryResult> {
    const policy = policyOf(state)
    const maxTokens = viewTokens(policy) * STATE_IN_VIEWS
    if (result.operations !== undefined)
      return { ...result, operations: completedOperations(workingState, messages, result.operations, maxTokens) }
    const operations = await operationsFor(workingState, messages, {
      maxTokens,
      maxFacts: policy.maxSummaryTokens,
      background: summary,
      summary: isWithoutModel(result.summarizer) ? undefined : result.summary,
    })
    return { ...result, operations, stateRules: STATE_RULES }
  }

  /** Summarizes the parts of a chunk, each with the summary of the part before as its background. */
  private async summarizeParts(
    state: Conversation,
    parts: readonly (readonly LiveMessage[])[],
    background: Background,
    trigger: CompactionTrigger,
  ): Promise<E.Either<RunEnd, Background>> {
    let last = background
    for (const part of parts) {
      const summarized = await this.summarizeChunk(state, part, last, trigger, false)
      if (E.isLeft(summarized)) return summarized
      last = summarized.right
    }
    return E.right(last)
  }

  /** A chunk that cannot be divided is too large: records the failure, and uses the fallback if the policy allows it. */
  private async afterTooLarge(
    state: Conversation,
    messages: readonly LiveMessage[],
    background: Background,
    trigger: CompactionTrigger,
    failure: SummarizerFailure,
  ): Promise<E.Either<RunEnd, SummaryResult>> {
    const job = this.chunkJob(state, messages, background)
    const recorded = await this.recordFailure(state, job, failure, trigger, 'chunk')
    if (E.isLeft(recorded)) return recorded
    if (!this.mayFallBack(state, trigger, 'chunk', failure)) return failedRun(failure)
    this.usesFallback = true
    this.fallbackFor = failure
    return this.chunk(state, messages, background, trigger)
  }

  /**
   * Whether the recorded chunk has the request that this summarizer would send today. A fallback's summary is valid
   * too.
   */
  reusable(state: Conversation, planned: Extract<PlannedChunk, { kind: 'recorded' }>, background: Background): boolean {
    const job = this.chunkJob(state, planned.messages, background)
    const { requestHash, fallback } = planned.chunk.summarizer
    const isSameRequest = (summarizer: Summarizer): boolean => {
      const prepared = prepare(summarizer, job)
      return E.isRight(prepared) && prepared.right.requestHash === requestHash
    }
    return (
      isSameRequest(this.deps.summarizer) ||
      (fallback === true && this.deps.fallback !== undefined && isSameRequest(this.deps.fallback))
    )
  }

  /** Merges batches into one summary and records it. */
  async resummarize(
    state: Conversation,
    sources: readonly Batch[],
    trigger: CompactionTrigger,
  ): Promise<E.Either<RunEnd, Conversation>> {
    const summaries = sources.map(summaryToFold)
    const sourceBatchIds = sources.map((batch) => batch.batchId)
    const result = await this.summarize(
      state,
      {
        ...this.jobBase(state),
        kind: 'resummarize',
        summaries,
        existingSummary: summariesBefore(state.batches, sourceBatchIds),
      },
      trigger,
      'resummarize',
    )
    if (E.isLeft(result)) return result
    const after = await this.recordSummary(state, {
      type: 'RecordResummarization',
      sourceBatchIds,
      ...result.right,
    })
    if (E.isRight(after)) this.summaries += 1
    return after
  }
}
