/**
 * One request to upstream, as bytes: nothing is decoded, redirected, retried or timed out here, because the client has
 * its own mind about all of that. `fetch` would decode a compressed body and give up a model that thinks for five
 * minutes.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

/** What goes upstream. */
interface Outgoing {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: Uint8Array | ReadableStream<Uint8Array> | undefined
  readonly signal: AbortSignal
}

/** Headers of one connection, and not of the message. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/**
 * Which headers are of the message: those that are of no connection, and not the ledger's own.
 * @param connection what the header of this name names
 */
export function endToEndNames(connection: string | null | undefined): (name: string) => boolean {
  const named = (connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const dropped = new Set([...HOP_BY_HOP, ...named])
  return (name) => !dropped.has(name.toLowerCase()) && !name.toLowerCase().startsWith('x-context-ledger')
}

/** Headers without those of one connection, and without the ledger's own. */
export function endToEnd(headers: Headers): Headers {
  const isKept = endToEndNames(headers.get('connection'))
  const kept = new Headers()
  for (const [name, value] of headers) if (isKept(name)) kept.append(name, value)
  return kept
}

/**
 * Where a path of the proxy is upstream: behind upstream's own path, which may end with the version as the path begins,
 * and with upstream's own parameters (`?api-version=…`) behind those of the request.
 */
export function addressOf(upstream: URL, path: string, search: string): URL {
  const base = upstream.pathname.replace(/\/+$/u, '')
  const version = /\/v\d+$/u.exec(base)?.[0]
  const isDoubled = version !== undefined && (path === version || path.startsWith(`${version}/`))
  const url = new URL(upstream)
  url.pathname = `${base}${isDoubled ? path.slice(version.length) : path}`
  url.search = [search.slice(1), upstream.search.slice(1)].filter((each) => each !== '').join('&')
  url.hash = ''
  return url
}

/** Connections to upstream that are kept open between requests. */
export interface Upstream {
  /** Resolves with the answer's head; rejects where none came. */
  send(outgoing: Outgoing): Promise<IncomingMessage>
  /** Lets go of the connections. */
  close(): void
}

async function writeStream(body: ReadableStream<Uint8Array>, to: NodeJS.WritableStream): Promise<void> {
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (!to.write(value)) await new Promise<void>((resolve) => to.once('drain', resolve))
  }
  to.end()
}

export function createUpstream(): Upstream {
  const agents = {
    http: new HttpAgent({ keepAlive: true }),
    https: new HttpsAgent({ keepAlive: true }),
  }

  return {
    async send({ method, url, headers, body, signal }) {
      const isSecure = url.protocol === 'https:'
      const fields: Record<string, string | string[]> = {}
      for (const [name, value] of headers) fields[name] = value
      fields['host'] = url.host
      if (body instanceof Uint8Array) fields['content-length'] = String(body.byteLength)
      const { username, password } = url
      if (username !== '' && fields['authorization'] === undefined)
        fields['authorization'] =
          `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`
      return await new Promise<IncomingMessage>((resolve, reject) => {
        const request = (isSecure ? httpsRequest : httpRequest)(
          {
            protocol: url.protocol,
            hostname: url.hostname.replace(/^\[|\]$/gu, ''),
            port: url.port,
            path: `${url.pathname}${url.search}`,
            method,
            headers: fields,
            agent: isSecure ? agents.https : agents.http,
            signal,
          },
          resolve,
        )
        request.once('error', reject)
        // What breaks behind the answer's head is told by the answer.
        request.on('error', () => undefined)
        if (body instanceof ReadableStream)
          writeStream(body, request).catch((error: unknown) => {
            request.destroy(error instanceof Error ? error : new Error(String(error)))
          })
        else request.end(body)
      })
    },
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}
