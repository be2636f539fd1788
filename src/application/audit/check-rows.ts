/**
 * Compares the rows with the result of the events. `verify` passes each event that it reads to the comparison. If a
 * second thread is available, the comparison reads the log itself, concurrently.
 */
import { CONVERSATION_PREFIX, conversationOf, conversationStream } from '../../domain/values/ids.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { StoredEvent } from '../../ports/event-store.js'
import type { CheckRows, RowCheck, RowDifference } from '../../ports/row-check.js'
import { editionStreamsOnce, type EditionStreams } from '../recording/conversation-streams.js'
import { decodeEventSoon, isUnreadableEvent } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { readAhead } from '../recording/read-ahead.js'

/**
 * Passes the events of conversations to a comparison of rows. The events of an edition come before the conversation's
 * own, since the conversation's rows depend on them too.
 */
export class RowFeed {
  private readonly found: RowDifference[] = []
  private readable = true
  private readonly editions: () => Promise<EditionStreams>

  constructor(
    private readonly log: Log,
    private readonly rows: RowCheck,
  ) {
    this.editions = editionStreamsOnce(log)
  }

  private async compare(): Promise<void> {
    this.found.push(...(await this.rows.compare()))
  }

  /**
   * Begins a conversation with the events of its editions. If one of them cannot be read, the rows are not judged; the
   * check of that stream reports the reason.
   */
  async begin(conversationId: string): Promise<void> {
    this.rows.begin(conversationId)
    this.readable = true
    for (const stream of (await this.editions()).get(conversationId) ?? [])
      await this.read(this.log.store.readStream(stream))
  }

  /** Takes the next event of the conversation. A returned promise must be awaited. */
  take(event: RecordedEvent): Promise<void> | undefined {
    return this.rows.take(event) ? this.compare() : undefined
  }

  /** Takes stored events up to the first one that cannot be read. */
  async read(events: AsyncIterable<StoredEvent>): Promise<void> {
    try {
      for await (const stored of events) {
        const read = decodeEventSoon(stored, this.log)
        const comparing = this.take(read instanceof Promise ? await read : read)
        if (comparing !== undefined) await comparing
      }
    } catch (error) {
      if (!isUnreadableEvent(error)) throw error
      this.readable = false
    }
  }

  /** Ends the conversation. `trusted` is false if its events have problems. */
  async end(trusted: boolean): Promise<void> {
    if (this.rows.end(trusted && this.readable)) await this.compare()
  }

  /** Compares the remaining rows and returns all differences. */
  async finish(): Promise<readonly RowDifference[]> {
    return [...this.found, ...(await this.rows.finish())]
  }
}

/**
 * Compares rows without `verify`.
 * @param rowCheck compares rows, for one conversation or for all
 */
export function createCheckRows(log: Log, rowCheck: (everyConversation: boolean) => RowCheck): CheckRows {
  return async (conversationId, signal) => {
    const feed = new RowFeed(log, rowCheck(conversationId === undefined))
    async function conversation(id: string, events: AsyncIterable<StoredEvent>): Promise<void> {
      signal.throwIfAborted()
      await feed.begin(id)
      await feed.read(events)
      await feed.end(true)
    }
    if (conversationId !== undefined)
      await conversation(conversationId, log.store.readStream(conversationStream(conversationId)))
    else
      for await (const { stream, events } of readAhead(log, CONVERSATION_PREFIX))
        await conversation(conversationOf(stream) ?? '', events)
    return await feed.finish()
  }
}

/** The number of events from which a second thread is worth its start. */
const APART_FROM = 20_000

/** Whether there is enough to compare for a second thread. */
export async function isMuch({ store }: Log, conversationId: string | undefined): Promise<boolean> {
  return (
    (conversationId === undefined
      ? await store.head()
      : await store.streamRevision(conversationStream(conversationId))) >= APART_FROM
  )
}

export interface CheckRowsApart {
  readonly log: Log
  /** Compares in the thread of the caller. */
  readonly here: CheckRows
  /** Compares in a second thread, without waiting for rows that lag. */
  readonly apart: CheckRows
  /** Called if the thread could not be used. */
  readonly onProblem: (problem: unknown) => void
}

/**
 * Compares in a second thread, which does not wait for rows that lag. This process then checks each conversation with a
 * difference again, with waiting. If no thread can be started, this process checks all of them.
 */
export function createCheckRowsApart({ log, here, apart, onProblem }: CheckRowsApart): CheckRows {
  return async (conversationId, signal) => {
    let found: readonly RowDifference[]
    try {
      found = await apart(conversationId, signal)
    } catch (error) {
      signal.throwIfAborted()
      onProblem(error)
      return await here(conversationId, signal)
    }
    const confirmed: RowDifference[] = []
    for (const id of new Set(found.map((each) => each.conversationId))) {
      const isRecorded = (await log.store.streamRevision(conversationStream(id))) >= 0
      confirmed.push(...(isRecorded ? await here(id, signal) : found.filter((each) => each.conversationId === id)))
    }
    return confirmed
  }
}
