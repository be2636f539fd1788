/**
 * Reading what the server sends by hand. `for await` leaks the call where the loop is left, and waits for ever for a
 * server that says nothing; here the reader takes what has arrived, many events at once, and decides itself how long it
 * waits.
 */
import { convertToCommandError, StreamNotFoundError } from '@eventstore/db-client'
import type { ClientReadableStream } from '@grpc/grpc-js'
import type { Signal } from '../../ports/signal.js'
import type { Received, Recorded } from './wire.js'

/** How many events may wait for the reader. An event has at most about a megabyte. */
const WAITING_EVENTS = 64

export interface PullStream {
  /** The events that have arrived; `all` where the client holds nothing more back. */
  take(): { readonly events: Recorded[]; readonly all: boolean }
  /** Nothing waits for the reader. */
  isEmpty(): boolean
  /** How it ended, once it has: with an error, or by itself. */
  end(): { readonly error: unknown } | 'ended' | undefined
  /** Ends the call. */
  stop(): void
}

/**
 * Listens to a call that is being made; `news` is told when something has arrived, and when it ends. What the server
 * says beside its events goes to `told`, in its place among them: an event that comes before it is already there to be
 * taken.
 */
export function pullFrom(
  calling: Promise<ClientReadableStream<Received>>,
  news: Signal,
  told: (said: Exclude<Received, Recorded>) => void = ignore,
): PullStream {
  let waiting: Recorded[] = []
  let end: { readonly error: unknown } | 'ended' | undefined
  let waking: NodeJS.Immediate | undefined
  let call: ClientReadableStream<Received> | undefined
  let isStopped = false
  const wake = (): void => {
    waking = undefined
    news.notify()
  }
  const arrived = (item: Received): void => {
    if (item.kind === 'event') {
      waiting.push(item)
      if (waiting.length >= WAITING_EVENTS) call?.pause()
    } else if (item.kind === 'no-stream') end ??= { error: new StreamNotFoundError(undefined, '') }
    else told(item)
    // Events come one by one out of one packet of the network: the reader is woken once for all of them.
    waking ??= setImmediate(wake)
  }
  const failed = (error: unknown): void => {
    end ??= { error: error instanceof Error ? convertToCommandError(error) : error }
    news.notify()
  }
  const listen = (made: ClientReadableStream<Received>): void => {
    call = made
    // It stays when the reader has left: without a listener an error would end the process.
    made.on('error', failed)
    if (isStopped) {
      made.cancel()
      return
    }
    made.on('data', arrived)
    made.on('end', () => {
      end ??= 'ended'
      news.notify()
    })
  }
  void calling.then(listen, failed)
  return {
    take() {
      const events = waiting
      waiting = []
      const all = (call?.readableLength ?? 0) === 0
      if (call?.isPaused() === true) call.resume()
      return { events, all }
    },
    isEmpty: () => waiting.length === 0 && (call?.readableLength ?? 0) === 0,
    end: () => end,
    stop() {
      isStopped = true
      clearImmediate(waking)
      call?.off('data', arrived)
      // Not within the call's own news: it may be in the middle of telling them.
      setImmediate(() => call?.cancel())
    },
  }
}

function ignore(): void {
  // A read that ends is told nothing beside its events.
}
