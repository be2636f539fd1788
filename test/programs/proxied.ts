/** The proxy as shipped, between a program and its model, with a relay before it that keeps what the program sends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http'
import { createInterface } from 'node:readline'
import type { Trial } from './trial.js'

/** A request of the program, and the answer of the proxy. */
export interface RelayedRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body byte for byte, as base64. */
  readonly bytes: string
  status: number | undefined
  /** Headers of the answer. */
  answerHeaders: IncomingHttpHeaders
}

/** Passes every request to `target`, and keeps it. */
async function startRelay(target: string, requests: RelayedRequest[]): Promise<{ server: Server; url: string }> {
  const server = createServer((incoming, outgoing) => {
    outgoing.on('error', () => undefined)
    void (async () => {
      const bytes = Buffer.concat(await incoming.toArray())
      const { method = '', url: path = '/', headers } = incoming
      const relayed: RelayedRequest = {
        method,
        path,
        headers,
        bytes: bytes.toString('base64'),
        status: undefined,
        answerHeaders: {},
      }
      requests.push(relayed)
      const { connection: _connection, 'transfer-encoding': _encoding, ...passed } = headers
      const forwarded = httpRequest(new URL(path, target), {
        method,
        headers: { ...passed, host: new URL(target).host, 'content-length': String(bytes.byteLength) },
      })
      outgoing.on('close', () => forwarded.destroy())
      forwarded.on('error', () => outgoing.destroy())
      forwarded.on('response', (answer) => {
        relayed.status = answer.statusCode
        relayed.answerHeaders = answer.headers
        outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
        answer.on('error', () => outgoing.destroy())
        answer.pipe(outgoing)
      })
      forwarded.end(bytes)
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return { server, url: `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : '')}` }
}

/** A running proxy. */
export interface RunningProxy {
  /** Requests of the program, in the order in which they arrived. */
  readonly requests: readonly RelayedRequest[]
  /** What the proxy has written to standard error so far. */
  output(): string
  /** Ends the proxy after it has recorded all answers. */
  end(): Promise<void>
}

/** Starts `context-ledger proxy WORDS` before the model of a trial, and points the program at it. */
export async function startProxyOf(trial: Trial, ...words: readonly string[]): Promise<RunningProxy> {
  const [file = '', ...command] = trial.ledgerCommand(['proxy', '--upstream', trial.model.url, '--port', '0', ...words])
  const child = spawn(file, command, {
    cwd: trial.site.project,
    env: trial.ledgerEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const closed = once(child, 'close')
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), closed.then(() => [undefined])])
  const url: unknown = line[0]
  if (typeof url !== 'string') throw new Error(`the proxy did not start: ${output}`)
  const requests: RelayedRequest[] = []
  const relay = await startRelay(url, requests)
  await trial.pointAt(relay.url)
  return {
    requests,
    output: () => output,
    async end() {
      const ended = once(relay.server, 'close')
      relay.server.close()
      relay.server.closeAllConnections()
      await ended
      child.kill('SIGINT')
      await closed
    },
  }
}
