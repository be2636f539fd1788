/**
 * Evaluates policies on recorded conversations: the same history is compacted under each policy, with summaries that
 * cost nothing, and nothing is recorded. The results are cycles, calls and tokens, for choosing a policy before paying
 * for it. The content of summaries is not evaluated.
 *
 * A host sends one request for each message of the assistant: the context directly before that message. Instead of a
 * model's summary a filler text is used, as long as the recorded summaries of this conversation on average, and never
 * longer than the policy allows.
 */
import { isLedgerError } from '../../lib/ledger-error.js'
import { either as E } from 'fp-ts'
import { summaryOf } from '../../domain/conversation/batch.js'
import { contextTokens } from '../../domain/compaction/context.js'
import { Fold } from '../../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../domain/conversation/conversation.js'
import { hashOf, sha256 } from '../../domain/values/hash.js'
import { conversationStream } from '../../domain/values/ids.js'
import { modelWindow } from '../../ports/model-windows.js'
import { hardLimit, resolvePolicy, type BadPolicy } from '../../domain/values/policy.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { findEstimator } from '../recording/estimators.js'
import type { Clock } from '../../ports/clock.js'
import type { PreparedSummary, Summarizer, SummaryJob } from '../../ports/summarizer.js'
import type { CompactFailure } from '../compaction/summarization.js'
import { decodeEvent, isOfType, isUnreadableEvent } from '../recording/read-event.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { openReplay } from './replay-conversation.js'

/** A policy to try: settings that override those of a conversation. */
export interface TriedPolicy {
  /** The name of the policy. */
  readonly name: string
  /** Its settings; others are the conversation's own. */
  readonly settings: PolicySettings
}

export interface WhatIfRequest {
  readonly conversationIds: readonly string[]
  /** True: skips a conversation that cannot be read and names it in the result. Otherwise that is an error. */
  readonly goesOn?: boolean | undefined
  readonly policies: readonly TriedPolicy[]
  /**
   * `recorded` (the default): fillers as long as the recorded summaries. `extractive`: summaries of the strategy
   * without a model, which takes longer. Conversations without a recorded summary always use extractive ones.
   */
  readonly summaries?: 'recorded' | 'extractive' | undefined
  readonly onConversation?: ((done: number, of: number) => void) | undefined
}

/** The result of one policy for one conversation. */
export interface Course {
  /** Number of compaction cycles. */
  readonly cycles: number
  /** Calls to the summarizer. */
  readonly calls: number
  /** Total tokens of the contexts of all requests. */
  readonly tokensSent: number
  /** Number of requests to the agent's model. */
  readonly requests: number
  /** Tokens of the largest context. */
  readonly largestContext: number
  /** Tokens of the context at each request, in order. */
  readonly contexts: readonly number[]
  /** Requests with a context above the model's window; only without compaction. */
  readonly aboveWindow: number
  /** The failure that stopped it before the end. */
  readonly stopped?: CompactFailure
}

/** The results of one policy, for all requested conversations. */
export interface WhatIfRow {
  /** The policy's name. */
  readonly name: string
  /** `recorded`: the real policy and its real effect. `none`: no compaction. `tried`: one of the requested policies. */
  readonly kind: 'recorded' | 'none' | 'tried'
  /** By conversation, in the requested order. */
  readonly courses: readonly Course[]
}

/** The result of `whatIf`: the tried policies compared with the recorded one. */
export interface WhatIf {
  /** The conversations that were evaluated. */
  readonly conversationIds: readonly string[]
  /** Conversations that cannot be read, with the event or estimator and the error. */
  readonly untried: readonly { readonly conversationId: string; readonly reason: string }[]
  /** One row per policy. */
  readonly rows: readonly WhatIfRow[]
}

export type WhatIfFailure =
  | CommandFailure
  | BadPolicy
  | { readonly kind: 'NoSuchConversation'; readonly conversationId: string }

export interface WhatIfDependencies {
  readonly log: Log
  readonly clock: Clock
  /** Summarizes without a model. */
  readonly extractive: Summarizer
}

const RULE = 'A text of the length of the recorded summaries.'

/** A summarizer that writes filler text, as long as the recorded summaries on average. */
function fillerSummarizer(tokens: number, windowTokens: number): Summarizer {
  const events = { strategy: 'what-if', provider: 'none', model: 'what-if-1' }
  return {
    ...events,
    windowTokens,
    prepare(job): PreparedSummary {
      const length = Math.max(1, Math.min(tokens, job.maxSummaryTokens))
      return {
        job,
        ...events,
        parameters: { length },
        prompt: { name: 'what-if', sha256: sha256(RULE), text: RULE },
        formatterVersion: 1,
        requestHash: hashOf({ ...events, length, of: namesOf(job) }),
        request: length,
      }
    },
    // Four characters are one token for Latin letters in every estimator like the default one.
    summarize: async ({ request }) => ({
      text: 'filler. '.repeat(Math.ceil(Number(request) / 2)).slice(0, Number(request) * 4 - 1),
      durationMs: 0,
    }),
  }
}

const namesOf = (job: SummaryJob): readonly string[] =>
  job.kind === 'chunk'
    ? job.messages.map(({ messageId }) => messageId)
    : job.summaries.map(({ startTime, endTime }) => `${startTime} ${endTime}`)

/** Collects the contexts of consecutive requests. */
function createCourse(): {
  send(tokens: number): void
  result(
    more: Pick<Course, 'cycles' | 'calls'> & {
      readonly window?: number | undefined
      readonly stopped?: CompactFailure | undefined
    },
  ): Course
} {
  const contexts: number[] = []
  return {
    send: (tokens) => void contexts.push(tokens),
    result: ({ cycles, calls, window, stopped }) => ({
      cycles,
      calls,
      tokensSent: contexts.reduce((sum, tokens) => sum + tokens, 0),
      requests: contexts.length,
      largestContext: contexts.reduce((most, tokens) => Math.max(most, tokens), 0),
      contexts,
      aboveWindow: window === undefined ? 0 : contexts.filter((tokens) => tokens > window).length,
      ...(stopped === undefined ? {} : { stopped }),
    }),
  }
}

interface ActualCourses {
  readonly recorded: Course
  readonly none: Course
  /** Average tokens of a recorded summary; undefined without any. */
  readonly summaryTokens: number | undefined
}

/** The recorded course, and the course without compaction. */
async function actualCourses(log: Log, conversationId: string): Promise<ActualCourses> {
  const [recorded, none] = [createCourse(), createCourse()]
  const fold = new Fold(initialState(conversationId, findEstimator))
  let { state } = fold
  let all = 0
  let cycles = 0
  let calls = 0
  let summaries = 0
  let summaryTokens = 0
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'MessageAppended')) {
      if (event.data.role === 'assistant' && state.messagesAppended > 0) {
        recorded.send(contextTokens(state))
        none.send(all)
      }
      all += event.data.tokens
    }
    state = fold.take(event)
    if (isOfType(event, 'MessagesPruned')) cycles += 1
    if (isOfType(event, 'ChunkSummarized', 'BatchesResummarized')) {
      const estimator =
        state.configuration === undefined ? defaultEstimator : findEstimator(state.configuration.estimator)
      summaries += 1
      summaryTokens += estimator.text(isOfType(event, 'ChunkSummarized') ? event.data.summary : summaryOf(event.data))
      if (event.data.summarizer.reused !== true) calls += 1
    }
  }
  const window = state.configuration === undefined ? undefined : hardLimit(state.configuration.policy)
  return {
    recorded: recorded.result({ cycles, calls }),
    none: none.result({ cycles: 0, calls: 0, window }),
    summaryTokens: summaries === 0 ? undefined : Math.round(summaryTokens / summaries),
  }
}

/** The course of a conversation under another policy. */
async function triedCourse(
  { log, clock }: WhatIfDependencies,
  conversation: Conversation,
  { settings }: TriedPolicy,
  summarizer: Summarizer,
): Promise<E.Either<WhatIfFailure, Course>> {
  const { configuration } = conversation
  if (configuration === undefined) return E.left({ kind: 'NotConfigured' })
  const mergedSettings = { ...configuration.settings, ...settings }
  // The maximum size of a chunk follows from the window of the configured summarizer, not of the filler.
  const policy = resolvePolicy(
    { chunkMaxTokens: configuration.policy.chunkMaxTokens, ...mergedSettings },
    undefined,
    modelWindow,
  )
  if (E.isLeft(policy)) return policy
  const course = createCourse()
  let before = 0
  let messageCount = 0
  const { strategy, provider, model } = summarizer
  const replay = await openReplay(
    // Prompts are not registered, since no model is called.
    { log, clock, summarizer, persona: '', registerPrompt: () => Promise.resolve(), actor: 'what-if' },
    // This id is never recorded: ids of editions are shorter.
    {
      editionId: clock.newId().replaceAll('-', ''),
      configuration: { ...configuration, settings: mergedSettings, policy: policy.right },
      summarizer: { strategy, provider, model },
      conversation,
    },
    {
      recording: false,
      onMessage(state) {
        // The current message is the last one of the window, or a leading message, which is never an assistant's.
        if (state.window.at(-1)?.role === 'assistant' && messageCount > 0) course.send(before)
        messageCount += 1
        // If the pinned messages exceed the window, there is no context; its size is then the sum of its parts, which
        // is above the window.
        before = contextTokens(state) || state.tokens
      },
    },
  )
  if (E.isLeft(replay)) return replay
  const reached = await replay.right.advance()
  const { cycles } = replay.right.state()
  // The filler costs nothing; each of its summaries counts as one call.
  const { summaries, reused } = replay.right.spent
  return E.right(
    course.result({
      cycles,
      calls: summaries - reused,
      stopped: reached.kind === 'stopped' ? reached.failure : undefined,
      window: hardLimit(policy.right),
    }),
  )
}

/** The recorded course of one conversation, and its course under each policy. */
async function coursesOf(
  deps: WhatIfDependencies,
  conversationId: string,
  { policies, summaries = 'recorded' }: WhatIfRequest,
): Promise<E.Either<WhatIfFailure, ActualCourses & { readonly tried: readonly Course[] }>> {
  const conversation = await loadConversation(deps.log, conversationId)
  if (conversation.revision < 0) return E.left({ kind: 'NoSuchConversation', conversationId })
  const actual = await actualCourses(deps.log, conversationId)
  const summarizer =
    summaries === 'extractive' || actual.summaryTokens === undefined
      ? deps.extractive
      : fillerSummarizer(actual.summaryTokens, deps.extractive.windowTokens)
  const courses: Course[] = []
  for (const policy of policies) {
    const course = await triedCourse(deps, conversation, policy, summarizer)
    if (E.isLeft(course)) return course
    courses.push(course.right)
  }
  return E.right({ ...actual, tried: courses })
}

/** Creates the use case. It only reads. */
export function createWhatIf(
  deps: WhatIfDependencies,
): (request: WhatIfRequest) => Promise<E.Either<WhatIfFailure, WhatIf>> {
  return async (request) => {
    const { conversationIds, goesOn = false, policies, onConversation } = request
    const recorded: Course[] = []
    const none: Course[] = []
    const courses: Course[][] = policies.map(() => [])
    const untried: { conversationId: string; reason: string }[] = []
    for (const conversationId of conversationIds) {
      try {
        const result = await coursesOf(deps, conversationId, request)
        if (E.isLeft(result)) return result
        recorded.push(result.right.recorded)
        none.push(result.right.none)
        for (const [at, course] of result.right.tried.entries()) courses[at]?.push(course)
      } catch (error) {
        // A problem of one conversation does not stop the others.
        if (!goesOn || !(isUnreadableEvent(error) || isLedgerError(error, 'EstimatorNotRegistered'))) throw error
        untried.push({ conversationId, reason: error.message })
      }
      onConversation?.(recorded.length + untried.length, conversationIds.length)
    }
    const rows: WhatIfRow[] = [
      { name: 'as recorded', kind: 'recorded', courses: recorded },
      { name: 'no compaction', kind: 'none', courses: none },
      ...policies.map(({ name }, at): WhatIfRow => ({ name, kind: 'tried', courses: courses[at] ?? [] })),
    ]
    const without = new Set(untried.map(({ conversationId }) => conversationId))
    return E.right({ conversationIds: conversationIds.filter((id) => !without.has(id)), untried, rows })
  }
}

/** The totals of a row over all conversations. */
export function totalOf({ courses }: WhatIfRow): Omit<Course, 'contexts' | 'stopped'> & { readonly stopped: number } {
  const of = (figure: (course: Course) => number): number => courses.reduce((sum, course) => sum + figure(course), 0)
  return {
    cycles: of(({ cycles }) => cycles),
    calls: of(({ calls }) => calls),
    tokensSent: of(({ tokensSent }) => tokensSent),
    requests: of(({ requests }) => requests),
    largestContext: courses.reduce((most, { largestContext }) => Math.max(most, largestContext), 0),
    aboveWindow: of(({ aboveWindow }) => aboveWindow),
    stopped: of(({ stopped }) => (stopped === undefined ? 0 : 1)),
  }
}
