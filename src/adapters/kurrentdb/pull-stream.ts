/**
 * Reads responses of the server by pulling. A `for await` over the call leaks it if the loop ends early, and waits
 * forever for a silent server. Here the reader takes all events that have arrived at once, and sets its own time limit.
 */
import { convertToCommandError, StreamNotFoundError } from '@eventstore/db-client'
import type { ClientReadableStream } from '@grpc/grpc-js'
import type { Signal } from '../../lib/signal.js'
import type { Received, Recorded } from './wire.js'

/** Number of buffered events at which the call is paused. An event has at most about a megabyte. */
const BUFFERED_EVENTS = 64

export interface PullStream {
  /** The events that have arrived; `all` if the client has buffered no more. */
  take(): { readonly events: Recorded[]; readonly all: boolean }
  /** True if no event is buffered. */
  isEmpty(): boolean
  /** How the call ended: with an error or normally; undefined while it runs. */
  end(): { readonly error: unknown } | 'ended' | undefined
  /** Cancels the call. */
  stop(): void
}

/**
 * Listens to a call that is being started. Notifies `news` when something arrives and when the call ends. Responses
 * other than events go to `onNotice` in their order: events that came earlier can already be taken.
 */
export function pullFrom(
  calling: Promise<ClientReadableStream<Received>>,
  news: Signal,
  onNotice: (notice: Exclude<Received, Recorded>) => void = ignore,
): PullStream {
  let buffered: Recorded[] = []
  let end: { readonly error: unknown } | 'ended' | undefined
  let waking: NodeJS.Immediate | undefined
  let call: ClientReadableStream<Received> | undefined
  let isStopped = false
  const wake = (): void => {
    waking = undefined
    news.notify()
  }
  const onData = (item: Received): void => {
    if (item.kind === 'event') {
      buffered.push(item)
      if (buffered.length >= BUFFERED_EVENTS) call?.pause()
    } else if (item.kind === 'no-stream') end ??= { error: new StreamNotFoundError(undefined, '') }
    else onNotice(item)
    // One network packet delivers many events, one at a time: wake the reader once for all of them.
    waking ??= setImmediate(wake)
  }
  const onError = (error: unknown): void => {
    end ??= { error: error instanceof Error ? convertToCommandError(error) : error }
    news.notify()
  }
  const listen = (started: ClientReadableStream<Received>): void => {
    call = started
    // This listener is never removed: without one, a late error would end the process.
    started.on('error', onError)
    if (isStopped) {
      started.cancel()
      return
    }
    started.on('data', onData)
    started.on('end', () => {
      end ??= 'ended'
      news.notify()
    })
  }
  void calling.then(listen, onError)
  return {
    take() {
      const events = buffered
      buffered = []
      const all = (call?.readableLength ?? 0) === 0
      if (call?.isPaused() === true) call.resume()
      return { events, all }
    },
    isEmpty: () => buffered.length === 0 && (call?.readableLength ?? 0) === 0,
    end: () => end,
    stop() {
      isStopped = true
      clearImmediate(waking)
      call?.off('data', onData)
      // Later, because `stop` may run inside one of the call's own listeners.
      setImmediate(() => call?.cancel())
    },
  }
}

function ignore(): void {
  // A read up to the end of a stream needs only its events.
}
