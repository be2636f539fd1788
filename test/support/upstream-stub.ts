/**
 * A model's API on this machine, for proxies: it answers from a script, keeps each request byte for byte, and
 * misbehaves on request.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'

/** A request as it came. */
export interface UpstreamCall {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
  /** Resolves when the connection of this request is closed. */
  readonly closed: Promise<void>
}

/** How a request is answered. */
export type UpstreamAnswer =
  | {
      readonly status?: number
      readonly json: unknown
      readonly headers?: Readonly<Record<string, string>>
      readonly gzip?: true
    }
  /** Chunks as they are written; `cut` breaks the connection after the last one, `hang` leaves it open. */
  | {
      readonly chunks: readonly string[]
      readonly headers?: Readonly<Record<string, string>>
      readonly ending?: 'cut' | 'hang'
    }
  | 'reset'
  | 'silence'

export interface UpstreamStub {
  /** Without a path. */
  readonly url: string
  readonly calls: UpstreamCall[]
  /** Takes the place of the script: one answer a call, the last one for ever. */
  answerWith(...answers: readonly (UpstreamAnswer | ((call: UpstreamCall) => UpstreamAnswer))[]): void
  close(): Promise<void>
}

export async function writeAnswer(response: ServerResponse, answer: UpstreamAnswer): Promise<void> {
  if (answer === 'silence') return
  if (answer === 'reset') {
    response.destroy()
    return
  }
  if ('json' in answer) {
    const text = JSON.stringify(answer.json)
    const bytes = answer.gzip === true ? gzipSync(text) : Buffer.from(text)
    response.writeHead(answer.status ?? 200, {
      'content-type': 'application/json',
      'content-length': String(bytes.byteLength),
      'x-request-id': 'req_stub',
      ...(answer.gzip === true ? { 'content-encoding': 'gzip' } : {}),
      ...answer.headers,
    })
    response.end(bytes)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_stub', ...answer.headers })
  for (const chunk of answer.chunks) {
    response.write(chunk)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  if (answer.ending === 'cut') response.destroy()
  else if (answer.ending === undefined) response.end()
}

/** Starts one. */
export async function startUpstream(): Promise<UpstreamStub> {
  const calls: UpstreamCall[] = []
  let script: readonly (UpstreamAnswer | ((call: UpstreamCall) => UpstreamAnswer))[] = [{ json: {} }]
  let next = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    const closed = new Promise<void>((resolve) => {
      response.once('close', resolve)
    })
    response.on('error', () => undefined)
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      let body: UpstreamCall['body'] = {}
      try {
        body = z.record(z.string(), z.unknown()).parse(JSON.parse(text))
      } catch {
        // A request without a body.
      }
      const call: UpstreamCall = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        text,
        body,
        closed,
      }
      calls.push(call)
      const answer = script[Math.min(next, script.length - 1)] ?? { json: {} }
      next += 1
      void writeAnswer(response, typeof answer === 'function' ? answer(call) : answer)
    })
  })
  // On a loaded machine, a request could use a connection that the server is closing.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  return {
    url: `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : '')}`,
    calls,
    answerWith(...answers) {
      script = answers
      next = 0
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
      })
    },
  }
}
