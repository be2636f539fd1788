/** Scripted servers on this machine. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'

/** A status with a body and headers. */
export type ScriptedAnswer = readonly [status: number, body?: unknown, headers?: Readonly<Record<string, string>>]

/** A body that is no JSON, or what a server does instead of an answer. */
export type Interference = ScriptedAnswer | 'hang' | 'cut' | { readonly text: string } | undefined

export interface ScriptedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Readonly<Record<string, unknown>>
}

export interface ScriptedServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string
  /** Received calls, as `nameOf` names them. */
  readonly calls: string[]
  /** Headers of the last call. */
  readonly headers: () => IncomingHttpHeaders
  /** Answers these calls instead; undefined leaves a call to the server. */
  interfere: (call: string) => Interference
  readonly close: () => Promise<void>
}

/**
 * Starts a server on a free port of 127.0.0.1 that answers with JSON. `close` also ends open connections.
 * @param nameOf the name of a call in `calls` and for `interfere`
 */
export async function startScripted(
  answer: (request: ScriptedRequest) => ScriptedAnswer,
  nameOf: (request: ScriptedRequest) => string = ({ method, path }) => `${method} ${path}`,
): Promise<ScriptedServer> {
  const calls: string[] = []
  let headers: IncomingHttpHeaders = {}
  const server = createServer((incoming, response) => {
    void (async () => {
      const { method = '', url: path = '' } = incoming
      const text = Buffer.concat(await incoming.toArray()).toString('utf8')
      const body: Record<string, unknown> = text === '' ? {} : Object(JSON.parse(text))
      const request = { method, path, headers: incoming.headers, body }
      headers = incoming.headers
      const name = nameOf(request)
      calls.push(name)
      const scripted = self.interfere(name)
      if (scripted === 'hang') return
      if (scripted === 'cut') {
        incoming.socket.destroy()
        return
      }
      if (scripted !== undefined && 'text' in scripted) {
        response.writeHead(200, { 'content-type': 'text/html' }).end(scripted.text)
        return
      }
      const [status, value, more] = scripted ?? answer(request)
      response.writeHead(status, { 'content-type': 'application/json', ...more })
      response.end(value === undefined ? undefined : JSON.stringify(value))
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('no port')
  const self: ScriptedServer = {
    address: `127.0.0.1:${String(bound.port)}`,
    calls,
    headers: () => headers,
    interfere: () => undefined,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return self
}
