/**
 * Reads many streams in sequence with few round trips: for many short streams, waiting would take longer than the work.
 * If the store can read only one stream at a time, each is opened while the previous one is processed.
 */
import type { StoredEvent } from '../../ports/event-store.js'
import type { Log } from './load-conversation.js'

export interface OpenedStream {
  readonly stream: string
  readonly events: AsyncIterable<StoredEvent>
}

/** A stream that is opened before it is read. */
function opened(log: Log, stream: string): OpenedStream {
  const events = log.store.readStream(stream)[Symbol.asyncIterator]()
  const first = events.next()
  // The reader gets a failure from `first`; this only prevents an unhandled rejection.
  first.catch(() => undefined)
  async function* all(): AsyncGenerator<StoredEvent> {
    try {
      for (let next = await first; next.done !== true; next = await events.next()) yield next.value
    } finally {
      await events.return?.()
    }
  }
  return { stream, events: all() }
}

async function* oneByOne(log: Log, prefix: string): AsyncGenerator<OpenedStream> {
  let before: OpenedStream | undefined
  for await (const stream of log.store.streams(prefix)) {
    const next = opened(log, stream)
    if (before !== undefined) yield before
    before = next
  }
  if (before !== undefined) yield before
}

/** Groups consecutive events by stream. Taking the next stream ends the previous one. */
async function* byStream(events: AsyncIterable<StoredEvent>): AsyncGenerator<OpenedStream> {
  const all = events[Symbol.asyncIterator]()
  let next = await all.next()
  async function* of(stream: string): AsyncGenerator<StoredEvent> {
    for (; next.done !== true && next.value.stream === stream; next = await all.next()) yield next.value
  }
  try {
    while (next.done !== true) {
      const { stream } = next.value
      yield { stream, events: of(stream) }
      while (next.done !== true && next.value.stream === stream) next = await all.next()
    }
  } finally {
    await all.return?.()
  }
}

/** The streams of a prefix, in the order of their names' bytes. */
export const readAhead = (log: Log, prefix: string): AsyncGenerator<OpenedStream> =>
  log.store.readStreams === undefined ? oneByOne(log, prefix) : byStream(log.store.readStreams(prefix))
