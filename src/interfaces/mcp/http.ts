/**
 * Serves MCP on a local port by streamable HTTP. A request needs the token, a Host header with a name of this machine (a
 * foreign name that resolves to this machine is rejected), and must not come from a web page of another origin.
 */
import { serve, type ServerType } from '@hono/node-server'
import { localhostAllowedOrigins, originValidationResponse } from '@modelcontextprotocol/server'
import type { AddressInfo } from 'node:net'
import { isOwnHost, newToken, same } from '../page/security.js'
import type { Mcp } from './create-mcp.js'

/** The path of the endpoint. */
const MCP_PATH = '/mcp'
/** The server is reachable from this machine only. */
const HOST = '127.0.0.1'

/** A running MCP server. */
export interface ServedMcp {
  /** The URL of the endpoint. */
  readonly url: string
  /** The token that clients send as `Authorization: Bearer …`. */
  readonly token: string
  close(): Promise<void>
}

const errorResponse = (status: number, error: string, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_000, message: error } }, { status, headers })

/** Accepts only requests with the token. */
function guarded({ fetch }: Pick<Mcp, 'fetch'>, token: string, port: () => number) {
  return async (request: Request): Promise<Response> => {
    if (!isOwnHost(request.headers.get('host') ?? undefined, port()))
      return errorResponse(421, 'the Host header does not name this server')
    const foreignOrigin = originValidationResponse(request, localhostAllowedOrigins())
    if (foreignOrigin !== undefined) return foreignOrigin
    const [, receivedToken = ''] = /^Bearer +(\S+)$/iu.exec(request.headers.get('authorization') ?? '') ?? []
    if (!same(receivedToken, token))
      return errorResponse(401, 'send the token that `context-ledger mcp` printed, as Authorization: Bearer TOKEN', {
        'www-authenticate': 'Bearer',
      })
    if (new URL(request.url).pathname !== MCP_PATH) return errorResponse(404, `not found: the endpoint is ${MCP_PATH}`)
    return await fetch(request)
  }
}

/** Serves MCP until `close`. Port 0: any free port. Throws if it cannot listen on the port. */
export async function serveMcp(mcp: Pick<Mcp, 'fetch' | 'close'>, port: number): Promise<ServedMcp> {
  const token = newToken()
  let listeningPort = port
  const fetch = guarded(mcp, token, () => listeningPort)
  const server = await new Promise<ServerType>((resolve, reject) => {
    const started = serve({ fetch, hostname: HOST, port, overrideGlobalObjects: false }, () => {
      resolve(started)
    })
    started.once('error', reject)
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has an address of this kind
  listeningPort = (server.address() as AddressInfo).port
  return {
    url: `http://${HOST}:${String(listeningPort)}${MCP_PATH}`,
    token,
    async close() {
      await mcp.close()
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
        if ('closeAllConnections' in server) server.closeAllConnections()
      })
    },
  }
}
