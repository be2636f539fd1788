/** The `--port` flag, and errors of an address that a server cannot listen on. */
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

/** Why a server cannot listen, by the code of the system. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses this port',
  EACCES: 'this user has no permission',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the address does not exist',
  EAI_AGAIN: 'the address does not exist',
  EINVAL: 'the address is not valid',
}

/**
 * A `LedgerError` with the reason why a server cannot listen, or the error itself if the reason is unknown.
 * @param what what does not work, as `cannot serve MCP on port 1`
 * @param flags the flags that choose another address
 */
export function unusableAddress(error: unknown, what: string, flags: string): unknown {
  const reason = REASONS[codeOf(error) ?? '']
  return reason === undefined
    ? error
    : new LedgerError('PortUnusable', `${what}: ${reason}; choose another with ${flags}`)
}

/** The error of a server that listens on this machine only; the error itself if no port was chosen. */
export const unusablePort = (error: unknown, what: string, port: number | undefined): unknown =>
  port === undefined ? error : unusableAddress(error, `cannot serve ${what} on port ${String(port)}`, '--port')
