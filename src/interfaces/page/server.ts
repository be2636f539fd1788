/** Serves the page on a loopback port. */
import { serve, type ServerType } from '@hono/node-server'
import type { AddressInfo } from 'node:net'
import { createApp } from './app.js'
import type { AppOptions } from './routes/page-services.js'
import { guard, newToken } from './security.js'

export interface PageOptions extends Pick<AppOptions, 'ledger' | 'name'> {
  /** 0 picks a free port. */
  readonly port: number
}

/** A running page server. */
export interface Page {
  /** The address, including the token. */
  readonly url: string
  close(): Promise<void>
}

/** Loopback only. */
const HOST = '127.0.0.1'

/** Serves the page until `close`. Throws if it cannot listen on the port. */
export async function startPage({ ledger, name, port }: PageOptions): Promise<Page> {
  const token = newToken()
  let listens = port
  const app = createApp({
    ledger,
    name,
    guard: guard({ token, port: () => listens, startedAt: new Date() }),
    now: () => new Date(),
  })
  const server = await new Promise<ServerType>((resolve, reject) => {
    const made = serve({ fetch: app.fetch, hostname: HOST, port, overrideGlobalObjects: false }, () => {
      resolve(made)
    })
    made.once('error', reject)
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has an address of this kind
  listens = (server.address() as AddressInfo).port
  return {
    url: `http://${HOST}:${String(listens)}/?token=${token}`,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
        if ('closeAllConnections' in server) server.closeAllConnections()
      })
    },
  }
}
