/**
 * A log without the events that a copy cannot contain, because earlier events of their stream are missing. The events
 * before the first missing one are copied, and the missing ones are named. So the other conversations of a damaged log
 * can be saved.
 */
import { isBodyLost, type Incomplete, type LogEntry, type LogSource } from '../../ports/log-copy.js'

const missing = (expected: number, found: number): string =>
  found - expected === 1
    ? `revision ${String(expected)} is missing`
    : `revisions ${String(expected)} to ${String(found - 1)} are missing`

/** Where a stream is broken. */
interface Break {
  readonly revision: number
  readonly detail: string
}

/**
 * The log without events that cannot be appended to another store. If a body is lost, reading it rejects with `BodyLost`:
 * the reader leaves its event out, and `entries` the later events of the stream.
 */
export function soundSource(source: LogSource): LogSource & Required<Pick<LogSource, 'incomplete'>> {
  const breaks = new Map<string, Break>()
  let next = new Map<string, number>()
  return {
    name: source.name,
    head: () => source.head(),
    async *entries(upTo) {
      next = new Map()
      for await (const entry of source.entries(upTo)) {
        const { stream, revision } = entry.event
        const expected = next.get(stream) ?? 0
        if (revision !== expected && !breaks.has(stream))
          breaks.set(stream, { revision, detail: missing(expected, revision) })
        next.set(stream, revision + 1)
        if (revision >= (breaks.get(stream)?.revision ?? Infinity)) continue
        yield entry.body === undefined ? entry : { ...entry, body: noting(entry.body, stream, revision) }
      }
    },
    async incomplete() {
      const found: Incomplete[] = [...((await source.incomplete?.()) ?? [])]
      for (const [stream, { detail }] of breaks) found.push({ stream, detail })
      for await (const absent of source.absent?.((stream) => next.has(stream)) ?? []) found.push(absent)
      return found
    },
  }

  function noting(body: NonNullable<LogEntry['body']>, stream: string, revision: number): typeof body {
    return async () => {
      try {
        return await body()
      } catch (error) {
        if (isBodyLost(error)) breaks.set(stream, { revision, detail: error.message })
        throw error
      }
    }
  }
}
