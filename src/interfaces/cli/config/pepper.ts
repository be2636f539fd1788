/**
 * The pepper for key hashes, from the environment or from a file next to the ledger directory. It is never stored in
 * the database, so a leaked or changed key table alone does not let anyone forge a key.
 */
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createFile } from '../../../ports/file-draft.js'
import { restrictFile } from '../../../ports/private-files.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'
import { isFolder, type Config } from './load-config.js'

const ENV_NAME = 'CONTEXT_LEDGER_PEPPER'
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

/** Reads the pepper. Undefined if there is none: no file, or a store on a server without the variable. */
export async function readPepper({ store }: Pick<Config, 'store'>): Promise<string | undefined> {
  const fromEnvironment = process.env[ENV_NAME]
  if (fromEnvironment !== undefined && fromEnvironment !== '') return checkLength(fromEnvironment, ENV_NAME)
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

/**
 * Reads the pepper, and creates its file if the store is a local directory.
 * @throws `NoPepper` for a store on a server without the variable
 */
export async function readOrCreatePepper(config: Pick<Config, 'store'>): Promise<string> {
  const known = await readPepper(config)
  if (known !== undefined) return known
  if (!isFolder(config.store))
    throw new LedgerError(
      'NoPepper',
      `${ENV_NAME} is not set. It is needed to hash keys, and all processes of the service need the same value. Generate one with \`openssl rand -hex 32\``,
    )
  const file = fileOf(config.store)
  try {
    await createFile(file, `${randomBytes(32).toString('hex')}\n`)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST')
      throw new LedgerError('BadPepper', `${file} cannot be written: ${sentenceOf(error)}`)
  }
  return checkLength(await readFile(file, 'utf8'), file)
}
