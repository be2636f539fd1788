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

/** A line that is no message is told in a sentence, and not as the list of what each schema misses in it. */
const told = (problem: unknown): unknown =>
  problem instanceof Error && (problem.name === 'ZodError' || problem instanceof SyntaxError)
    ? new Error('the client sent a line that is no message of JSON-RPC 2.0: it was passed over', { cause: problem })
    : problem

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
  const handle = serveStdio(mcp.server, {
    transport,
    onerror: (problem) => {
      onProblem(told(problem))
    },
  })
  return { gone: transport.closed, close: () => handle.close() }
}
