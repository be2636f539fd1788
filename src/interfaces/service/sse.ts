/**
 * Facts as server-sent events. The stream asks for the next one when the client has taken the one before, so that
 * nothing piles up; a client that takes nothing for too long is cut off.
 */
import type { ServerResponse } from 'node:http'
import { isPauseDue, pause } from '../../lib/pauses.js'
import type { FeedDelivery } from './feed.js'
import type { Answer } from './service.js'

/** What goes with a stream. */
export interface StreamOptions {
  readonly headers: Readonly<Record<string, string>>
  /** Called once, when it has ended. */
  readonly leave: () => void
  /** Ends it. */
  readonly ended: AbortSignal
  readonly stallMs: number
  /** Node's own side of the connection, to cut it off. */
  readonly outgoing: object | undefined
  readonly onProblem: (error: unknown) => void
}

const encoder = new TextEncoder()

/** One event of the protocol. An id without data moves the position at which the client resumes. */
function frameOf(heard: FeedDelivery, id: number | undefined): string {
  const idLine = id === undefined ? '' : `id: ${String(id)}\n`
  return heard.kind === 'quiet' ? `${idLine}: still here\n\n` : `${idLine}data: ${heard.item.text}\n\n`
}

/** The response of a stream. */
export function eventStream(
  { read, idOf }: NonNullable<Answer['stream']>,
  { headers, leave, ended, stallMs, outgoing, onProblem }: StreamOptions,
): Response {
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, ended])
  const facts = read(signal)[Symbol.asyncIterator]()
  let stall: NodeJS.Timeout | undefined

  async function end(): Promise<void> {
    clearTimeout(stall)
    over.abort()
    leave()
    await facts.return?.()
  }

  /** Ends the connection. The client reconnects and resumes after its last event. */
  function cutOff(controller: ReadableStreamDefaultController<Uint8Array>, error: unknown): void {
    end().catch(onProblem)
    // Node's stream is closed if there is one. An error of it would be printed to standard error with its stack.
    if (outgoing !== undefined && isServerResponse(outgoing)) outgoing.destroy()
    else controller.error(error)
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Headers reach the client at once, and it knows how soon to come back.
        controller.enqueue(encoder.encode('retry: 1000\n: facts follow\n\n'))
      },
      async pull(controller) {
        clearTimeout(stall)
        try {
          // Many streams that read the past would otherwise take turns among themselves only.
          if (isPauseDue()) await pause()
          const next = await facts.next()
          if (next.done === true) {
            await end()
            controller.close()
            return
          }
          controller.enqueue(encoder.encode(frameOf(next.value, idOf(next.value))))
          // Two halves, so that a pause of this process does not hide what the client read meanwhile.
          stall = setTimeout(() => {
            stall = setTimeout(() => {
              cutOff(controller, new Error('the client does not read'))
            }, stallMs / 2)
          }, stallMs / 2)
        } catch (error) {
          if (!signal.aborted) onProblem(error)
          cutOff(controller, error)
        }
      },
      async cancel() {
        await end()
      },
    },
    { highWaterMark: 1 },
  )
  return new Response(body, {
    headers: { ...headers, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
  })
}

const isServerResponse = (outgoing: object): outgoing is Pick<ServerResponse, 'destroy'> =>
  'destroy' in outgoing && typeof outgoing.destroy === 'function'
