/** What `--from` and `--to` name: a store or a file. */
import { access, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isPostgres, schemeOf } from '../../library/addresses.js'
import { neighbour } from '../config/named-files.js'
import { InputError } from '../errors.js'

export interface LogAddress {
  readonly kind: 'store' | 'file'
  readonly address: string
  /** The same for two spellings of one place, as far as the spelling tells. */
  readonly identity: string
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'postgres:': '5432', 'esdb:': '2113' }

function serverOf(address: string, flag: string): LogAddress {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    // The address is not repeated: it may hold a password.
    throw new InputError('Usage', `${flag} is no address; one looks like postgres://user:password@host:5432/database`)
  }
  const protocol = url.protocol.replace(/^postgresql:/u, 'postgres:').replace(/^kurrentdb/u, 'esdb')
  const port = url.port === '' ? (DEFAULT_PORTS[protocol] ?? '') : url.port
  return {
    kind: 'store',
    address,
    identity: `${protocol}//${url.hostname.toLowerCase()}:${port}${url.pathname.replace(/\/$/u, '')}`,
  }
}

/**
 * What `--from` or `--to` names: a server by its scheme, else what is there under the path, else what the name says.
 */
export async function addressOf(address: string | undefined, flag: '--from' | '--to'): Promise<LogAddress> {
  if (address === undefined || address.trim() === '')
    throw new InputError('Usage', `${flag} is missing: a folder, postgres://…, esdb://…, or a file (name.clog.gz)`)
  if (address === 'memory') throw new InputError('Usage', `${flag} memory: a log in memory ends with its process`)
  if (/^[a-z][a-z0-9+.-]+:\/\//iu.test(address)) return serverOf(address, flag)
  const path = resolve(address)
  const identity = await realpath(path).catch(() => path)
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile() === true) return { kind: 'file', address, identity }
  if (flag === '--to')
    return { kind: found === undefined && /\.gz$/iu.test(address) ? 'file' : 'store', address, identity }
  if (found === undefined)
    throw new InputError('NoLedger', `there is neither a ledger nor a file ${address}${await neighbour(path)}`)
  // Opening makes a ledger where there is none; the marker is what the embedded store writes first.
  if (
    !(await access(join(path, 'ledger.json')).then(
      () => true,
      () => false,
    ))
  )
    throw new InputError('NoLedger', `there is no ledger in ${address}`)
  return { kind: 'store', address, identity }
}

/** Refuses `--from-database` and `--to-database` where they say nothing. */
export function refuseIdle(place: LogAddress, flag: string, given: string | undefined): void {
  if (given !== undefined && place.kind === 'file')
    throw new InputError('Usage', `${flag} goes with a store: a file has everything in it`)
  if (given !== undefined && (schemeOf(place.address) === undefined || isPostgres(place.address)))
    throw new InputError('Usage', `${flag} is for a log in KurrentDB: this one keeps its read models beside it`)
}
