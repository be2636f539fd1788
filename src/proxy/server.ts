/** The proxy on a port of this machine. */
import { serve, type ServerType } from '@hono/node-server'
import { Hono } from 'hono'
import type { AddressInfo } from 'node:net'
import { createProxy, type ProxyOptions } from './create-proxy.js'

/** The proxy, and where it listens. */
export interface ProxyServerOptions extends ProxyOptions {
  /** 0 takes any that is free. */
  readonly port: number
}

/** A proxy that listens. */
export interface ProxyServer {
  /** Its address, without a path. */
  readonly url: string
  /** Waits until what was answered so far is recorded. */
  settled(): Promise<void>
  /** Takes nothing more, lets what runs come to its end for so long, and records what was answered. */
  close(graceMs?: number): Promise<void>
}

/** Only this machine reaches it. */
const HOST = '127.0.0.1'
const GRACE_MS = 5_000

/** The names that this machine calls itself by. */
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/iu

/** Whether a request comes from a page of another site, or by a name that leads here from elsewhere. */
function isForeign(headers: Headers): boolean {
  const origin = headers.get('origin')
  if (!LOOPBACK.test(headers.get('host') ?? '')) return true
  if (origin === null) return false
  const host = URL.canParse(origin) ? new URL(origin).host : origin
  return !LOOPBACK.test(host)
}

/** Serves the proxy until `close`. Throws where it cannot listen there. */
export async function startProxy({ port, ...options }: ProxyServerOptions): Promise<ProxyServer> {
  const proxy = createProxy(options)
  const app = new Hono()
  app.use(async (context, next) => {
    if (isForeign(context.req.raw.headers))
      return context.text('this proxy serves programs on this machine, and no pages of other sites\n', 403)
    await next()
    return undefined
  })
  app.route('/', proxy)
  const server = await new Promise<ServerType>((resolve, reject) => {
    const made = serve({ fetch: app.fetch, hostname: HOST, port, overrideGlobalObjects: false }, () => {
      resolve(made)
    })
    made.once('error', reject)
  })
  // A model may think for longer than a server waits for a request by itself.
  if ('requestTimeout' in server) server.requestTimeout = 0
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has an address of this kind
  const listens = (server.address() as AddressInfo).port
  return {
    url: `http://${HOST}:${String(listens)}`,
    settled: () => proxy.settled(),
    async close(graceMs = GRACE_MS) {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
      })
      if ('closeIdleConnections' in server) server.closeIdleConnections()
      const timer = setTimeout(() => {
        if ('closeAllConnections' in server) server.closeAllConnections()
      }, graceMs)
      await closed
      clearTimeout(timer)
      await proxy.close()
    },
  }
}
