/** A tenant of a service, in a separate thread: it works quietly and measures each answer, or floods the service. */
import { Agent, request } from 'node:http'
import { parentPort } from 'node:worker_threads'

export interface TenantRequest {
  readonly method: 'GET' | 'POST'
  /** `#` is replaced with another number in each request, as in the body. */
  readonly path: string
  readonly body?: string
}

/** Requests of one kind, made again and again. */
export interface Work {
  readonly url: string
  readonly key: string
  /** Made one after the other; the times are kept by name. */
  readonly requests: Readonly<Record<string, TenantRequest>>
  /** Number of these sequences that run concurrently. */
  readonly atOnce: number
  readonly ms: number
  /** True for event streams: they stay open until the end. */
  readonly areStreams?: boolean
}

/** Milliseconds of each answered request by its name, and how often each status was answered. */
export interface Worked {
  readonly times: Readonly<Record<string, readonly number[]>>
  readonly statuses: Readonly<Record<string, number>>
}

let number = 0

function ask(
  agent: Agent,
  { url, key }: Work,
  { method, path, body }: TenantRequest,
  openMs?: number,
): Promise<{ status: number; ms: number }> {
  number += 1
  const sent = body?.replaceAll('#', String(number))
  const ownPath = path.replace('#', String(number))
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const started = performance.now()
    const end = (status: number): void => {
      resolve({ status, ms: performance.now() - started })
    }
    const sending = request(
      {
        agent,
        hostname,
        port,
        method,
        path: ownPath,
        headers: {
          authorization: `Bearer ${key}`,
          ...(sent === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
        },
      },
      (answer) => {
        answer.on('error', () => undefined)
        answer.resume()
        if (openMs !== undefined && answer.statusCode === 200)
          setTimeout(() => {
            sending.destroy()
            end(200)
          }, openMs)
        else
          answer.on('close', () => {
            end(answer.statusCode ?? 0)
          })
      },
    )
    sending.on('error', () => {
      end(0)
    })
    // A service may close the connection of a refused body while it is still being sent.
    sending.on('socket', (socket) => {
      if (socket.listenerCount('error') < 3) socket.on('error', () => undefined)
    })
    sending.end(sent)
  })
}

async function makeRequests(work: Work): Promise<Worked> {
  const { requests, atOnce, ms, areStreams = false } = work
  const agent = new Agent({ keepAlive: true })
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(requests).map((name) => [name, []]))
  const statuses: Record<string, number> = {}
  const until = performance.now() + ms
  const sequence = async (): Promise<void> => {
    while (performance.now() < until)
      for (const [name, each] of Object.entries(requests)) {
        const { status, ms: took } = await ask(agent, work, each, areStreams ? until - performance.now() : undefined)
        statuses[status] = (statuses[status] ?? 0) + 1
        if (status < 300) times[name]?.push(took)
      }
  }
  await Promise.all(Array.from({ length: atOnce }, sequence))
  agent.destroy()
  return { times, statuses }
}

parentPort?.on('message', (work: Work) => {
  void (async () => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
    parentPort?.postMessage(await makeRequests(work))
  })()
})
