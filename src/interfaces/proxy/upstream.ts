/**
 * Sends one request to upstream as bytes. It does not decode, redirect, retry or time out, because the client decides
 * about all of that. `fetch` would decode a compressed body, and would time out if a model takes five minutes.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

/** A request to upstream. */
interface UpstreamRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: Uint8Array | ReadableStream<Uint8Array> | undefined
  readonly signal: AbortSignal
}

/** Headers that belong to one connection and are not forwarded. */
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
 * Returns whether a header is forwarded: not if it belongs to one connection, or is the ledger's own.
 * @param connection the value of the `connection` header, which names further headers of the connection
 */
export function endToEndNames(connection: string | null | undefined): (name: string) => boolean {
  const named = (connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const dropped = new Set([...HOP_BY_HOP, ...named])
  return (name) => !dropped.has(name.toLowerCase()) && !name.toLowerCase().startsWith('x-context-ledger')
}

/** The headers that are forwarded. */
export function endToEnd(headers: Headers): Headers {
  const isForwarded = endToEndNames(headers.get('connection'))
  const forwarded = new Headers()
  for (const [name, value] of headers) if (isForwarded(name)) forwarded.append(name, value)
  return forwarded
}

/**
 * The upstream URL for a path of the proxy. The path follows that of upstream; a version (`/v1`) that both have appears
 * once. Upstream's own parameters (`?api-version=…`) follow those of the request.
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

/** Sends requests over connections that stay open between requests. */
export interface Upstream {
  /** Resolves with the head of the answer; rejects if none arrives. */
  send(request: UpstreamRequest): Promise<IncomingMessage>
  /** Closes the connections. */
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
        // An error after the head of the answer is reported by the answer's stream.
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
