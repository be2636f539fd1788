/**
 * The pepper for key hashes, from the environment or from a file next to the ledger directory. It is never stored in
 * the database, so reading the key table is not enough to forge a key.
 */
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { PRIVATE_FILE, restrictFile } from '../../ports/private-files.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'
import { isFolder, type Config } from './load-config.js'

const VARIABLE = 'CONTEXT_LEDGER_PEPPER'
const MIN_LENGTH = 32

/** The pepper file next to the ledger directory. */
const fileOf = (store: string): string => `${store.replace(/[/\\]+$/u, '')}.pepper`

function checkLength(text: string, where: string): string {
  const pepper = text.trim()
  if (pepper.length < MIN_LENGTH)
    throw new LedgerError(
      'BadPepper',
      `${where} has fewer than ${String(MIN_LENGTH)} characters: generate one with \`openssl rand -hex 32\``,
    )
  return pepper
}

/** The pepper; undefined if there is none. */
export async function pepperOf({ store }: Pick<Config, 'store'>): Promise<string | undefined> {
  const fromEnvironment = process.env[VARIABLE]
  if (fromEnvironment !== undefined && fromEnvironment !== '') return checkLength(fromEnvironment, VARIABLE)
  if (!isFolder(store)) return undefined
  const file = fileOf(store)
  try {
    const text = await readFile(file, 'utf8')
    restrictFile(file)
    return checkLength(text, file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    if (isLedgerError(error)) throw error
    throw new LedgerError('BadPepper', `${file} cannot be read: ${sentenceOf(error)}`)
  }
}

/** The pepper; for a directory it is created if it does not exist. */
export async function pepperForKeys(config: Pick<Config, 'store'>): Promise<string> {
  const known = await pepperOf(config)
  if (known !== undefined) return known
  if (!isFolder(config.store))
    throw new LedgerError(
      'NoPepper',
      `${VARIABLE} is not set: it is needed to hash keys, and all service processes need the same value; generate one with \`openssl rand -hex 32\``,
    )
  const file = fileOf(config.store)
  try {
    await writeFile(file, `${randomBytes(32).toString('hex')}\n`, { mode: PRIVATE_FILE, flag: 'wx' })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST')
      throw new LedgerError('BadPepper', `${file} cannot be written: ${sentenceOf(error)}`)
  }
  return checkLength(await readFile(file, 'utf8'), file)
}
