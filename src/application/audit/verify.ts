/**
 * Proves that the log is complete and unchanged. It reads every stream, in constant memory: for each stream the order,
 * the hash chain, ids and causes; for a conversation the invariants after every append, the data that each checkpoint
 * event carries, and the origin of each summary; and it compares the projected rows with the events, in a second thread
 * if there is much to compare.
 *
 * The streams are listed by name and read one by one. Listing them from the log would read every event twice, and one
 * pass over the whole log would need the state of every conversation at the same time.
 */
import { conversationOf, conversationStream } from '../../domain/values/ids.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { Manifest, StreamHead } from '../../ports/manifest.js'
import type { CheckRequest } from '../../ports/request-check.js'
import type { CheckRows, RowCheck, RowDifference, StoppedRows } from '../../ports/row-check.js'
import { againstCheckpoint } from '../proof/against-checkpoint.js'
import { verifyNote } from '../proof/checkpoints.js'
import type { CheckpointCoverage, GivenCheckpoint } from '../proof/types.js'
import type { ProofStore } from '../../ports/proof-store.js'
import { againstManifest, type ManifestCoverage } from './against-manifest.js'
import { createCheckRows, isMuch, RowFeed } from './check-rows.js'
import type { Requests } from './check-requests.js'
import type { Problem } from './stream-report.js'
import { EventsCheck, type EventCounts } from './check-events.js'
import { Findings } from './findings.js'
import { editionStreams, streamsOf } from '../recording/conversation-streams.js'
import { decodeEvent } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'

export type { Problem } from './stream-report.js'

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

/** The read models that stopped as a whole, not only for one conversation. */
const stoppedWhole = (rows: readonly StoppedRows[]): readonly StoppedRows[] =>
  rows.filter((each) => each.conversationId === undefined)

/** One verification. Each has its own state, so several may run at the same time. */
class VerifyRun {
  private readonly log: Log
  private readonly findings = new Findings()
  /** The read models that stopped as a whole. After one stopped, differences are reported without waiting. */
  private stoppedModels: readonly StoppedRows[] = []
  /** Events and rows may be checked concurrently. If one of the two fails, the other is aborted. */
  private readonly stop = new AbortController()

  constructor(
    private readonly deps: VerifyDependencies,
    private readonly conversationId: string | undefined,
    private readonly options: VerifyOptions,
  ) {
    this.log = deps.log
  }

  private reportProgress({ conversations, events }: EventCounts, after: 'event' | 'conversation'): void {
    if (after === 'event' && events % PROGRESS_EVERY !== 0) return
    this.options.onProgress?.({ conversations, events })
    if (after === 'event') this.stop.signal.throwIfAborted()
  }

  /** The comparison of rows, which waits for rows that lag until a read model stopped. */
  private readonly rowsOf = (everyConversation: boolean): RowCheck =>
    this.deps.rowCheck(everyConversation, async () => {
      if (this.stoppedModels.length === 0) this.stoppedModels = stoppedWhole((await this.deps.catchUp?.()) ?? [])
    })

  /** Checks the events, and the rows in a second thread if there is much to compare. */
  private async eventsAndRows(): Promise<{
    readonly counts: EventCounts
    /** The rows that differ. */
    readonly differences: readonly RowDifference[]
  }> {
    const { log, conversationId, stop, findings } = this
    const { checkRowsApart, checkRequest } = this.deps
    // If there is little, this thread compares the rows while the events are read.
    const apart =
      checkRowsApart !== undefined && (await isMuch(log, conversationId))
        ? checkRowsApart(createCheckRows(log, this.rowsOf))
        : undefined
    const feed = apart === undefined ? new RowFeed(log, this.rowsOf(conversationId === undefined)) : undefined
    const onCount = this.reportProgress.bind(this)
    const { onStream } = this.options
    const events = new EventsCheck({ log, conversationId, findings, checkRequest, onCount, onStream }, feed)
    const giveUp = (error: unknown): never => {
      stop.abort(error)
      throw error
    }
    const [, rows] = await Promise.allSettled([
      events.run().catch(giveUp),
      apart?.(conversationId, stop.signal).catch(giveUp),
    ])
    stop.signal.throwIfAborted()
    const differences = (await feed?.finish()) ?? (rows.status === 'fulfilled' ? rows.value : undefined) ?? []
    return { counts: events.counts, differences }
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
      this.findings.report([
        {
          stream: at?.stream ?? readModel,
          conversationId: conversationOf(at?.stream ?? ''),
          revision: at?.revision ?? -1,
          rule: 'rows',
          detail,
        },
      ])
    for (const { conversationId: id, revision, detail } of differences) {
      if (!this.findings.distrusted.has(id))
        this.findings.report([{ stream: conversationStream(id), conversationId: id, revision, rule: 'rows', detail }])
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
    const { counts, differences } = await this.eventsAndRows()
    this.reportRows(stopped, differences)
    const compared =
      against === undefined
        ? undefined
        : await againstManifest(this.log, against, this.conversationId, (problem) => {
            this.findings.report([problem])
          })
    const covered =
      signed === undefined
        ? undefined
        : await againstCheckpoint(signed.log, signed.note, (problem) => {
            this.findings.report([{ ...problem, conversationId: conversationOf(problem.stream), rule: 'checkpoint' }])
          })
    const { problems, observations, redactionOff } = this.findings
    return {
      ok: problems.length === 0,
      ...counts,
      problems,
      observations,
      ...(redactionOff.length === 0 ? {} : { redactionOff }),
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
