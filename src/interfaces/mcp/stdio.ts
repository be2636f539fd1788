/** Serves MCP on standard input and output, for the client that started the process. Nothing else may write to them. */
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { Readable, Writable } from 'node:stream'
import type { Mcp } from './create-mcp.js'

/** A transport with a promise for its end: the client closed it, or sent invalid data. */
class ClosableTransport extends StdioServerTransport {
  readonly closed: Promise<void>
  private resolveClosed: () => void = () => undefined

  constructor(input: Readable, output: Writable) {
    super(input, output)
    this.closed = new Promise((resolve) => {
      this.resolveClosed = resolve
    })
  }

  override async close(): Promise<void> {
    await super.close()
    this.resolveClosed()
  }
}

/** Replaces the schema errors of an invalid line by one sentence. */
const readableProblem = (problem: unknown): unknown =>
  problem instanceof Error && (problem.name === 'ZodError' || problem instanceof SyntaxError)
    ? new Error('the client sent a line that is not a JSON-RPC 2.0 message: the line was ignored', { cause: problem })
    : problem

/** A connected client. */
export interface ServedClient {
  /** Resolves when the client has disconnected. */
  readonly disconnected: Promise<void>
  /** Closes the connection. */
  readonly close: () => Promise<void>
}

/** Serves the client of two streams until it disconnects. */
export function serveClient(
  mcp: Pick<Mcp, 'server'>,
  input: Readable,
  output: Writable,
  onProblem: (problem: unknown) => void,
): ServedClient {
  const transport = new ClosableTransport(input, output)
  const handle = serveStdio(mcp.server, {
    transport,
    onerror: (problem) => {
      onProblem(readableProblem(problem))
    },
  })
  return { disconnected: transport.closed, close: () => handle.close() }
}
