/**
 * What another policy would have come to: the same history seen message by message under each policy, with summaries
 * that cost nothing, and nothing recorded. The figures are of cycles, calls and tokens, for who chooses a policy before
 * it is paid for; what a summary would have said is no part of them.
 *
 * A host sends one request for each message of the assistant: the context as it stood right before that message. In the
 * place of a model's summary stands a text as long as the recorded summaries of this conversation were on average, and
 * never longer than the policy allows.
 */
import { either as E, taskEither as TE } from 'fp-ts'
import { summaryOf } from '../domain/conversation/batch.js'
import { contextTokens } from '../domain/compaction/context.js'
import { Fold } from '../domain/conversation/evolve.js'
import { initialState, type Conversation } from '../domain/conversation/conversation.js'
import { hashOf, sha256 } from '../domain/values/hash.js'
import { conversationStream } from '../domain/values/ids.js'
import { modelWindow } from '../ports/model-windows.js'
import { hardLimit, resolvePolicy, type BadPolicy, type PolicySettings } from '../domain/values/policy.js'
import { defaultEstimator } from '../domain/values/tokens.js'
import { EstimatorNotRegistered, findEstimator } from '../recording/estimators.js'
import type { Clock } from '../ports/clock.js'
import type { PreparedSummary, Summarizer, SummaryJob } from '../ports/summarizer.js'
import type { CompactFailure } from '../compaction/summarization.js'
import { decodeEvent, isOfType, UnreadableEventError } from '../recording/read-event.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { openReplay } from './replay-conversation.js'

/** A policy to try: settings over those that a conversation has itself. */
export interface TriedPolicy {
  /** A name to tell it by. */
  readonly name: string
  /** Its settings; the rest are the conversation's own. */
  readonly settings: PolicySettings
}

export interface WhatIfRequest {
  readonly conversationIds: readonly string[]
  /** Goes on without a conversation that cannot be read here, and names it; otherwise that is an error. */
  readonly goesOn?: boolean | undefined
  readonly policies: readonly TriedPolicy[]
  /**
   * `recorded` (the default): summaries as long as the recorded ones were; `extractive`: the strategy without a model
   * writes them, which takes longer. A conversation without a recorded summary has extractive ones either way.
   */
  readonly summaries?: 'recorded' | 'extractive' | undefined
  readonly onConversation?: ((done: number, of: number) => void) | undefined
}

/** What one way of compacting a conversation comes to. */
export interface Course {
  /** Compaction cycles that the policy would take. */
  readonly cycles: number
  /** Summaries asked of the summarizer. */
  readonly calls: number
  /** Tokens of the contexts that were sent, over all requests. */
  readonly tokensSent: number
  /** Contexts that the agent asked its model with. */
  readonly requests: number
  /** Tokens of the largest context that was sent. */
  readonly largestContext: number
  /** Tokens of the context at each request, in order. */
  readonly contexts: readonly number[]
  /** Requests whose context would not have fitted the model's window; only without compaction. */
  readonly aboveWindow: number
  /** Why it went no further than its last request. */
  readonly stopped?: CompactFailure
}

/** One policy over all conversations that were asked for. */
export interface WhatIfRow {
  /** The policy's name. */
  readonly name: string
  /**
   * `recorded`: today's policy, as it really went. `none`: every message, always. `tried`: one of the policies that
   * were asked for.
   */
  readonly kind: 'recorded' | 'none' | 'tried'
  /** Of each conversation, in the order asked for. */
  readonly courses: readonly Course[]
}

/** What `whatIf` answers: policies beside what is recorded. */
export interface WhatIf {
  /** The conversations that it was tried on. */
  readonly conversationIds: readonly string[]
  /** Conversations that were to be tried and cannot be read here: which event, or which estimator, and why. */
  readonly untried: readonly { readonly conversationId: string; readonly reason: string }[]
  /** A row for each policy. */
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

/** Writes what says nothing, and is as long as the recorded summaries are on average. */
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
    // Four characters a token, by any estimator that counts Latin letters as the default does.
    summarize: ({ request }) =>
      TE.right({
        text: 'filler. '.repeat(Math.ceil(Number(request) / 2)).slice(0, Number(request) * 4 - 1),
        durationMs: 0,
      }),
  }
}

const namesOf = (job: SummaryJob): readonly string[] =>
  job.kind === 'chunk'
    ? job.messages.map(({ messageId }) => messageId)
    : job.summaries.map(({ startTime, endTime }) => `${startTime} ${endTime}`)

/** Requests one after the other, and what they come to. */
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

interface AsItWent {
  readonly recorded: Course
  readonly none: Course
  /** Tokens of a recorded summary on average; undefined where there is none. */
  readonly summaryTokens: number | undefined
}

/** How it really went, and how it would have gone without compaction. */
async function asItWent(log: Log, conversationId: string): Promise<AsItWent> {
  const [recorded, none] = [createCourse(), createCourse()]
  const fold = new Fold(initialState(conversationId, findEstimator))
  let { state } = fold
  let all = 0
  let cycles = 0
  let calls = 0
  let summaries = 0
  let summaryTokens = 0
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const event = await decodeEvent(stored, log.bodies)
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

/** Builds the use case. It only reads. */
export function createWhatIf({
  log,
  clock,
  extractive,
}: WhatIfDependencies): (request: WhatIfRequest) => Promise<E.Either<WhatIfFailure, WhatIf>> {
  async function tried(
    conversation: Conversation,
    { settings }: TriedPolicy,
    summarizer: Summarizer,
  ): Promise<E.Either<WhatIfFailure, Course>> {
    const { configuration } = conversation
    if (configuration === undefined) return E.left({ kind: 'NotConfigured' })
    const own = { ...configuration.settings, ...settings }
    // How large a chunk may be follows from the window of the summarizer that there is, not of what stands in for it
    // here.
    const policy = resolvePolicy(
      { chunkMaxTokens: configuration.policy.chunkMaxTokens, ...own },
      undefined,
      modelWindow,
    )
    if (E.isLeft(policy)) return policy
    const course = createCourse()
    let before = 0
    let seen = 0
    const { strategy, provider, model } = summarizer
    const replay = await openReplay(
      // Prompts are registered in the log where they are used in earnest.
      { log, clock, summarizer, persona: '', registerPrompt: () => Promise.resolve(), actor: 'what-if' },
      // An edition of this name is never recorded: ids of editions are shorter.
      {
        editionId: clock.newId().replaceAll('-', ''),
        configuration: { ...configuration, settings: own, policy: policy.right },
        summarizer: { strategy, provider, model },
        conversation,
      },
      {
        recording: false,
        onMessage(state) {
          // The message that was seen now is the last of the window, or leads, and then it is no assistant's.
          if (state.window.at(-1)?.role === 'assistant' && seen > 0) course.send(before)
          seen += 1
          // A context that is refused (its window has no room for what is pinned) counts by what it would take, which
          // is above the window.
          before = contextTokens(state) || state.tokens
        },
      },
    )
    if (E.isLeft(replay)) return replay
    const reached = await replay.right.advance()
    const { cycles } = replay.right.state()
    // What stands in for the summarizer spends nothing; each summary that it makes stands for a call.
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

  /** How one conversation went, and how it would have gone by each policy. */
  async function one(
    conversationId: string,
    { policies, summaries = 'recorded' }: WhatIfRequest,
  ): Promise<E.Either<WhatIfFailure, AsItWent & { readonly tried: readonly Course[] }>> {
    const conversation = await loadConversation(log, conversationId)
    if (conversation.revision < 0n) return E.left({ kind: 'NoSuchConversation', conversationId })
    const went = await asItWent(log, conversationId)
    const summarizer =
      summaries === 'extractive' || went.summaryTokens === undefined
        ? extractive
        : fillerSummarizer(went.summaryTokens, extractive.windowTokens)
    const courses: Course[] = []
    for (const policy of policies) {
      const course = await tried(conversation, policy, summarizer)
      if (E.isLeft(course)) return course
      courses.push(course.right)
    }
    return E.right({ ...went, tried: courses })
  }

  return async (request) => {
    const { conversationIds, goesOn = false, policies, onConversation } = request
    const recorded: Course[] = []
    const none: Course[] = []
    const courses: Course[][] = policies.map(() => [])
    const untried: { conversationId: string; reason: string }[] = []
    for (const conversationId of conversationIds) {
      try {
        const done = await one(conversationId, request)
        if (E.isLeft(done)) return done
        recorded.push(done.right.recorded)
        none.push(done.right.none)
        for (const [at, course] of done.right.tried.entries()) courses[at]?.push(course)
      } catch (error) {
        // What one conversation has stops no other one.
        if (!goesOn || !(error instanceof UnreadableEventError || error instanceof EstimatorNotRegistered)) throw error
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

/** The figures of a row over all conversations. */
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
