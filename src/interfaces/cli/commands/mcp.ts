/** `mcp`: serves the ledger to Model Context Protocol clients, on standard input and output or on a port. */
import type { FailureKind } from '../../../lib/failure-kinds.js'
import { LedgerError } from '../../../lib/ledger-error.js'
import { setTimeout as delay } from 'node:timers/promises'
import { text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { failureNotes, line, note, noteColours } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { portOf, unusablePort } from '../port.js'
import { withLedger } from '../session.js'

type Open = Parameters<typeof import('../on-demand.js').ledgerOnDemand>[0]

/** The directory lock is released after this idle time. A client often sends several calls in a row. */
const IDLE_MS = 2_000
/**
 * How long to wait for a directory that another process has locked. A read waits only until that process answers: it
 * may still be opening the directory. A write waits until another MCP server releases the lock. A host keeps the lock,
 * and then the caller gets an error.
 */
const PATIENCE_MS = { reads: 30_000, writes: 5 * IDLE_MS } as const
/** Another process has locked the directory, or released it during our request to that process. */
const RETRYABLE_KINDS: ReadonlySet<FailureKind> = new Set(['FolderLocked', 'StoreUnavailable'])
const RETRY_MS = 100

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
    const [{ createMcp }, { ledgerOnDemand }, { sentenceOfProblem }, { packageVersion }, { loadConfig }, { rulesOf }] =
      await Promise.all([
        import('../../mcp/create-mcp.js'),
        import('../on-demand.js'),
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
    const onDemand = ledgerOnDemand(openWithRetries(args, isFolder), onProblem)
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

/** Opens the ledger with `withLedger` and keeps it open until `close` is called. */
function openWithRetries(args: CommandArgs, isFolder: boolean): Open {
  const openOnce: Open = (writes) =>
    new Promise((resolve, reject) => {
      let release: () => void = () => undefined
      const released = new Promise<void>((resolveReleased) => {
        release = resolveReleased
      })
      const ended = withLedger(
        args.flags,
        { ...(writes ? { writes } : { reads: true }), searches: true, ahead: false },
        async ({ ledger }) => {
          resolve({
            ledger,
            idleMs: isFolder ? IDLE_MS : undefined,
            close: async () => {
              release()
              await ended
            },
          })
          await released
        },
      )
      ended.catch(reject)
    })
  return async (writes) => {
    const until = performance.now() + (writes ? PATIENCE_MS.writes : PATIENCE_MS.reads)
    for (;;) {
      try {
        return await openOnce(writes)
      } catch (error) {
        const { kindOf } = await import('../../../library/problem.js')
        if (!isFolder || !RETRYABLE_KINDS.has(kindOf(error)) || performance.now() > until) throw error
        await delay(RETRY_MS)
      }
    }
  }
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
