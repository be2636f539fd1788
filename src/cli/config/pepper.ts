/**
 * What keys are hashed under: the environment's, or a file beside the folder of the ledger. It never lies in the
 * database, so that who reads the table of keys cannot make one.
 */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { codeOf, sentenceOf } from '../../ports/store-error.js'
import { InputError } from '../errors.js'
import { isFolder, type Config } from './load-config.js'

/** The variable of the environment that holds it. */
const VARIABLE = 'CONTEXT_LEDGER_PEPPER'
const LEAST = 32

/** The file beside a folder. */
const fileOf = (store: string): string => `${store.replace(/[/\\]+$/u, '')}.pepper`

function checked(text: string, where: string): string {
  const pepper = text.trim()
  if (pepper.length < LEAST)
    throw new InputError(
      'BadPepper',
      `${where} has fewer than ${String(LEAST)} characters: \`openssl rand -hex 32\` gives enough`,
    )
  return pepper
}

/** The pepper; undefined where there is none. */
export async function pepperOf({ store }: Pick<Config, 'store'>): Promise<string | undefined> {
  const given = process.env[VARIABLE]
  if (given !== undefined && given !== '') return checked(given, VARIABLE)
  if (!isFolder(store)) return undefined
  const file = fileOf(store)
  try {
    return checked(await readFile(file, 'utf8'), file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    if (error instanceof InputError) throw error
    throw new InputError('BadPepper', `${file} cannot be read: ${sentenceOf(error)}`)
  }
}

/** The pepper; one is made beside a folder where there is none. */
export async function pepperForKeys(config: Pick<Config, 'store'>): Promise<string> {
  const known = await pepperOf(config)
  if (known !== undefined) return known
  if (!isFolder(config.store))
    throw new InputError(
      'NoPepper',
      `${VARIABLE} is not set: keys are kept as hashes under it, and every process that serves needs the same one; \`openssl rand -hex 32\` makes one`,
    )
  const file = fileOf(config.store)
  try {
    await writeFile(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw new InputError('BadPepper', `${file} cannot be written: ${sentenceOf(error)}`)
  }
  return checked(await readFile(file, 'utf8'), file)
}
