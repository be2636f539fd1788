/**
 * Reading the client's streams by hand. `for await` on them leaks the call where the loop is left, and waits for ever
 * for a server that says nothing; here the reader takes what has arrived, many events at once, and decides itself how
 * long it waits.
 */
import type { Signal } from '../../ports/signal.js'

/** How many events may wait for the reader. An event has at most about a megabyte. */
const WAITING_EVENTS = 64

/** What is used of the client's streams, which are made of another version of Node's types. */
interface Source {
  on(event: string, listener: (...given: unknown[]) => void): unknown
  off(event: string, listener: (...given: unknown[]) => void): unknown
  pause(): unknown
  resume(): unknown
  isPaused(): boolean
  readonly readableLength: number
}

export interface PullStream<Item> {
  /** What has arrived; `all` where the client holds nothing more back. */
  take(): { readonly items: readonly Item[]; readonly all: boolean }
  /** Nothing waits for the reader. */
  isEmpty(): boolean
  /** How it ended, once it has: with an error, or by itself. */
  end(): { readonly error: unknown } | 'ended' | undefined
  /** Ends the call. */
  stop(): void
}

/**
 * Listens to a stream of the client that `cancel` ends; `news` is told when something has arrived, and when it ends.
 */
export function pullFrom<Item>(stream: Source, cancel: () => Promise<void>, news: Signal): PullStream<Item> {
  let waiting: Item[] = []
  let end: { readonly error: unknown } | 'ended' | undefined
  let waking: NodeJS.Immediate | undefined
  const wake = (): void => {
    waking = undefined
    news.notify()
  }
  const arrived = (item: unknown): void => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a stream does not say what it gives; its caller knows
    waiting.push(item as Item)
    if (waiting.length >= WAITING_EVENTS) stream.pause()
    // Events come one by one out of one packet of the network: the reader is woken once for all of them.
    waking ??= setImmediate(wake)
  }
  stream.on('data', arrived)
  stream.on('end', () => {
    end ??= 'ended'
    news.notify()
  })
  // The client tells an error twice, and the second time, an AbortError, after the reader has left: this listener
  // stays.
  stream.on('error', (error) => {
    end ??= { error }
    news.notify()
  })
  return {
    take() {
      const items = waiting
      waiting = []
      const all = stream.readableLength === 0
      if (stream.isPaused()) stream.resume()
      return { items, all }
    },
    isEmpty: () => waiting.length === 0 && stream.readableLength === 0,
    end: () => end,
    stop() {
      stream.off('data', arrived)
      clearImmediate(waking)
      // Where the call could not even begin, there is nothing to cancel, and that error was told.
      cancel().catch(() => undefined)
    },
  }
}
