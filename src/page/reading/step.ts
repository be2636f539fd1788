/**
 * A conversation at one revision: the context as the model had it, and what is new in it since another revision. It is
 * made of the history that was read, or else by the ledger itself; both give the same.
 */
import type { ContextAsOf, Ledger, LiveMessages } from '../../library/ledger.js'
import { faultOf } from '../../library/problem.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import { contentText } from '../../domain/values/message.js'
import { liveIn } from '../../history/time-travel.js'
import { textChanges, type TextChange } from '../../history/difference.js'
import type { Histories } from './history.js'

/** A message that was in the earlier context and is not in this one. */
interface LeftMessage {
  readonly messageId: string
  /** The batch that a cycle in between archived it in. */
  readonly batchId?: string
}

/** What changed from an earlier context to this one. */
export interface Change {
  readonly since: bigint
  /** Ids of messages that this one has and the earlier one had not. */
  readonly came: ReadonlySet<string>
  readonly left: readonly LeftMessage[]
  /** Of the view's text, line by line; empty where it is the same. */
  readonly view: readonly TextChange[]
}

/** A conversation at a revision. */
export interface Step {
  readonly conversationId: string
  readonly head: bigint
  readonly revision: bigint
  /** The fact at that revision. */
  readonly event: RecordedEvent | undefined
  /** Undefined where there is no context; `refusal` says why. */
  readonly context: ContextAsOf | undefined
  readonly refusal: string | undefined
  /** The messages of the context as they were recorded, by their ids. */
  readonly live: ReadonlyMap<string, LiveMessages['messages'][number]>
  readonly change: Change | undefined
}

type Reads = Pick<Ledger, 'context' | 'messages' | 'log'>

/** The text of the view in a context; undefined where it shows none. */
const viewText = (context: ContextAsOf | undefined): string | undefined => {
  const view = context?.viewAt === undefined ? undefined : context.messages[context.viewAt]
  return view === undefined ? undefined : contentText(view.content)
}

/** What changed between two contexts. */
function changeBetween(
  earlier: ContextAsOf | undefined,
  later: ContextAsOf,
  since: bigint,
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
    came: new Set([...after].filter((id) => !before.has(id))),
    left: [...before]
      .filter((id) => !after.has(id))
      .map((messageId) => {
        const batchId = batches.get(messageId)
        return batchId === undefined ? { messageId } : { messageId, batchId }
      }),
    view: textChanges(viewText(earlier), viewText(later)),
  }
}

/**
 * What a message changed that was appended last, and fits as it is: itself came, and nothing else happened. So the first
 * view of a conversation need not load it twice.
 */
function appendedSince({ event, context, revision }: Omit<Step, 'change' | 'head'>, since: bigint): Change | undefined {
  if (event?.type !== 'MessageAppended' || since !== revision - 1n || context === undefined) return undefined
  if (context.shortened !== undefined || event.data.role === 'tool') return undefined
  return { since, came: new Set([event.data.messageId]), left: [], view: [] }
}

/** A text of digits as a revision; undefined for any other one. */
const asRevision = (at: string | undefined): bigint | undefined =>
  at !== undefined && /^\d{1,18}$/u.test(at) ? BigInt(at) : undefined

/** The fact at a revision, by the ledger. */
async function eventAt(ledger: Reads, conversationId: string, revision: bigint): Promise<RecordedEvent | undefined> {
  for await (const event of ledger.log(conversationId, { from: revision, limit: 1 })) return event
  return undefined
}

/** Reads steps of conversations. */
export interface Steps {
  /**
   * The conversation at a moment (default: now), compared with an earlier revision where one is given.
   * @param at a revision, a time or a message, as `context --at` takes it
   */
  at(conversationId: string, at: string | undefined, since?: string): Promise<Step>
}

/** Builds what reads steps. */
export function createSteps(ledger: Reads, histories: Pick<Histories, 'ready'>): Steps {
  /** The context at a revision; undefined where there is none. */
  async function contextAt(conversationId: string, revision: bigint): Promise<ContextAsOf | undefined> {
    try {
      return (
        histories.ready(conversationId)?.contextAt(revision) ?? (await ledger.context(conversationId, { at: revision }))
      )
    } catch {
      return undefined
    }
  }

  async function fromLedger(conversationId: string, at: string | undefined): Promise<Omit<Step, 'change' | 'head'>> {
    // It says where there is no such moment.
    const live = await ledger.messages(conversationId, at === undefined ? {} : { at })
    let context: ContextAsOf | undefined
    let refusal: string | undefined
    try {
      // The state as of now is at hand; that of a moment is loaded.
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

  /** The facts behind `from`, up to `to`; none where that is back in time. */
  async function eventsBetween(conversationId: string, from: bigint, to: bigint): Promise<readonly RecordedEvent[]> {
    if (from >= to) return []
    const held = histories.ready(conversationId)?.eventsBetween(from, to)
    if (held !== undefined) return held
    const events: RecordedEvent[] = []
    for await (const event of ledger.log(conversationId, { from: from + 1n, limit: Number(to - from) }))
      if (event.type === 'MessagesPruned') events.push(event)
    return events
  }

  async function now(conversationId: string): Promise<bigint> {
    return (await ledger.messages(conversationId)).revision
  }

  return {
    async at(conversationId, at, since) {
      const history = histories.ready(conversationId)
      // What was recorded since the history was read is known to the ledger alone.
      const revision = asRevision(at)
      const state = revision === undefined ? undefined : history?.stateAt(revision)
      const step: Omit<Step, 'change' | 'head'> =
        history === undefined || state === undefined || revision === undefined
          ? await fromLedger(conversationId, at)
          : {
              conversationId,
              revision,
              event: history.eventAt(revision),
              ...contextOrRefusal(() => history.contextAt(revision)),
              live: new Map(liveIn(state).messages.map((message) => [message.messageId, message])),
            }
      const whole =
        step.context === undefined && step.refusal === undefined ? await fromLedger(conversationId, at) : step
      const known = history?.head ?? (at === undefined ? whole.revision : await now(conversationId))
      const head = known > whole.revision ? known : whole.revision
      const from = asRevision(since) ?? whole.revision - 1n
      const change =
        whole.context === undefined || from < 0n || from === whole.revision || from > head
          ? undefined
          : (appendedSince(whole, from) ??
            changeBetween(
              await contextAt(conversationId, from),
              whole.context,
              from,
              await eventsBetween(conversationId, from, whole.revision),
            ))
      return { ...whole, head, change }
    },
  }
}

function contextOrRefusal(read: () => ContextAsOf | undefined): Pick<Step, 'context' | 'refusal'> {
  try {
    return { context: read(), refusal: undefined }
  } catch (error) {
    return { context: undefined, refusal: faultOf(error).message }
  }
}
