/** The page on a port of this machine: one process serves it to whoever has its address. */
import { serve, type ServerType } from '@hono/node-server'
import type { AddressInfo } from 'node:net'
import { createApp, type AppOptions } from './app.js'
import { guard, newToken } from './security.js'

/** What to serve, and where. */
export interface PageOptions extends Pick<AppOptions, 'ledger' | 'name' | 'words'> {
  /** 0 takes any that is free. */
  readonly port: number
}

/** A page that is served. */
export interface Page {
  /** Its address, with the token in it. */
  readonly url: string
  close(): Promise<void>
}

/** Only this machine reaches it. */
const HOST = '127.0.0.1'

/** Serves the page until `close`. Throws where it cannot listen there. */
export async function startPage({ ledger, name, words, port }: PageOptions): Promise<Page> {
  const token = newToken()
  let listens = port
  const app = createApp({ ledger, name, words, guard: guard({ token, port: () => listens }), now: () => new Date() })
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
