/**
 * `/metrics` and `/health` of a worker process, for Prometheus and container orchestration. There is no authentication;
 * by default the server listens on the loopback address only.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { sentenceOf } from '../../../ports/store-error.js'
import { unusableAddress } from '../port.js'
import { toWire } from '../../../domain/values/revision.js'

export interface Health {
  /** False if the process needs attention from an operator: 503. */
  readonly ok: boolean
  /** Returned in the same JSON document. */
  readonly details: Readonly<Record<string, unknown>>
}

export interface MetricsServerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly register: Registry
  readonly health: () => Promise<Health>
}

export interface MetricsServer {
  /** The address, as `http://host:port`. */
  readonly url: string
  close(): Promise<void>
}

/** Serves metrics and health until `close`. Throws a `LedgerError` if it cannot listen. */
export async function startMetricsServer({
  host,
  port,
  register,
  health,
}: MetricsServerOptions): Promise<MetricsServer> {
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    if (path === '/metrics') {
      send(response, 200, register.contentType, await register.metrics())
    } else if (path === '/health') {
      const { ok, details } = await health()
      send(
        response,
        ok ? 200 : 503,
        'application/json; charset=utf-8',
        `${toWire({ status: ok ? 'ok' : 'stopped', ...details })}\n`,
      )
    } else {
      send(response, 404, 'text/plain; charset=utf-8', 'available routes: /metrics and /health\n')
    }
  }
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, 'text/plain; charset=utf-8', 'only GET is allowed\n')
      return
    }
    // Without the database the process cannot work either.
    answer((request.url ?? '').replace(/\?.*$/u, ''), response).catch((failure: unknown) => {
      send(
        response,
        503,
        'application/json; charset=utf-8',
        `${toWire({ status: 'unknown', reason: sentenceOf(failure) })}\n`,
      )
    })
  })
  await listen(server, host, port)
  // An unread scrape must not keep the process from ending.
  server.unref()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has an address of this kind
  const address = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${String(address.port)}`,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      })
    },
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
  response.end(body)
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const sentence = `cannot serve metrics on ${host}, port ${String(port)}`
      const known = unusableAddress(error, sentence, '--metrics-port')
      reject(known === error ? new LedgerError('PortUnusable', `${sentence}: ${sentenceOf(error)}`) : known)
    })
    server.listen({ host, port, exclusive: true }, resolve)
  })
}
