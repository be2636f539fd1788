/**
 * New events for many readers. One subscription of the process follows the log, and a ring buffer holds the newest
 * events. A reader that falls behind the ring reads the log at its own pace. There are no queues per reader, so a
 * reader that never reads costs only its connection.
 */
import type { RecordedEvent } from '../domain/events/index.js'
import { conversationOf } from '../domain/values/ids.js'
import type { Ledger } from '../library/ledger.js'
import { sleep } from '../ports/clock.js'
import { EVENT_TYPE } from '../schema/events.js'
import { toWire } from '../lib/json.js'

/** An event, ready to send. */
interface FeedItem {
  readonly position: bigint
  readonly revision: bigint
  readonly conversationId: string
  /** The CloudEvent as JSON. */
  readonly text: string
}

/** An item of a subscription: an event, or the position up to which there was none for this reader. */
export type FeedDelivery =
  | { readonly kind: 'fact'; readonly item: FeedItem }
  | { readonly kind: 'quiet'; readonly position: bigint | undefined }

/** Start and filter of a subscription. */
interface ReadFeed {
  /** Events after this position; `now`: events recorded from now on. */
  readonly after: bigint | 'now'
  /** One conversation, after this revision; `after` is ignored. */
  readonly conversation?: { readonly id: string; readonly afterRevision: bigint } | undefined
  /** Whether a fact is for this reader. */
  readonly wants: (item: FeedItem) => Promise<boolean>
  readonly signal: AbortSignal
  readonly heartbeatMs: number
}

/** What the ring holds at most. */
const RING_ITEMS = 4_096
const RING_CHARACTERS = 16_000_000
/** How long after a failure the log is not followed. */
const RESTS_MS = 1_000

/** A fact in CloudEvents' shape. */
function cloudEvent(source: string, event: RecordedEvent, conversationId: string): string {
  const { type, data, id, revision, position, metadata } = event
  return toWire({
    specversion: '1.0',
    id,
    source,
    type: `${EVENT_TYPE}${type}.v${String(metadata.schemaVersion)}`,
    subject: conversationId,
    time: metadata.recordedAt,
    datacontenttype: 'application/json',
    sequence: position,
    revision,
    actor: metadata.actor,
    correlationid: metadata.correlationId,
    causationid: metadata.causationId,
    hash: metadata.hash,
    previoushash: metadata.previousHash,
    data,
  })
}

/** The newest events of the log, as far as they fit. */
class Ring {
  private items: FeedItem[] = []
  private characters = 0
  /** All events after this position, up to `upTo`, are in the ring; undefined until that is known. */
  from: bigint | undefined
  upTo = -1n

  add(item: FeedItem): void {
    this.from ??= item.position - 1n
    this.upTo = item.position
    this.items.push(item)
    this.characters += item.text.length
    while (this.items.length > RING_ITEMS || (this.characters > RING_CHARACTERS && this.items.length > 1)) {
      const oldest = this.items.shift()
      this.characters -= oldest?.text.length ?? 0
      this.from = oldest?.position ?? this.from
    }
  }

  /** The log has no further event up to a position. */
  extendTo(position: bigint): void {
    this.from ??= position
    if (position > this.upTo) this.upTo = position
  }

  clear(): void {
    this.items = []
    this.characters = 0
    this.from = undefined
  }

  /** The first item after a position. */
  after(position: bigint): FeedItem | undefined {
    let low = 0
    let high = this.items.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.items[middle]?.position ?? 0n) > position) high = middle
      else low = middle + 1
    }
    return this.items[low]
  }
}

/** How far a reader is: the position in the log, and the revision in its conversation. */
interface ReaderPlace {
  position: bigint
  revision: bigint
}

/** The events of a ledger for many readers of one process. */
export class Feed {
  private readonly stopped = new AbortController()
  private readonly waiting = new Set<() => void>()
  private readonly ring = new Ring()
  private following: Promise<void> | undefined
  private source: Promise<string> | undefined
  constructor(
    private readonly ledger: Pick<Ledger, 'follow' | 'log' | 'identity'>,
    private readonly onProblem: (error: unknown) => void,
  ) {}

  async *read(options: ReadFeed): AsyncGenerator<FeedDelivery> {
    const { after, conversation, heartbeatMs } = options
    const signal = AbortSignal.any([options.signal, this.stopped.signal])
    await this.followed(signal)
    const place = { position: after === 'now' ? this.ring.upTo : after, revision: conversation?.afterRevision ?? -1n }
    // The conversation's own stream is read first; then the ring.
    let readsStream = conversation !== undefined
    while (!signal.aborted) {
      await this.followed(signal)
      if (this.ring.from === undefined) return
      if (readsStream || place.position < this.ring.from) {
        readsStream = false
        yield* this.readRecorded(options, place, signal)
        continue
      }
      const item = this.ring.after(place.position)
      if (item !== undefined) {
        place.position = item.position
        if (!(await isFor(item, options, place))) continue
        place.revision = item.revision
        yield { kind: 'fact', item }
        continue
      }
      if (this.ring.upTo > place.position) place.position = this.ring.upTo
      if ((await this.news(signal, heartbeatMs)) === 'quiet')
        yield { kind: 'quiet', position: conversation === undefined ? place.position : undefined }
    }
  }

  async stop(): Promise<void> {
    this.stopped.abort()
    this.notify()
    await this.following
  }

  /** The events from a place up to the end of the ring, from the log. */
  private async *readRecorded(
    { conversation, wants }: ReadFeed,
    place: ReaderPlace,
    signal: AbortSignal,
  ): AsyncGenerator<FeedDelivery> {
    if (conversation !== undefined) {
      // The stream includes everything recorded up to this position when it is read.
      const head = this.ring.upTo
      for await (const event of this.ledger.log(conversation.id, { from: place.revision + 1n })) {
        if (signal.aborted) return
        place.revision = event.revision
        yield { kind: 'fact', item: await this.itemOf(event) }
      }
      place.position = head
      return
    }
    for await (const followed of this.ledger.follow({ after: place.position, untilHead: true, signal })) {
      if (followed.kind === 'caught-up') {
        if (followed.position > place.position) place.position = followed.position
        continue
      }
      place.position = followed.event.position
      const item = await this.itemOf(followed.event)
      if (await wants(item)) yield { kind: 'fact', item }
    }
  }

  private async itemOf(event: RecordedEvent): Promise<FeedItem> {
    const conversationId = conversationOf(event.stream) ?? event.stream
    return {
      position: event.position,
      revision: event.revision,
      conversationId,
      text: cloudEvent(await this.sourceOf(), event, conversationId),
    }
  }

  /** The name of the log, which its first event identifies. */
  private sourceOf(): Promise<string> {
    this.source ??= this.ledger.identity().then(({ origin }) => `urn:context-ledger:${origin?.id ?? 'empty'}`)
    return this.source
  }

  private notify(): void {
    for (const wake of this.waiting) wake()
  }

  /** Resolves when an event was added, when the time is over, or at the end. */
  private async news(signal: AbortSignal, ms: number): Promise<'news' | 'quiet'> {
    return await new Promise((resolve) => {
      const settle = (result: 'news' | 'quiet'): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.waiting.delete(wake)
        resolve(result)
      }
      const wake = (): void => {
        settle('news')
      }
      const timer = setTimeout(() => {
        settle('quiet')
      }, ms)
      this.waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
    })
  }

  private async follow(): Promise<void> {
    try {
      for await (const followed of this.ledger.follow({ after: 'head', signal: this.stopped.signal })) {
        if (followed.kind === 'event') this.ring.add(await this.itemOf(followed.event))
        else this.ring.extendTo(followed.position)
        this.notify()
      }
    } catch (error) {
      if (!this.stopped.signal.aborted) this.onProblem(error)
    }
    this.ring.clear()
    // A store that is down is not asked again at once.
    await sleep(RESTS_MS, this.stopped.signal)
    this.following = undefined
    this.notify()
  }

  /** Follows the log from now on, and resolves when it is known up to where that is. */
  private async followed(signal: AbortSignal): Promise<void> {
    while (this.ring.from === undefined && !signal.aborted) {
      this.following ??= this.follow()
      await this.news(signal, RESTS_MS)
    }
  }
}

/** Whether a reader wants an item that its conversation's stream did not already deliver. */
const isFor = async (item: FeedItem, { conversation, wants }: ReadFeed, { revision }: ReaderPlace): Promise<boolean> =>
  (conversation === undefined || (item.conversationId === conversation.id && item.revision > revision)) &&
  (await wants(item))
