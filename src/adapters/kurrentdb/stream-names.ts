/**
 * Names of streams. The server has no list of names by prefix, so its log is read.
 *
 * There are two ways to read, and the server examines every event of the log in both. By *type* it sends the events
 * that may be the first of a stream, including those of other programs. By *prefix* it sends all events of our streams
 * and none of other programs. The cheaper way is the one that sends fewer events for the same stretch of the log. That
 * depends on the log's content, so both ways are tried for `TRIAL_EVENTS` events each, and the cheaper one reads the
 * next `RUN_EVENTS`; then both are tried again.
 */
import { createTurns } from '../../lib/turns.js'
import { follow, streamNamedBy } from './follow.js'
import { lastOfAll } from './reads.js'
import type { Session } from './session.js'

/** Events that the server sends in each way before the two are compared. */
const TRIAL_EVENTS = 1_000
/** Events that the server sends in the cheaper way before both are tried again. */
const RUN_EVENTS = 50_000

type Way = 'type' | 'prefix'

/** A stretch of the log that was read. */
interface Stretch {
  readonly events: number
  /** Length of the stretch in positions, which are bytes. */
  readonly bytes: number
  readonly isEnd: boolean
}

/** The last event of the log, and the node of the server that named it. */
interface Head {
  readonly position: number
  readonly node: unknown
}

const bytesForEach = ({ bytes, events }: Stretch): number => (events === 0 ? Infinity : bytes / events)

/** The stream names with some prefixes. They are cached: a later call reads only the events appended since. */
export class StreamNames {
  private readonly names = new Set<string>()
  /** The position up to which the log was read. */
  private position = -1
  private readonly turns = createTurns()

  /** @param laterTypes types of events that are never the first of their stream */
  constructor(
    private readonly session: Session,
    private readonly prefixes: readonly string[],
    private readonly laterTypes: readonly string[],
  ) {}

  /** Whether these names include all that begin with `prefix`. */
  covers(prefix: string): boolean {
    return this.prefixes.some((each) => prefix.startsWith(each))
  }

  /** All names that the log has now. */
  async all(): Promise<ReadonlySet<string>> {
    return await this.turns.runInOrder('names', async () => {
      try {
        const last = await lastOfAll(this.session)
        if (last === undefined) return this.names
        this.session.notePosition(last.position)
        await this.readUpTo({ position: last.position, node: this.session.client.node() })
      } catch (error) {
        // The server may have another log now, so the names are read again.
        this.position = -1
        this.names.clear()
        throw error
      }
      return this.names
    })
  }

  private async readUpTo(head: Head): Promise<void> {
    for (;;) {
      if (this.laterTypes.length === 0) {
        await this.read('prefix', Infinity, head)
        return
      }
      const byType = await this.read('type', TRIAL_EVENTS, head)
      if (byType.isEnd) return
      const byPrefix = await this.read('prefix', TRIAL_EVENTS, head)
      if (byPrefix.isEnd) return
      const cheaper = bytesForEach(byType) > bytesForEach(byPrefix) ? 'type' : 'prefix'
      if ((await this.read(cheaper, RUN_EVENTS, head)).isEnd) return
    }
  }

  /** Continues until the server has sent `limit` events, or up to `head`. */
  private async read(way: Way, limit: number, head: Head): Promise<Stretch> {
    const { session, prefixes, laterTypes } = this
    const after = this.position
    let count = 0
    const options = {
      after,
      prefixes,
      // A stream without its first event is known by the setting that shortened it.
      removals: true,
      ...(way === 'type' ? { exceptTypes: laterTypes } : {}),
      signal: new AbortController().signal,
      patienceMs: session.deadlineMs,
    }
    const stretch = (isEnd: boolean): Stretch => ({ events: count, bytes: this.position - after, isEnd })
    if (after >= head.position) return stretch(true)
    for await (const { events, position, caughtUp } of follow(session, options)) {
      for (const event of events) {
        const name = streamNamedBy(event)
        if (name !== undefined && prefixes.some((prefix) => name.startsWith(prefix))) this.names.add(name)
      }
      count += events.length
      this.position = events.at(-1)?.position ?? this.position
      if (caughtUp || position >= head.position) {
        // Another node may have fewer events than the one that named the head.
        if (head.position > this.position && session.client.node() === head.node) this.position = head.position
        return stretch(true)
      }
      if (count >= limit) return stretch(false)
    }
    session.checkOpen()
    return stretch(true)
  }
}
