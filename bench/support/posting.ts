/** Clients that post messages, in a thread of their own: what they do is not counted as the service's. */
import { Agent, request } from 'node:http'
import { parentPort } from 'node:worker_threads'

/** What a thread of clients is asked for. */
export interface Posting {
  readonly url: string
  readonly clients: number
  /** The messages of each client, which go to a conversation of its own, one behind the other. */
  readonly bodies: readonly (readonly string[])[]
  readonly conversation: string
}

/** Milliseconds of each request, and of all of them. */
export interface Posted {
  readonly times: readonly number[]
  readonly allMs: number
}

let agent: Agent | undefined

async function post(url: string, path: string, body: string): Promise<number> {
  const { hostname, port } = new URL(url)
  const started = performance.now()
  await new Promise<void>((resolve, reject) => {
    const asked = request(
      {
        agent,
        hostname,
        port,
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (answer) => {
        answer.resume()
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve()
          else reject(new Error(`an append was answered by ${String(answer.statusCode)}`))
        })
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
  return performance.now() - started
}

parentPort?.on('message', ({ url, clients, bodies, conversation }: Posting) => {
  agent ??= new Agent({ keepAlive: true, maxSockets: clients })
  const started = performance.now()
  void Promise.all(
    bodies.map(async (own, client) => {
      const path = `/v1/conversations/${conversation}-${String(client)}/messages`
      const times: number[] = []
      for (const body of own) times.push(await post(url, path, body))
      return times
    }),
  ).then((times) => {
    const posted: Posted = { times: times.flat(), allMs: performance.now() - started }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
    parentPort?.postMessage(posted)
  })
})
