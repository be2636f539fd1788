/**
 * A log without the events that a copy cannot contain, because earlier events of their stream are missing. The events
 * before the first missing one are copied, and the missing ones are named. So the other conversations of a damaged log
 * can be saved.
 */
import { claimOf } from '../domain/events/codec.js'
import type { StoredEvent } from '../domain/events/stored-event.js'
import { isLogCopyError, type Incomplete, type LogEntry, type LogSource } from '../ports/log-copy.js'

/** The findings of one reading of the log. */
class Reading {
  private readonly next = new Map<string, number>()
  readonly incomplete = new Map<string, string>()
  private readonly lostBodies = new Map<string, string>()

  /** The entry, if everything before it in its stream is there too. */
  async take(entry: LogEntry): Promise<LogEntry | undefined> {
    const { stream, revision } = entry.event
    if (this.incomplete.has(stream)) return undefined
    const expected = this.next.get(stream) ?? 0
    if (revision !== expected) return this.broken(stream, missing(expected, revision))
    const body = await this.bodyOf(entry)
    if (typeof body === 'string') return this.broken(stream, body)
    this.next.set(stream, revision + 1)
    return body
  }

  has(stream: string): boolean {
    return this.next.has(stream) || this.incomplete.has(stream)
  }

  private broken(stream: string, detail: string): undefined {
    this.incomplete.set(stream, detail)
    return undefined
  }

  /** The entry with its body, or why the body is lost. A body comes with the first event that names it. */
  private async bodyOf({ event, body }: LogEntry): Promise<LogEntry | string> {
    const lost = this.lostBodies.get(claimOf(event) ?? '')
    if (lost !== undefined) return lost
    if (body === undefined) return { event }
    try {
      const read = await body()
      return { event, body: () => Promise.resolve(read) }
    } catch (error) {
      if (!isLogCopyError(error) || error.kind !== 'BodyLost') throw error
      this.lostBodies.set(claimOf(event) ?? '', error.message)
      return error.message
    }
  }
}

const missing = (expected: number, found: StoredEvent['revision']): string =>
  found - expected === 1
    ? `revision ${String(expected)} is missing`
    : `revisions ${String(expected)} to ${String(found - 1)} are missing`

/** The log without events that cannot be appended to another store. */
export function soundSource(source: LogSource): LogSource & Required<Pick<LogSource, 'incomplete'>> {
  let last = new Reading()
  return {
    name: source.name,
    head: () => source.head(),
    async *entries(upTo) {
      const reading = new Reading()
      last = reading
      for await (const entry of source.entries(upTo)) {
        const sound = await reading.take(entry)
        if (sound !== undefined) yield sound
      }
    },
    async incomplete() {
      const reading = last
      const found: Incomplete[] = [...((await source.incomplete?.()) ?? [])]
      for (const [stream, detail] of reading.incomplete) found.push({ stream, detail })
      for await (const absent of source.absent?.((stream) => reading.has(stream)) ?? []) found.push(absent)
      return found
    },
  }
}
