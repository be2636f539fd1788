/**
 * What a process that works in the background says of itself, for Prometheus and for whoever restarts containers:
 * `/metrics` and `/health`. Two routes need no framework. There is no authentication: it listens where it is told to,
 * on this machine alone by default.
 */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { codeOf, sentenceOf } from '../../ports/store-error.js'
import { InputError } from '../errors.js'
import { toJson } from '../output.js'

export interface Health {
  /** False where the process cannot do its work until somebody looks: 503. */
  readonly ok: boolean
  /** Shown beside it as JSON; a bigint becomes a decimal string. */
  readonly details: Readonly<Record<string, unknown>>
}

export interface MetricsServerOptions {
  readonly host: string
  /** 0 takes any that is free. */
  readonly port: number
  readonly register: Registry
  readonly health: () => Promise<Health>
}

export interface MetricsServer {
  /** Where it listens, as `http://host:port`. */
  readonly url: string
  close(): Promise<void>
}

/** Serves metrics and health until `close`. Throws an `InputError` where it cannot listen there. */
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
        `${toJson({ status: ok ? 'ok' : 'stopped', ...details })}\n`,
      )
    } else {
      send(response, 404, 'text/plain; charset=utf-8', 'there are /metrics and /health\n')
    }
  }
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, 'text/plain; charset=utf-8', 'only GET\n')
      return
    }
    // A database that does not answer is one that the process cannot work with either.
    answer((request.url ?? '').replace(/\?.*$/u, ''), response).catch((failure: unknown) => {
      send(
        response,
        503,
        'application/json; charset=utf-8',
        `${toJson({ status: 'unknown', reason: sentenceOf(failure) })}\n`,
      )
    })
  })
  await listening(server, host, port)
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

async function listening(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const where = `${host}, port ${String(port)}`
      const code = codeOf(error)
      const reason =
        code === 'EADDRINUSE'
          ? 'another program listens there'
          : code === 'EACCES'
            ? 'this user may not listen there'
            : sentenceOf(error)
      reject(
        new InputError('PortUnusable', `cannot serve metrics at ${where}: ${reason}; --metrics-port names another`),
      )
    })
    server.listen({ host, port, exclusive: true }, resolve)
  })
}
