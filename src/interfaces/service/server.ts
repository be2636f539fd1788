/** The service on a port: it listens until `close`, and then lets what it has begun come to its end. */
import { serve, type ServerType } from '@hono/node-server'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createService, type Service, type ServiceOptions } from './app.js'
import { USUAL } from './limits.js'

/** Where to listen, and by which certificate. */
export interface ServerOptions extends Omit<ServiceOptions, 'ownPort'> {
  readonly host: string
  /** 0 takes any that is free. */
  readonly port: number
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Whether it may run without keys. */
  readonly mayBeOpen: boolean
  /** Milliseconds that requests have at the end. Default 20,000. */
  readonly graceMs?: number
}

/** A service that listens. */
export interface Server {
  /** Its address, for instance `http://127.0.0.1:7411`. */
  readonly url: string
  readonly service: Service
  /** Takes no more, lets requests that are under way end, and then lets go. The ledger stays open. */
  close(): Promise<void>
}

const GRACE_MS = 20_000
const HEADERS_MS = 15_000

/** Serves until `close`. Throws where it cannot listen there. */
export async function startService(options: ServerOptions): Promise<Server> {
  const { host, port, tls, mayBeOpen, graceMs = GRACE_MS } = options
  let listens = port
  const service = createService({ ...options, ...(mayBeOpen ? { ownPort: () => listens } : {}) })
  const requestTimeout = (options.limits?.requestMs ?? USUAL.requestMs) + 5_000
  const times = { headersTimeout: Math.min(HEADERS_MS, requestTimeout), requestTimeout }
  const how =
    tls === undefined
      ? { createServer, serverOptions: times }
      : { createServer: createTlsServer, serverOptions: { ...times, ...tls, minVersion: 'TLSv1.2' as const } }
  const server = await new Promise<ServerType>((resolve, reject) => {
    const made = serve({ fetch: service.app.fetch, hostname: host, port, overrideGlobalObjects: false, ...how }, () => {
      resolve(made)
    })
    made.once('error', reject)
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has an address of this kind
  listens = (server.address() as AddressInfo).port
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    service.drain()
    const closed = new Promise<void>((resolve) => {
      server.close(() => {
        resolve()
      })
    })
    // Connections that are kept alive end as soon as nothing is under way on them.
    const idle = setInterval(() => {
      if ('closeIdleConnections' in server) server.closeIdleConnections()
    }, 50)
    const late = setTimeout(() => {
      if ('closeAllConnections' in server) server.closeAllConnections()
    }, graceMs)
    await closed
    clearInterval(idle)
    clearTimeout(late)
    await service.stop()
  }

  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${String(listens)}`,
    service,
    close: () => (closing ??= close()),
  }
}
