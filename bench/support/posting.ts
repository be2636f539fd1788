/**
 * Clients that post messages, in a separate thread over persistent connections. They write bytes and read up to the
 * content length, as load generators do: a client that parses HTTP took as long as the service itself.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'

/** The work of a thread of clients. */
export interface Posting {
  readonly url: string
  /** The messages of each client. Each client has its own conversation and posts sequentially. */
  readonly bodies: readonly (readonly string[])[]
  readonly conversation: string
}

/** Milliseconds of each request, and of all of them. */
export interface Posted {
  readonly times: readonly number[]
  readonly allMs: number
}

/** Returns complete answers one by one. */
function answersOf(socket: Socket): () => Promise<string> {
  let unread = ''
  let give: ((answer: string) => void) | undefined
  let fail: ((error: Error) => void) | undefined
  socket.on('close', () => {
    fail?.(new Error('the connection ended before the answer'))
  })
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    unread += chunk
    const head = unread.indexOf('\r\n\r\n')
    const [, length] = /^content-length: (\d+)/imu.exec(unread) ?? []
    if (head === -1 || unread.length < head + 4 + Number(length)) return
    const answer = unread
    unread = ''
    give?.(answer)
  })
  return () =>
    new Promise((resolve, reject) => {
      give = resolve
      fail = reject
    })
}

/** Posts messages sequentially over one connection, and returns the milliseconds of each. */
async function postEach(url: string, path: string, bodies: readonly string[]): Promise<number[]> {
  const { hostname, port, host } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  const next = answersOf(socket)
  const times: number[] = []
  for (const body of bodies) {
    const started = performance.now()
    const answered = next()
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
    )
    const answer = await answered
    times.push(performance.now() - started)
    if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`an append was answered by ${answer.slice(0, 200)}`)
  }
  socket.destroy()
  return times
}

async function postAll({ url, bodies, conversation }: Posting): Promise<Posted> {
  const started = performance.now()
  const times = await Promise.all(
    bodies.map(async (own, client) =>
      postEach(url, `/v1/conversations/${conversation}-${String(client)}/messages`, own),
    ),
  )
  return { times: times.flat(), allMs: performance.now() - started }
}

parentPort?.on('message', (posting: Posting) => {
  void (async () => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and no window
    parentPort?.postMessage(await postAll(posting))
  })()
})
