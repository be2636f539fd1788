/**
 * New events for many readers. One subscription of the process follows the log, and a ring buffer holds the newest
 * events. A reader that falls behind the ring reads the log at its own pace. There are no queues per reader, so a
 * reader that never reads costs only its connection.
 */
import type { RecordedEvent } from '../../domain/events/index.js'
import { conversationOf } from '../../domain/values/ids.js'
import type { Ledger } from '../../library/ledger.js'
import { sleep } from '../../ports/clock.js'
import { cloudEvent, sourceOf } from './cloud-event.js'
import { toWire } from '../../domain/values/revision.js'

/** An event, ready to send. */
interface FeedItem {
  readonly position: number
  readonly revision: number
  readonly conversationId: string
  /** The CloudEvent as JSON. */
  readonly text: string
}

/** An item of a subscription: an event, or the position up to which there was none for this reader. */
export type FeedDelivery =
  | { readonly kind: 'fact'; readonly item: FeedItem }
  | { readonly kind: 'quiet'; readonly position: number | undefined }

/** Start and filter of a subscription. */
interface ReadFeed {
  /** Events after this position; `now`: events recorded from now on. */
  readonly after: number | 'now'
  /** One conversation, after this revision; `after` is ignored. */
  readonly conversation?: { readonly id: string; readonly afterRevision: number } | undefined
  /** Whether a fact is for this reader. */
  readonly wants: (item: FeedItem) => Promise<boolean>
  readonly signal: AbortSignal
  readonly heartbeatMs: number
}

/** The part of the ledger that the feed reads. */
type FedLedger = Pick<Ledger, 'log'> & { readonly admin: Pick<Ledger['admin'], 'follow' | 'identity'> }

/** The facts of a ledger for many readers. */
export interface Feed {
  read(options: ReadFeed): AsyncIterable<FeedDelivery>
  stop(): Promise<void>
}

/** What the ring holds at most. */
const RING_ITEMS = 4_096
const RING_CHARACTERS = 16_000_000
/** How long after a failure the log is not followed. */
const RESTS_MS = 1_000

class ProcessFeed implements Feed {
  private readonly stopped = new AbortController()
  private readonly waiting = new Set<() => void>()
  private ring: FeedItem[] = []
  private characters = 0
  /** Everything from here (exclusive) up to `upTo` is in the ring; undefined until that is known. */
  private from: number | undefined
  private upTo = -1
  private following: Promise<void> | undefined
  private source: Promise<string> | undefined

  constructor(
    private readonly ledger: FedLedger,
    private readonly onProblem: (error: unknown) => void,
  ) {}

  async *read({ after, conversation, wants, signal: given, heartbeatMs }: ReadFeed): AsyncGenerator<FeedDelivery> {
    const signal = AbortSignal.any([given, this.stopped.signal])
    await this.followed(signal)
    let lastPosition = after === 'now' ? this.upTo : after
    let revision = conversation?.afterRevision ?? -1
    // The conversation's own stream is read first; then the ring.
    let readsStream = conversation !== undefined
    while (!signal.aborted) {
      await this.followed(signal)
      if (this.from === undefined) return
      if (readsStream || lastPosition < this.from) {
        readsStream = false
        if (conversation !== undefined) {
          // The stream includes everything recorded up to this position when it is read.
          const head = this.upTo
          for await (const event of this.ledger.log(conversation.id, { from: revision + 1 })) {
            if (signal.aborted) return
            revision = event.revision
            yield { kind: 'fact', item: await this.itemOf(event) }
          }
          lastPosition = head
        } else
          for await (const heard of this.ledger.admin.follow({ after: lastPosition, untilHead: true, signal })) {
            lastPosition =
              heard.kind === 'event'
                ? heard.event.position
                : heard.position > lastPosition
                  ? heard.position
                  : lastPosition
            if (heard.kind === 'caught-up') continue
            const item = await this.itemOf(heard.event)
            if (await wants(item)) yield { kind: 'fact', item }
          }
        continue
      }
      const item = this.ring[this.indexAfter(lastPosition)]
      if (item !== undefined) {
        lastPosition = item.position
        // Skip what the conversation's stream already delivered.
        const isOther =
          conversation !== undefined && (item.conversationId !== conversation.id || item.revision <= revision)
        if (isOther || !(await wants(item))) continue
        revision = item.revision
        yield { kind: 'fact', item }
        continue
      }
      if (this.upTo > lastPosition) lastPosition = this.upTo
      if ((await this.news(signal, heartbeatMs)) === 'quiet')
        yield { kind: 'quiet', position: conversation === undefined ? lastPosition : undefined }
    }
  }

  async stop(): Promise<void> {
    this.stopped.abort()
    this.notify()
    await this.following
  }

  private async sourceOf(): Promise<string> {
    this.source ??= this.ledger.admin.identity().then(({ origin }) => sourceOf(origin))
    return await this.source
  }

  private async itemOf(event: RecordedEvent): Promise<FeedItem> {
    const conversationId = conversationOf(event.stream) ?? event.stream
    return {
      position: event.position,
      revision: event.revision,
      conversationId,
      text: toWire(cloudEvent(await this.sourceOf(), event, conversationId)),
    }
  }

  private notify(): void {
    for (const wake of this.waiting) wake()
  }

  /** Resolves when something came, when the time is over, or at the end. */
  private async news(signal: AbortSignal, ms: number): Promise<'news' | 'quiet'> {
    return await new Promise((resolve) => {
      const settle = (what: 'news' | 'quiet'): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.waiting.delete(wake)
        resolve(what)
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

  private take(item: FeedItem): void {
    this.from ??= item.position - 1
    this.upTo = item.position
    this.ring.push(item)
    this.characters += item.text.length
    while (this.ring.length > RING_ITEMS || (this.characters > RING_CHARACTERS && this.ring.length > 1)) {
      const left = this.ring.shift()
      this.characters -= left?.text.length ?? 0
      this.from = left?.position ?? this.from
    }
  }

  private async follow(): Promise<void> {
    try {
      for await (const heard of this.ledger.admin.follow({ after: 'head', signal: this.stopped.signal })) {
        if (heard.kind === 'event') this.take(await this.itemOf(heard.event))
        else {
          this.from ??= heard.position
          if (heard.position > this.upTo) this.upTo = heard.position
        }
        this.notify()
      }
    } catch (error) {
      if (!this.stopped.signal.aborted) this.onProblem(error)
    }
    this.ring = []
    this.characters = 0
    this.from = undefined
    // A store that is down is not asked again at once.
    await sleep(RESTS_MS, this.stopped.signal)
    this.following = undefined
    this.notify()
  }

  /** Follows the log from now on, and resolves when it is known up to where that is. */
  private async followed(signal: AbortSignal): Promise<void> {
    while (this.from === undefined && !signal.aborted) {
      this.following ??= this.follow()
      await this.news(signal, RESTS_MS)
    }
  }

  /** Index in the ring of the first item after a position. */
  private indexAfter(position: number): number {
    let low = 0
    let high = this.ring.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.ring[middle]?.position ?? 0) > position) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** Builds the feed of one process. */
export const createFeed = (ledger: FedLedger, onProblem: (error: unknown) => void): Feed =>
  new ProcessFeed(ledger, onProblem)
