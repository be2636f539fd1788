/** Passes connections on to a server of this machine, and keeps what the clients send. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'

export interface RecordingRelay {
  readonly port: number
  /** All bytes that were sent to the server. */
  received(): Buffer
  close(): Promise<void>
}

/** Starts a relay to a port. */
export async function startRelay(to: number): Promise<RecordingRelay> {
  const chunks: Buffer[] = []
  const sockets = new Set<{ destroy(): unknown }>()
  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk: Buffer) => chunks.push(chunk))
    client.pipe(upstream)
    upstream.pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has such an address
    port: (server.address() as AddressInfo).port,
    received: () => Buffer.concat(chunks),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
