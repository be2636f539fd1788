/**
 * Many streams one after the other, without a question for each: of many short ones the waiting would take longer than
 * the work. From a store that answers only for one stream each is opened while the one before it is worked on.
 */
import type { StoredEvent } from '../ports/event-store.js'
import type { Log } from '../recording/load-conversation.js'

export interface OpenedStream {
  readonly stream: string
  readonly events: AsyncIterable<StoredEvent>
}

/** A stream whose first events are asked for before anybody wants them. */
function opened(log: Log, stream: string): OpenedStream {
  const events = log.store.readStream(stream)[Symbol.asyncIterator]()
  const first = events.next()
  // Whoever reads hears of a failure; until then it is nobody's.
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

/** Events that come stream by stream, as streams. Who takes the next stream is done with the one before it. */
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
