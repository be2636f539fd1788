/** The sending half of a read: it keeps pace with the client, and knows when nobody listens any longer. */
import type { ServerWritableStream } from '@grpc/grpc-js'
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js'

export interface Outlet {
  isOpen(): boolean
  /**
   * A promise where the client does not keep up: it resolves when there is room again, or when nobody listens any
   * longer.
   */
  send(bytes: Buffer): Promise<void> | undefined
  /** Resolves with the change, or when nobody listens any longer. */
  woken(change: Promise<void>): Promise<void>
}

/** Wraps a call that answers with bytes. */
export function outletOf(call: ServerWritableStream<ReadReq, Buffer>): Outlet {
  let release = (): void => undefined
  let wake = (): void => undefined
  const gone = (): void => {
    release()
    wake()
  }
  // One listener each for the whole call: a listener for each wait would pile up, since most of the events never come.
  call.on('drain', () => release())
  call.on('cancelled', gone)
  call.on('close', gone)
  const isOpen = (): boolean => !call.cancelled && !call.destroyed
  return {
    isOpen,
    woken: (change) =>
      new Promise((resolve) => {
        wake = resolve
        void change.then(resolve)
      }),
    send(bytes) {
      if (call.write(bytes) || !isOpen()) return undefined
      return new Promise((resolve) => {
        release = resolve
      })
    },
  }
}
