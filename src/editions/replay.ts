/**
 * Compacts the history of many conversations again, several at once. Whatever ends a run, the next one goes on from
 * what was recorded and buys nothing twice. A failure in one conversation does not stop the others. A failure that
 * every conversation would meet ends the run, and so does the bound on spending.
 */
import { either as E } from 'fp-ts'
import type { BadPolicy } from '../domain/values/policy.js'
import type { Price } from '../domain/reports/prices.js'
import type { Claims } from '../ports/claims.js'
import { sleep } from '../ports/clock.js'
import type { Lease } from '../ports/lease.js'
import type { NoRoom, Spending, SpendingBound } from '../ports/spending.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { CompactFailure } from '../compaction/compact.js'
import { editionStreamsOnce, type EditionStreams } from '../recording/conversation-streams.js'
import { EDITION_PATIENCE_MS, holdEdition } from './edition-claim.js'
import { editionIdOf, planEdition, type EditionMakers } from './edition-plan.js'
import { UnreadableEventError } from '../recording/read-event.js'
import type { Conversations } from '../recording/handle-command.js'
import { costAt, createMetered, type EditionSpending, type Paid } from './metered.js'
import { recallSummaries } from './recall-summaries.js'
import { openReplay, type ReplayDependencies } from './replay-conversation.js'

export interface ReplayAllDependencies extends Omit<ReplayDependencies, 'budget' | 'recall'> {
  readonly claims: Claims
  readonly spending: Spending
  readonly conversations: Pick<Conversations, 'load'>
  /** Waits so long, or until the signal aborts. Default: by the machine's clock. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface ReplayRequest {
  readonly conversationIds: readonly string[]
  /** Settings over those that a conversation has itself. */
  readonly settings?: EditionMakers['settings']
  /** Conversations at once; default 4. */
  readonly concurrency?: number | undefined
  /** What the edition may cost in all, earlier runs included, at whatever price they were made. */
  readonly bound?: SpendingBound | undefined
  /** For what is told of costs. */
  readonly price?: Price | undefined
  /** Ends it cleanly: calls that are under way may end and are recorded, and no other is made. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
}

/** How far a replay is, and what it has paid for so far: tokens, and millionths of the currency of the price. */
export interface ReplayProgress extends Paid {
  /** Conversations that it goes through. */
  readonly conversations: number
  /** Those that it is done with. */
  readonly conversationsDone: number
  /** Messages that the edition has seen, and how many there are. */
  readonly messages: number
  /** How many messages there are. */
  readonly messagesOf: number
  /** Summaries that were taken over. */
  readonly reused: number
  /** In millionths, where there is a price. */
  readonly costMicros?: number
  /** Undefined while too little is done to tell. */
  readonly secondsLeft: number | undefined
}

export type ReplayFailure =
  | CompactFailure
  | BadPolicy
  /** A fact of the conversation or of its edition cannot be read. */
  | { readonly kind: 'UnreadableLog'; readonly detail: string }

type ConversationOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped'; readonly failure: ReplayFailure }
  /** It was not its turn any more; the same again goes on. */
  | { readonly kind: 'postponed' }
  /** Another process makes it. */
  | { readonly kind: 'busy' }

/**
 * What a replay did in one conversation, and how far it came: `messages` of `messagesOf`, which grows with a
 * conversation that goes on meanwhile.
 */
export interface ReplayedConversation {
  /** The conversation. */
  readonly conversationId: string
  /** How it ended. */
  readonly outcome: ConversationOutcome
  /** Messages that the edition has seen. */
  readonly messages: number
  /** Messages that there are. */
  readonly messagesOf: number
  /**
   * Summaries that this run recorded, those that it took over included; what the edition had recorded before is
   * neither.
   */
  readonly summaries: number
  /** Summaries that were taken over and not bought. */
  readonly reused: number
}

/** What a replay came to. Costs are in millionths of the currency of the price, 0 without one. */
export interface Replay {
  /** The edition that it went into. */
  readonly editionId: string
  /** What came of each conversation. */
  readonly conversations: readonly ReplayedConversation[]
  /** Why it ended: all was seen or tried; somebody asked; the bound; a failure that every conversation would meet. */
  readonly ended: 'done' | 'asked' | 'bound' | 'failing'
  /** The bound that left no room, and for what. */
  readonly noRoom?: NoRoom
  /** What this run paid for. */
  readonly paid: Paid
  /** What that costs, in millionths, where there is a price. */
  readonly costMicros?: number
  /** What the edition has taken in all, with what killed runs had set aside. */
  readonly spent: EditionSpending
}

const CONCURRENCY = 4
/**
 * How long calls that are under way may take once it is to end: shorter than what a scheduler waits before it kills.
 */
const GRACE_MS = 8_000

/**
 * Failures that every other conversation would meet too. A model that cannot be reached was tried over and over by
 * then.
 */
const EVERYBODYS: ReadonlySet<string> = new Set(['unauthorized', 'unknown-model', 'unreachable'])

/** What is counted of one conversation, and of all together. */
export interface Counts {
  readonly messages: number
  /** At least `messages`: a conversation may go on meanwhile. */
  readonly messagesOf: number
  /** What the edition had seen when this run began. */
  readonly from: number
  readonly summaries: number
  readonly reused: number
  /** 1 where a conversation is done. */
  readonly done: number
}

const NOTHING: Counts = { messages: 0, messagesOf: 0, from: 0, summaries: 0, reused: 0, done: 0 }

/**
 * Counts of places and of all of them. The sums go along with each change: to add them up at each message would take
 * the longer the more places there are.
 */
export class Tally {
  private sums = { ...NOTHING }
  private readonly each = new Map<string, Counts>()

  of(place: string): Counts {
    return this.each.get(place) ?? NOTHING
  }

  all(): Counts {
    return this.sums
  }

  set(place: string, changes: Partial<Counts>): void {
    const before = this.of(place)
    const after = { ...before, ...changes }
    after.messagesOf = Math.max(after.messagesOf, after.messages)
    this.each.set(place, after)
    const { sums } = this
    this.sums = {
      messages: sums.messages + after.messages - before.messages,
      messagesOf: sums.messagesOf + after.messagesOf - before.messagesOf,
      from: sums.from + after.from - before.from,
      summaries: sums.summaries + after.summaries - before.summaries,
      reused: sums.reused + after.reused - before.reused,
      done: sums.done + after.done - before.done,
    }
  }
}

/** One conversation, and what became of it. */
interface ReplayPlace {
  readonly conversationId: string
  outcome: ConversationOutcome | undefined
}

class ReplayRun {
  private readonly editionId: string
  private readonly payer: ReturnType<typeof createMetered>
  private readonly owner: string
  private readonly startedAt = performance.now()
  private readonly places: ReplayPlace[]
  private readonly tally = new Tally()
  private readonly stop = new AbortController()
  /** Aborts the calls under way, once the grace is over. */
  private readonly end = new AbortController()
  private ended: Replay['ended'] = 'done'
  private noRoom: Replay['noRoom']
  private readonly streams: () => Promise<EditionStreams>

  constructor(
    private readonly deps: ReplayAllDependencies,
    private readonly request: ReplayRequest,
  ) {
    this.editionId = editionIdOf({ ...deps, settings: request.settings })
    this.owner = deps.clock.newId()
    this.streams = editionStreamsOnce(deps.log)
    const conversationIds = [...new Set(request.conversationIds)]
    this.places = conversationIds.map((conversationId) => ({ conversationId, outcome: undefined }))
    this.payer = createMetered({
      editionId: this.editionId,
      spending: deps.spending,
      bound: request.bound ?? {},
      onNoRoom: (room) => {
        this.noRoom ??= room
        this.stopFor('bound')
      },
      onCall: () => {
        this.tell()
      },
      goOn: () => !this.stop.signal.aborted,
      wait: (ms) => this.wait(ms),
    })
  }

  private wait(ms: number): Promise<void> {
    return (this.deps.wait ?? sleep)(ms, this.stop.signal)
  }

  private stopFor(reason: Replay['ended']): void {
    if (this.stop.signal.aborted) return
    this.ended = reason
    this.stop.abort()
    setTimeout(() => {
      this.end.abort()
    }, GRACE_MS).unref()
  }

  private tell(): void {
    const { onProgress, price } = this.request
    if (onProgress === undefined) return
    const paid = this.payer.paid()
    const { messages, messagesOf, from, reused, done } = this.tally.all()
    const seenNow = messages - from
    const seconds = (performance.now() - this.startedAt) / 1_000
    onProgress({
      ...paid,
      conversations: this.places.length,
      conversationsDone: done,
      messages,
      messagesOf,
      reused,
      ...costAt(paid, price),
      secondsLeft: seconds < 1 || seenNow === 0 ? undefined : (seconds * (messagesOf - messages)) / seenNow,
    })
  }

  private async make(place: ReplayPlace, held: Lease): Promise<ConversationOutcome> {
    const {
      deps,
      request: { settings },
    } = this
    const conversation = await deps.conversations.load(place.conversationId)
    const plan = planEdition(this.editionId, conversation, { ...deps, settings })
    if (E.isLeft(plan)) return { kind: 'stopped', failure: plan.left }
    const recall = recallSummaries(deps.log, place.conversationId, this.streams)
    const own = new AbortController()
    const goOn = (): boolean => !this.stop.signal.aborted && !held.lost.aborted
    const paying = this.payer.paying(deps.summarizer)
    const summarizer: Summarizer = {
      ...paying,
      prepare: (job) => paying.prepare(job),
      summarize: (prepared) => async () => {
        const answer = await paying.summarize(prepared, this.end.signal)()
        // What goes wrong while it is to end is no failure of the model's, and is not recorded as one.
        if (E.isLeft(answer) && !goOn()) own.abort()
        return answer
      },
    }
    const opened = await openReplay({ ...deps, summarizer, recall }, plan.right, {
      recording: true,
      signal: own.signal,
      goOn,
      onMessage: (state, { reused }) => {
        this.tally.set(place.conversationId, { messages: state.messagesAppended, reused })
        this.tell()
      },
    })
    if (E.isLeft(opened)) return { kind: 'stopped', failure: opened.left }
    const replay = opened.right
    const from = replay.state().messagesAppended
    this.tally.set(place.conversationId, { from, messages: from })
    const reached = await replay.advance()
    const { summaries, reused } = replay.spent
    this.tally.set(place.conversationId, { messages: replay.state().messagesAppended, summaries, reused })
    return held.lost.aborted ? { kind: 'busy' } : reached
  }

  private async one(place: ReplayPlace, patienceMs: number): Promise<void> {
    const held = await holdEdition(this.deps.claims, this.editionId, place.conversationId, this.owner, {
      patienceMs,
      signal: this.stop.signal,
      wait: this.deps.wait,
    })
    if (held === undefined) {
      place.outcome = { kind: 'busy' }
      return
    }
    try {
      place.outcome = await this.make(place, held)
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      place.outcome = { kind: 'stopped', failure: { kind: 'UnreadableLog', detail: error.message } }
    } finally {
      await held.release().catch(() => undefined)
    }
    const { outcome } = place
    this.tally.set(place.conversationId, { done: outcome.kind === 'done' ? 1 : 0 })
    if (
      outcome.kind === 'stopped' &&
      outcome.failure.kind === 'SummarizerFailed' &&
      EVERYBODYS.has(outcome.failure.failure)
    )
      this.stopFor('failing')
    this.tell()
  }

  /** So many at once, until all were tried or it is to end. */
  private async all(places: readonly ReplayPlace[], patienceMs: number): Promise<void> {
    const queue = [...places]
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined && !this.stop.signal.aborted; next = queue.shift())
        await this.one(next, patienceMs)
    }
    const workers = await Promise.allSettled(
      Array.from({ length: Math.min(places.length, this.request.concurrency ?? CONCURRENCY) }, async () => {
        try {
          await work()
        } catch (error) {
          // A bug or a store that is gone: the others end what they have in hand, and then it is told.
          this.stopFor('failing')
          throw error
        }
      }),
    )
    for (const worker of workers) if (worker.status === 'rejected') throw worker.reason
  }

  async run(): Promise<Replay> {
    const { deps, request } = this
    const asked = (): void => {
      this.stopFor('asked')
    }
    if (request.signal?.aborted === true) asked()
    request.signal?.addEventListener('abort', asked, { once: true })
    try {
      for (const { conversationId } of this.places)
        this.tally.set(conversationId, { messagesOf: (await deps.conversations.load(conversationId)).messagesAppended })
      // The first step may be a call that takes minutes.
      this.tell()
      await this.all(this.places, 0)
      const busy = this.places.filter(({ outcome }) => outcome?.kind === 'busy')
      await this.all(busy, EDITION_PATIENCE_MS)
    } finally {
      request.signal?.removeEventListener('abort', asked)
    }
    const paid = this.payer.paid()
    const spent = await deps.spending.spentOn(this.editionId)
    return {
      editionId: this.editionId,
      conversations: this.places.map(({ conversationId, outcome }) => {
        const { messages, messagesOf, summaries, reused } = this.tally.of(conversationId)
        return { conversationId, outcome: outcome ?? { kind: 'postponed' }, messages, messagesOf, summaries, reused }
      }),
      ended: this.ended,
      ...(this.noRoom === undefined ? {} : { noRoom: this.noRoom }),
      paid,
      ...costAt(paid, request.price),
      spent: { ...spent, ...costAt(spent, request.price) },
    }
  }
}

/** Makes an edition of conversations, new or from where an earlier run left it. */
export const replay = (deps: ReplayAllDependencies, request: ReplayRequest): Promise<Replay> =>
  new ReplayRun(deps, request).run()
