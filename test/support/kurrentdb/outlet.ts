/** The sending half of a read: it waits if the client is slow, and detects that the client has disconnected. */
import type { ServerWritableStream } from '@grpc/grpc-js'
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js'

export interface Outlet {
  isOpen(): boolean
  /** Returns a promise if the client is slow. It resolves when the buffer has space, or when the client disconnects. */
  send(bytes: Buffer): Promise<void> | undefined
  /** Resolves with the change, or when the client disconnects. */
  woken(change: Promise<void>): Promise<void>
}

/** Wraps a call that answers with bytes. */
export function outletOf(call: ServerWritableStream<ReadReq, Buffer>): Outlet {
  let release = (): void => undefined
  let wake = (): void => undefined
  const onClose = (): void => {
    release()
    wake()
  }
  // One listener each for the whole call: a listener for each wait would pile up, since most of the events never come.
  call.on('drain', () => release())
  call.on('cancelled', onClose)
  call.on('close', onClose)
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
