/**
 * Compares the rows with what the events make of them. `verify` reads every event anyway and hands each one to the
 * comparison. Where there is a second thread, the comparison reads the log for itself, and the two work side by side.
 */
import { CONVERSATION_PREFIX, conversationOf, conversationStream } from '../domain/values/ids.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { StoredEvent } from '../ports/event-store.js'
import type { CheckRows, RowCheck, RowDifference } from '../ports/row-check.js'
import { editionStreamsOnce, type EditionStreams } from '../recording/conversation-streams.js'
import { decodeEventSoon, UnreadableEventError } from '../recording/read-event.js'
import type { Log } from '../recording/load-conversation.js'
import { readAhead } from './read-ahead.js'

/**
 * Gives the facts of conversations to a comparison of rows; those of an edition before the conversation's own, since
 * its rows are made of them too.
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
   * Begins with a conversation, and takes the facts of its editions. Where one cannot be read nothing can be said of
   * the rows; its own stream says why.
   */
  async begin(conversationId: string): Promise<void> {
    this.rows.begin(conversationId)
    this.readable = true
    for (const stream of (await this.editions()).get(conversationId) ?? [])
      await this.read(this.log.store.readStream(stream))
  }

  /** Takes its next fact; what is returned is to be waited for. */
  take(event: RecordedEvent): Promise<void> | undefined {
    return this.rows.take(event) ? this.compare() : undefined
  }

  /** Takes facts as they are stored, up to one that cannot be read. */
  async read(events: AsyncIterable<StoredEvent>): Promise<void> {
    try {
      for await (const stored of events) {
        const read = decodeEventSoon(stored, this.log.bodies)
        const comparing = this.take(read instanceof Promise ? await read : read)
        if (comparing !== undefined) await comparing
      }
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      this.readable = false
    }
  }

  /** Ends the conversation. `trusted` is false where its facts have problems of their own. */
  async end(trusted: boolean): Promise<void> {
    if (this.rows.end(trusted && this.readable)) await this.compare()
  }

  /** Compares the rest; says what differs. */
  async finish(): Promise<readonly RowDifference[]> {
    return [...this.found, ...(await this.rows.finish())]
  }
}

/**
 * Compares for somebody who does not read the log.
 * @param rowCheck compares rows; for one conversation, or for every one of the log
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

/** Events from which on a thread of its own is worth its start. */
const APART_FROM = 20_000n

/** Whether there is so much to compare that it is worth a thread of its own. */
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
  /** Compares in a thread of its own, and does not wait for rows that are behind. */
  readonly apart: CheckRows
  /** Hears why there was no thread. */
  readonly onProblem: (problem: unknown) => void
}

/**
 * Compares in a thread of its own. That thread does not wait for rows that are behind. So this process looks again, and
 * waits, at each conversation in which the thread found a difference. Where there can be no thread, this process looks
 * at all of them.
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
    const told: RowDifference[] = []
    for (const id of new Set(found.map((each) => each.conversationId))) {
      const isRecorded = (await log.store.streamRevision(conversationStream(id))) >= 0n
      told.push(...(isRecorded ? await here(id, signal) : found.filter((each) => each.conversationId === id)))
    }
    return told
  }
}
