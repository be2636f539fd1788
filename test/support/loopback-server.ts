/** Scripted servers on this machine. */
import type { Server } from 'node:http'
import { once } from 'node:events'

export interface LoopbackServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string
  readonly close: () => Promise<void>
}

/** Starts a server on a free port of 127.0.0.1. `close` also ends open connections. */
export async function listenOnLoopback(server: Server): Promise<LoopbackServer> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('no port')
  return {
    address: `127.0.0.1:${String(bound.port)}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
