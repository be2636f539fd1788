/** `mcp`: serves the ledger to Model Context Protocol clients, on standard input and output or on a port. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { text, toggle, type CliCommand } from '../command.js'
import { failureNotes, line, note, noteColours } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { portOf, unusablePort } from '../port.js'

export const mcp: CliCommand = {
  words: 'mcp',
  describe: 'Serve the ledger to agents over MCP: messages, summaries and what compaction lost',
  uses: ['open', 'record', 'summarize', 'search', 'recall'],
  options: {
    conversation: text('Serve only this conversation'),
    scope: text('Serve the conversations of this scope [default: conversations without a scope]'),
    'read-only': toggle('Offer only tools that read'),
    port: text('Serve streamable HTTP on this local port instead of standard input; 0 picks a free port'),
  },
  examples: [
    ['claude mcp add ledger -- $0 mcp', 'let Claude Code start the server'],
    ['$0 mcp --conversation run-7 --read-only', 'serve one conversation, read-only'],
  ],
  async run(args) {
    const conversationId = args.text('conversation')
    const scope = args.text('scope')
    const port = portOf(args)
    if (conversationId !== undefined && scope !== undefined)
      throw new LedgerError('Usage', '--conversation cannot be combined with --scope')
    const [
      { createMcp },
      { ledgerOnDemand },
      { openerWithRetries },
      { sentenceOfProblem },
      { packageVersion },
      { loadConfig },
      { rulesOf },
    ] = await Promise.all([
      import('../../mcp/create-mcp.js'),
      import('../on-demand.js'),
      import('../open-with-retries.js'),
      import('../../../library/problem.js'),
      import('../../../lib/package-root.js'),
      import('../config/load-config.js'),
      import('../config/rules.js'),
    ])
    // Report an invalid setting now, not with the first call.
    const config = await loadConfig({ flags: args.flags, env: process.env, cwd: process.cwd() }, { writes: true })
    // Only a directory has an exclusive lock that must be released when idle.
    const isFolder = !(config.database ?? config.store).includes('://')
    const noteFailure = failureNotes()
    const onProblem = (problem: unknown): void => {
      noteFailure(`${noteColours.yellow('warning:')} ${sentenceOfProblem(problem)}`)
    }
    const onDemand = ledgerOnDemand(
      openerWithRetries(args.flags, isFolder, {
        writes: { writes: true, searches: true, ahead: false },
        reads: { reads: true, searches: true, ahead: false },
      }),
      onProblem,
    )
    const server = createMcp({
      ledger: onDemand.ledger,
      boundTo: conversationId === undefined ? { scope: scope ?? null } : { conversationId },
      version: packageVersion(),
      readOnly: args.is('read-only'),
      rules: await rulesOf(config),
      onProblem,
    })
    try {
      if (port === undefined) await serveStandardInput(server, onProblem)
      else await servePort(server, port, args.json)
    } finally {
      await onDemand.close()
    }
  },
}

type McpServer = ReturnType<typeof import('../../mcp/create-mcp.js').createMcp>

/** Serves the client that started this process, until it disconnects or a signal arrives. */
async function serveStandardInput(server: McpServer, onProblem: (problem: unknown) => void): Promise<void> {
  const [{ serveClient }, { endSignals }] = await Promise.all([
    import('../../mcp/stdio.js'),
    import('../end-signals.js'),
  ])
  const ended = endSignals()
  try {
    const client = serveClient(server, process.stdin, process.stdout, onProblem)
    await Promise.race([client.disconnected, ended.signalled])
    await client.close()
  } finally {
    ended.forget()
  }
}

/** Serves a local port until a signal arrives. */
async function servePort(server: McpServer, port: number, asJson: boolean): Promise<void> {
  const [{ serveMcp }, { endSignals }] = await Promise.all([import('../../mcp/http.js'), import('../end-signals.js')])
  const ended = endSignals()
  try {
    const bound = await serveMcp(server, port).catch((error: unknown) => {
      throw unusablePort(error, 'MCP', port)
    })
    try {
      const { url, token } = bound
      if (asJson) await line(toWire({ url, token }))
      else {
        await line(url)
        await line(`Authorization: Bearer ${token}`)
      }
      note('reachable from this machine only, with this token; press Ctrl+C to stop')
      await ended.signalled
    } finally {
      await bound.close()
    }
  } finally {
    ended.forget()
  }
}
