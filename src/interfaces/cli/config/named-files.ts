/** Reads files named in settings. Errors name the setting. */
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { either as E } from 'fp-ts'
import { strictJson } from '../../../lib/json.js'
import { didYouMean, nameMeant } from '../../../domain/text/known-names.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'

/** An error for an invalid setting. `source` is the flag, variable or config entry. */
export const badConfig = (source: string, detail: string): LedgerError =>
  new LedgerError('BadConfig', `${source} ${detail}`)

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a directory',
  ELOOP: 'is a symbolic link that leads to itself',
  EACCES: 'cannot be read: permission denied',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
}

const unreadable = (error: unknown): string => REASONS[codeOf(error) ?? ''] ?? `cannot be read: ${sentenceOf(error)}`

/** A suggestion for a missing file: the most similar name in the same directory. */
export async function similarFile(path: string): Promise<string> {
  return didYouMean(nameMeant(basename(path), await readdir(dirname(resolve(path))).catch(() => [])))
}

/** A file that is no larger than one that a person writes: settings, prompts, rules. */
const MOST_BYTES = 1_000_000

/**
 * Reads a text file named in the setting `what`. Invalid UTF-8 is an error, because replacement characters would go to
 * the model and into the log.
 */
export async function readNamed(file: string, from: string, what: string): Promise<string> {
  if (file.trim() === '') throw badConfig(what, 'needs a file name')
  const path = resolve(from, file)
  try {
    // A pipe has no size: `--rules <(command)`.
    if ((await stat(path)).size > MOST_BYTES) throw badConfig(what, `names ${path}, which has more than 1 MB`)
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    if (isLedgerError(error)) throw error
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
