/**
 * The server on a port of this machine, by streamable HTTP: for who knows the token, by a name of this machine (a name
 * that leads here from elsewhere is refused by its Host header), and from no web page of another origin.
 */
import { serve, type ServerType } from '@hono/node-server'
import { localhostAllowedOrigins, originValidationResponse } from '@modelcontextprotocol/server'
import type { AddressInfo } from 'node:net'
import { isOwnHost, newToken, same } from '../page/security.js'
import type { Mcp } from './create-mcp.js'

/** The path that clients ask. */
const MCP_PATH = '/mcp'
/** Only this machine reaches it. */
const HOST = '127.0.0.1'

/** A server that is served. */
export interface ServedMcp {
  /** Its address. */
  readonly url: string
  /** What clients send as `Authorization: Bearer …`. */
  readonly token: string
  close(): Promise<void>
}

const refused = (status: number, error: string, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_000, message: error } }, { status, headers })

/** Lets through who knows the token. */
function guarded({ fetch }: Pick<Mcp, 'fetch'>, token: string, port: () => number) {
  return async (request: Request): Promise<Response> => {
    if (!isOwnHost(request.headers.get('host') ?? undefined, port()))
      return refused(421, 'this name is not the server’s own')
    const elsewhere = originValidationResponse(request, localhostAllowedOrigins())
    if (elsewhere !== undefined) return elsewhere
    const [, given = ''] = /^Bearer +(\S+)$/iu.exec(request.headers.get('authorization') ?? '') ?? []
    if (!same(given, token))
      return refused(401, 'send the token that `context-ledger mcp` printed, as Authorization: Bearer TOKEN', {
        'www-authenticate': 'Bearer',
      })
    if (new URL(request.url).pathname !== MCP_PATH) return refused(404, `there is nothing here: ask ${MCP_PATH}`)
    return await fetch(request)
  }
}

/** Serves it until `close`; port 0 takes any that is free. Throws where it cannot listen there. */
export async function serveMcp(mcp: Pick<Mcp, 'fetch' | 'close'>, port: number): Promise<ServedMcp> {
  const token = newToken()
  let listens = port
  const fetch = guarded(mcp, token, () => listens)
  const server = await new Promise<ServerType>((resolve, reject) => {
    const made = serve({ fetch, hostname: HOST, port, overrideGlobalObjects: false }, () => {
      resolve(made)
    })
    made.once('error', reject)
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has an address of this kind
  listens = (server.address() as AddressInfo).port
  return {
    url: `http://${HOST}:${String(listens)}${MCP_PATH}`,
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
