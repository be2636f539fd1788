/** `mcp` serves the ledger to clients of the Model Context Protocol: on standard input and output, or on a port. */
import { setTimeout as delay } from 'node:timers/promises'
import { text, toggle, type Command } from '../command.js'
import { InputError } from '../errors.js'
import type { Given } from '../given.js'
import { failureNotes, line, note, noteColours, toJson } from '../output.js'
import { portOf, unusablePort } from '../port.js'
import { withLedger } from '../session.js'

type Open = Parameters<typeof import('../on-demand.js').ledgerOnDemand>[0]

/** A folder is given back when nobody asked for so long. A client asks several times in a row. */
const IDLE_MS = 2_000
/**
 * How long a folder is waited for that another process has. To read, only until that process answers: it is just opening
 * it. To record, until another server of this kind gives it back; a host keeps it for long, and that is told.
 */
const PATIENCE_MS = { reads: 30_000, writes: 5 * IDLE_MS } as const
/** Another process has the folder, or was just giving it back while we asked by way of it. */
const IN_TURN: ReadonlySet<string> = new Set(['FolderLocked', 'StoreUnavailable'])
const AGAIN_MS = 100

export const mcp: Command = {
  words: 'mcp',
  describe: 'Serve tools and resources to an agent by MCP: what was said, what was compacted, what was forgotten',
  options: {
    conversation: text('Serve this conversation alone'),
    scope: text('Serve the conversations of this tenant or owner [default: those that name none]'),
    'read-only': toggle('Leave out the tools that record something'),
    port: text('Serve streamable HTTP on this port (0: any that is free) of this machine, and not standard input'),
  },
  examples: [
    ['claude mcp add ledger -- $0 mcp', 'Claude Code starts it and asks it'],
    ['$0 mcp --conversation run-7 --read-only', 'one conversation, and nothing is changed'],
  ],
  async run(given) {
    const conversationId = given.text('conversation')
    const scope = given.text('scope')
    const port = portOf(given)
    if (conversationId !== undefined && scope !== undefined)
      throw new InputError('Usage', '--conversation goes without --scope: a conversation is served alone')
    const [{ createMcp }, { ledgerOnDemand }, { sentenceOfProblem }, { version }, { loadConfig }] = await Promise.all([
      import('../../mcp/create-mcp.js'),
      import('../on-demand.js'),
      import('../../library/problem.js'),
      import('../version.js'),
      import('../config/load-config.js'),
    ])
    // A setting that is wrong is told now, and not with the first call.
    const config = await loadConfig({ flags: given.flags, env: process.env, cwd: process.cwd() }, { writes: true })
    // Only a folder has to be given back; a server has room for many.
    const isFolder = !(config.database ?? config.store).includes('://')
    const say = failureNotes()
    const onProblem = (problem: unknown): void => {
      say(`${noteColours.yellow('warning:')} ${sentenceOfProblem(problem)}`)
    }
    const onDemand = ledgerOnDemand(openedBy(given, isFolder), onProblem)
    const served = createMcp({
      ledger: onDemand.ledger,
      boundTo: conversationId === undefined ? { scope: scope ?? null } : { conversationId },
      version: version(),
      readOnly: given.is('read-only'),
      onProblem,
    })
    try {
      if (port === undefined) await serveStandardInput(served, onProblem)
      else await servePort(served, port, given.json)
    } finally {
      await onDemand.close()
    }
  },
}

/** Opens the ledger as a command does, and keeps it until it is let go. */
function openedBy(given: Given, isFolder: boolean): Open {
  const opened: Open = (writes) =>
    new Promise((resolve, reject) => {
      let letGo: () => void = () => undefined
      const kept = new Promise<void>((resolveKept) => {
        letGo = resolveKept
      })
      const ended = withLedger(
        given.flags,
        { ...(writes ? { writes } : { reads: true }), searches: true, ahead: false },
        async ({ ledger }) => {
          resolve({
            ledger,
            idleMs: isFolder ? IDLE_MS : undefined,
            close: async () => {
              letGo()
              await ended
            },
          })
          await kept
        },
      )
      ended.catch(reject)
    })
  return async (writes) => {
    const until = performance.now() + (writes ? PATIENCE_MS.writes : PATIENCE_MS.reads)
    for (;;) {
      try {
        return await opened(writes)
      } catch (error) {
        const [{ kindOf }, { StoreError }] = await Promise.all([
          import('../../library/problem.js'),
          import('../../ports/store-error.js'),
        ])
        // What is wrong with a setting is nothing that this program did wrong: the client is told so.
        if (error instanceof InputError) throw new StoreError('StoreRefused', error.message, error)
        if (!isFolder || !IN_TURN.has(kindOf(error)) || performance.now() > until) throw error
        await delay(AGAIN_MS)
      }
    }
  }
}

type Served = ReturnType<typeof import('../../mcp/create-mcp.js').createMcp>

/** Serves the client that started this process, until it goes or the process is told to end. */
async function serveStandardInput(served: Served, onProblem: (problem: unknown) => void): Promise<void> {
  const [{ serveClient }, { endSignals }] = await Promise.all([
    import('../../mcp/stdio.js'),
    import('../end-signals.js'),
  ])
  const ended = endSignals()
  try {
    const client = serveClient(served, process.stdin, process.stdout, onProblem)
    await Promise.race([client.gone, ended.signalled])
    await client.close()
  } finally {
    ended.forget()
  }
}

/** Serves a port of this machine until the process is told to end. */
async function servePort(served: Served, port: number, asJson: boolean): Promise<void> {
  const [{ serveMcp }, { endSignals }] = await Promise.all([import('../../mcp/http.js'), import('../end-signals.js')])
  const ended = endSignals()
  try {
    const bound = await serveMcp(served, port).catch((error: unknown) => {
      throw unusablePort(error, 'MCP', port)
    })
    try {
      const { url, token } = bound
      if (asJson) await line(toJson({ url, token }))
      else {
        await line(url)
        await line(`Authorization: Bearer ${token}`)
      }
      note('only this machine reaches it, and only with this token; Ctrl+C ends it')
      await ended.signalled
    } finally {
      await bound.close()
    }
  } finally {
    ended.forget()
  }
}
