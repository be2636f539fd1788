/** Serves the proxy on a local port. */
import { serve, type ServerType } from '@hono/node-server'
import { Hono } from 'hono'
import type { AddressInfo } from 'node:net'
import { isFromOtherSite } from '../../lib/cross-site.js'
import { createProxy } from './create-proxy.js'
import type { ProxyOptions } from './proxy-state.js'

/** Options of `startProxy`. */
export interface ProxyServerOptions extends ProxyOptions {
  /** 0: any free port. */
  readonly port: number
}

/** A running proxy server. */
export interface ProxyServer {
  /** Its base URL, without a path. */
  readonly url: string
  /** Resolves when all answers so far are recorded. */
  settled(): Promise<void>
  /** Accepts no more requests, waits up to `graceMs` for those that run, and records their answers. */
  close(graceMs?: number): Promise<void>
}

/** The server is reachable from this machine only. */
const HOST = '127.0.0.1'
const GRACE_MS = 5_000

/** The names of the local machine. */
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/iu

/** Whether a page of another site made a browser send a request, or its host name only resolves to this machine. */
const isForeign = (headers: Headers): boolean => !LOOPBACK.test(headers.get('host') ?? '') || isFromOtherSite(headers)

/** Serves the proxy until `close`. Throws if it cannot listen on the port. */
export async function startProxy({ port, ...options }: ProxyServerOptions): Promise<ProxyServer> {
  const proxy = createProxy(options)
  const app = new Hono()
  app.use(async (context, next) => {
    if (isForeign(context.req.raw.headers))
      return context.text('this proxy serves only programs on this machine, not pages of other sites\n', 403)
    await next()
    return undefined
  })
  app.all('*', ({ req, env }) => proxy.fetch(req.raw, Object(env)))
  const server = await new Promise<ServerType>((resolve, reject) => {
    const started = serve({ fetch: app.fetch, hostname: HOST, port, overrideGlobalObjects: false }, () => {
      resolve(started)
    })
    started.once('error', reject)
  })
  // A model may take longer than the default request timeout of the server.
  if ('requestTimeout' in server) server.requestTimeout = 0
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has an address of this kind
  const listeningPort = (server.address() as AddressInfo).port
  return {
    url: `http://${HOST}:${String(listeningPort)}`,
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
