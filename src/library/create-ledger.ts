/**
 * Makes a ledger of its parts: the use cases over one log, one database of read models and one summarizer. It knows no
 * adapter.
 */
import { createRowCheck } from '../../projections/engine/compare.js'
import { createArchiveIndex } from '../../projections/read-models/archive-index/queries.js'
import { findBatches } from '../../projections/read-models/clip-archive/queries.js'
import { createVectorFiller, type FillOptions } from '../../projections/read-models/archive-index/vector-filler.js'
import type { Projection } from '../../projections/engine/projection.js'
import {
  CONVERSATION_ORDERS,
  listConversations,
  unlistedConversations,
  type ConversationsAsked,
} from '../../projections/read-models/live-messages/queries.js'
import { createProjectionRunner, ProjectionStopped } from '../../projections/engine/runner.js'
import { isNamed, originOf } from '../audit/against-manifest.js'
import { createAppendMessages } from '../recording/append-messages.js'
import { createCompact, isCompactionDue, type Compaction } from '../compaction/compact.js'
import { createCompareEditions, IN_FORCE } from '../editions/compare.js'
import { createCheckRowsApart } from '../audit/check-rows.js'
import { createCompactionWorker } from '../compaction/compaction-worker.js'
import { createCompress } from '../compaction/compress.js'
import { compactedSince } from '../compaction/compacted-since.js'
import { cycleRevisions } from '../history/cycles.js'
import { differenceBetween } from '../history/difference.js'
import { createExplain } from '../history/explain.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { createConversations } from '../recording/handle-command.js'
import type { Log } from '../recording/load-conversation.js'
import { undoCycles } from '../editions/undo-and-revert.js'
import { createRegisterPrompt } from '../recording/register-prompt.js'
import { search, type SearchHit, type SearchOptions } from '../search/search.js'
import { stats } from '../history/stats.js'
import { contextIn } from '../domain/compaction/context.js'
import { conversationAt, liveIn, revisionOf } from '../history/time-travel.js'
import { conversationsOfLog, createVerify, eventsFrom } from '../audit/verify.js'
import { createWhatIf } from '../editions/what-if.js'
import type { Provenance } from '../domain/events/codec.js'
import { contextOf } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Command } from '../domain/decide/index.js'
import { checkId, conversationStream } from '../domain/values/ids.js'
import { unknownName } from '../domain/text/known-names.js'
import { contentText, parseMessage, type MessageInput, type NewMessage } from '../domain/values/message.js'
import { parseInstant, parseMoment } from '../domain/values/moment.js'
import { DEFAULT_WINDOW_TOKENS, type PolicySettings } from '../domain/values/policy.js'
import { parsePrices, type PriceTable } from '../domain/reports/prices.js'
import { isRegisteredEstimator, registeredEstimators } from '../domain/values/tokens.js'
import { VIEWS, type ViewName } from '../domain/values/view-names.js'
import type { Claims } from '../ports/claims.js'
import { sleep, type Clock } from '../ports/clock.js'
import type { CheckRows, RowCheck, StoppedRows } from '../ports/row-check.js'
import type { EmbeddingFailure, EmbeddingModel } from '../ports/embedding-model.js'
import type { Database } from '../ports/sql.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { Spending } from '../ports/spending.js'
import type { WorkQueue } from '../ports/work-queue.js'
import { checkRequest } from '../summarizers/check-request.js'
import { createAgentTools, MEMORY_READ } from './agent-tools.js'
import { conversationsGiven, createEditions, namedOrAll, nameGiven, signalGiven, textGiven } from './editions.js'
import type {
  AppendOptions,
  AsOfOptions,
  At,
  Behind,
  CompareEditionsOptions,
  ContextOptions,
  DiffOptions,
  EditionsCompared,
  ExplainOptions,
  Ledger,
  LedgerSearchOptions,
  ListOptions,
  LogOptions,
  RebuildOptions,
  SearchResult,
  StatsOptions,
  Undone,
  VerifyOptions,
  WaitOptions,
  WhatIfOptions,
} from './ledger.js'
import { listenerGiven, looked, optionsGiven, settingsOf, type Names } from './options.js'
import { dataOfProblem, isRowsFailure, problem, valueOf, type Failure } from './problem.js'

export interface LedgerParts {
  readonly log: Log
  /** The log's address for people. */
  readonly name: string
  /** Where the read models are. */
  readonly db: Database
  readonly projections: readonly Projection[]
  /** True where no other process can write to this log. */
  readonly alone: boolean
  /** `inside`: this ledger keeps the read models and compacts. `elsewhere`: processes of their own do. */
  readonly workers: 'inside' | 'elsewhere'
  /** True where it also summarizes before a limit asks for it. */
  readonly ahead: boolean
  readonly claims: Claims
  /** Compares rows in a thread of its own; undefined where the database has one connection. */
  readonly checkRowsApart: CheckRows | undefined
  /** What editions have cost. */
  readonly spending: Spending
  /** What this process has still to compact. */
  readonly queue: WorkQueue
  readonly summarizer: Summarizer
  /** The same one for editions, whose requests are counted one by one: it does not try again by itself. */
  readonly editionSummarizer: Summarizer
  /** Summarizes at the hard limit where the summarizer fails. */
  readonly fallback: Summarizer
  readonly persona: string
  readonly embedding: EmbeddingModel | undefined
  /** Settings for what is appended through this ledger. */
  readonly policy: PolicySettings | undefined
  /**
   * Name of the estimator that what is appended through this ledger is counted by; undefined keeps a conversation's
   * own.
   */
  readonly estimator: string | undefined
  /** What models cost, for `stats`. */
  readonly prices: PriceTable
  readonly actor: string
  readonly clock: Clock
  readonly onProblem: (problem: unknown) => void
  /**
   * Where nothing is to be recorded; `keptBy` is the process that has the folder open and keeps the rows, where it is
   * another one.
   */
  readonly readOnly: { readonly keptBy: string | undefined } | undefined
  /** Calls back whenever another process begins to read by way of this one. */
  readonly onReader: (begun: () => void) => void
  /** Lets go of the log and the database. */
  readonly close: () => Promise<void>
}

// What each call of the ledger takes.
const WAIT: Names<WaitOptions> = { waitFor: true, timeout: true }
const APPEND: Names<AppendOptions> = { policy: true, scope: true, actor: true, correlationId: true }
const AS_OF: Names<AsOfOptions> = { ...WAIT, at: true }
const CONTEXT: Names<ContextOptions> = { ...AS_OF, view: true }
const DIFF: Names<DiffOptions> = { ...WAIT, from: true, to: true, cycle: true }
const COMPACT: Names<{ readonly force?: boolean }> = { force: true }
const UNDO: Names<{ readonly cycle: number }> = { cycle: true }
const SEARCH: Names<LedgerSearchOptions> = { ...WAIT, conversationId: true, scope: true, limit: true, include: true }
const LOG: Names<LogOptions> = { from: true, limit: true }
const INCLUDED: ReadonlySet<unknown> = new Set<NonNullable<SearchOptions['include']>>(['messages', 'batches', 'all'])
const LIST: Names<ListOptions> = {
  ...WAIT,
  scope: true,
  match: true,
  since: true,
  until: true,
  sort: true,
  limit: true,
}
const VERIFY: Names<VerifyOptions> = { onProgress: true, onStream: true, against: true }
const EXPLAIN: Names<ExplainOptions> = { batchId: true, line: true, open: true }
const STATS: Names<StatsOptions> = { prices: true, onConversation: true }
const REBUILD: Names<RebuildOptions> = { onProgress: true, signal: true, batchSize: true, fresh: true }
const FILL: Names<FillOptions> = { limit: true, signal: true, onProgress: true }
const WHAT_IF: Names<WhatIfOptions> = { policies: true, summaries: true, onConversation: true }
const COMPARE: Names<CompareEditionsOptions> = { ...WAIT, against: true, questions: true, onConversation: true }

/** How far before an answer its call is looked for. */
const ANSWER_REACH = 64
/** Summaries that one process asks for at the same time. */
const CONVERSATIONS_AT_ONCE = 16
/** How long a reader waits for read models that another process keeps, where it does not say itself. */
const WAIT_MS = 5_000
const HEAD_POLL_MS = 20

const bad = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })
const fail = (failure: Failure): Error => problem(failure)

const isList = (messages: MessageInput | readonly MessageInput[]): messages is readonly MessageInput[] =>
  Array.isArray(messages)
/** A copy, which whoever gave it cannot change, and which has its holes as what is no message. */
const asList = (messages: MessageInput | readonly MessageInput[]): readonly MessageInput[] =>
  looked('messages', () => (isList(messages) ? Array.from(messages) : [messages]))

function parseMessages(inputs: readonly MessageInput[]): NewMessage[] {
  return inputs.map((input, at) =>
    valueOf(parseMessage(input), (left) =>
      problem(inputs.length === 1 ? left : { ...left, field: `messages[${String(at)}].${left.field}` }),
    ),
  )
}

/** A price table, checked; throws where it is wrong. */
export const pricesOf = (prices: PriceTable | undefined): PriceTable =>
  prices === undefined
    ? {}
    : valueOf(
        looked('prices', () => parsePrices(prices)),
        ({ field, detail }) => bad(field === '' ? 'prices' : `prices.${field}`, detail),
      )

/** The name of an estimator, checked; throws where none of that name is registered. */
export function estimatorOf(name: string | undefined): string | undefined {
  if (name !== undefined && typeof name !== 'string') throw bad('estimator', 'must be a text')
  if (name !== undefined && !isRegisteredEstimator(name))
    throw bad(
      'estimator',
      `"${name}" is not registered (${registeredEstimators().join(', ')}): registerEstimator comes first`,
    )
  return name
}

/** A name that is recorded, checked: of who asked, of what belongs together, of a tenant. */
export const nameOf = (field: string, given: unknown): string =>
  valueOf(checkId(field, given), ({ detail }) => bad(field, detail))

/** A time as the read models have it. */
function timeOf(field: string, given: Date | string): string {
  const time = new Date(valueOf(parseInstant(field, given), problem)).toISOString()
  // Rows are compared as texts, and a year of six digits begins with a sign.
  if (!/^\d/u.test(time)) throw bad(field, 'is no time between the years 0 and 9999')
  return time
}

/** Which conversations to list, checked. */
function listAsked({ scope, match, since, until, sort, limit }: ListOptions): ConversationsAsked {
  for (const [field, text] of Object.entries({ scope, match })) if (text !== undefined) nameGiven(field, text)
  if (sort !== undefined && !CONVERSATION_ORDERS.includes(sort))
    throw bad('sort', `must be one of ${CONVERSATION_ORDERS.join(', ')}`)
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    throw bad('limit', 'must be a whole number above 0')
  return {
    ...(scope === undefined ? {} : { scope }),
    ...(match === undefined ? {} : { match }),
    ...(sort === undefined ? {} : { sort }),
    ...(limit === undefined ? {} : { limit }),
    ...(since === undefined ? {} : { since: timeOf('since', since) }),
    ...(until === undefined ? {} : { until: timeOf('until', until) }),
  }
}

/** How long to wait, checked. */
function timeoutOf({ waitFor, timeout = WAIT_MS }: WaitOptions): number {
  if (waitFor !== undefined && typeof waitFor !== 'bigint') throw bad('waitFor', 'must be a position (a bigint)')
  if (!Number.isFinite(timeout) || timeout < 0) throw bad('timeout', 'must be a number of milliseconds, 0 or more')
  return timeout
}

/** The name of a view, checked. */
function viewNamed(view: ViewName | undefined): ViewName | undefined {
  if (view !== undefined && !VIEWS.includes(view)) throw bad('view', `must be one of ${VIEWS.join(', ')}`)
  return view
}

/** What compares the rows of a database with what the facts of a log make them. */
export function rowCheckOf({
  log,
  db,
  projections,
}: Pick<LedgerParts, 'log' | 'db' | 'projections'>): (
  everyConversation: boolean,
  catchUp: () => Promise<void>,
) => RowCheck {
  return (everyConversation, catchUp) =>
    createRowCheck({
      db,
      projections,
      everyConversation,
      catchUp,
      eventsFrom: (conversationId, seen) => eventsFrom(log, conversationId, seen),
    })
}

/** Builds the ledger. Nothing runs until it is used. */
export function createLedger(parts: LedgerParts): Ledger {
  const { log, db, projections, workers, clock, actor, summarizer, embedding, onProblem, readOnly } = parts
  const conversations = createConversations({ log, clock, alone: parts.alone })
  const decode = (stored: Parameters<typeof decodeEvent>[0]): ReturnType<typeof decodeEvent> =>
    decodeEvent(stored, log.bodies)
  /** Conversations of which was told that their rows do not go on. */
  const told = new Set<string>()
  const runner = createProjectionRunner({
    db,
    store: log.store,
    decode,
    projections,
    claims: parts.claims,
    onFailure: onProblem,
    // A fact that nobody can read stops a conversation in every read model: once is enough.
    onStop: (projection, stop) => {
      if (stop.stream === undefined || told.has(stop.stream)) return
      told.add(stop.stream)
      onProblem(new ProjectionStopped(projection, stop))
    },
  })
  const index = createArchiveIndex(db)
  const registerPrompt = createRegisterPrompt(log, clock, actor)
  const compact = createCompact({
    conversations,
    summarizer,
    fallback: parts.fallback,
    persona: parts.persona,
    claims: parts.claims,
    clock,
    registerPrompt,
    actor,
  })
  const worker = createCompactionWorker({
    queue: parts.queue,
    load: (conversationId) => conversations.load(conversationId),
    compact,
    clock,
    concurrency: CONVERSATIONS_AT_ONCE,
    backsOffByTime: false,
    ahead: parts.ahead,
    // A summarizer that is down is told of as well where the fallback did its work: else it is down for days, and only
    // the log knows.
    onCompaction: (_conversationId, run) => {
      const failure = run.failure ?? run.fallbackFor
      if (failure !== undefined) onProblem(failure)
    },
    onProblem: (failure) => {
      onProblem(failure)
    },
  })
  const appendMessages = createAppendMessages({
    conversations,
    clock,
    summarizerWindowTokens: summarizer.windowTokens,
    estimator: parts.estimator,
  })
  const filler =
    embedding === undefined || !db.hasVector || readOnly?.keptBy !== undefined
      ? undefined
      : createVectorFiller({ db, store: log.store, embedding, claims: parts.claims, owner: clock.newId(), onProblem })
  let closing: Promise<void> | undefined
  let following = false
  /** Position of the last fact that was recorded through this ledger. */
  let ownPosition = -1n

  function open(): void {
    if (closing !== undefined) throw fail({ kind: 'LedgerClosed' })
  }
  /** Throws where the call may not record anything. */
  function writes(call: string): void {
    open()
    if (readOnly !== undefined)
      throw fail({
        kind: 'LedgerReadOnly',
        call,
        name: parts.name,
        ...(readOnly.keptBy === undefined ? {} : { keptBy: readOnly.keptBy }),
      })
  }
  function follow(): void {
    if (closing !== undefined || following || workers === 'elsewhere') return
    following = true
    runner.start()
  }
  function provenance(given: { actor?: string | undefined; correlationId?: string | undefined } = {}): Provenance {
    const correlationId =
      given.correlationId === undefined ? clock.newId() : nameOf('correlationId', given.correlationId)
    return {
      actor: given.actor === undefined ? actor : nameOf('actor', given.actor),
      correlationId,
      causationId: correlationId,
    }
  }

  function wakeWhereDue(state: Conversation): void {
    if (parts.ahead) filler?.wake()
    if (workers === 'inside' && isCompactionDue(state, parts.ahead ? 'ahead' : 'due')) worker.wake(state.conversationId)
  }

  async function append(
    conversationId: string,
    messages: readonly NewMessage[],
    settings: PolicySettings | undefined,
    scope: string | undefined,
    by: Provenance,
  ) {
    writes('append')
    follow()
    const merged = settings === undefined && parts.policy === undefined ? undefined : { ...parts.policy, ...settings }
    const appended = valueOf(
      await appendMessages({ conversationId, messages, settings: merged, scope, provenance: by }),
      fail,
    )
    if (appended.position !== undefined && appended.position > ownPosition) ownPosition = appended.position
    if (appended.unknownModel !== undefined)
      onProblem(problem({ kind: 'UnknownModelWindow', model: appended.unknownModel, assumed: DEFAULT_WINDOW_TOKENS }))
    wakeWhereDue(appended.state)
    return appended
  }

  /**
   * Throws where there is no such conversation: a misspelt id is told and not made up. What reads facts alone needs no
   * more, whatever they say.
   */
  async function isThere(conversationId: string): Promise<void> {
    open()
    valueOf(checkId('conversationId', conversationId), fail)
    if ((await log.store.streamRevision(conversationStream(conversationId))) < 0n)
      throw fail({ kind: 'NoSuchConversation', conversationId })
  }

  /** A conversation that is there. */
  async function existing(conversationId: string): Promise<Conversation> {
    open()
    valueOf(checkId('conversationId', conversationId), fail)
    const state = await conversations.load(conversationId)
    if (state.revision < 0n) throw fail({ kind: 'NoSuchConversation', conversationId })
    return state
  }

  /** The conversation as it is, or as it was at a moment. */
  async function stateAt(conversationId: string, at: At | undefined): Promise<Conversation> {
    if (at === undefined) return existing(conversationId)
    open()
    valueOf(checkId('conversationId', conversationId), fail)
    return valueOf(await conversationAt(log, conversationId, valueOf(parseMoment('at', at), fail), clock.now()), fail)
  }

  async function revisionAt(conversationId: string, field: string, at: At): Promise<bigint> {
    return valueOf(await revisionOf(log, conversationId, valueOf(parseMoment(field, at), fail), clock.now()), fail)
  }

  async function handle(conversationId: string, command: Command): Promise<void> {
    const handled = valueOf(await conversations.handle(conversationId, [command], provenance()), fail)
    if (handled.position !== undefined && handled.position > ownPosition) ownPosition = handled.position
  }

  async function pin(type: 'PinMessage' | 'UnpinMessage', conversationId: string, messageId: string): Promise<void> {
    writes(type === 'PinMessage' ? 'pin' : 'unpin')
    await existing(conversationId)
    await handle(conversationId, { type, messageId: nameGiven('messageId', messageId) })
  }

  async function undo(conversationId: string, cycle: number | undefined): Promise<Undone> {
    writes('undo')
    const { messagesAppended } = await existing(conversationId)
    if (cycle === undefined || !Number.isSafeInteger(cycle) || cycle < 1)
      throw bad('cycle', 'must be the number of a cycle, from 1')
    const { events, position } = valueOf(
      await undoCycles({ log, conversations }, conversationId, cycle, provenance()),
      fail,
    )
    if (position !== undefined && position > ownPosition) ownPosition = position
    const event = events.find((each) => isOfType(each, 'CycleUndone'))
    if (event === undefined) throw new Error(`undoing cycle ${String(cycle)} of ${conversationId} recorded nothing`)
    const { undone, restored, tokensBefore, tokensAfter, restsUntilMessages } = event.data
    return {
      conversationId,
      revision: event.revision,
      cycles: undone.map((each) => each.cycle),
      messagesRestored: restored.length,
      tokensBefore,
      tokensAfter,
      restsForMessages: Math.max(0, restsUntilMessages - messagesAppended),
    }
  }

  async function compactNow(conversationId: string, force: boolean): Promise<Compaction> {
    writes('compact')
    await existing(conversationId)
    follow()
    if (parts.policy !== undefined || parts.estimator !== undefined)
      await handle(conversationId, {
        type: 'Configure',
        settings: parts.policy,
        scope: undefined,
        summarizerWindowTokens: summarizer.windowTokens,
        estimator: parts.estimator,
      })
    const before = await conversations.load(conversationId)
    const run = await compact(conversationId, force ? 'force' : 'now')
    // The worker behind an append, or another process, may have come first: what happened is told, whoever did it.
    const { batchesCreated, messagesCompressed, failure } = await compactedSince(log, conversationId, before.revision)
    return {
      ...run,
      batchesCreated,
      messagesCompressed,
      ...(run.failure !== undefined || failure === undefined ? {} : { failure }),
    }
  }

  /**
   * Waits until the rows show `position`, those of one conversation where it is named; throws where they do not in
   * time.
   */
  async function shown(position: bigint, timeoutMs: number, conversationId: string | undefined): Promise<void> {
    if (await runner.waitFor(position, timeoutMs, conversationId === undefined ? {} : { conversationId })) return
    const hint =
      readOnly?.keptBy !== undefined
        ? `; ${readOnly.keptBy} keeps them`
        : workers === 'elsewhere'
          ? '; is `context-ledger projections run` running?'
          : ''
    const missing =
      position < 0n
        ? 'there are no read models yet, and none came'
        : `the read models have not come to position ${String(position)}`
    throw fail({ kind: 'ProjectionsBehind', detail: `${missing} within ${String(timeoutMs)} ms${hint}` })
  }

  /**
   * Brings the rows to where the reader wants them: to `waitFor`, where it is given; else to the head of the log where
   * this process keeps
   * them, and to this ledger's own last fact where others do.
   */
  async function caughtUp(wait: WaitOptions = {}, conversationId?: string): Promise<void> {
    open()
    const timeoutMs = timeoutOf(wait)
    if (wait.waitFor !== undefined) await shown(wait.waitFor, timeoutMs, conversationId)
    else if (workers === 'elsewhere') await shown(ownPosition, timeoutMs, conversationId)
    else await runner.catchUp()
  }

  /** Waits until the log itself has come to a position, as a copy of a server that lags behind its leader has to. */
  async function recorded(given: WaitOptions): Promise<void> {
    if (given.waitFor === undefined) return
    const timeoutMs = timeoutOf(given)
    const until = performance.now() + timeoutMs
    while ((await log.store.head()) < given.waitFor) {
      if (performance.now() >= until)
        throw fail({
          kind: 'ProjectionsBehind',
          detail: `the log has not come to position ${String(given.waitFor)} within ${String(timeoutMs)} ms`,
        })
      await sleep(HEAD_POLL_MS)
    }
  }

  /** What the rows do not show yet. Where this process keeps them, they were just brought to the end of the log. */
  async function behindOf(within?: SearchOptions['within']): Promise<{ readonly behind?: Behind }> {
    if (workers === 'inside') return {}
    const behind = await runner.behind(
      within !== undefined && 'conversationId' in within ? { conversationId: within.conversationId } : {},
    )
    return behind === undefined ? {} : { behind }
  }

  /**
   * What of the messages a search by meaning could not look at. Vectors are made behind; who ends right after has
   * nothing of it.
   */
  async function vectorsOf(
    conversationId: string | undefined,
    failure: EmbeddingFailure | undefined,
  ): Promise<Pick<SearchResult, 'vectors'>> {
    if (filler === undefined) return {}
    const { missing, isAtLeast, failure: earlier } = await filler.missing(conversationId)
    if (parts.ahead) filler.wake()
    const problemFound = failure ?? earlier
    return missing === 0 && problemFound === undefined
      ? {}
      : { vectors: { missing, isAtLeast, ...(problemFound === undefined ? {} : { problem: problemFound.detail }) } }
  }

  async function find(query: string, given: SearchOptions, wait: WaitOptions = {}): Promise<SearchResult> {
    if (textGiven('query', query).trim() === '') throw bad('query', 'is empty')
    const conversationId = 'conversationId' in given.within ? given.within.conversationId : undefined
    await caughtUp(wait, conversationId)
    // What it says would not be all that there is.
    const stop =
      conversationId === undefined
        ? undefined
        : (await runner.stopped(conversationId)).find(({ projection }) => projection === 'archive-index')
    if (stop !== undefined) throw new ProjectionStopped(stop.projection, stop)
    const { hits, failure } = await search({ index, ...(embedding === undefined ? {} : { embedding }) }, query, given)
    if (failure !== undefined) onProblem(failure)
    if (hits.length === 0 && conversationId !== undefined) await isThere(conversationId)
    return {
      hits,
      ...(await behindOf(given.within)),
      ...(given.include === 'batches' ? {} : await vectorsOf(conversationId, failure)),
    }
  }

  async function memoryRead(conversationId: string, query: string, limit: number): Promise<readonly SearchHit[]> {
    const state = await existing(conversationId)
    const context = valueOf(contextOf(state), fail)
    // What the agent still sees is the live messages and the batches of the view; a shortened or left-out one it does
    // not see whole.
    const seen = new Set(context.messageIds)
    for (const { id } of context.shortened ?? []) seen.delete(id)
    const shownBatches = new Set(state.view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : [])))
    for (const { id } of context.shortened ?? []) shownBatches.delete(id)
    const { hits } = await find(query, { within: { conversationId }, limit: limit + seen.size + shownBatches.size })
    const found: SearchHit[] = []
    for (const hit of hits) {
      if (found.length >= limit) break
      const isSeen =
        hit.kind === 'batch'
          ? hit.batchId !== null && shownBatches.has(hit.batchId)
          : hit.messageIds.every((id) => seen.has(id))
      if (!isSeen && !(hit.kind === 'message' && (await isOfMemoryRead(conversationId, hit.firstRevision))))
        found.push(hit)
    }
    return found
  }

  /**
   * Whether a message is a call of `memory_read` and nothing else, or an answer to one: what it found would be found
   * again and again.
   */
  async function isOfMemoryRead(conversationId: string, revision: bigint): Promise<boolean> {
    let callId: string | undefined
    // An answer stands closely behind its call.
    for await (const stored of log.store.readStream(conversationStream(conversationId), {
      from: revision,
      direction: 'backwards',
      limit: ANSWER_REACH,
    })) {
      const event = await decode(stored)
      if (!isOfType(event, 'MessageAppended')) continue
      const { role, content, toolCalls = [], toolCallId } = event.data
      const isReading = ({ function: called }: (typeof toolCalls)[number]): boolean => called?.name === MEMORY_READ
      if (callId !== undefined) {
        const call = toolCalls.find(({ id }) => id === callId)
        if (call !== undefined) return isReading(call)
      } else if (role === 'tool' && toolCallId !== undefined) callId = toolCallId
      else return toolCalls.length > 0 && toolCalls.every(isReading) && contentText(content).trim() === ''
    }
    return false
  }

  const explain = createExplain({
    log,
    // A hint beside the log: where there are no rows, or none that can be read, the log is read instead. The place of
    // an edition's batch is in its own stream.
    placeOf: async (conversationId, batchId) =>
      (await findBatches(db, conversationId, [batchId]).catch(() => [])).find(
        ({ editionId }) => editionId === undefined,
      ),
  })

  /** A conversation as all that the tallies go through. */
  async function* one(conversationId: string): AsyncIterable<string> {
    await isThere(conversationId)
    yield conversationId
  }

  const compare = createCompareEditions({
    log,
    clock,
    claims: parts.claims,
    search: { index, ...(embedding === undefined ? {} : { embedding }) },
    actor,
  })
  const whatIf = createWhatIf({ log, clock, extractive: parts.fallback })

  async function allConversations(): Promise<string[]> {
    const ids: string[] = []
    for await (const id of conversationsOfLog(log)) ids.push(id)
    return ids
  }

  /** Brings the rows to the head of the log, whoever recorded what is there and whoever keeps them. */
  async function caughtUpToHead(): Promise<void> {
    open()
    await caughtUp(workers === 'elsewhere' ? { waitFor: await log.store.head() } : {})
  }

  /** Conversations whose rows do not come there. */
  async function conversationsStopped(): Promise<StoppedRows[]> {
    return (await runner.stopped()).map(({ projection, conversationId, stream, revision, reason }) => ({
      readModel: projection,
      conversationId,
      at: stream === undefined || revision === undefined ? undefined : { stream, revision },
      detail: `${projection} ${reason}`,
    }))
  }

  /** The same for a proof, which goes on where the rows do not: says which do not come there. */
  async function rowsCaughtUp(): Promise<readonly StoppedRows[]> {
    open()
    try {
      await caughtUpToHead()
      return await conversationsStopped()
    } catch (error) {
      if (!isRowsFailure(error)) throw error
      const stopped = (await runner.status()).flatMap(({ name, stop }): StoppedRows[] => {
        if (stop === undefined) return []
        const { reason, stream, revision } = stop
        return [
          {
            readModel: name,
            at: stream === undefined || revision === undefined ? undefined : { stream, revision },
            detail: `${name} ${reason}`,
          },
        ]
      })
      return stopped.length > 0 ? stopped : [{ readModel: 'read models', detail: error.message }]
    }
  }
  const { checkRowsApart } = parts
  const verify = createVerify({
    log,
    checkRequest,
    rowCheck: rowCheckOf(parts),
    catchUp: rowsCaughtUp,
    checkRowsApart:
      checkRowsApart === undefined
        ? undefined
        : (here) => createCheckRowsApart({ log, here, apart: checkRowsApart, onProblem }),
  })

  const { editions, prompts, editionNamed } = createEditions({
    log,
    db,
    caughtUp: caughtUpToHead,
    clock,
    conversations,
    summarizer: parts.editionSummarizer,
    persona: parts.persona,
    registerPrompt,
    actor,
    claims: parts.claims,
    spending: parts.spending,
    open,
    writes,
    existing,
    provenance: () => provenance(),
    onProblem,
    onRecorded: ({ position }) => {
      if (position !== undefined && position > ownPosition) ownPosition = position
      follow()
    },
  })

  const compareEditions: EditionsCompared['compare'] = async (conversationIds, editionId, options) => {
    writes('editions.compare')
    const { waitFor, timeout, onConversation, ...given } = optionsGiven('editions.compare', options, COMPARE)
    const heard = listenerGiven('onConversation', onConversation, onProblem)
    const asked = conversationsGiven('conversationIds', conversationIds)
    // Messages are searched for evidence alone.
    if (given.questions !== undefined)
      await caughtUp({ ...(waitFor === undefined ? {} : { waitFor }), ...(timeout === undefined ? {} : { timeout }) })
    const against =
      given.against === undefined || given.against === IN_FORCE
        ? {}
        : { against: await editionNamed(given.against, 'against') }
    return valueOf(
      await compare({
        conversationIds: asked === 'all' ? undefined : asked,
        editionId: await editionNamed(editionId),
        ...given,
        onConversation: heard,
        ...against,
      }),
      fail,
    )
  }

  // Who reads beside keeps no rows.
  parts.onReader(follow)

  return {
    editions: { ...editions, compare: compareEditions },
    prompts,
    async append(conversationId, messages, options) {
      const given = optionsGiven('append', options, APPEND)
      const appended = await append(
        conversationId,
        parseMessages(asList(messages)),
        settingsOf(given.policy),
        given.scope === undefined ? undefined : nameOf('scope', given.scope),
        provenance(given),
      )
      return {
        conversationId,
        revision: appended.state.revision,
        recorded: appended.recorded,
        position: appended.position,
      }
    },
    async context(conversationId, options) {
      open()
      const { at, view, ...wait } = optionsGiven('context', options, CONTEXT)
      await recorded(wait)
      return valueOf(contextIn(await stateAt(conversationId, at), viewNamed(view)), fail)
    },
    async messages(conversationId, options) {
      open()
      const { at, ...wait } = optionsGiven('messages', options, AS_OF)
      await recorded(wait)
      return liveIn(await stateAt(conversationId, at))
    },
    async diff(conversationId, given) {
      open()
      const asked = optionsGiven<{ readonly from?: At; readonly to?: At; readonly cycle?: number } & WaitOptions>(
        'diff',
        given,
        DIFF,
      )
      await recorded(asked)
      const { revision: head } = await existing(conversationId)
      if (asked.cycle !== undefined) {
        if (!Number.isSafeInteger(asked.cycle) || asked.cycle < 1)
          throw bad('cycle', 'must be the number of a cycle, from 1')
        const { from, to, ...cycle } = valueOf(await cycleRevisions(log, conversationId, asked.cycle), fail)
        return { ...valueOf(await differenceBetween(log, conversationId, from, to), fail), cycle }
      }
      if (asked.from === undefined) throw bad('from', 'is missing: a moment, or a cycle in its place')
      const from = await revisionAt(conversationId, 'from', asked.from)
      const to = asked.to === undefined ? head : await revisionAt(conversationId, 'to', asked.to)
      return valueOf(await differenceBetween(log, conversationId, from, to), fail)
    },
    compact: async (conversationId, given) =>
      await compactNow(conversationId, optionsGiven('compact', given, COMPACT).force === true),
    undo: async (conversationId, given) => await undo(conversationId, optionsGiven('undo', given, UNDO).cycle),
    async settled(conversationId) {
      open()
      await worker.settled(conversationId)
    },
    async search(query, options) {
      open()
      const { conversationId, scope, waitFor, timeout, ...given } = optionsGiven('search', options, SEARCH)
      if (conversationId !== undefined && scope !== undefined)
        throw bad('scope', 'goes without a conversation: a search stays in one of the two')
      if (conversationId !== undefined) valueOf(checkId('conversationId', conversationId), fail)
      if (scope !== undefined) nameGiven('scope', scope)
      if (given.limit !== undefined && !(Number.isSafeInteger(given.limit) && given.limit >= 0))
        throw bad('limit', 'must be a whole number, 0 or more')
      if (given.include !== undefined && !INCLUDED.has(given.include))
        throw bad('include', 'must be messages, batches or all')
      const wait = { ...(waitFor === undefined ? {} : { waitFor }), ...(timeout === undefined ? {} : { timeout }) }
      return await find(
        query,
        { within: conversationId === undefined ? { scope: scope ?? null } : { conversationId }, ...given },
        wait,
      )
    },
    async *log(conversationId, options) {
      const given = optionsGiven('log', options, LOG)
      if (given.from !== undefined && !(typeof given.from === 'bigint' && given.from >= 0n && given.from < 2n ** 63n))
        throw bad('from', 'must be a revision (a bigint, 0 or more)')
      if (given.limit !== undefined && !(Number.isSafeInteger(given.limit) && given.limit >= 0))
        throw bad('limit', 'must be a whole number, 0 or more')
      await isThere(conversationId)
      for await (const stored of log.store.readStream(conversationStream(conversationId), given))
        yield await decode(stored)
    },
    async list(options) {
      open()
      const { waitFor, timeout, ...given } = optionsGiven('list', options, LIST)
      const asked = listAsked(given)
      await caughtUp({ ...(waitFor === undefined ? {} : { waitFor }), ...(timeout === undefined ? {} : { timeout }) })
      const { scope, since, until } = asked
      const unlisted =
        scope === undefined && since === undefined && until === undefined ? await unlistedConversations(db, asked) : []
      return {
        conversations: await listConversations(db, asked),
        ...(unlisted.length === 0 ? {} : { unlisted }),
        ...(await behindOf()),
      }
    },
    async verify(conversationId, options) {
      open()
      const { onProgress, ...given } = optionsGiven('verify', options, VERIFY)
      const heard = listenerGiven('onProgress', onProgress, onProblem)
      if (given.onStream !== undefined && typeof given.onStream !== 'function')
        throw bad('onStream', 'must be a function')
      const { against } = given
      if (
        against !== undefined &&
        looked('against', () => typeof against?.heads !== 'function' || typeof against.header?.origin !== 'object')
      )
        throw bad('against', 'must be a manifest: an object with `header` and `heads`')
      // Between its facts and its rows the other process would have gone on, and a proof must not find fault with that.
      if (readOnly?.keptBy !== undefined)
        throw fail({ kind: 'LedgerBeingWritten', name: parts.name, keptBy: readOnly.keptBy })
      // A conversation of which a manifest says that it was is proved to be gone.
      const wasThere =
        conversationId !== undefined && given.against !== undefined && (await isNamed(given.against, conversationId))
      if (conversationId !== undefined && !wasThere) await isThere(conversationId)
      return verify(conversationId, { ...given, ...(heard === undefined ? {} : { onProgress: heard }) })
    },
    async explain(conversationId, options) {
      open()
      const given = optionsGiven('explain', options, EXPLAIN)
      if (given.batchId !== undefined && given.line !== undefined)
        throw bad('line', 'goes without a batchId: explain one of the two')
      if (given.batchId !== undefined) nameGiven('batchId', given.batchId)
      if (given.line !== undefined && textGiven('line', given.line).trim() === '') throw bad('line', 'is empty')
      return valueOf(await explain(await existing(conversationId), given), fail)
    },
    async stats(conversationId, options) {
      open()
      const { prices, onConversation } = optionsGiven('stats', options, STATS)
      if (onConversation !== undefined && typeof onConversation !== 'function')
        throw bad('onConversation', 'must be a function')
      const conversationIds = conversationId === undefined ? conversationsOfLog(log) : one(conversationId)
      return await stats(log, {
        conversationIds,
        goesOn: conversationId === undefined,
        prices: prices === undefined ? parts.prices : pricesOf(prices),
        onConversation,
      })
    },
    async identity() {
      open()
      return { name: parts.name, origin: await originOf(log) }
    },
    pin: (conversationId, messageId) => pin('PinMessage', conversationId, messageId),
    unpin: (conversationId, messageId) => pin('UnpinMessage', conversationId, messageId),
    projections: {
      async status() {
        open()
        return await runner.status()
      },
      async rebuild(names, given) {
        writes('projections.rebuild')
        const { onProgress, ...how } = optionsGiven('projections.rebuild', given, REBUILD)
        signalGiven(how.signal)
        const heard = listenerGiven('onProgress', onProgress, onProblem)
        if (how.batchSize !== undefined && !(Number.isSafeInteger(how.batchSize) && how.batchSize > 0))
          throw bad('batchSize', 'must be a whole number above 0')
        await runner.rebuild(namedOrAll('names', names, 'names', 'read models'), {
          ...how,
          ...(heard === undefined ? {} : { onProgress: heard }),
        })
      },
      async catchUp() {
        writes('projections.catchUp')
        return await runner.catchUp()
      },
      async fillVectors(options) {
        writes('projections.fillVectors')
        const { onProgress, ...given } = optionsGiven('projections.fillVectors', options, FILL)
        signalGiven(given.signal)
        const heard = listenerGiven('onProgress', onProgress, onProblem)
        if (given.limit !== undefined && !(Number.isSafeInteger(given.limit) && given.limit >= 0))
          throw bad('limit', 'must be a whole number, 0 or more')
        if (filler === undefined)
          throw bad(
            'embedding',
            embedding === undefined
              ? 'is missing: no embedding model is configured'
              : `cannot be used: ${db.name} has no pgvector`,
          )
        await caughtUpToHead()
        return valueOf(await filler.make({ ...given, ...(heard === undefined ? {} : { onProgress: heard }) }), fail)
      },
    },
    async whatIf(conversationIds, options) {
      open()
      const { policies, onConversation, ...given } = optionsGiven('whatIf', options, WHAT_IF)
      const heard = listenerGiven('onConversation', onConversation, onProblem)
      if (!Array.isArray(policies) || policies.length === 0) throw bad('policies', 'are missing: name at least one')
      // A list with holes passes them over, and a hole is no policy.
      const tried = Array.from(policies, (each: (typeof policies)[number], at) => {
        if (typeof each !== 'object' || each === null)
          throw bad(`policies[${String(at)}]`, 'must have a name and settings')
        textGiven(`policies[${String(at)}].name`, each.name)
        const wrong = unknownName(each, ['name', 'settings'], 'field of a policy to try')
        if (wrong !== undefined) throw bad(`policies[${String(at)}].${wrong.field}`, wrong.detail)
        return { name: each.name, settings: settingsOf(each.settings) ?? {} }
      })
      const asked = conversationsGiven('conversationIds', conversationIds)
      const ids = asked === 'all' ? await allConversations() : asked
      if (ids.length === 0) throw bad('conversationIds', 'are missing: there is no conversation')
      return valueOf(
        await whatIf({
          conversationIds: ids,
          goesOn: asked === 'all',
          policies: tried,
          ...given,
          onConversation: heard,
        }),
        fail,
      )
    },
    tools: (conversationId) =>
      createAgentTools({
        memoryRead: (query, limit) => memoryRead(conversationId, query, limit),
        compact: () => compactNow(conversationId, false),
      }),
    compress: createCompress({
      log,
      conversations,
      configure: () => ({
        type: 'Configure',
        settings: parts.policy,
        scope: undefined,
        summarizerWindowTokens: summarizer.windowTokens,
        estimator: parts.estimator,
      }),
      provenance: () => provenance(),
      now: () => clock.now(),
      open() {
        writes('compress')
        follow()
      },
      onRecorded: ({ state, position }) => {
        if (position !== undefined && position > ownPosition) ownPosition = position
        wakeWhereDue(state)
      },
      compact: async (conversationId) => {
        // What is done ahead of need may go on; at a limit the host gets the context as it is after the cycle.
        if (isCompactionDue(await conversations.load(conversationId))) await worker.settled(conversationId)
        return compact(conversationId, 'due')
      },
      onProblem,
      describe: dataOfProblem,
      raise: fail,
    }),
    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    closing ??= (async () => {
      await worker.settled().catch(onProblem)
      await worker.stop()
      await filler?.stop().catch(onProblem)
      await runner.stop()
      await parts.close()
    })()
    await closing
  }
}
