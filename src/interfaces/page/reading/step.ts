/**
 * A conversation at one revision: the model's context, and the changes since another revision. It is computed from the
 * cached history, or else by the ledger, with the same result.
 */
import type { ContextAsOf, Ledger, LiveMessages } from '../../../library/ledger.js'
import { faultOf } from '../../../library/problem.js'
import { viewText } from '../../../domain/compaction/context.js'
import type { RecordedEvent } from '../../../domain/events/index.js'
import { liveIn } from '../../../application/history/time-travel.js'
import { textChanges, type TextChange } from '../../../application/history/difference.js'
import type { Histories } from './history.js'
import { shownAs } from './shown-message.js'

/** A message of the earlier context that is not in this one. */
interface RemovedMessage {
  readonly messageId: string
  /** The batch in which a cycle in between archived the message. */
  readonly batchId?: string
}

/** The changes from an earlier context to this one. */
export interface Change {
  readonly since: number
  /** The turn of the earlier context, if the history is read. */
  readonly sinceTurn?: number | undefined
  /** Ids of messages that are not in the earlier context. */
  readonly added: ReadonlySet<string>
  readonly removed: readonly RemovedMessage[]
  /** Line changes of the view; empty if it is unchanged. */
  readonly view: readonly TextChange[]
}

/** A conversation at a revision. */
export interface Step {
  readonly conversationId: string
  readonly head: number
  readonly revision: number
  /** The event at that revision. */
  readonly event: RecordedEvent | undefined
  /** Undefined if there is no context; `refusal` has the reason. */
  readonly context: ContextAsOf | undefined
  readonly refusal: string | undefined
  /** The recorded messages of the context, by id. */
  readonly live: ReadonlyMap<string, LiveMessages['messages'][number]>
  readonly change: Change | undefined
  /** The hard limit at that revision, if it is known and the history is read. */
  readonly limit: number | undefined
  /** The turn at that revision, if the history is read. */
  readonly turn: number | undefined
}

type Reads = Pick<Ledger, 'context' | 'messages' | 'log'>
type AddedLater = 'change' | 'head' | 'limit' | 'turn'

function changeBetween(
  earlier: ContextAsOf | undefined,
  later: ContextAsOf,
  since: number,
  events: readonly RecordedEvent[],
): Change {
  const before = new Set(earlier?.messageIds.flatMap((id) => id ?? []))
  const after = new Set(later.messageIds.flatMap((id) => id ?? []))
  const batches = new Map(
    events.flatMap((event) =>
      event.type === 'MessagesPruned'
        ? event.data.pruned.flatMap(({ batchId, messageIds }) => messageIds.map((id) => [id, batchId] as const))
        : [],
    ),
  )
  return {
    since,
    added: new Set([...after].filter((id) => !before.has(id))),
    removed: [...before]
      .filter((id) => !after.has(id))
      .map((messageId) => {
        const batchId = batches.get(messageId)
        return batchId === undefined ? { messageId } : { messageId, batchId }
      }),
    view: textChanges(earlier === undefined ? undefined : viewText(earlier), viewText(later)),
  }
}

/**
 * The change of an appended message that is not shortened: only the message is new. With this shortcut the first view
 * does not load the conversation twice.
 */
function appendedSince({ event, context, revision }: Omit<Step, AddedLater>, since: number): Change | undefined {
  if (event?.type !== 'MessageAppended' || since !== revision - 1 || context === undefined) return undefined
  if (context.shortened !== undefined || event.data.role === 'tool') return undefined
  return { since, added: new Set([event.data.messageId]), removed: [], view: [] }
}

/** A text of digits as a revision; undefined for any other text. */
const asRevision = (at: string | undefined): number | undefined =>
  at !== undefined && /^\d{1,18}$/u.test(at) ? Number(at) : undefined

/** The event at a revision, from the ledger. */
async function eventAt(ledger: Reads, conversationId: string, revision: number): Promise<RecordedEvent | undefined> {
  for await (const event of ledger.log(conversationId, { from: revision, limit: 1 })) return event
  return undefined
}

/** Reads steps of conversations. */
export interface Steps {
  /**
   * The conversation at a point in time (default: now), compared with the revision `since` (default: the previous one).
   * @param at a revision, time or message, like `context --at`
   */
  at(conversationId: string, at: string | undefined, since?: string): Promise<Step>
}

export const createSteps = (ledger: Reads, histories: Pick<Histories, 'ready'>): Steps =>
  new StepReader(ledger, histories)

class StepReader implements Steps {
  constructor(
    private readonly ledger: Reads,
    private readonly histories: Pick<Histories, 'ready'>,
  ) {}

  async at(conversationId: string, at: string | undefined, since?: string): Promise<Step> {
    const history = this.histories.ready(conversationId)
    const step = await this.#stepAt(conversationId, at)
    const { revision, context } = step
    const known = history?.head ?? (at === undefined ? revision : await this.#now(conversationId))
    const head = known > revision ? known : revision
    const from = asRevision(since) ?? revision - 1
    const change =
      context === undefined || from < 0 || from === revision || from > head
        ? undefined
        : (appendedSince(step, from) ??
          changeBetween(
            await this.#contextAt(conversationId, from),
            context,
            from,
            await this.#eventsBetween(conversationId, from, revision),
          ))
    return {
      ...step,
      head,
      change:
        change === undefined
          ? undefined
          : {
              ...change,
              added: new Set([...change.added].map((id) => shownAs(step, id))),
              sinceTurn: history?.course.turns[change.since],
            },
      limit: history?.course.hard[revision] ?? undefined,
      turn: history?.course.turns[revision],
    }
  }

  async #stepAt(conversationId: string, at: string | undefined): Promise<Omit<Step, AddedLater>> {
    const revision = asRevision(at)
    const step =
      at === undefined
        ? await this.#current(conversationId)
        : revision === undefined
          ? undefined
          : this.#fromHistory(conversationId, revision)
    return step === undefined || (step.context === undefined && step.refusal === undefined)
      ? await this.#fromLedger(conversationId, at)
      : step
  }

  /** The context at a revision; undefined if there is none. */
  async #contextAt(conversationId: string, revision: number): Promise<ContextAsOf | undefined> {
    try {
      return (
        this.histories.ready(conversationId)?.contextAt(revision) ??
        (await this.ledger.context(conversationId, { at: revision }))
      )
    } catch {
      return undefined
    }
  }

  async #fromLedger(conversationId: string, at: string | undefined): Promise<Omit<Step, AddedLater>> {
    const { ledger } = this
    // This call throws if there is no such point.
    const live = await ledger.messages(conversationId, at === undefined ? {} : { at })
    let context: ContextAsOf | undefined
    let refusal: string | undefined
    try {
      // The current state is in memory; an earlier state is loaded.
      const newest = at === undefined ? await ledger.context(conversationId) : undefined
      context =
        newest?.revision === live.revision ? newest : await ledger.context(conversationId, { at: live.revision })
    } catch (error) {
      refusal = faultOf(error).message
    }
    return {
      conversationId,
      revision: live.revision,
      event: await eventAt(ledger, conversationId, live.revision),
      context,
      refusal,
      live: new Map(live.messages.map((message) => [message.messageId, message])),
    }
  }

  /** The events after `from` up to `to`; empty if `to` is earlier. */
  async #eventsBetween(conversationId: string, from: number, to: number): Promise<readonly RecordedEvent[]> {
    if (from >= to) return []
    const cached = this.histories.ready(conversationId)?.eventsBetween(from, to)
    if (cached !== undefined) return cached
    const events: RecordedEvent[] = []
    for await (const event of this.ledger.log(conversationId, { from: from + 1, limit: to - from }))
      if (event.type === 'MessagesPruned') events.push(event)
    return events
  }

  /** From memory. Undefined if the history is not read, or not up to this revision. */
  #fromHistory(conversationId: string, revision: number): Omit<Step, AddedLater> | undefined {
    const history = this.histories.ready(conversationId)
    // Events recorded after the history was read are only in the ledger.
    const state = history?.stateAt(revision)
    if (history === undefined || state === undefined) return undefined
    return {
      conversationId,
      revision,
      event: history.eventAt(revision),
      ...contextOrRefusal(() => history.contextAt(revision)),
      live: new Map(liveIn(state).messages.map((message) => [message.messageId, message])),
    }
  }

  /** The current state, from memory if the history has all events. */
  async #current(conversationId: string): Promise<Omit<Step, AddedLater> | undefined> {
    const history = this.histories.ready(conversationId)
    return history !== undefined && history.head === (await this.#now(conversationId))
      ? this.#fromHistory(conversationId, history.head)
      : undefined
  }

  async #now(conversationId: string): Promise<number> {
    return (await this.ledger.messages(conversationId)).revision
  }
}

function contextOrRefusal(read: () => ContextAsOf | undefined): Pick<Step, 'context' | 'refusal'> {
  try {
    return { context: read(), refusal: undefined }
  } catch (error) {
    return { context: undefined, refusal: faultOf(error).message }
  }
}
