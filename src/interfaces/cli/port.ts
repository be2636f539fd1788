/** The `--port` flag, and errors of a port that cannot be used. */
import { LedgerError } from '../../lib/ledger-error.js'
import { codeOf } from '../../ports/store-error.js'
import type { CommandArgs } from './command-args.js'

const LAST_PORT = 65_535

/** The value of `--port`; undefined without the flag. */
export function portOf(args: CommandArgs): number | undefined {
  const port = args.whole('port')
  if (port !== undefined && port > LAST_PORT)
    throw new LedgerError('Usage', `--port must be at most 65535; got ${String(port)}`)
  return port
}

/** A `LedgerError` with the reason why the port cannot be used, if the reason is known. */
export function unusablePort(error: unknown, what: string, port: number | undefined): unknown {
  const code = codeOf(error)
  const reason =
    code === 'EADDRINUSE'
      ? 'another program uses this port'
      : code === 'EACCES'
        ? 'this user has no permission'
        : undefined
  return reason === undefined || port === undefined
    ? error
    : new LedgerError(
        'PortUnusable',
        `cannot serve ${what} on port ${String(port)}: ${reason}; choose another with --port`,
      )
}
