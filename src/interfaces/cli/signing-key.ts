/** The operator's signing key, for commands that sign. */
import type { KeyObject } from 'node:crypto'
import { LedgerError } from '../../lib/ledger-error.js'

type KeyFiles = Pick<typeof import('../../library/compose.js'), 'privateKeyFrom' | 'readPrivateKey'>

export const KEY_VARIABLE = 'CONTEXT_LEDGER_SIGNING_KEY'

/**
 * The signing key, from the file or from the environment variable, which contains the key or a file name.
 * @param needs what needs a key, for the message
 */
export async function signingKey(
  needs: string,
  keyFile: string | undefined,
  { privateKeyFrom, readPrivateKey }: KeyFiles,
): Promise<KeyObject> {
  const fromEnvironment = process.env[KEY_VARIABLE]
  if (keyFile !== undefined) return await readPrivateKey(keyFile)
  if (fromEnvironment === undefined || fromEnvironment.trim() === '')
    throw new LedgerError(
      'Usage',
      `${needs} needs a key: pass --key FILE or set ${KEY_VARIABLE}; \`verify --new-key FILE\` creates one`,
    )
  return fromEnvironment.includes('-----BEGIN')
    ? privateKeyFrom(fromEnvironment, KEY_VARIABLE)
    : await readPrivateKey(fromEnvironment)
}
