/** Reads files named in settings. Errors name the setting. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { either as E } from 'fp-ts'
import { strictJson } from '../../../lib/json.js'
import { didYouMean, nameMeant } from '../../../domain/text/known-names.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'

/** An error for an invalid setting. `source` is the flag, variable or config entry. */
export const badConfig = (source: string, detail: string): LedgerError =>
  new LedgerError('BadConfig', `${source} ${detail}`)

function unreadable(error: unknown): string {
  const code = codeOf(error)
  return code === 'ENOENT'
    ? 'does not exist'
    : code === 'EISDIR'
      ? 'is a directory'
      : code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? 'is not UTF-8 text'
        : `cannot be read: ${sentenceOf(error)}`
}

/** A suggestion for a missing file: the most similar name in the same directory. */
export async function similarFile(path: string): Promise<string> {
  return didYouMean(nameMeant(basename(path), await readdir(dirname(resolve(path))).catch(() => [])))
}

/**
 * Reads a text file named in the setting `what`. Invalid UTF-8 is an error, because replacement characters would go to
 * the model and into the log.
 */
export async function readNamed(file: string, from: string, what: string): Promise<string> {
  if (file.trim() === '') throw badConfig(what, 'needs a file name')
  const path = resolve(from, file)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    throw badConfig(
      what,
      `names ${path}, which ${unreadable(error)}${codeOf(error) === 'ENOENT' ? await similarFile(path) : ''}`,
    )
  }
}

export function parseJson(content: string, path: string): unknown {
  const read = strictJson(content)
  if (E.isLeft(read)) throw new LedgerError('BadConfig', `${path} ${read.left.detail}`)
  return read.right
}
