/** Files that a setting names. Where one cannot be read, the sentence says which setting named it. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { either as E } from 'fp-ts'
import { strictJson } from '../../domain/text/json.js'
import { didYouMean, nameMeant } from '../../domain/text/known-names.js'
import { codeOf, sentenceOf } from '../../ports/store-error.js'
import { InputError } from '../errors.js'

/** A setting is wrong; `where` says where it came from. */
export const badConfig = (where: string, detail: string): InputError =>
  new InputError('BadConfig', `${where} ${detail}`)

function unreadable(error: unknown): string {
  const code = codeOf(error)
  return code === 'ENOENT'
    ? 'does not exist'
    : code === 'EISDIR'
      ? 'is a folder'
      : code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? 'is no text in UTF-8'
        : `cannot be read: ${sentenceOf(error)}`
}

/** The file beside it that may have been meant, to add to a sentence that says that there is none. */
export async function neighbour(path: string): Promise<string> {
  return didYouMean(nameMeant(basename(path), await readdir(dirname(resolve(path))).catch(() => [])))
}

/**
 * Reads a file that a setting names; `what` says which, where it cannot be read. Bytes that are no text would go to a
 * model, and into the log, as something else.
 */
export async function readNamed(file: string, from: string, what: string): Promise<string> {
  if (file.trim() === '') throw badConfig(what, 'is empty: it names a file')
  const path = resolve(from, file)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    throw badConfig(
      what,
      `names ${path}, which ${unreadable(error)}${codeOf(error) === 'ENOENT' ? await neighbour(path) : ''}`,
    )
  }
}

export function parseJson(content: string, path: string): unknown {
  const read = strictJson(content)
  if (E.isLeft(read)) throw new InputError('BadConfig', `${path} ${read.left.detail}`)
  return read.right
}
