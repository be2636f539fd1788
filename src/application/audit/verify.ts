/**
 * Proves that the log is complete and unchanged. It reads every stream, in constant memory: for each stream the order,
 * the hash chain, ids and causes; for a conversation the invariants after every append, the data that each checkpoint
 * event carries, and the origin of each summary; and it compares the projected rows with the events, in a second thread
 * if there is much to compare.
 *
 * The streams are listed by name and read one by one. Listing them from the log would read every event twice, and one
 * pass over the whole log would need the state of every conversation at the same time.
 */
import { isDeepStrictEqual } from 'node:util'
import { contextOf } from '../../domain/compaction/context.js'
import {
  CONVERSATION_PREFIX,
  conversationOf,
  conversationStream,
  EDITION_PREFIX,
  editionOf,
  PROMPT_PREFIX,
  RETENTION_STREAM,
} from '../../domain/values/ids.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { Manifest, StreamHead } from '../../ports/manifest.js'
import type { StoredEvent } from '../../ports/event-store.js'
import type { CheckRequest } from '../../ports/request-check.js'
import type { CheckRows, RowCheck, RowDifference, StoppedRows } from '../../ports/row-check.js'
import { againstCheckpoint } from '../proof/against-checkpoint.js'
import { verifyNote } from '../proof/checkpoints.js'
import type { CheckpointCoverage, GivenCheckpoint } from '../proof/types.js'
import type { ProofStore } from '../../ports/proof-store.js'
import { againstManifest, type ManifestCoverage } from './against-manifest.js'
import { ConversationCheck } from './check-conversation.js'
import { EditionCheck } from './check-edition.js'
import { createCheckRows, isMuch, RowFeed } from './check-rows.js'
import { createPromptTexts, promptProblem, RequestWatch, type Requests } from './check-requests.js'
import { RetentionCheck } from './check-retention.js'
import { StreamCheck, type Problem } from './check-stream.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import { decodeEvent } from '../recording/read-event.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { readAhead } from '../recording/read-ahead.js'
import { IdFilter } from './id-filter.js'

export type { Problem } from './check-stream.js'

/** The result of `verify`. */
export interface Verification {
  /** True if there are no problems. */
  readonly ok: boolean
  /** The number of streams that were read. */
  readonly streams: number
  /** The number of conversations that were checked. */
  readonly conversations: number
  /** The number of events that were checked. */
  readonly events: number
  /**
   * Summaries whose request was rebuilt and compared by its hash, and those whose request this program cannot rebuild.
   */
  readonly summaries: Readonly<Requests>
  /** Each problem with its location. */
  readonly problems: readonly Problem[]
  /**
   * Deviations of imported conversations from the ledger's rules, as the other program's transcript has them: a result
   * without its call, a context above the window, removed messages without a summary. They are not damage.
   */
  readonly observations: readonly Problem[]
  /** Conversations with events that were recorded while `redaction` was off: they may contain secrets. */
  readonly redactionOff?: readonly string[]
  /** How much of a manifest was compared, if one was given. */
  readonly against?: ManifestCoverage
  /** What the checkpoint covers, if one was given. */
  readonly checkpoint?: CheckpointCoverage
}

/** Progress so far. */
export interface VerifyProgress {
  /** Conversations that are complete. */
  readonly conversations: number
  /** Events that were checked. */
  readonly events: number
}

export interface VerifyDependencies {
  readonly log: Log
  /** The stored tree and checkpoints, for the option `checkpoint`. */
  readonly proofs?: ProofStore
  readonly checkRequest: CheckRequest
  /** Compares rows while the events are read, for one conversation or for all. `catchUp` waits for rows that lag. */
  readonly rowCheck: (everyConversation: boolean, catchUp: () => Promise<void>) => RowCheck
  /**
   * Compares rows in a second thread that reads the log itself, if there is much to compare; `here` does the same in
   * this thread.
   */
  readonly checkRowsApart?: ((here: CheckRows) => CheckRows) | undefined
  /**
   * Updates the rows to the end of the log as far as possible, and returns the read models that stopped, with the
   * reason. Omitted if no rows are maintained.
   */
  readonly catchUp?: () => Promise<readonly StoppedRows[]>
}

/** Callbacks, and the data to compare with. */
export interface VerifyOptions {
  /** Called with the progress. Errors that it throws are ignored. */
  readonly onProgress?: (progress: VerifyProgress) => void
  /** Called with each stream after it was read; the returned promise is awaited. */
  readonly onStream?: (head: StreamHead) => Promise<void>
  /** An earlier manifest: every stream must exist, be at least as long, and have the same events. */
  readonly against?: Pick<Manifest, 'header' | 'heads'>
  /** An earlier checkpoint: every event that it covers must be the same, in the same order. */
  readonly checkpoint?: GivenCheckpoint
}

export type Verify = (conversationId?: string, options?: VerifyOptions) => Promise<Verification>

/** The number of events between two calls of `onProgress`. */
const PROGRESS_EVERY = 2_000
/** The maximum number of problems that are listed. */
const MOST_PROBLEMS = 10_000

/** The read models that stopped as a whole, not only for one conversation. */
const stoppedWhole = (rows: readonly StoppedRows[]): readonly StoppedRows[] =>
  rows.filter((each) => each.conversationId === undefined)

/** One verification. Each has its own state, so several may run at the same time. */
class VerifyRun {
  private readonly log: Log
  private readonly ids = new IdFilter()
  private readonly problems: Problem[] = []
  private readonly observations: Problem[] = []
  private readonly redactionOff: string[] = []
  private readonly summaries: Requests = { recomputed: 0, notRecomputed: 0 }
  private readonly prompts: ReturnType<typeof createPromptTexts>
  /** Conversations with problems in their events or in those of their editions. Their rows cannot be judged. */
  private readonly distrusted = new Set<string>()
  /** The read models that stopped as a whole. After one stopped, differences are reported without waiting. */
  private stoppedModels: readonly StoppedRows[] = []
  /** Compares the rows in this thread while the events are read; undefined if a second thread compares them. */
  private feed: RowFeed | undefined
  /** Events and rows may be checked concurrently. If one of the two fails, the other is aborted. */
  private readonly stop = new AbortController()
  private streams = 0
  private conversations = 0
  private eventCount = 0
  /** The event with the highest position in the log so far. */
  private furthest = { stream: '', revision: -1, position: -1 }
  /** Streams whose stored count differs from their events, each with the last revision by that count. */
  private readonly miscounted = new Map<string, number>()
  /** Whether the store can list those in one query, instead of a query for each stream. */
  private readonly countedAll: boolean

  constructor(
    private readonly deps: VerifyDependencies,
    private readonly conversationId: string | undefined,
    private readonly options: VerifyOptions,
  ) {
    this.log = deps.log
    this.prompts = createPromptTexts(deps.log)
    this.countedAll = conversationId === undefined && deps.log.store.miscountedStreams !== undefined
  }

  private report(found: readonly Problem[]): void {
    this.problems.push(...found.slice(0, Math.max(0, MOST_PROBLEMS - this.problems.length)))
  }

  private reportProgress(): void {
    this.options.onProgress?.({ conversations: this.conversations, events: this.eventCount })
  }

  private countEvent(): void {
    this.eventCount += 1
    if (this.eventCount % PROGRESS_EVERY !== 0) return
    this.reportProgress()
    this.stop.signal.throwIfAborted()
  }

  private requestWatch(): RequestWatch {
    return new RequestWatch(this.deps.checkRequest, this.prompts, this.summaries)
  }

  /** The comparison of rows, which waits for rows that lag until a read model stopped. */
  private readonly rowsOf = (everyConversation: boolean): RowCheck =>
    this.deps.rowCheck(everyConversation, async () => {
      if (this.stoppedModels.length === 0) this.stoppedModels = stoppedWhole((await this.deps.catchUp?.()) ?? [])
    })

  private async endStream(check: StreamCheck): Promise<void> {
    const last = this.countedAll
      ? (this.miscounted.get(check.stream) ?? check.count - 1)
      : await this.log.store.streamRevision(check.stream)
    await check.end(last)
    if (this.conversationId === undefined && check.count === 0 && last < 0)
      check.report(
        'order',
        'the log names this stream but has no event of it: the stream was deleted or cut to nothing',
        -1,
      )
    this.streams += 1
    if (check.position > this.furthest.position)
      this.furthest = { stream: check.stream, revision: check.count - 1, position: check.position }
    this.report(check.problems)
    this.observations.push(...check.observations.slice(0, Math.max(0, MOST_PROBLEMS - this.observations.length)))
    const id = conversationOf(check.stream) ?? editionOf(check.stream)?.conversationId
    if (id !== undefined && check.problems.length > 0) this.distrusted.add(id)
    if (check.count > 0)
      await this.options.onStream?.({ stream: check.stream, revision: check.count - 1, hash: check.head })
  }

  /** The check of an edition's events. Its messages are checked with the conversation. */
  private editionCheck(stream: string, check: StreamCheck): EditionCheck | undefined {
    const { log } = this
    const of = editionOf(stream)
    if (of === undefined) return undefined
    async function* conversationEvents(after: number, until: number): AsyncGenerator<RecordedEvent> {
      const range = { from: after + 1, limit: until - after }
      for await (const stored of log.store.readStream(conversationStream(of?.conversationId ?? ''), range))
        yield await decodeEvent(stored, log)
    }
    return new EditionCheck(of, check, this.requestWatch(), conversationEvents)
  }

  private readonly conversation = async (stream: string, storedEvents: AsyncIterable<StoredEvent>): Promise<void> => {
    const { log, feed } = this
    const id = conversationOf(stream) ?? ''
    const check = new StreamCheck(stream, id, log)
    const deep = new ConversationCheck(id, check, this.requestWatch(), this.ids, log)
    let isRedactionOff = false
    await feed?.begin(id)
    for await (const stored of storedEvents) {
      const read = check.event(stored)
      const event: RecordedEvent | undefined = read instanceof Promise ? await read : read
      this.countEvent()
      // Nothing can be proved after an event that cannot be trusted; only the chain is checked further.
      if (event === undefined || !check.sound) continue
      if (event.type === 'ConversationConfigured' && event.data.settings.redaction === 'off') isRedactionOff = true
      const waiting = deep.take(event)
      if (waiting !== undefined) await waiting
      const comparing = feed?.take(event)
      if (comparing !== undefined) await comparing
    }
    if (isRedactionOff && this.redactionOff.length < MOST_PROBLEMS) this.redactionOff.push(id)
    if (check.sound) await deep.end()
    if (this.conversationId !== undefined && check.problems.length === 0) {
      const loaded = contextOf(await loadConversation(log, id, deep.folded.revision))
      if (!isDeepStrictEqual(loaded, contextOf(deep.folded)))
        check.report('load', 'a load gives another context than all events do', deep.folded.revision)
    }
    await this.endStream(check)
    await feed?.end(check.problems.length === 0)
    this.conversations += 1
    this.reportProgress()
  }

  /** Checks the stream of an edition or a prompt. A prompt must match the name of its stream. */
  private readonly editionOrPrompt = async (
    stream: string,
    storedEvents: AsyncIterable<StoredEvent>,
  ): Promise<void> => {
    const check = new StreamCheck(stream, undefined, this.log)
    const edition = this.editionCheck(stream, check)
    for await (const stored of storedEvents) {
      const event = await check.event(stored)
      this.countEvent()
      if (event !== undefined && check.sound) await edition?.take(event)
      if (event === undefined || !stream.startsWith(PROMPT_PREFIX)) continue
      const problem =
        event.revision === 0 ? promptProblem(event) : 'is in the stream of a prompt, which has only one event'
      if (problem !== undefined) check.report('prompt', problem, event.revision)
    }
    if (check.sound) edition?.end()
    await this.endStream(check)
  }

  /** Checks the stream of retention. A stream of another application may have a name that begins like it. */
  private readonly retention = async (stream: string, storedEvents: AsyncIterable<StoredEvent>): Promise<void> => {
    if (stream !== RETENTION_STREAM) return
    const check = new StreamCheck(stream, undefined, this.log)
    const retention = new RetentionCheck()
    for await (const stored of storedEvents) {
      const event = await check.event(stored)
      this.countEvent()
      const problem = event === undefined || !check.sound ? undefined : retention.take(event)
      if (event !== undefined && problem !== undefined) check.report('order', problem, event.revision)
    }
    await this.endStream(check)
  }

  /**
   * Checks the streams with a prefix. Streams without events that the store still counts come last; the end of each
   * reports that.
   */
  private async withPrefix(
    prefix: string,
    each: (stream: string, stored: AsyncIterable<StoredEvent>) => Promise<void>,
  ): Promise<void> {
    const { log } = this
    const emptied: string[] = []
    for await (const { stream, counted, last } of log.store.miscountedStreams?.(prefix) ?? []) {
      if (this.miscounted.size > MOST_PROBLEMS) break
      this.miscounted.set(stream, counted)
      if (last < 0) emptied.push(stream)
    }
    for await (const { stream, events: stored } of readAhead(log, prefix)) await each(stream, stored)
    for (const stream of emptied) await each(stream, log.store.readStream(stream))
  }

  /** Checks the end of the log: no event comes after it, and the last event is the one that the store names. */
  private async logEnd(): Promise<void> {
    const head = await this.log.store.head()
    const { stream, revision, position } = this.furthest
    const found = (detail: string): void => {
      this.report([{ stream, conversationId: conversationOf(stream), revision, rule: 'order', detail }])
    }
    if (position > head)
      found(`has position ${position.toString()}, but the store says that the log ends at ${head.toString()}`)
    else if (
      this.conversationId === undefined &&
      position >= 0 &&
      position < head &&
      (await this.log.store.eventAt(head)) === undefined
    )
      found(
        `is the last event of the log, at position ${position.toString()}, but the store says that the log ends at ${head.toString()}, which has no event`,
      )
  }

  /** Positions without an event, in a store with positions without gaps: whole streams may have been deleted. */
  private async missingPositions(): Promise<void> {
    const missing = this.conversationId === undefined ? await this.log.store.missingPositions?.() : undefined
    if (missing === undefined) return
    this.report([
      {
        stream: 'log',
        conversationId: undefined,
        revision: -1,
        rule: 'order',
        detail: `${missing.count.toString()} of its positions have no event, the first is ${missing.first.toString()}: events were deleted`,
      },
    ])
  }

  private async events(): Promise<void> {
    const { log, conversationId } = this
    if (conversationId === undefined) {
      await this.withPrefix(CONVERSATION_PREFIX, this.conversation)
      for (const prefix of [EDITION_PREFIX, PROMPT_PREFIX]) await this.withPrefix(prefix, this.editionOrPrompt)
      await this.withPrefix(RETENTION_STREAM, this.retention)
    } else {
      const stream = conversationStream(conversationId)
      await this.conversation(stream, log.store.readStream(stream))
      const editions = new Set((await editionStreams(log)).get(conversationId))
      for await (const { stream: edition } of log.store.miscountedStreams?.(EDITION_PREFIX) ?? [])
        if (editionOf(edition)?.conversationId === conversationId) editions.add(edition)
      for (const edition of editions) await this.editionOrPrompt(edition, log.store.readStream(edition))
    }
    await this.logEnd()
    await this.missingPositions()
  }

  /** Checks the events, and the rows in a second thread if there is much to compare; returns the differing rows. */
  private async eventsAndRows(): Promise<readonly RowDifference[]> {
    const { log, conversationId, stop } = this
    const { checkRowsApart } = this.deps
    const apart =
      checkRowsApart !== undefined && (await isMuch(log, conversationId))
        ? checkRowsApart(createCheckRows(log, this.rowsOf))
        : undefined
    this.feed = apart === undefined ? new RowFeed(log, this.rowsOf(conversationId === undefined)) : undefined
    const giveUp = (error: unknown): never => {
      stop.abort(error)
      throw error
    }
    const [, rows] = await Promise.allSettled([
      this.events().catch(giveUp),
      apart?.(conversationId, stop.signal).catch(giveUp),
    ])
    stop.signal.throwIfAborted()
    return (await this.feed?.finish()) ?? (rows.status === 'fulfilled' ? rows.value : undefined) ?? []
  }

  private reportRows(stopped: readonly StoppedRows[], differences: readonly RowDifference[]): void {
    // A conversation that was not requested is not reported.
    const relevant = stopped.filter(
      (each) =>
        this.conversationId === undefined ||
        each.conversationId === undefined ||
        each.conversationId === this.conversationId,
    )
    for (const { readModel, at, detail } of relevant)
      this.report([
        {
          stream: at?.stream ?? readModel,
          conversationId: conversationOf(at?.stream ?? ''),
          revision: at?.revision ?? -1,
          rule: 'rows',
          detail,
        },
      ])
    for (const { conversationId: id, revision, detail } of differences) {
      if (!this.distrusted.has(id))
        this.report([{ stream: conversationStream(id), conversationId: id, revision, rule: 'rows', detail }])
    }
  }

  async run(): Promise<Verification> {
    const { against, checkpoint } = this.options
    // A checkpoint that is not valid is an error before the long verification.
    const { proofs } = this.deps
    const signed =
      checkpoint === undefined || proofs === undefined
        ? undefined
        : { note: await verifyNote(proofs, checkpoint), log: { store: this.log.store, proofs } }
    // If the rows cannot be updated, that is one problem among others: the events are checked without them.
    const stopped = (await this.deps.catchUp?.()) ?? []
    this.stoppedModels = stoppedWhole(stopped)
    this.reportRows(stopped, await this.eventsAndRows())
    const compared =
      against === undefined
        ? undefined
        : await againstManifest(this.log, against, this.conversationId, (problem) => {
            this.report([problem])
          })
    const covered =
      signed === undefined
        ? undefined
        : await againstCheckpoint(signed.log, signed.note, (problem) => {
            this.report([{ ...problem, conversationId: conversationOf(problem.stream), rule: 'checkpoint' }])
          })
    return {
      ok: this.problems.length === 0,
      streams: this.streams,
      conversations: this.conversations,
      events: this.eventCount,
      summaries: this.summaries,
      problems: this.problems,
      observations: this.observations,
      ...(this.redactionOff.length === 0 ? {} : { redactionOff: this.redactionOff }),
      ...(compared === undefined ? {} : { against: compared }),
      ...(covered === undefined ? {} : { checkpoint: covered }),
    }
  }
}

/** Creates the use case `verify(conversationId?)`. */
export const createVerify =
  (deps: VerifyDependencies): Verify =>
  (conversationId, options = {}) =>
    new VerifyRun(deps, conversationId, options).run()

/** The events of a conversation's editions, then its own, after the given revisions. */
export async function* eventsFrom(
  log: Log,
  conversationId: string,
  seen: (stream: string) => number,
): AsyncIterable<RecordedEvent> {
  for (const stream of streamsOf(conversationId, await editionStreams(log)).toReversed()) {
    for await (const stored of log.store.readStream(stream, { from: seen(stream) + 1 }))
      yield await decodeEvent(stored, log)
  }
}
