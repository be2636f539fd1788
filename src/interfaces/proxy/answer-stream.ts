/** Passes the bytes of an answer from upstream to the client. */
import { isRecord } from '../../lib/is-record.js'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { AnswerCopy } from './answer-copy.js'
import type { AnswerEnding } from './recorded-input.js'

/** Bytes of an answer that are buffered while its head waits. */
const MAX_BUFFERED_BYTES = 1024 * 1024

/** Receives the bytes of an answer. */
interface Sink {
  /** Returns false if the sink is full for now. */
  write(chunk: Uint8Array): boolean
  end(): void
  /** Ends an incomplete answer. */
  breakOff(): void
}

/**
 * Buffers the bytes of an answer until its head was sent. A broken connection discards unread bytes and reports the error
 * once, so the answer must be read from the arrival of its head.
 */
export class AnswerBuffer implements Sink {
  private sink: Sink | undefined
  private isBroken = false
  private bytes = 0
  private readonly pending: ((sink: Sink) => unknown)[] = []

  write(chunk: Uint8Array): boolean {
    if (this.sink !== undefined) return this.sink.write(chunk)
    this.pending.push((sink) => sink.write(chunk))
    this.bytes += chunk.byteLength
    return this.bytes < MAX_BUFFERED_BYTES
  }

  end(): void {
    if (this.sink === undefined)
      this.pending.push((sink) => {
        sink.end()
      })
    else this.sink.end()
  }

  breakOff(): void {
    this.isBroken = true
    this.sink?.breakOff()
  }

  /** Writes the buffered bytes to the sink, and later bytes directly. */
  open(sink: Sink): void {
    this.sink = sink
    for (const step of this.pending.splice(0)) step(sink)
    // The bytes written above are sent first.
    if (this.isBroken)
      setImmediate(() => {
        sink.breakOff()
      })
  }
}

/** An answer from upstream, and what to call while it is read. */
interface AnswerSource {
  readonly incoming: IncomingMessage
  readonly copy: AnswerCopy | undefined
  readonly abort: AbortController
  /** Called after each chunk. */
  readonly onChunk: () => void
  /**
   * Called once with how the answer ended. The end of the client's answer waits for the result: if it is false, the
   * answer breaks off. The result never rejects.
   */
  readonly onEnd: (ending: AnswerEnding) => Promise<boolean> | undefined
}

/** Reads an answer chunk by chunk into a sink. Returns the function to call if the client disconnects. */
export function readAnswerInto({ incoming, copy, abort, onChunk, onEnd }: AnswerSource, sink: Sink): () => void {
  let isEnded = false
  const end = (ending: AnswerEnding): Promise<boolean> | undefined => {
    isEnded = true
    return onEnd(ending)
  }
  incoming.on('data', (chunk: Buffer) => {
    if (isEnded) return
    const hasCapacity = sink.write(chunk)
    copy?.take(chunk)
    onChunk()
    if (!hasCapacity) incoming.pause()
  })
  incoming.once('end', () => {
    if (isEnded) return
    const recording = end('complete')
    if (recording === undefined) sink.end()
    else
      void (async (): Promise<void> => {
        if (await recording) sink.end()
        else sink.breakOff()
      })()
  })
  const onBroken = (): void => {
    if (isEnded) return
    void end('cut-off')
    sink.breakOff()
  }
  incoming.once('error', onBroken)
  incoming.once('close', onBroken)
  return () => {
    if (isEnded) return
    void end('interrupted')
    abort.abort()
    incoming.destroy()
  }
}

/** The client's own connection, if the server is Node's. */
export function outgoingOf(environment: unknown): ServerResponse | undefined {
  const outgoing = isRecord(environment) ? environment['outgoing'] : undefined
  return outgoing instanceof ServerResponse ? outgoing : undefined
}

/** An answer that is being read. */
interface StreamedAnswer {
  readonly incoming: IncomingMessage
  readonly buffer: AnswerBuffer
  /** To be called if the client disconnects. */
  readonly onDisconnect: () => void
}

/**
 * Writes an answer to the client's connection. A Fetch API body would cost several promises for each chunk, and the server
 * would add a line of its own to an answer that breaks off.
 * @param headers names and values in turn
 */
export function streamTo(
  outgoing: ServerResponse,
  { incoming, buffer, onDisconnect }: StreamedAnswer,
  headers: readonly string[],
): Response {
  outgoing.on('drain', () => {
    incoming.resume()
  })
  outgoing.once('close', onDisconnect)
  outgoing.once('error', onDisconnect)
  // The client has disconnected already.
  if (outgoing.destroyed) {
    onDisconnect()
    return RESPONSE_ALREADY_SENT
  }
  outgoing.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, [...headers])
  outgoing.flushHeaders()
  buffer.open({
    write: (chunk) => outgoing.write(chunk),
    end() {
      outgoing.end()
    },
    breakOff() {
      outgoing.destroy()
    },
  })
  incoming.resume()
  return RESPONSE_ALREADY_SENT
}

/** An answer as a Fetch API body, for other servers. */
export function streamedBody({ incoming, buffer, onDisconnect }: StreamedAnswer): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        buffer.open({
          write(chunk) {
            controller.enqueue(chunk)
            return (controller.desiredSize ?? 0) > 0
          },
          end() {
            controller.close()
          },
          breakOff() {
            controller.error(new Error('upstream closed the connection before the answer was complete'))
          },
        })
      },
      pull() {
        incoming.resume()
      },
      cancel() {
        onDisconnect()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  )
}

/** Names and values in turn as headers. */
export function asHeaders(pairs: readonly string[]): Headers {
  const headers = new Headers()
  for (let at = 0; at < pairs.length; at += 2) headers.append(pairs[at] ?? '', pairs[at + 1] ?? '')
  return headers
}

/** The status and headers of an answer, and the client's connection if the server is Node's. */
interface AnswerHead {
  readonly outgoing: ServerResponse | undefined
  readonly incoming: IncomingMessage
  readonly status: number
  /** Names and values in turn. */
  readonly headers: string[]
}

/** Sends a complete answer. Node's connection accepts every status that upstream may send; `Response` does not. */
export function sendComplete({ outgoing, incoming, status, headers }: AnswerHead, bytes?: Uint8Array): Response {
  if (outgoing === undefined)
    return new Response(bytes === undefined ? null : new Uint8Array(bytes), { status, headers: asHeaders(headers) })
  outgoing.writeHead(status, incoming.statusMessage, headers).end(bytes)
  return RESPONSE_ALREADY_SENT
}

/** Sends the start of an answer, and then breaks the connection off. */
export function sendBrokenOff({ outgoing, incoming, status, headers }: AnswerHead, bytes: Uint8Array): Response {
  if (outgoing === undefined)
    return new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(bytes)
        },
        pull() {
          throw new Error('upstream closed the connection before the answer was complete')
        },
      }),
      { status, headers: asHeaders(headers) },
    )
  outgoing.writeHead(status, incoming.statusMessage, headers)
  outgoing.write(bytes, () => outgoing.destroy())
  return RESPONSE_ALREADY_SENT
}

/** Resolves when the last bytes of an answer were written to the client's connection, or the client disconnected. */
export async function handedOver(outgoing: ServerResponse | undefined): Promise<void> {
  if (outgoing !== undefined && !outgoing.destroyed && !outgoing.writableFinished)
    await new Promise<void>((resolve) => {
      outgoing.once('finish', resolve)
      outgoing.once('close', resolve)
    })
  await new Promise(setImmediate)
}
