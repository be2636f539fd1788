/** A port of this machine, as it is asked for and where it cannot be had. */
import { codeOf } from '../ports/store-error.js'
import { InputError } from './errors.js'
import type { Given } from './given.js'

const LAST_PORT = 65_535

/** The port that was given; undefined where none was. */
export function portOf(given: Given): number | undefined {
  const port = given.whole('port')
  if (port !== undefined && port > LAST_PORT)
    throw new InputError('Usage', `--port must be a port, and is ${String(port)}`)
  return port
}

/** Why nothing can be served there. */
export function unusablePort(error: unknown, what: string, port: number | undefined): unknown {
  const code = codeOf(error)
  const reason =
    code === 'EADDRINUSE'
      ? 'another program listens there'
      : code === 'EACCES'
        ? 'this user may not listen there'
        : undefined
  return reason === undefined || port === undefined
    ? error
    : new InputError('PortUnusable', `cannot serve ${what} on port ${String(port)}: ${reason}; --port names another`)
}
