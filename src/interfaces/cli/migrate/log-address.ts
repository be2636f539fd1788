/** Parses `--from` and `--to`: a store or a file. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { access, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isPostgres, schemeOf, serverIdentity } from '../../../library/addresses.js'
import { similarFile } from '../config/named-files.js'

export interface LogAddress {
  readonly kind: 'store' | 'file'
  readonly address: string
  /** Equal for two spellings of the same location, as far as spelling can tell. */
  readonly identity: string
}

function serverOf(address: string, flag: string): LogAddress {
  const identity = serverIdentity(address)
  // Do not print the address: it may contain a password.
  if (identity === undefined)
    throw new LedgerError(
      'Usage',
      `${flag} is not a valid address; an example is postgres://user:password@host:5432/database`,
    )
  return { kind: 'store', address, identity }
}

/** Parses an address: a server if it has a scheme; otherwise a directory or file, by what exists, then by the name. */
export async function addressOf(address: string | undefined, flag: '--from' | '--to'): Promise<LogAddress> {
  if (address === undefined || address.trim() === '')
    throw new LedgerError('Usage', `${flag} is required: a directory, postgres://…, esdb://…, or a file (name.clog.gz)`)
  if (address === 'memory')
    throw new LedgerError('Usage', `${flag} memory is not possible: a log in memory ends with its process`)
  if (schemeOf(address) !== undefined) return serverOf(address, flag)
  const path = resolve(address)
  const identity = await realpath(path).catch(() => path)
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile() === true) return { kind: 'file', address, identity }
  if (flag === '--to')
    return { kind: found === undefined && /\.gz$/iu.test(address) ? 'file' : 'store', address, identity }
  if (found === undefined) throw new LedgerError('NoLedger', `${address} does not exist${await similarFile(path)}`)
  // Opening would create a ledger, so check for the marker that the embedded store writes first.
  if (
    !(await access(join(path, 'ledger.json')).then(
      () => true,
      () => false,
    ))
  )
    throw new LedgerError('NoLedger', `there is no ledger in ${address}`)
  return { kind: 'store', address, identity }
}

/** Rejects `--from-database` and `--to-database` if they have no effect. */
export function rejectUnusedDatabase(log: LogAddress, flag: string, database: string | undefined): void {
  if (database !== undefined && log.kind === 'file')
    throw new LedgerError('Usage', `${flag} requires a store: a file contains the whole log`)
  if (database !== undefined && (schemeOf(log.address) === undefined || isPostgres(log.address)))
    throw new LedgerError(
      'Usage',
      `${flag} requires a log in KurrentDB: this store keeps its read models in the same database`,
    )
}
