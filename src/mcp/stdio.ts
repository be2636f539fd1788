/** The server on standard input and output, for the one client that started it. Nobody else may write there. */
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { Readable, Writable } from 'node:stream'
import type { Mcp } from './create-mcp.js'

/** A transport that tells when it is closed: its client has gone, or sent what cannot be taken. */
class Watched extends StdioServerTransport {
  readonly closed: Promise<void>
  private told: () => void = () => undefined

  constructor(input: Readable, output: Writable) {
    super(input, output)
    this.closed = new Promise((resolve) => {
      this.told = resolve
    })
  }

  override async close(): Promise<void> {
    await super.close()
    this.told()
  }
}

/** A client that is served. */
export interface ServedClient {
  /** Resolves when the client has gone. */
  readonly gone: Promise<void>
  /** Lets it go. */
  readonly close: () => Promise<void>
}

/** Serves the client behind two streams until it goes. */
export function serveClient(
  mcp: Pick<Mcp, 'server'>,
  input: Readable,
  output: Writable,
  onProblem: (problem: unknown) => void,
): ServedClient {
  const transport = new Watched(input, output)
  const handle = serveStdio(mcp.server, { transport, onerror: onProblem })
  return { gone: transport.closed, close: () => handle.close() }
}
